// What is drawn of a scene at a time: tubes, balls, lines and surfaces, in world coordinates.

// "#rrggbb" or "rgb(r, g, b)" as three numbers from 0 to 1
function rgb(text) {
  const hex = /^#(..)(..)(..)$/.exec(text.trim());
  if (hex) return hex.slice(1).map((x) => parseInt(x, 16) / 255);
  return (text.match(/[\d.]+/g) || [0, 0, 0]).slice(0, 3).map((x) => x / 255);
}

// 1, 2 or 5 times a power of ten, not below a value
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((m) => m * power).find((x) => x >= 0.999999 * value);
}

// the greatest distance of points (3 numbers each) from the first
function extent(points) {
  let most = 0;
  for (let i = 0; i < points.length; i += 3)
    most = Math.max(most, Math.hypot(...[0, 1, 2].map((k) => points[i + k] - points[k])));
  return most;
}

// frames of many members are drawn by thin ones
function thinness(body) {
  return Math.max(0.25, Math.min(1, Math.sqrt(120 / body.edges.length)));
}

class Painter {
  constructor(scene) {
    this.scene = scene;
    const { low, high } = scene.data;
    this.size = Math.max(...[0, 1, 2].map((i) => high[i] - low[i])) || 1;
    this.square = nice(this.size / 10);
    this.radius = (scene.bodies.length > 20 ? 0.005 : 0.008) * this.size;
    const heaviest = Math.max(...scene.bodies.map((b) => b.mass), 1e-12);
    this.looks = scene.bodies.map((b) => ({
      colour: rgb(b.colour),
      radius: (b.flexible ? thinness(b) : 1.3) * (b.marks.length ? 0.4 : 1) * this.radius,
      rounded: new Set(b.edges),
      centre: (1.4 + 1.6 * Math.cbrt(b.mass / heaviest)) * this.radius,
      joint: Math.min(this.radius, 0.12 * (extent(b.points) || Infinity)), // no larger than its body
    }));
    this.grid = this.ground();
  }

  ground() {
    const { low, high } = this.scene.data, s = this.square;
    const first = (i) => s * Math.floor((low[i] - 0.12 * this.size) / s);
    const last = (i) => s * Math.ceil((high[i] + 0.12 * this.size) / s);
    const z = low[2] - 0.03 * this.size, lines = [];
    for (let x = first(0); x <= last(0) + 1e-6 * s; x += s) lines.push([[x, first(1), z], [x, last(1), z]]);
    for (let y = first(1); y <= last(1) + 1e-6 * s; y += s) lines.push([[first(0), y, z], [last(0), y, z]]);
    return lines;
  }

  // options: time, scale, trail (the path or null), theme {background, ink}
  paint({ time, scale, trail, theme }) {
    const picture = {
      background: theme.background, lines: [], tubes: [], balls: [], bends: [], surfaces: [], creases: [],
    };
    for (const [a, b] of this.grid) picture.lines.push([a, b, theme.ink, 0.18]);
    const r = this.radius;
    [[0.85, 0.25, 0.2], [0.2, 0.65, 0.3], [0.25, 0.45, 0.9]].forEach((colour, i) => {
      const tip = [0, 0, 0];
      tip[i] = 0.07 * this.size;
      picture.tubes.push([[0, 0, 0], tip, colour, 0.35 * r]);
    });
    const places = this.scene.at(time, scale);
    places.forEach((place, k) => this.body(picture, place, k, theme));
    for (const path of this.scene.closures(places, time)) this.closure(picture, path, theme);
    if (trail) {
      const shade = theme.ink.map((x, i) => 0.45 * x + 0.55 * theme.background[i]);
      for (let i = 1; i < trail.length && trail[i].t <= time; i++)
        picture.tubes.push([trail[i - 1].p, trail[i].p, shade, 0.22 * r]);
    }
    return picture;
  }

  // thin lines from the nodes to the frames of a cut joint and between these, and a ball at each frame
  closure(picture, path, theme) {
    for (let i = 1; i < path.length; i++) picture.tubes.push([path[i - 1], path[i], theme.ink, 0.4 * this.radius]);
    for (const p of path.slice(1, 3)) picture.balls.push([p, p, theme.ink, 1.6 * this.radius]);
  }

  body(picture, place, k, theme) {
    const body = this.scene.bodies[k], { colour, radius, rounded, centre, joint } = this.looks[k];
    const point = (i) => place.points.subarray(3 * i, 3 * i + 3);
    const tube = (a, b) => picture.tubes.push([a, b, colour, radius]);
    for (let i = 0; i < body.edges.length; i += 2) tube(point(body.edges[i]), point(body.edges[i + 1]));
    for (let i = 0; 3 * i < place.points.length; i++) {
      if (i === body.centre) picture.balls.push([point(i), point(i), colour, centre]);
      else if (rounded.has(i) || place.points.length === 3)
        picture.bends.push([point(i), point(i), colour, radius]); // rounds the ends of tubes
    }
    if (body.triangles.length) {
      let start = 0;
      for (const [count, paint] of body.paints) {
        const triangles = body.triangles.subarray(3 * start, 3 * (start + count));
        picture.surfaces.push({ points: place.points, triangles, colour: rgb(paint) });
        start += count;
      }
      const dark = colour.map((x) => 0.45 * x);
      for (let i = 0; i < body.creases.length; i += 2)
        picture.creases.push([point(body.creases[i]), point(body.creases[i + 1]), dark, 1]);
    }
    for (const i of body.marks) picture.balls.push([point(i), point(i), colour, 1.2 * this.radius]);
    for (const [a, b] of place.ribs) picture.tubes.push([a, b, colour, 0.35 * radius]);
    if (place.start) {
      tube(place.start, place.inboard);
      tube(place.inboard, place.outboard);
    }
    const p = place.outboard, grey = theme.ink.map((x) => 0.35 + 0.35 * x);
    if (body.joint === "axis") {
      const half = 2.4 * joint;
      const end = (sign) => p.map((x, i) => x + sign * half * place.axis[i]);
      picture.tubes.push([end(-1), end(1), grey, 1.9 * joint]);
    } else if (body.joint === "sphere") picture.balls.push([p, p, grey, 2 * joint]);
  }
}
