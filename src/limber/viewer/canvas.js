// The same pictures on a 2-D canvas, for browsers without WebGL: strokes and discs, the far ones first.

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
    const things = [...picture.tubes, ...picture.balls]
      .map(([a, b, colour, radius]) => ({ A: project(a), B: project(b), colour, radius }))
      .filter(({ A, B }) => A[2] > near && B[2] > near)
      .sort((s, t) => t.A[2] + t.B[2] - s.A[2] - s.B[2]);
    for (const { A, B, colour, radius } of things) {
      const wide = (4 * focal * radius) / (A[2] + B[2]);
      c.strokeStyle = css(colour);
      c.lineWidth = Math.max(0.7, wide);
      c.beginPath();
      c.moveTo(A[0], A[1]);
      c.lineTo(B[0] + 0.01, B[1]); // a ball is a stroke of no length
      c.stroke();
    }
  }
}
