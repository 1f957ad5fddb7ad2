// The system in motion: decodes the data of the page and places every body at a time, with its
// deformation scaled.  Rotations are 3 x 3, row by row; vectors have 3 numbers.

function decode(text, whole = false) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  const out = new (whole ? Uint32Array : Float32Array)(raw.length / 4);
  for (let i = 0; i < out.length; i++) out[i] = whole ? view.getUint32(4 * i, true) : view.getFloat32(4 * i, true);
  return out;
}

// x + A y
function placed(x, A, y) {
  return [
    x[0] + A[0] * y[0] + A[1] * y[1] + A[2] * y[2],
    x[1] + A[3] * y[0] + A[4] * y[1] + A[5] * y[2],
    x[2] + A[6] * y[0] + A[7] * y[1] + A[8] * y[2],
  ];
}

function product(A, B) {
  const C = new Array(9);
  for (let i = 0; i < 3; i++)
    for (let j = 0; j < 3; j++)
      C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
  return C;
}

function transposed(A) {
  return [A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]];
}

function quaternionMatrix(w, x, y, z) {
  const n = Math.hypot(w, x, y, z) || 1;
  w /= n; x /= n; y /= n; z /= n;
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
  ];
}

// the rotation by a rotation vector
function turned(r) {
  const angle = Math.hypot(r[0], r[1], r[2]);
  const s = angle > 1e-8 ? Math.sin(angle / 2) / angle : 0.5;
  return quaternionMatrix(Math.cos(angle / 2), s * r[0], s * r[1], s * r[2]);
}

// shapes (3 rows of as many numbers as there are coordinates, from `start` on) times the coordinates
function moved(shapes, coordinates, start = 0) {
  const m = coordinates.length, out = [0, 0, 0];
  for (let i = 0; i < 3; i++)
    for (let k = 0; k < m; k++) out[i] += shapes[start + i * m + k] * coordinates[k];
  return out;
}

// eta, then 1/2 eta^T P eta for each of the products P of a body (m x m, row by row)
function withProducts(eta, products) {
  const m = eta.length, out = [...eta];
  for (let start = 0; start < products.length; start += m * m) {
    let sum = 0;
    for (let i = 0; i < m; i++)
      for (let j = 0; j < m; j++) sum += products[start + i * m + j] * eta[i] * eta[j];
    out.push(0.5 * sum);
  }
  return out;
}

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];

class Scene {
  constructor(data) {
    this.data = data;
    this.times = decode(data.times);
    this.motion = decode(data.motion);
    this.bodies = data.bodies.map((b) => ({
      ...b,
      points: decode(b.points),
      shapes: decode(b.shapes),
      products: decode(b.products),
      triangles: decode(b.triangles, true),
      creases: decode(b.creases, true),
      ribs: { points: b.ribs.points, half: decode(b.ribs.half), rotation: decode(b.ribs.rotation) },
    }));
    this.width = this.bodies.reduce((n, b) => n + 7 + b.modes, 0);
    this.duration = this.times[this.times.length - 1];
  }

