// An eye that orbits a target, z up.  Matrices are 4 x 4, column by column, as WebGL has them.

class Camera {
  constructor(low, high) {
    this.home = { low, high };
    this.fov = (34 * Math.PI) / 180;
    this.reset();
  }

  // Look at all of it, from a corner above or along an axis.
  reset(azimuth = -1.05, elevation = 0.42) {
    const { low, high } = this.home;
    this.target = [0, 1, 2].map((i) => 0.5 * (low[i] + high[i]));
    this.size = Math.max(Math.hypot(...[0, 1, 2].map((i) => high[i] - low[i])), 1e-3);
    this.distance = (0.47 * this.size) / Math.tan(this.fov / 2);
    this.azimuth = azimuth;
    this.elevation = elevation;
  }

  orbit(dx, dy) {
    this.azimuth -= 0.008 * dx;
    this.elevation = Math.min(1.57, Math.max(-1.57, this.elevation + 0.008 * dy));
  }

  zoom(factor) {
    this.distance = Math.min(50 * this.size, Math.max(0.02 * this.size, this.distance * factor));
  }

  pan(dx, dy, height) {
    const { right, up } = this.axes();
    const scale = (2 * this.distance * Math.tan(this.fov / 2)) / height;
    for (let i = 0; i < 3; i++) this.target[i] += scale * (-dx * right[i] + dy * up[i]);
  }

  axes() {
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth);
    const ce = Math.cos(this.elevation), se = Math.sin(this.elevation);
    return { back: [ce * ca, ce * sa, se], right: [-sa, ca, 0], up: [-se * ca, -se * sa, ce] };
  }

  eye() {
    const { back } = this.axes();
    return this.target.map((x, i) => x + this.distance * back[i]);
  }

  // Narrow pictures see as much across as wide ones do up.
  focus(aspect) {
    return Math.min(1, 0.85 * aspect) / Math.tan(this.fov / 2);
  }

  // World to clip coordinates for a picture of that width over height.
  matrix(aspect) {
    const { back, right, up } = this.axes();
    const eye = this.eye();
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const rows = [right, up, back].map((a) => [...a, -dot(a, eye)]);
    const f = this.focus(aspect);
    const near = 0.01 * this.distance, far = this.distance + 60 * this.size;
    const a = (far + near) / (near - far), b = (2 * far * near) / (near - far);
    const out = new Float32Array(16);
    for (let j = 0; j < 4; j++) {
      out[4 * j] = (f / aspect) * rows[0][j];
      out[4 * j + 1] = f * rows[1][j];
      out[4 * j + 2] = a * rows[2][j] + (j === 3 ? b : 0);
      out[4 * j + 3] = -rows[2][j];
    }
    return out;
  }
}
