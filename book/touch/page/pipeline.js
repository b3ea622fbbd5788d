// Stages, micro-batches and schedules (chapter 10).
touch.pieces.pipeline = (piece, call) => {
  const draw = () => show();
  const stages = touch.slider("Stages", { min: 1, max: 8, value: 4 }, draw);
  const batches = touch.slider("Micro-batches", { min: 1, max: 16, value: 8 }, draw);
  const schedule = touch.choice("Schedule", [["", "GPipe"], ["1", "1F1B"]], draw);
  const chart = touch.make("div", { className: "touch-chart", tabIndex: 0, role: "region", "aria-label": "Timeline" });
  const says = touch.make("p", { role: "status" });
  const show = () => {
    const { spans, bubble, held } = call("pipeline", stages.get(), batches.get(), schedule.get() === "1");
    const end = Math.max(...spans.map((span) => span.end));
    const [unit, height] = [Math.max(9, 760 / end), 26];
    const svg = touch.make("svg", { viewBox: `0 0 ${end * unit} ${held.length * height}`, width: end * unit, "aria-hidden": "true" });
    for (const { stage, micro_batch, backward, start, end: to } of spans) {
      const box = { x: start * unit + 0.5, y: stage * height + 1, width: (to - start) * unit - 1, height: height - 3 };
      svg.append(touch.make("rect", { ...box, class: backward ? "touch-b" : "touch-a" }));
      if (unit * (to - start) > 13) {
        svg.append(touch.make("text", { x: box.x + box.width / 2, y: box.y + 16, class: "touch-label" }, String(micro_batch)));
      }
    }
    chart.replaceChildren(svg);
    says.textContent = `The step takes ${end} units of time. The bubble is ${(100 * bubble).toFixed(0)} % of the computing time. `
      + `The stages store the activations of ${held.join(", ")} micro-batches.`;
  };
  piece.append(touch.make("div", { className: "touch-row" }, stages.row, batches.row, schedule.row), chart, says,
    touch.make("p", { className: "touch-note" }, "A row is a stage. Narrow boxes are forward passes (1 unit), wide boxes backward passes (2 units)."));
  show();
};