  // The numbers of the motion at a time after the start, between frames interpolated.
  sample(t) {
    const times = this.times, n = times.length, w = this.width;
    let low = 0, high = n - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle; else high = middle;
    }
    const span = times[high] - times[low];
    const x = span > 0 ? Math.min(1, Math.max(0, (t - times[low]) / span)) : 0;
    const out = new Float64Array(w);
    for (let i = 0; i < w; i++) out[i] = (1 - x) * this.motion[low * w + i] + x * this.motion[high * w + i];
    return out;
  }

  // Where everything is: per body R, p of its frame, its points (3 each), its ribs, and the places of its joint.
  at(t, scale) {
    const places = this.frames(t, scale);
    for (const place of places) {
      place.points = new Float64Array(place.body.points.length);
      for (let i = 0; 3 * i < place.points.length; i++) place.points.set(pointAt(place, i), 3 * i);
      const { ribs } = place.body;
      place.ribs = ribs.points.map((point, i) => ribEnds(place, ribs, point, i));
    }
    return places;
  }

  // The same without points and ribs.
  frames(t, scale) {
    const motion = this.sample(t);
    const placedBodies = [];
    let start = 0;
    for (const b of this.bodies) {
      const m = motion.subarray(start, start + 7);
      const eta = Array.from(motion.subarray(start + 7, start + 7 + b.modes), (x) => scale * x);
      start += 7 + b.modes;
      const place = { body: b, eta, bends: withProducts(eta, b.products) };
      // the node of the parent that carries the joint, and the joint's inboard frame
      let R = IDENTITY, p = [0, 0, 0];
      if (b.parent >= 0) ({ R, p } = nodeFrame(placedBodies[b.parent], b.at));
      place.start = b.bare ? p : null; // on a parent without shapes
      p = placed(p, R, b.offset);
      R = product(R, b.rotation);
      place.inboard = p;
      p = placed(p, R, m.subarray(4, 7));
      R = product(R, quaternionMatrix(m[0], m[1], m[2], m[3]));
      place.outboard = p;
      if (!b.carried) place.inboard = p;
      place.axis = b.axis ? placed([0, 0, 0], R, b.axis) : null;
      if (b.inboard !== null) {
        // the frame is the one whose bent node is here
        const bent = bentNode(place, b.inboard);
        R = product(R, transposed(bent.turn));
        p = placed(p, R, bent.local.map((x) => -x));
      }
      place.R = R;
      place.p = p;
      placedBodies.push(place);
    }
    return placedBodies;
  }

  // Of every closure that is active at a time: the node that carries its end a, the origins of its frames a and b, the node
  // that carries b.
  closures(places, t) {
    const now = ([start, end]) => start <= t && (end === null || t < end);
    return this.data.closures.filter(({ active }) => active.some(now)).map(({ ends }) => {
      const [a, b] = ends.map(({ body, node, offset }) => {
        if (body < 0) return { node: offset, frame: offset };
        const { R, p } = nodeFrame(places[body], node);
        return { node: p, frame: placed(p, R, offset) };
      });
      return [a.node, a.frame, b.frame, b.node];
    });
  }

  // The path of the trail's node up to the end, a few hundred points.
  trail(scale) {
    const { body, point } = this.data.trail;
    const every = Math.max(1, Math.ceil(this.times.length / 400));
    const path = [];
    for (let i = 0; i < this.times.length; i += every) {
      const place = this.frames(this.times[i], scale)[body];
      path.push({ t: this.times[i], p: pointAt(place, point) });
    }
    return path;
  }
}

// A point of a placed body.
function pointAt(place, i) {
  const { points, shapes } = place.body;
  const shift = moved(shapes, place.bends, 3 * i * place.bends.length);
  const local = [points[3 * i] + shift[0], points[3 * i + 1] + shift[1], points[3 * i + 2] + shift[2]];
  return placed(place.p, place.R, local);
}

// The two ends of rib i of a placed body, across one of its points.
function ribEnds(place, ribs, point, i) {
  const middle = place.points.subarray(3 * point, 3 * point + 3);
  const turn = turned(moved(ribs.rotation, place.eta, 3 * i * place.eta.length));
  const half = placed([0, 0, 0], product(place.R, turn), ribs.half.subarray(3 * i, 3 * i + 3));
  return [-1, 1].map((sign) => [0, 1, 2].map((k) => middle[k] + sign * half[k]));
}

// Rotation and place of a node in the frame of its body.
function bentNode(place, number) {
  const node = place.body.nodes[number];
  const shift = moved(node.translation, place.bends);
  return {
    turn: turned(moved(node.rotation, place.eta)),
    local: [0, 1, 2].map((i) => node.position[i] + shift[i]),
  };
}

// The frame of a node of a placed body; null: that of the body itself.
function nodeFrame(place, number) {
  if (number === null) return { R: place.R, p: place.p };
  const { turn, local } = bentNode(place, number);
  return { R: product(place.R, turn), p: placed(place.p, place.R, local) };
}
