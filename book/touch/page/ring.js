// A ring all-reduce, step by step (chapter 08).
touch.pieces.ring = (piece, call) => {
  const ranks = touch.slider("Ranks", { min: 2, max: 8, value: 4 }, () => { at = 0; show(); });
  const says = touch.make("p", { role: "status" });
  const board = touch.make("div", { className: "touch-chart", tabIndex: 0, role: "region", "aria-label": "Chunks" });
  const back = touch.button("◀ back", () => { at = Math.max(0, at - 1); show(); });
  const next = touch.button("step ▶", () => { at += 1; show(); });
  let at = 0;
  const show = () => {
    const steps = call("ring", ranks.get());
    const p = ranks.get();
    at = Math.min(at, steps.length - 1);
    const { summed, sent } = steps[at];
    const cells = (rank) => summed[rank].map((n, chunk) => {
      const received = sent.length > 0 && sent[(rank + p - 1) % p] === chunk;
      const cell = touch.make("td", { className: `${n === p ? "touch-done" : ""} ${received ? "touch-received" : ""}` }, `${n}`);
      if (received) cell.append(touch.make("span", { className: "touch-from" }, ` from ${(rank + p - 1) % p}`));
      return cell;
    });
    const head = touch.make("tr", {}, touch.make("th", { scope: "col" }, "rank"), ...summed.map((_, c) => touch.make("th", { scope: "col" }, `chunk ${c}`)));
    const rows = summed.map((_, rank) => touch.make("tr", {}, touch.make("th", { scope: "row" }, `${rank}`), ...cells(rank)));
    board.replaceChildren(touch.make("table", {}, touch.make("thead", {}, head), touch.make("tbody", {}, ...rows)));
    touch.off(back, at === 0);
    touch.off(next, at + 1 === steps.length);
    const half = at === 0 ? "Before the first step" : at < p ? `Reduce-scatter, step ${at} of ${p - 1}` : `All-gather, step ${at - p + 1} of ${p - 1}`;
    says.textContent = `${half}. Each rank has sent ${at} of ${2 * (p - 1)} messages, ${(at / p).toFixed(2)} times the list.`;
  };
  piece.append(touch.make("div", { className: "touch-row" }, ranks.row, touch.make("span", { className: "touch-control" }, back, next)), board, says,
    touch.make("p", { className: "touch-note" }, "A cell counts the ranks already summed into this chunk. Outlined: received in this step. Bold: complete."));
  show();
};
