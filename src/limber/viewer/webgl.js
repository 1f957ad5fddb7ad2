// Tubes, balls, lines and surfaces by WebGL 2: tubes and balls are one mesh of each kind, drawn once for every instance.

const SHADED_VERTEX = `#version 300 es
uniform mat4 camera;
in vec3 shape, normal;       // of the mesh: x, y across, z along a tube from 0 to 1, or a unit ball
in vec3 from, to, colour;    // of the instance; a ball has from = to
in float radius;
out vec3 turned, tint;
void main() {
  vec3 along = to - from;
  float size = length(along);
  vec3 place;
  if (size > 0.0) {
    vec3 w = along / size;
    vec3 u = normalize(abs(w.z) < 0.9 ? cross(w, vec3(0, 0, 1)) : cross(w, vec3(1, 0, 0)));
    vec3 v = cross(w, u);
    place = from + along * shape.z + radius * (u * shape.x + v * shape.y);
    turned = u * normal.x + v * normal.y + w * normal.z;
  } else {
    place = from + radius * shape;
    turned = normal;
  }
  tint = colour;
  gl_Position = camera * vec4(place, 1);
}`;

const SHADED_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec3 light;
in vec3 turned, tint;
out vec4 pixel;
void main() {
  float facing = dot(normalize(turned), light);
  float lit = 0.62 + 0.38 * facing + 0.12 * pow(max(facing, 0.0), 24.0);
  pixel = vec4(tint * lit + 0.10 * pow(max(facing, 0.0), 24.0), 1);
}`;

const LINE_VERTEX = `#version 300 es
uniform mat4 camera;
in vec3 place;
in vec4 colour;
out vec4 tint;
void main() { tint = colour; gl_Position = camera * vec4(place, 1); }`;

const LINE_FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint;
out vec4 pixel;
void main() { pixel = tint; }`;

// Every triangle of a surface is lit by its own normal, on both sides.
const SURFACE_VERTEX = `#version 300 es
uniform mat4 camera;
in vec3 place;
out vec3 world;
void main() { world = place; gl_Position = camera * vec4(place, 1); }`;

