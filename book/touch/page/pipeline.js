// Stages, micro-batches and schedules (chapter 10).
touch.pieces.pipeline = (piece, call) => {
  const draw = () => show();
  const stages = touch.slider("Stages", { min: 1, max: 8, value: 4 }, draw);
  const batches = touch.slider("Micro-batches", { min: 1, max: 40, value: 8 }, draw);
  const schedule = touch.choice("Schedule", [["", "GPipe"], ["1", "1F1B"]], draw);
  const { chart, run, draw: timeline } = touch.timeline("Timeline of the stages");
  const says = touch.make("p", { role: "status" });
  const show = () => {
    const { spans, bubble, held } = call("pipeline", stages.get(), batches.get(), schedule.get() === "1");
    const end = Math.max(...spans.map((span) => span.end));
    const boxes = spans.map(({ stage, micro_batch, backward, start, end: to }) =>
      ({ row: stage, start, end: to, text: micro_batch, color: backward ? "touch-b" : "touch-a" }));
    timeline(held.map((_, stage) => `stage ${stage}`), boxes, end, Math.max(640, 9 * end));
    says.textContent = `The step takes ${end} units of time. The bubble is ${(100 * bubble).toFixed(1)} % of the computing time. `
      + `Micro-batches whose activations the stages store: ${held.join(", ")}.`;
  };
  piece.append(touch.make("div", { className: "touch-row" }, stages.row, batches.row, schedule.row, run), chart, says,
    touch.make("p", { className: "touch-note" }, "Narrow boxes are forward passes (1 unit), wide boxes backward passes (2 units)."));
  show();
};
