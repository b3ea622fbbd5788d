// The accesses of kernels, step by step (chapter 11). `touch.accesses` has what the emulated grid recorded.
touch.pieces.accesses = (piece) => {
  const [width, height, left, top] = [24, 14, 40, 18];
  let { steps } = touch.accesses[0];
  const kernel = touch.choice("Kernel", touch.accesses.map(({ name }, i) => [i, name]), () => {
    ({ steps } = touch.accesses[kernel.get()]);
    at.row.querySelector("input").max = steps.length - 1;
    at.set(0);
  });
  const at = touch.slider("Step", { min: 0, max: steps.length - 1, value: 0, show: (i) => `${i + 1} of ${steps.length}` }, () => show());
  const back = touch.button("◀ back", () => at.set(at.get() - 1));
  const next = touch.button("step ▶", () => at.set(at.get() + 1));
  const chart = touch.make("div", { className: "touch-chart", tabIndex: 0, role: "region", "aria-label": "Memory" });
  const says = touch.make("p", { role: "status" });

  // A row has 32 words of 4 bytes: a column is a bank of shared memory, and 8 words are a sector.
  const place = (word) => ({ x: left + (word % 32) * width, y: top + Math.floor(word / 32) * height });
  const box = (word, words, rows, name) =>
    touch.make("rect", { ...place(word), width: words * width, height: rows * height, class: name });
  const text = ({ x, y }, name, label) => touch.make("text", { x, y: y + 11, class: name }, label);
  const picture = ({ size, words, writes }) => {
    const rows = Math.ceil(size / 32);
    const paper = { width: left + 32 * width + 2, height: top + rows * height + 2 };
    const svg = touch.make("svg", { ...paper, viewBox: `0 0 ${paper.width} ${paper.height}`, "aria-hidden": "true" });
    for (let word = 0; word < size; word += 1) svg.append(box(word, 1, 1, "touch-word"));
    for (let row = 0; row < rows; row += 1) svg.append(text({ ...place(32 * row), x: 0 }, "touch-axis", 32 * row));
    for (const [thread, word] of words) {
      const { x, y } = place(word);
      svg.append(box(word, 1, 1, writes ? "touch-b" : "touch-a"), text({ x: x + width / 2, y }, "touch-label", thread));
    }
    return svg;
  };
  const mark = (svg, { memory, size, words, cost, race }) => {
    const [used, isShared] = [words.map(([, word]) => word), memory === "shared memory"];
    svg.append(text({ x: 0, y: 1 }, "touch-axis", isShared ? "bank" : "word"));
    if (isShared) {
      for (let bank = 0; bank < 32; bank += 1) svg.append(text({ x: place(bank).x + 4, y: 1 }, "touch-axis", bank));
      const inConflict = used.filter((word) => used.some((other) => other !== word && other % 32 === word % 32));
      const banks = new Set(cost.passes > cost.requests ? inConflict.map((word) => word % 32) : []);
      for (const bank of banks) svg.append(box(bank, 1, Math.ceil(size / 32), "touch-outline"));
    } else {
      for (const word of new Set(used.map((word) => word - (word % 8)))) svg.append(box(word, Math.min(8, size - word), 1, "touch-outline"));
    }
    if (race) svg.append(box(race.word, 1, 1, "touch-outline"), text(place(race.word + 1), "touch-axis", "◀ race"));
  };

  const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;
  const sentences = ({ memory, words, writes, barriers, cost, race }, before) => {
    const of = new Map();
    for (const [thread, word] of words) of.set(thread, [...(of.get(thread) ?? []), word]);
    const each = [...of].map(([thread, own]) => `thread ${thread} ${own.length === 1 ? "word" : "words"} ${own.join(" and ")}`);
    if (each.length > 3) each.splice(2, each.length - 3, "…");
    const verb = (writes ? "write" : "read") + (of.size === 1 ? "s" : "");
    const { requests, sectors, fewest, passes } = cost;
    const costs = sectors
      ? `${count(sectors, "sector")}${sectors > fewest ? `; ${fewest} would do` : ""}`
      : `${count(passes, "pass", "passes")}${passes > requests ? ": a bank conflict" : ""}`;
    return (barriers > before ? `All threads have reached barrier ${barriers}. ` : "")
      + `${count(of.size, "thread")} ${verb} ${memory}: ${each.join(", ")}. ${count(requests, "request")}, ${costs}.`
      + (race ? ` Thread ${race.writer} has written word ${race.word}, and no barrier separates the two: a race. The grid stops.` : "");
  };
  const show = () => {
    const i = at.get();
    const svg = picture(steps[i]);
    mark(svg, steps[i]);
    chart.replaceChildren(svg);
    says.textContent = sentences(steps[i], steps[Math.max(0, i - 1)].barriers);
    touch.off(back, i === 0);
    touch.off(next, i + 1 === steps.length);
  };
  piece.append(touch.make("div", { className: "touch-row" }, kernel.row, at.row, touch.make("span", { className: "touch-control" }, back, next)), says, chart,
    touch.make("p", { className: "touch-note" }, "Recorded on the emulated grid; a transpose shows one warp. A row is 32 words of 4 bytes, and the number in a coloured box is the thread that accesses the word. Outlines mark sectors of global memory that are touched, banks of shared memory with a conflict, or a race."));
  show();
};
