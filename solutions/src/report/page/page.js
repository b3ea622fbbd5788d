// Rotates the trees and copies the command; the page is complete without it.
"use strict";
(() => {
  const root = document.documentElement;
  addEventListener("error", (e) => { root.dataset.error = e.message; });

  const copy = document.getElementById("copy");
  if (copy) {
    const command = document.getElementById("command");
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(command);
        copy.textContent = "Selected";
      }
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
  }

  // Base64 of little-endian u16 → points with the centre of their bounding box at the origin, in steps.
  const decode = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const steps = Array.from({ length: bytes.length / 2 }, (_, i) => view.getUint16(2 * i, true));
    const top = [0, 1, 2].map((a) => steps.reduce((m, s, i) => (i % 3 === a ? Math.max(m, s) : m), 1));
    const out = new Float32Array(steps.length);
    let reach = 0;
    for (let i = 0; i < steps.length; i += 3) {
      out[i] = steps[i] - top[0] / 2;
      out[i + 1] = steps[i + 1] - top[1] / 2;
      out[i + 2] = steps[i + 2] - top[2] / 2;
      reach = Math.max(reach, Math.hypot(out[i], out[i + 1]));
    }
    return { xyz: out, reach: Math.max(reach, 1), height: top[2] };
  };

  class Tree {
    constructor(place) {
      this.cloud = decode(place.dataset.xyz);
      const n = this.cloud.xyz.length / 3;
      const layers = 6;
      const layerOf = (k) => Math.floor((this.cloud.xyz[3 * k + 2] / this.cloud.height + 0.5) * layers);
      this.layers = Array.from({ length: layers }, () => []);
      for (let k = 0; k < n; k++) this.layers[Math.max(0, Math.min(layers - 1, layerOf(k)))].push(3 * k);
      this.yaw = 0;
      this.visible = false;
      this.held = false;
      this.canvas = document.createElement("canvas");
      this.canvas.setAttribute("aria-hidden", "true");
      this.pen = this.canvas.getContext("2d");
      place.append(this.canvas);
      place.classList.add("live");
      let at = null;
      this.canvas.addEventListener("pointerdown", (e) => { at = e.clientX; this.held = true; this.canvas.setPointerCapture(e.pointerId); });
      this.canvas.addEventListener("pointermove", (e) => { if (at !== null) { this.yaw += (e.clientX - at) / 60; at = e.clientX; this.draw(); } });
      for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => { at = null; this.held = false; });
    }

    draw() {
      const { canvas, pen } = this;
      const ratio = Math.min(devicePixelRatio || 1, 2);
      const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
      if (!w || !h) return;
      if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
      pen.clearRect(0, 0, w, h);
      const { xyz, reach, height } = this.cloud;
      const tilt = 0.12;
      const scale = Math.min((w - 8 * ratio) / (2 * reach), (h - 8 * ratio) / (height + 2 * reach * tilt));
      const [c, s] = [Math.cos(this.yaw), Math.sin(this.yaw)];
      const style = getComputedStyle(canvas);
      this.layers.forEach((layer, l) => {
        pen.fillStyle = style.getPropertyValue("--v" + l);
        const size = 1.8 * ratio;
        for (const i of layer) {
          const x = xyz[i] * c - xyz[i + 1] * s;
          const y = xyz[i] * s + xyz[i + 1] * c;
          pen.fillRect(w / 2 + x * scale - size / 2, h / 2 - (xyz[i + 2] + y * tilt) * scale - size / 2, size, size);
        }
      });
    }
  }

  const places = [...document.querySelectorAll(".cloud")];
  const trees = places.filter((p) => p.dataset.xyz).map((p) => new Tree(p));
  const seen = new IntersectionObserver((entries) => {
    for (const e of entries) {
      const tree = trees.find((t) => t.canvas === e.target);
      tree.visible = e.isIntersecting;
      if (tree.visible) tree.draw();
    }
  }, { rootMargin: "100px" });
  trees.forEach((t) => seen.observe(t.canvas));
  addEventListener("resize", () => trees.forEach((t) => t.visible && t.draw()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => trees.forEach((t) => t.visible && t.draw()));

  let turning = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  const buttons = [...document.querySelectorAll("button.turn")];
  const say = () => buttons.forEach((b) => { b.hidden = false; b.textContent = turning ? "Stop rotation" : "Rotate"; });
  buttons.forEach((b) => b.addEventListener("click", () => { turning = !turning; say(); if (turning) requestAnimationFrame(frame); }));
  say();

  let last = 0;
  const frame = (now) => {
    // Thirty frames per second are enough for a slow rotation.
    if (now - last > 30) {
      const step = Math.min(now - last, 100) / 1000 * 0.5;
      last = now;
      for (const t of trees) if (t.visible && !t.held) { t.yaw += step; t.draw(); }
    }
    if (turning) requestAnimationFrame(frame);
  };
  if (turning && trees.length) requestAnimationFrame(frame);
  trees.forEach((t) => t.draw());
  root.dataset.ready = "yes";
})();
