// A walk down a valley (chapters 01 and 07).
touch.pieces.valley = (piece, call) => {
  const draw = () => show();
  const optimizer = touch.choice("Optimizer", [["sgd", "SGD"], ["momentum", "SGD with momentum"], ["adam", "Adam"]], draw);
  const schedule = touch.choice("Schedule", [["constant", "constant"], ["cosine", "cosine with warm-up"], ["one-cycle", "one cycle"], ["range", "range test"]], draw);
  const rate = touch.slider("Learning rate", { min: -3, max: 0.3, step: 0.02, value: -1.1, show: (v) => (10 ** v).toPrecision(3) }, draw);
  const momentum = touch.slider("Momentum", { min: 0, max: 0.98, step: 0.02, value: 0.9, show: (v) => v.toFixed(2) }, draw);
  const steps = touch.slider("Steps", { min: 5, max: 200, step: 5, value: 60 }, draw);
  const map = touch.make("svg", { viewBox: "-5 -2.4 10 4.8", class: "touch-map", "aria-hidden": "true" });
  const curve = touch.make("svg", { viewBox: "0 0 300 144", class: "touch-map", "aria-hidden": "true" });
  const says = touch.make("p", { role: "status" });

  const rings = [0.02, 0.5, 2, 6, 12, 20, 30].map((loss) => {
    const [x, y] = [Math.sqrt(2 * loss), Math.sqrt(2 * loss / 20)];
    return touch.make("path", { d: `M${-x} 0A${x} ${y} 0 1 0 ${x} 0A${x} ${y} 0 1 0 ${-x} 0`, class: "touch-ring" });
  });
  const line = (points, name) => touch.make("path", { d: `M${points.map((p) => p.map((v) => v.toFixed(3)).join(" ")).join("L")}`, class: name });
  const show = () => {
    momentum.row.querySelector("input").disabled = optimizer.get() === "sgd";
    const { points, losses, rates, diverged } = call("valley", optimizer.get(), schedule.get(), 10 ** rate.get(), momentum.get(), steps.get());
    const inside = points.map(([x, y]) => [Math.max(-9, Math.min(9, x)), Math.max(-9, Math.min(9, -y))]);
    map.replaceChildren(...rings, line(inside, "touch-walk"), ...inside.map(([cx, cy]) => touch.make("circle", { cx, cy, r: 0.06, class: "touch-point" })));
    const logs = losses.map((loss) => Math.log10(Math.max(loss ?? 1e4, 1e-8)));
    const at = (i, n) => 6 + (288 * i) / Math.max(1, n - 1);
    const top = Math.max(...rates);
    curve.replaceChildren(
      touch.make("text", { x: 6, y: 140, class: "touch-axis" }, "loss (solid), learning rate (dashed)"),
      touch.make("text", { x: 294, y: 140, "text-anchor": "end", class: "touch-axis" }, "step →"),
      line(rates.map((r, i) => [at(i, losses.length), 138 - 128 * (r / top)]), "touch-rate"),
      line(logs.map((l, i) => [at(i, losses.length), 10 + (4 - l) * (128 / 12)]), "touch-walk"),
    );
    const last = losses.at(-1);
    says.textContent = diverged
      ? `Diverged at step ${losses.length - 1}, at a learning rate of ${rates.at(-1).toPrecision(3)}.`
      : `After ${losses.length - 1} steps the loss is ${last.toPrecision(3)}; it began at ${losses[0].toPrecision(3)}.`;
  };
  piece.append(touch.make("div", { className: "touch-row" }, optimizer.row, schedule.row, rate.row, momentum.row, steps.row),
    touch.make("div", { className: "touch-row" }, map, curve), says,
    touch.make("p", { className: "touch-note" }, "The loss (x² + 20 y²)/2 of two parameters x and y: first, lines of equal loss and the parameters after each step; then, by step, the loss (from 10⁻⁸ to 10⁴, logarithmic) and the learning rate (dashed, as a share of its peak). The range test uses each rate for one step only, and diverges later than a constant rate."));
  show();
};
