// The page: plays the scene on its canvas and answers buttons, sliders, mouse, touch and keys.

class Player {
  constructor(data) {
    this.find = (id) => document.getElementById(id);
    this.scene = new Scene(data);
    this.painter = new Painter(this.scene);
    this.camera = new Camera(data.low, data.high);
    this.canvas = this.find("stage");
    this.renderer = this.makeRenderer();
    this.time = 0; // after the start
    this.speed = 1;
    this.scale = data.scale;
    this.playing = false;
    this.path = null; // of the trail, at this.scale
    this.controls();
    this.pointers();
    this.plots();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.draw();
    if (this.scene.duration > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
  }

  makeRenderer() {
    if (location.hash !== "#canvas2d") {
      try {
        return new WebGLRenderer(this.canvas);
      } catch (error) {
        // a canvas that was asked for WebGL gives nothing else
        const fresh = this.canvas.cloneNode();
        this.canvas.replaceWith(fresh);
        this.canvas = fresh;
      }
    }
    return new CanvasRenderer(this.canvas);
  }

  play() {
    if (this.playing || !(this.scene.duration > 0)) return;
    this.playing = true;
    this.last = null;
    this.find("play").textContent = "Pause";
    requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.find("play").textContent = "Play";
  }

  tick(now) {
    if (!this.playing) return;
    if (this.last !== null) {
      this.time += (this.speed * Math.min(now - this.last, 200)) / 1000;
      if (this.time > this.scene.duration) this.time = 0;
    }
    this.last = now;
    this.draw();
    requestAnimationFrame((next) => this.tick(next));
  }

  // Draw at a time after the start (now, unless given).
  draw(time = this.time) {
    this.time = Math.min(this.scene.duration, Math.max(0, time));
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const look = getComputedStyle(this.canvas);
    const theme = { background: rgb(look.backgroundColor), ink: rgb(look.color) };
    const wanted = this.find("trail").checked;
    if (wanted && this.path === null) this.path = this.scene.trail(this.scale);
    const trail = wanted ? this.path : null;
    this.renderer.draw(this.camera, this.painter.paint({ time: this.time, scale: this.scale, trail, theme }));
    this.find("time").value = this.time;
    const absolute = this.time + this.scene.data.start;
    this.find("clock").textContent = `${absolute.toFixed(this.scene.duration < 1 ? 4 : 2)} s`;
    for (const { line, left, right, start, end } of this.cursors) {
      const x = (absolute - start) / (end - start);
      line.style.left = `${100 * (left + (right - left) * x)}%`;
      line.hidden = !(x >= 0 && x <= 1);
    }
  }

  setScale(scale) {
    this.scale = scale;
    this.path = null;
    this.find("scale").value = scale;
    this.find("scaled").textContent = `× ${+scale.toFixed(2)}`;
    this.draw();
  }

  controls() {
    const { find } = this;
    const time = find("time");
    time.max = this.scene.duration;
    time.step = this.scene.duration / 1000 || 1;
    time.addEventListener("input", () => { this.pause(); this.draw(+time.value); });
    find("play").addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    find("speed").addEventListener("change", (e) => { this.speed = +e.target.value; });
    find("scale").max = Math.max(20, 2 * this.scale);
    find("scale").addEventListener("input", (e) => this.setScale(+e.target.value));
    find("trail").addEventListener("change", () => this.draw());
    for (const [id, azimuth, elevation] of [["corner"], ["front", -Math.PI / 2, 0], ["side", 0, 0], ["top", -Math.PI / 2, 1.57]])
      find(id).addEventListener("click", () => { this.camera.reset(azimuth, elevation); this.draw(); });
    find("squares").textContent = `squares of ${this.painter.square} m`;
    this.setScaleText();
    this.canvas.addEventListener("keydown", (e) => {
      const step = this.scene.duration / 100;
      if (e.key === " ") this.playing ? this.pause() : this.play();
      else if (e.key === "ArrowRight") this.draw(this.time + step);
      else if (e.key === "ArrowLeft") this.draw(this.time - step);
      else return;
      e.preventDefault();
    });
  }

  setScaleText() {
    this.find("scale").value = this.scale;
    this.find("scaled").textContent = `× ${+this.scale.toFixed(2)}`;
  }

  // One finger or button turns; two fingers, the right button or Shift move; wheel and pinch zoom.
  pointers() {
    const canvas = this.canvas, down = new Map();
    const spread = () => {
      const [a, b] = [...down.values()];
      return { size: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
    };
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      down.set(e.pointerId, { x: e.clientX, y: e.clientY });
    });
    canvas.addEventListener("pointermove", (e) => {
      const was = down.get(e.pointerId);
      if (!was) return;
      const before = down.size === 2 ? spread() : null;
      const dx = e.clientX - was.x, dy = e.clientY - was.y;
      down.set(e.pointerId, { x: e.clientX, y: e.clientY });
      if (before) {
        const after = spread();
        this.camera.zoom(before.size / Math.max(after.size, 1));
        this.camera.pan(after.x - before.x, after.y - before.y, canvas.clientHeight);
      } else if (e.shiftKey || e.buttons === 2) this.camera.pan(dx, dy, canvas.clientHeight);
      else this.camera.orbit(dx, dy);
      this.draw();
    });
    for (const end of ["pointerup", "pointercancel"])
      canvas.addEventListener(end, (e) => down.delete(e.pointerId));
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.camera.zoom(Math.exp(0.0015 * e.deltaY));
      this.draw();
    }, { passive: false });
  }

  // A line at the time shown on every plot; a click on a plot goes to that time.
  plots() {
    this.cursors = [];
    for (const plot of document.querySelectorAll(".plot")) {
      const [left, right, top, bottom, start, end] = plot.dataset.span.split(" ").map(Number);
      const line = document.createElement("div");
      line.className = "cursor";
      line.style.top = `${100 * top}%`;
      line.style.bottom = `${100 * (1 - bottom)}%`;
      plot.append(line);
      this.cursors.push({ line, left, right, start, end });
      plot.addEventListener("click", (e) => {
        const box = plot.getBoundingClientRect();
        const x = ((e.clientX - box.left) / box.width - left) / (right - left);
        if (x < 0 || x > 1) return;
        this.pause();
        this.draw(start + x * (end - start) - this.scene.data.start);
      });
    }
  }
}

const player = new Player(JSON.parse(document.getElementById("scene").textContent));

// For scripts and tests.
window.limberReport = {
  player,
  renderer: player.renderer.kind,
  get time() { return player.time; },
  get playing() { return player.playing; },
  draw: (t) => { player.pause(); player.draw(t); },
  play: () => player.play(),
  pause: () => player.pause(),
  // points of a body, [[x, y, z], ...], at a time after the start
  points(body, t, scale = 1) {
    const flat = player.scene.at(t, scale)[body].points, out = [];
    for (let i = 0; i < flat.length; i += 3) out.push(Array.from(flat.subarray(i, i + 3)));
    return out;
  },
  // the ends of the ribs of a body, [[[x, y, z], [x, y, z]], ...]
  ribs: (body, t, scale = 1) => player.scene.at(t, scale)[body].ribs,
  closures: (t, scale = 1) => player.scene.closures(player.scene.frames(t, scale), t),
};
