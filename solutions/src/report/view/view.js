// The 3D view: one vertex buffer per cloud, drawn with twgl; the camera orbits a target, z up.
"use strict";
(() => {
  const root = document.documentElement;
  addEventListener("error", (e) => { root.dataset.error = e.message; });
  const $ = (id) => document.getElementById(id);
  const make = (tag, text, className) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  };
  const [colorBy, clouds] = JSON.parse($("clouds").textContent);
  const canvas = $("view");
  const gl = canvas.getContext("webgl2", { antialias: true }) || canvas.getContext("webgl", { antialias: true });

  // ---- What the page says, with or without a 3D view -------------------------------------------------------------

  const count = (n) => n.toLocaleString("en");
  const metres = (v) => (v >= 10 ? v.toFixed(1) : v.toFixed(2));
  const kinds = [...new Set(clouds.map((c) => c.species).filter((s) => s !== null))];
  const anyIntensity = clouds.some((c) => c.intensity);
  const state = {
    color: colorBy === "intensity" && !anyIntensity ? "height" : colorBy,
    all: clouds.length > 1 && clouds.length <= 8,
    one: 0,
    size: 50,
    turning: !matchMedia("(prefers-reduced-motion: reduce)").matches,
  };
  let arrange = () => {};
  const shown = () => (state.all ? clouds : [clouds[state.one]]);

  function describe() {
    const about = $("about");
    about.replaceChildren();
    const list = shown();
    about.append(make("h2", list.length === 1 ? list[0].title : `${count(list.length)} clouds`));
    const points = list.reduce((n, c) => n + c.shown, 0);
    const of = list.reduce((n, c) => n + c.of, 0);
    if (list.length === 1) {
      const c = list[0];
      if (c.species !== null) about.append(make("p", c.species));
      about.append(make("p", `${metres(c.size[2])} m tall, ${metres(c.size[0])} × ${metres(c.size[1])} m wide`));
    }
    about.append(make("p", `${count(points)} points` + (points < of ? ` of ${count(of)}` : "")));
  }

  function fillList() {
    const list = $("list");
    clouds.forEach((c, i) => {
      const label = make("label");
      const input = make("input");
      Object.assign(input, { type: "radio", name: "cloud", value: i, checked: !state.all && i === 0 });
      input.addEventListener("change", () => { state.one = i; state.all = false; $("all").checked = false; arrange(); });
      const text = make("span", c.title);
      text.append(make("small", [c.species, `${count(c.of)} points`].filter((t) => t !== null).join(" · ")));
      label.append(input, text);
      list.append(label);
    });
    $("choice").hidden = clouds.length < 2;
    $("all").checked = state.all;
    $("all").addEventListener("change", (e) => {
      state.all = e.target.checked;
      document.querySelectorAll("[name=cloud]").forEach((input, i) => { input.checked = !state.all && i === state.one; });
      arrange();
    });
  }

  document.querySelectorAll("[name=color]").forEach((input) => {
    const possible = { height: true, intensity: anyIntensity, species: kinds.length > 0 }[input.value];
    input.disabled = !possible;
    input.parentElement.classList.toggle("off", !possible);
    input.checked = input.value === state.color;
    input.addEventListener("change", () => { state.color = input.value; legend(); paint(); });
  });
  fillList();

  if (!gl) {
    $("message").textContent = "This browser has no WebGL, which the 3D view needs. These are static pictures.";
    arrange = describe;
    describe();
    root.dataset.ready = "still";
    return;
  }
  document.body.classList.add("live");

  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  const { viridis, css, ramp, theme, kindColor } = colors(kinds, () => darkQuery.matches);

  // ---- Programs and buffers --------------------------------------------------------------------------------------

  const points = twgl.createProgramInfo(gl, shaders.points);
  const lines = twgl.createProgramInfo(gl, shaders.lines);
  clouds.forEach((c, i) => {
    // A cloud's bytes are decoded when it is first shown.
    Object.defineProperty(c, "buffer", { configurable: true, get() {
      const holder = $("cloud" + i);
      const text = atob(holder.textContent);
      holder.remove();
      const bytes = new Uint8Array(text.length);
      for (let k = 0; k < bytes.length; k++) bytes[k] = text.charCodeAt(k);
      const buffer = twgl.createBufferInfoFromArrays(gl, {
        a_point: { numComponents: 4, data: new Uint16Array(bytes.buffer), type: gl.UNSIGNED_SHORT, normalize: true },
      });
      Object.defineProperty(c, "buffer", { value: buffer });
      return buffer;
    } });
  });

  // ---- Where the clouds stand, grid and scale ----------------------------------------------------------------------

  const nice = (about) => {
    const power = 10 ** Math.floor(Math.log10(about));
    return ([1, 2, 5].find((m) => m * power >= about * 0.999) || 10) * power;
  };
  const scene = { places: [], low: [0, 0, 0], high: [1, 1, 1], lines: null, labels: [], step: 1, ground: [0, 0, 1, 1] };

  function place() {
    const list = shown();
    const across = list.length <= 8 ? list.length : Math.ceil(Math.sqrt(2 * list.length));
    const wide = Math.max(...list.map((c) => Math.max(c.size[0], 0.01)));
    const deep = Math.max(...list.map((c) => Math.max(c.size[1], 0.01)));
    const tall = Math.max(...list.map((c) => c.size[2]));
    scene.places = [];
    let x = 0;
    list.forEach((c, i) => {
      if (i % across === 0) x = 0;
      const row = Math.floor(i / across);
      const cell = list.length <= 8 ? Math.max(c.size[0], 0.35 * wide) : wide;
      scene.places.push({ cloud: c, at: [x + (cell - c.size[0]) / 2, row * deep * 1.3 + (deep - c.size[1]) / 2, 0] });
      x += cell + 0.18 * wide;
    });
    scene.low = [Math.min(...scene.places.map((p) => p.at[0])), 0, 0];
    scene.high = [0, 1].map((a) => Math.max(...scene.places.map((p) => p.at[a] + p.cloud.size[a]))).concat(tall);
    scene.low[1] = Math.min(...scene.places.map((p) => p.at[1]));
    const reach = Math.max(tall, scene.high[0] - scene.low[0], scene.high[1] - scene.low[1], 1e-3);
    ground(reach);
  }

  function ground(reach) {
    const step = nice(reach / 10);
    const [x0, y0] = [0, 1].map((a) => Math.floor(scene.low[a] / step - 0.2));
    const [x1, y1] = [0, 1].map((a) => Math.ceil(scene.high[a] / step + 0.2));
    const at = [];
    for (let x = x0; x <= x1; x++) at.push(x * step, y0 * step, 0, x * step, y1 * step, 0);
    for (let y = y0; y <= y1; y++) at.push(x0 * step, y * step, 0, x1 * step, y * step, 0);
    // A pole with a tick a step, at the left front corner.
    const rise = nice(Math.max(scene.high[2], 1e-3) / 6);
    const [px, py] = [x0 * step - reach * 0.02, y0 * step];
    const top = scene.high[2];
    at.push(px, py, 0, px, py, top);
    scene.labels = [];
    for (let i = 0; i * rise <= top * (1 + 1e-6); i++) {
      at.push(px, py, i * rise, px + reach * 0.01, py, i * rise);
      scene.labels.push({ at: [px, py, i * rise], text: `${+(i * rise).toPrecision(6)} m`, side: "scale" });
    }
    if (scene.places.length > 1) {
      for (const p of scene.places) {
        const s = p.cloud.size;
        scene.labels.push({ at: [p.at[0] + s[0] / 2, p.at[1] + s[1] / 2, s[2]], text: p.cloud.title, side: "name" });
      }
    }
    $("labels").replaceChildren(...scene.labels.map((l) => (l.element = make("span", l.text, l.side))));
    if (scene.lines) gl.deleteBuffer(scene.lines.attribs.a_line.buffer);
    scene.lines = twgl.createBufferInfoFromArrays(gl, { a_line: { numComponents: 3, data: at } });
    scene.step = step;
    // What the camera has to hold: the clouds, the grid and the pole.
    scene.ground = [px, y0 * step, x1 * step, y1 * step];
  }

  function legend() {
    const box = $("legend");
    box.replaceChildren();
    if (state.color === "species") {
      const here = shown().map((c) => c.species);
      const row = make("div", undefined, "kinds");
      for (const kind of [...kinds.filter((k) => here.includes(k)), ...(here.includes(null) ? [null] : [])]) {
        const item = make("span");
        const dot = make("i");
        dot.style.background = css(kindColor(kind));
        item.append(dot, kind === null ? "species unknown" : kind);
        row.append(item);
      }
      box.append(row);
    } else {
      const [a, b] = theme().cut;
      const bar = make("div", undefined, "ramp");
      bar.style.background = `linear-gradient(to right,${Array.from({ length: 9 }, (_, i) => css(ramp(a + (b - a) * i / 8))).join(",")})`;
      const ends = make("div", undefined, "ends");
      const height = state.color === "height";
      ends.append(make("span", height ? "0 m" : "weak"), make("span", height ? `${metres(scene.high[2])} m` : "strong"));
      box.append(make("div", height ? "Height above the lowest point" : "Strength of the echo"), bar, ends);
    }
    box.append(make("div", `Grid: ${+scene.step.toPrecision(6)} m`));
  }

  // ---- Camera ------------------------------------------------------------------------------------------------------

  const FIELD = 0.6;
  const camera = { yaw: -0.5, pitch: 0.16, distance: 10, target: [0, 0, 0] };
  function reset() {
    const [px, py, qx, qy] = scene.ground;
    const half = [(qx - px) / 2, (qy - py) / 2, scene.high[2] / 2];
    // A single cloud rotates about its own centre.
    camera.target = scene.places.length > 1 ? [px + half[0], py + half[1], half[2]]
      : [0, 1, 2].map((a) => (scene.low[a] + scene.high[a]) / 2);
    camera.yaw = scene.places.length > 1 ? -0.12 : -0.5;
    camera.pitch = scene.places.length > 8 ? 0.5 : 0.16;
    const ratio = (canvas.clientWidth || 1) / (canvas.clientHeight || 1);
    // Far enough for the whole rotation, with space for the legend.
    const reach = scene.places.length > 1 ? half[0] + half[1] * 0.2 : Math.hypot(half[0], half[1]);
    camera.distance = Math.max(half[2] * 1.25, reach * 1.06 / ratio, 1e-3) / Math.tan(FIELD / 2) + (scene.places.length > 1 ? half[1] : reach);
    paint();
  }
  let swing = 0;
  function matrices() {
    const { m4 } = twgl;
    const c = Math.cos(camera.pitch);
    const eye = [Math.sin(camera.yaw) * c, -Math.cos(camera.yaw) * c, Math.sin(camera.pitch)].map((v, a) => camera.target[a] + v * camera.distance);
    const reach = Math.hypot(...[0, 1, 2].map((a) => scene.high[a] - scene.low[a]));
    const near = Math.max(camera.distance - 2 * reach, camera.distance / 500);
    const look = m4.lookAt(eye, camera.target, [0, 0, 1]);
    const lens = m4.perspective(FIELD, canvas.clientWidth / Math.max(canvas.clientHeight, 1), near, camera.distance + 2 * reach);
    return { view: m4.multiply(lens, m4.inverse(look)), look, reach };
  }

  // ---- Painting ----------------------------------------------------------------------------------------------------

  let waiting = false;
  function paint() {
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  }
  const pointCount = () => scene.places.reduce((n, p) => n + p.cloud.shown, 0);
  // Points drawn while the view moves: fewer where the machine is slow. Any first part of a cloud is an even
  // sample of it, and once the view rests all are drawn.
  let budget = Infinity;
  let last = 0;
  function advance(now) {
    const took = last ? now - last : 0;
    last = now;
    const moving = state.turning || held.size > 0;
    if (moving && took > 60 && took < 5000) budget = Math.max(3e4, Math.min(budget, pointCount()) * Math.max(0.1, 40 / took));
    else if (moving && took < 25) budget *= 1.05;
    const step = Math.min(took, 100) / 1000;
    if (!state.turning || held.size) return moving;
    if (scene.places.length > 1) {
      // Several clouds sway instead of circling, so that none hides the others.
      const before = Math.sin(swing);
      swing += step * 0.5;
      camera.yaw += 0.35 * (Math.sin(swing) - before);
    } else camera.yaw += step * 0.35;
    return moving;
  }

  function draw(now) {
    waiting = false;
    const moving = advance(now);
    twgl.resizeCanvasToDisplaySize(canvas, Math.min(devicePixelRatio || 1, 2));
    gl.viewport(0, 0, canvas.width, canvas.height);
    const t = theme();
    gl.clearColor(...t.paper, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    const { view, reach } = matrices();
    gl.useProgram(lines.program);
    twgl.setBuffersAndAttributes(gl, lines, scene.lines);
    twgl.setUniforms(lines, { u_camera: view, u_color: t.line });
    twgl.drawBufferInfo(gl, scene.lines, gl.LINES);
    drawPoints(view, reach, t, moving ? Math.min(1, budget / pointCount()) : 1);
    label(view);
    root.dataset.ready = "yes";
    if (state.turning) paint();
  }

  function drawPoints(view, reach, t, share) {
    gl.useProgram(points.program);
    // A grain as wide as points lie apart when spread over the crown's outline, times the reader's choice.
    const outline = (size) => Math.max(size[2], 0.01) * Math.max(size[0], size[1], 0.01);
    const area = scene.places.reduce((sum, p) => sum + outline(p.cloud.size), 0);
    const grain = Math.sqrt(area / Math.max(pointCount() * share, 1)) * 0.9 * 2 ** ((state.size - 50) / 16);
    for (const { cloud, at } of scene.places) {
      const mode = state.color === "intensity" && cloud.intensity ? 1 : state.color === "species" ? 2 : 0;
      twgl.setBuffersAndAttributes(gl, points, cloud.buffer);
      twgl.setUniforms(points, {
        u_camera: view, u_at: at, u_span: cloud.span,
        u_grain: grain * canvas.height / (2 * Math.tan(FIELD / 2)), u_least: 1.2 * canvas.width / canvas.clientWidth,
        u_mode: mode, u_range: mode === 1 ? cloud.intensity : [0, scene.high[2]], u_kind: kindColor(cloud.species),
        u_map: viridis.flat(), u_cut: t.cut, u_paper: t.paper,
        u_depth: [camera.distance - reach / 4, camera.distance + reach / 2],
      });
      twgl.drawBufferInfo(gl, cloud.buffer, gl.POINTS, Math.ceil(cloud.shown * share));
    }
  }

  function label(view) {
    for (const l of scene.labels) {
      const [x, y, z] = l.at;
      const w = view[3] * x + view[7] * y + view[11] * z + view[15];
      const sx = ((view[0] * x + view[4] * y + view[8] * z + view[12]) / w + 1) / 2 * canvas.clientWidth;
      const sy = (1 - (view[1] * x + view[5] * y + view[9] * z + view[13]) / w) / 2 * canvas.clientHeight;
      l.element.style.visibility = w > 0 ? "visible" : "hidden";
      const shift = l.side === "name" ? "translate(-50%,-130%)" : "translate(calc(-100% - 6px),-50%)";
      l.element.style.transform = `translate(${sx.toFixed(1)}px,${sy.toFixed(1)}px) ${shift}`;
    }
  }

  // ---- Hands -------------------------------------------------------------------------------------------------------

  const held = new Map();
  const turn = (dx, dy) => {
    camera.yaw -= dx;
    camera.pitch = Math.max(-1.5, Math.min(1.5, camera.pitch + dy));
    paint();
  };
  const zoom = (factor) => { camera.distance = Math.max(1e-3, Math.min(1e6, camera.distance * factor)); paint(); };
  // By shares of the view's height.
  const move = (dx, dy) => {
    const { look } = matrices();
    const size = 2 * Math.tan(FIELD / 2) * camera.distance;
    for (let a = 0; a < 3; a++) camera.target[a] += (look[a] * -dx + look[4 + a] * dy) * size;
    paint();
  };
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    held.set(e.pointerId, { x: e.clientX, y: e.clientY, moves: e.button === 2 || e.shiftKey });
  });
  canvas.addEventListener("pointermove", (e) => {
    const was = held.get(e.pointerId);
    if (!was) return;
    const [dx, dy] = [e.clientX - was.x, e.clientY - was.y];
    const other = [...held].find(([id]) => id !== e.pointerId)?.[1];
    if (other) {
      const apart = (p) => Math.max(Math.hypot(p.x - other.x, p.y - other.y), 1);
      zoom(apart(was) / apart({ x: e.clientX, y: e.clientY }));
      move(dx / 2 / canvas.clientHeight, dy / 2 / canvas.clientHeight);
    } else if (was.moves) move(dx / canvas.clientHeight, dy / canvas.clientHeight);
    else turn(dx * 0.008, dy * 0.006);
    Object.assign(was, { x: e.clientX, y: e.clientY });
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => { held.delete(e.pointerId); paint(); });
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 500)))); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (arrows && e.shiftKey) move(arrows[0] * 0.05, arrows[1] * 0.05);
    else if (arrows) turn(arrows[0] * 0.1, arrows[1] * 0.08);
    else if (e.key === "+" || e.key === "=") zoom(0.9);
    else if (e.key === "-") zoom(1 / 0.9);
    else if (e.key === " ") toggle();
    else if (e.key === "Home") reset();
    else return;
    e.preventDefault();
  });
  const say = () => { $("turn").textContent = state.turning ? "Stop rotation" : "Rotate"; };
  function toggle() { state.turning = !state.turning; say(); paint(); }
  $("turn").addEventListener("click", toggle);
  $("reset").addEventListener("click", reset);
  $("size").addEventListener("input", (e) => { state.size = +e.target.value; paint(); });
  // At once, before the browser shows the old picture stretched.
  new ResizeObserver(() => draw(performance.now())).observe(canvas);
  darkQuery.addEventListener("change", () => { legend(); paint(); });
  canvas.addEventListener("webglcontextlost", () => {
    document.body.classList.remove("live");
    $("message").textContent = "The GPU context was lost; reload the page. These are static pictures.";
  });

  arrange = () => { place(); legend(); describe(); reset(); };
  say();
  arrange();
})();
