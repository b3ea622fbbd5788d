// Does the model fit into a GPU? (chapter 09 and the planner)
touch.pieces.fits = (piece, call) => {
  const sizes = [1e8, 3e8, 1e9, 3e9, 7e9, 13e9, 30e9, 70e9, 175e9, 1e12];
  const name = (n) => (n >= 1e12 ? `${n / 1e12} trillion` : n >= 1e9 ? `${n / 1e9} billion` : `${n / 1e6} million`);
  const draw = () => show();
  const size = touch.slider("Parameters", { min: 0, max: sizes.length - 1, value: 4, show: (i) => name(sizes[i]) }, draw);
  const ranks = touch.slider("GPUs", { min: 0, max: 11, value: 6, show: (i) => String(2 ** i) }, draw);
  const mixed = touch.choice("Precision", [["1", "bf16, fp32 master weight"], ["", "fp32"]], draw);
  const moments = touch.choice("Optimizer", [["2", "Adam"], ["1", "SGD with momentum"], ["0", "SGD"]], draw);
  const memory = touch.choice("Memory of a GPU", [["80", "80 GB (H100)"], ["141", "141 GB (H200)"], ["40", "40 GB (A100)"], ["24", "24 GB"]], draw);
  const { table, body } = touch.table("Memory by stage", ["stage", "fits", "memory", "weights", "gradients", "optimizer", "sum", "sent per step"]);
  const says = touch.make("p", { role: "status" });
  // As in the figure above: the colors of the three.
  const kinds = { weights: "touch-a", gradients: "touch-c", optimizer: "touch-b" };

  const bar = (row, limit, scale) => {
    const svg = touch.make("svg", { viewBox: "0 0 200 16", class: "touch-bar", "aria-hidden": "true" });
    let x = 0;
    for (const [kind, color] of Object.entries(kinds)) {
      const width = Math.min(200 - x, (row[kind] / scale) * 200);
      svg.append(touch.make("rect", { x, y: 2, width, height: 12, class: color }));
      x += width;
    }
    svg.append(touch.make("line", { x1: (limit / scale) * 200, x2: (limit / scale) * 200, y1: 0, y2: 16, class: "touch-limit" }));
    return svg;
  };
  const show = () => {
    const limit = Number(memory.get()) * 1e9;
    const rows = call("fits", sizes[size.get()], mixed.get() === "1", Number(moments.get()), 2 ** ranks.get());
    let first = null;
    touch.fill(body, rows.map((row) => {
      const each = Object.keys(kinds).map((kind) => row[kind]);
      const total = each.reduce((sum, bytes) => sum + bytes, 0);
      if (total <= limit) first ??= row.stage;
      return [row.stage, total <= limit ? "yes" : "no", bar(row, limit, 1.5 * limit), ...[...each, total, row.sent].map(touch.bytes)];
    }));
    says.textContent = first === null ? "The model fits at no stage." : `The first that fits: ${first}.`;
  };
  piece.append(touch.make("div", { className: "touch-row" }, size.row, ranks.row, mixed.row, moments.row, memory.row), table, says,
    touch.make("p", { className: "touch-note" }, "Bars, from the left: weights, gradients, optimizer state; the line is the memory of the GPU, and a bar ends at 1.5 times this memory. Weights include master weights; activations and buffers are extra. A GB is 10⁹ bytes; ", touch.make("code", {}, "canopy plan"), " prints GiB of 2³⁰."));
  show();
};
