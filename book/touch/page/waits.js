// Who waits: workers, copy and step (chapters 03 and 05).
touch.pieces.waits = (piece, call) => {
  const draw = () => show();
  const ms = (v) => `${v} ms`;
  const workers = touch.slider("Workers", { min: 1, max: 8, value: 2 }, draw);
  const ahead = touch.slider("Batches ahead", { min: 1, max: 16, value: 4 }, draw);
  const decode = touch.slider("Decode a batch", { min: 1, max: 80, value: 30, show: ms }, draw);
  const copy = touch.slider("Copy", { min: 0, max: 20, value: 3, show: ms }, draw);
  const step = touch.slider("Step", { min: 1, max: 40, value: 10, show: ms }, draw);
  const overlap = touch.choice("Copy runs", [["1", "during the step"], ["", "after the step"]], draw);
  const { chart, run, draw: timeline } = touch.timeline("Timeline of workers, copy and step");
  const says = touch.make("p", { role: "status" });
  const show = () => {
    const n = workers.get();
    const { spans, busy, pace } = call("waits", n, ahead.get(), decode.get(), copy.get(), step.get(), overlap.get() === "1", 48);
    const until = spans.filter((span) => span.row === n + 1)[15].end;
    const names = [...Array(n).keys()].map((i) => `worker ${i + 1}`).concat("copy", "step");
    const boxes = spans.filter(({ start }) => start < until).map(({ row, batch, start, end }) =>
      ({ row, start, end: Math.min(end, until), text: batch, color: ["touch-b", "touch-c", "touch-a"][Math.max(0, row - n + 1)] }));
    timeline(names, boxes, until);
    says.textContent = `A batch every ${pace.toFixed(1)} ms; the step runs ${(100 * busy).toFixed(0)} % of the time. `
      + (pace > step.get() + 0.05 ? "The step waits." : "The step never waits: more workers would not help.");
  };
  piece.append(touch.make("div", { className: "touch-row" }, workers.row, ahead.row, decode.row, copy.row, step.row, overlap.row, run), chart, says,
    touch.make("p", { className: "touch-note" }, "The first 16 of 48 batches. A worker starts a batch while fewer than “batches ahead” are in work or wait for the copy."));
  show();
};
