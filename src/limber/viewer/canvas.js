// The same pictures on a 2-D canvas, for browsers without WebGL: strokes, discs and triangles, the far ones first.

class CanvasRenderer {
  constructor(canvas) {
    this.kind = "canvas2d";
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  draw(camera, picture) {
    const c = this.context, { width, height } = this.canvas;
    const M = camera.matrix(width / height);
    const focal = 0.5 * height * camera.focus(width / height);
    const css = (colour, alpha = 1) => `rgba(${colour.map((x) => Math.round(255 * x)).join(",")},${alpha})`;
    const project = (p) => {
      const w = M[3] * p[0] + M[7] * p[1] + M[11] * p[2] + M[15];
      const x = (M[0] * p[0] + M[4] * p[1] + M[8] * p[2] + M[12]) / w;
      const y = (M[1] * p[0] + M[5] * p[1] + M[9] * p[2] + M[13]) / w;
      return [0.5 * width * (1 + x), 0.5 * height * (1 - y), w];
    };
    c.fillStyle = css(picture.background);
    c.fillRect(0, 0, width, height);
    c.lineCap = "round";
    const near = 0.01 * camera.distance;
    c.lineWidth = Math.max(1, height / 600);
    for (const [a, b, colour, alpha] of picture.lines) {
      const A = project(a), B = project(b);
      if (A[2] < near || B[2] < near) continue;
      c.strokeStyle = css(colour, alpha);
      c.beginPath();
      c.moveTo(A[0], A[1]);
      c.lineTo(B[0], B[1]);
      c.stroke();
    }
    const middle = (corners) => corners.reduce((sum, p) => sum + p[2], 0) / corners.length;
    const strokes = [...picture.tubes, ...picture.balls, ...picture.creases.map(([a, b, colour]) => [a, b, colour, 0])]
      .map(([a, b, colour, radius]) => ({ corners: [project(a), project(b)], colour, radius }));
    const things = [...strokes, ...this.facets(camera, picture.surfaces, project)]
      .filter(({ corners }) => corners.every((p) => p[2] > near))
      .map((thing) => ({ ...thing, depth: middle(thing.corners) }))
      .sort((s, t) => t.depth - s.depth);
    for (const { corners, colour, radius, depth } of things) {
      const facet = corners.length === 3;
      c.strokeStyle = c.fillStyle = css(colour);
      c.lineWidth = facet ? 0.6 : Math.max(0.7, (2 * focal * radius) / depth);
      c.beginPath();
      corners.forEach((p, i) => c.lineTo(p[0] + 0.01 * i, p[1])); // a ball is a stroke of no length
      if (facet) {
        c.closePath();
        c.fill();
      }
      c.stroke();
    }
  }

  // The triangles of surfaces, each lit by its own normal, on both sides.
  facets(camera, surfaces, project) {
    const { back, right, up } = camera.axes();
    const light = [0, 1, 2].map((i) => 0.75 * back[i] - 0.3 * right[i] + 0.6 * up[i]);
    const found = [];
    for (const { points, triangles, colour } of surfaces)
      for (let i = 0; i < triangles.length; i += 3) {
        const [a, b, d] = [0, 1, 2].map((k) => points.subarray(3 * triangles[i + k], 3 * triangles[i + k] + 3));
        const u = [0, 1, 2].map((k) => b[k] - a[k]), v = [0, 1, 2].map((k) => d[k] - a[k]);
        const normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        const facing = Math.abs(normal[0] * light[0] + normal[1] * light[1] + normal[2] * light[2]);
        const lit = 0.5 + (0.5 * facing) / (Math.hypot(...normal) * Math.hypot(...light) || 1);
        found.push({ corners: [a, b, d].map(project), colour: colour.map((x) => lit * x), radius: 0 });
      }
    return found;
  }
}
