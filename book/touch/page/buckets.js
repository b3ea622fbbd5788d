// Gradient buckets: when they are ready, and when they are sent (chapter 08).
touch.pieces.buckets = (piece, call) => {
  const draw = () => show();
  const size = touch.slider("Bucket", { min: 1, max: 7, value: 3, show: (v) => (v === 7 ? "all" : `${2 ** v} MiB`) }, draw);
  const ranks = touch.slider("Ranks", { min: 1, max: 7, value: 6, show: (v) => String(2 ** v) }, draw);
  const link = touch.choice("Link", [["12.5", "Ethernet, 100 Gb/s"], ["1.25", "Ethernet, 10 Gb/s"], ["50", "InfiniBand NDR"], ["450", "NVLink"]], draw);
  const overlap = touch.choice("Send", [["1", "during the backward pass"], ["", "after the backward pass"]], draw);
  const { chart, run, draw: timeline } = touch.timeline("Timeline of backward pass and all-reduces");
  const says = touch.make("p", { role: "status" });
  const show = () => {
    const { spans, backward, end } = call("gradients", 2 ** size.get(), 2 ** ranks.get(), Number(link.get()), overlap.get() === "1");
    timeline(["backward", "all-reduce"], spans.map(({ row, bucket, start, end: to }) =>
      ({ row, start, end: to, text: bucket, color: row === 0 ? "touch-b" : "touch-a" })), end);
    const n = spans.length / 2;
    says.textContent = `${n} all-reduce${n === 1 ? "" : "s"}. The gradients are averaged after ${end.toFixed(1)} ms, `
      + `${(end - backward).toFixed(1)} ms after the backward pass.`;
  };
  piece.append(touch.make("div", { className: "touch-row" }, size.row, ranks.row, link.row, overlap.row, run), chart, says,
    touch.make("p", { className: "touch-note" }, "48 gradients of 2 MiB, a backward pass of 40 ms, and a ring whose messages take 20 µs and their bytes’ time on the link. Bucket 0 has the last layer’s gradients, which are ready first."));
  show();
};