const SURFACE_FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 light, colour;
in vec3 world;
out vec4 pixel;
void main() {
  float facing = abs(dot(normalize(cross(dFdx(world), dFdy(world))), light));
  pixel = vec4(colour * (0.5 + 0.5 * facing) + 0.08 * pow(facing, 24.0), 1);
}`;

const INSTANCE = 10; // numbers of one: from, to, colour, radius

class WebGLRenderer {
  constructor(canvas) {
    this.kind = "webgl2";
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    this.shaded = this.program(SHADED_VERTEX, SHADED_FRAGMENT);
    this.plain = this.program(LINE_VERTEX, LINE_FRAGMENT);
    this.surface = this.program(SURFACE_VERTEX, SURFACE_FRAGMENT);
    this.corners = gl.createBuffer();
    this.triangles = gl.createBuffer();
    this.instances = gl.createBuffer();
    this.lines = gl.createBuffer();
    this.tube = this.mesh(tubeMesh(14));
    this.ball = this.mesh(ballMesh(12, 18));
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    return made;
  }

  // A vertex array of a mesh (position and normal by vertex) with the instance buffer beside it.
  mesh(vertices) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(vertices), gl.STATIC_DRAW);
    this.attribute(this.shaded, "shape", 3, 6, 0, 0);
    this.attribute(this.shaded, "normal", 3, 6, 3, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    this.attribute(this.shaded, "from", 3, INSTANCE, 0, 1);
    this.attribute(this.shaded, "to", 3, INSTANCE, 3, 1);
    this.attribute(this.shaded, "colour", 3, INSTANCE, 6, 1);
    this.attribute(this.shaded, "radius", 1, INSTANCE, 9, 1);
    gl.bindVertexArray(null);
    return { array, count: vertices.length / 6 };
  }

  attribute(program, name, size, stride, offset, divisor) {
    const gl = this.gl, at = gl.getAttribLocation(program, name);
    if (at < 0) return;
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, gl.FLOAT, false, 4 * stride, 4 * offset);
    gl.vertexAttribDivisor(at, divisor);
  }

  // picture: {background, lines: [[a, b, colour, alpha]], creases: ..., tubes: [[a, b, colour, radius]], balls,
  // bends: ..., surfaces: [{points, triangles, colour}]}
  draw(camera, picture) {
    const gl = this.gl, { width, height } = this.canvas;
    const matrix = camera.matrix(width / height);
    gl.viewport(0, 0, width, height);
    gl.clearColor(...picture.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);

    gl.useProgram(this.plain);
    gl.uniformMatrix4fv(gl.getUniformLocation(this.plain, "camera"), false, matrix);
    const flat = [];
    for (const [a, b, colour, alpha] of [...picture.lines, ...picture.creases])
      flat.push(...a, ...colour, alpha, ...b, ...colour, alpha);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.lines);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(flat), gl.DYNAMIC_DRAW);
    this.attribute(this.plain, "place", 3, 7, 0, 0);
    this.attribute(this.plain, "colour", 4, 7, 3, 0);
    gl.drawArrays(gl.LINES, 0, flat.length / 7);

    const { back, right, up } = camera.axes();
    const light = [0, 1, 2].map((i) => 0.75 * back[i] - 0.3 * right[i] + 0.6 * up[i]);
    const size = Math.hypot(...light);
    gl.useProgram(this.shaded);
    gl.uniformMatrix4fv(gl.getUniformLocation(this.shaded, "camera"), false, matrix);
    gl.uniform3fv(gl.getUniformLocation(this.shaded, "light"), light.map((x) => x / size));
    this.many(this.tube, picture.tubes);
    this.many(this.ball, [...picture.balls, ...picture.bends]);
    this.surfaces(matrix, light.map((x) => x / size), picture.surfaces);
  }

  surfaces(matrix, light, surfaces) {
    const gl = this.gl, program = this.surface;
    gl.useProgram(program);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, "camera"), false, matrix);
    gl.uniform3fv(gl.getUniformLocation(program, "light"), light);
    gl.enable(gl.POLYGON_OFFSET_FILL); // creases stay in front
    gl.polygonOffset(1, 1);
    for (const { points, triangles, colour } of surfaces) {
      gl.uniform3fv(gl.getUniformLocation(program, "colour"), colour);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.corners);
      gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.DYNAMIC_DRAW);
      this.attribute(program, "place", 3, 3, 0, 0);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.triangles);
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.DYNAMIC_DRAW);
      gl.drawElements(gl.TRIANGLES, triangles.length, gl.UNSIGNED_INT, 0);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  many(mesh, things) {
    const gl = this.gl, values = new Float32Array(INSTANCE * things.length);
    things.forEach(([a, b, colour, radius], i) => {
      values.set(a, INSTANCE * i);
      values.set(b, INSTANCE * i + 3);
      values.set(colour, INSTANCE * i + 6);
      values[INSTANCE * i + 9] = radius;
    });
    gl.bindVertexArray(mesh.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLES, 0, mesh.count, things.length);
    gl.bindVertexArray(null);
  }
}

// A tube along z from 0 to 1 of radius 1, closed at both ends.
function tubeMesh(sides) {
  const out = [];
  const add = (...corners) => corners.forEach(([p, n]) => out.push(...p, ...n));
  for (let i = 0; i < sides; i++) {
    const [a, b] = [i, i + 1].map((k) => (2 * Math.PI * k) / sides);
    const A = [Math.cos(a), Math.sin(a), 0], B = [Math.cos(b), Math.sin(b), 0];
    const up = (p) => [p[0], p[1], 1];
    add([A, A], [B, B], [up(B), B], [A, A], [up(B), B], [up(A), A]);
    add([[0, 0, 0], [0, 0, -1]], [B, [0, 0, -1]], [A, [0, 0, -1]]);
    add([[0, 0, 1], [0, 0, 1]], [up(A), [0, 0, 1]], [up(B), [0, 0, 1]]);
  }
  return out;
}

function ballMesh(rings, sides) {
  const out = [];
  const at = (i, j) => {
    const a = (Math.PI * i) / rings, b = (2 * Math.PI * j) / sides;
    return [Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a)];
  };
  for (let i = 0; i < rings; i++)
    for (let j = 0; j < sides; j++)
      for (const p of [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j), at(i + 1, j + 1), at(i, j + 1)])
        out.push(...p, ...p);
  return out;
}
