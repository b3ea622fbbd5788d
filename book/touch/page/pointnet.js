// A trained PointNet on changed trees (chapter 02).
touch.pieces.pointnet = (piece, call) => {
  let [tree, order, last] = [0, 0, null];
  const degrees = (v) => `${v}°`;
  const turn = touch.slider("Turn", { min: 0, max: 355, step: 5, value: 0, show: degrees }, () => show(`Turned by ${turn.get()}° about the trunk`));
  const tilt = touch.slider("Tilt", { min: 0, max: 90, step: 5, value: 0, show: degrees }, () => show(`Tilted by ${tilt.get()}°`));
  const noise = touch.slider("Noise", { min: 0, max: 2, step: 0.05, value: 0, show: (v) => `${v.toFixed(2)} m` }, () => show(`Noise of ${noise.get().toFixed(2)} m`));
  const keep = touch.slider("Points", { min: 16, max: 512, step: 16, value: 512 }, () => show(`${keep.get()} of 512 points kept`));
  const only = touch.choice("Input", [["", "all points"], ["1", "only the critical points"]], () =>
    show(only.get() ? "Only the critical points left" : "All points again"));
  const shuffle = touch.button("shuffle", () => { order += 1; show("Points shuffled"); });
  const next = touch.button("next tree", () => { tree = (tree + 1) % last.trees; last = null; show(`Tree ${tree + 1}`); });
  const canvas = touch.make("canvas", { className: "touch-cloud", tabIndex: 0, role: "img", "aria-label": "The tree from the side. Arrow keys turn and tilt it." });
  const { table, body } = touch.table("Probabilities", ["species", "probability", "percent"]);
  const says = touch.make("p", { role: "status" });
  const percent = (p) => `${(100 * p).toFixed(1)}\u00a0%`;

  const draw = () => {
    const style = getComputedStyle(canvas);
    const size = Math.round(canvas.clientWidth * devicePixelRatio);
    [canvas.width, canvas.height] = [size, size];
    const pen = canvas.getContext("2d");
    const critical = new Set(last.critical);
    // The view is along the x axis, about which a tree tilts. Far points are drawn first.
    const order = last.points.map((_, i) => i).sort((a, b) => last.points[a][0] - last.points[b][0]);
    for (const i of order) {
      const [near, x, z] = last.points[i];
      const side = (size / 320) * (1 + 0.5 * near) * (critical.has(i) ? 5 : 2.5);
      pen.fillStyle = critical.has(i) ? style.getPropertyValue("--touch-b") : style.color;
      pen.fillRect((size * (1 + 0.95 * x) - side) / 2, (size * (1 - 0.95 * z) - side) / 2, side, side);
    }
  };
  const bar = (p) => {
    const svg = touch.make("svg", { viewBox: "0 0 100 10", class: "touch-bar", "aria-hidden": "true" });
    svg.append(touch.make("rect", { width: 100 * p, height: 10, class: "touch-a" }));
    return svg;
  };
  const change = (before, after, species) => {
    const moved = after.map((p, i) => Math.abs(p - before[i]));
    const most = moved.indexOf(Math.max(...moved));
    if (moved[most] === 0) return ": all probabilities stay bit-identical";
    return `: ${species[most]} changes most, from ${percent(before[most])} to ${percent(after[most])}`;
  };
  const show = (what) => {
    const before = last;
    last = call("pointnet", tree, turn.get(), tilt.get(), noise.get(), keep.get(), order, only.get() === "1");
    const { species, label, probabilities, critical } = last;
    const best = probabilities.indexOf(Math.max(...probabilities));
    touch.fill(body, species.map((name, i) => [i === label ? `${name} ✓` : name, bar(probabilities[i]), percent(probabilities[i])]));
    says.textContent = `${what}${before ? change(before.probabilities, probabilities, species) : ""}. `
      + `The network predicts ${species[best]}${best === label ? ", which is right" : `, but the tree's species is ${species[label]}`}. `
      + `${critical.length} points are critical.`;
    draw();
  };

  const rotate = (turned, tilted) => {
    if (turned !== 0) turn.set((turn.get() + turned + 360) % 360);
    if (tilted !== 0) tilt.set(tilt.get() + tilted);
  };
  const keys = { ArrowLeft: [-5, 0], ArrowRight: [5, 0], ArrowUp: [0, -5], ArrowDown: [0, 5] };
  canvas.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    rotate(...keys[event.key]);
  });
  let from = 0;
  canvas.addEventListener("pointerdown", (event) => { from = event.clientX; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    const steps = Math.trunc((event.clientX - from) / 5);
    if (!canvas.hasPointerCapture(event.pointerId) || steps === 0) return;
    from += 5 * steps;
    rotate(5 * steps, 0);
  });
  new ResizeObserver(draw).observe(canvas);
  // The colors of another theme.
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["class"] });

  piece.append(touch.make("div", { className: "touch-row" }, next, shuffle, only.row, keep.row, noise.row, turn.row, tilt.row),
    touch.make("div", { className: "touch-row" }, canvas, table), says,
    touch.make("p", { className: "touch-note" }, "A vanilla PointNet with a quarter of the channels, trained on the built-in forest; trees of its test set. Drag the tree to turn it; on it, arrow keys turn and tilt. Large squares are critical points, ✓ is the tree's species."));
  show("Tree 1");
};
