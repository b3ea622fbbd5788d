// The shaders of points and of the grid's lines.
"use strict";
const shaders = {
  // a_point: position on the cloud's grid and intensity, each from 0 to 1.
  points: [`
    attribute vec4 a_point;
    uniform mat4 u_camera; uniform vec3 u_at; uniform float u_span; uniform float u_grain; uniform float u_least;
    uniform float u_mode; uniform vec2 u_range; uniform vec3 u_kind; uniform vec3 u_map[9]; uniform vec2 u_cut;
    uniform vec2 u_depth;
    varying vec4 v_color;
    vec3 ramp(float t) {
      float at = clamp(t, 0.0, 1.0) * 8.0;
      vec3 c = u_map[0];
      for (int i = 0; i < 8; i++) c = mix(c, u_map[i + 1], clamp(at - float(i), 0.0, 1.0));
      return c;
    }
    void main() {
      vec3 p = a_point.xyz * u_span + u_at;
      gl_Position = u_camera * vec4(p, 1.0);
      gl_PointSize = clamp(u_grain / gl_Position.w, u_least, 64.0);
      float value = u_mode < 0.5 ? p.z : a_point.w * 65535.0;
      float t = clamp((value - u_range.x) / max(u_range.y - u_range.x, 1e-6), 0.0, 1.0);
      vec3 c = u_mode > 1.5 ? u_kind : ramp(mix(u_cut.x, u_cut.y, t));
      v_color = vec4(c, clamp((gl_Position.w - u_depth.x) / (u_depth.y - u_depth.x), 0.0, 1.0));
    }`, `
    precision mediump float;
    varying vec4 v_color;
    uniform vec3 u_paper;
    void main() {
      vec2 d = gl_PointCoord - 0.5;
      if (dot(d, d) > 0.25) discard;
      // Far points fade into the page.
      gl_FragColor = vec4(mix(v_color.rgb, u_paper, 0.55 * v_color.a), 1.0);
    }`],
  lines: [`
    attribute vec3 a_line;
    uniform mat4 u_camera;
    void main() { gl_Position = u_camera * vec4(a_line, 1.0); }`, `
    precision mediump float;
    uniform vec3 u_color;
    void main() { gl_FragColor = vec4(u_color, 1.0); }`],
};
