// A number in each format (chapter 06).
touch.pieces.float = (piece, call) => {
  const input = touch.make("input", { type: "text", inputMode: "decimal", value: "0.1", size: 14 });
  const says = touch.make("p", { role: "status" });
  const { table, body } = touch.table("The number in each format", ["format", "stored", "relative error", "sign, exponent, mantissa", "largest"]);
  const sums = touch.table("Sums", ["format", "sum"]);
  const examples = ["0.1", "1", "0.001", "70000", "500", "1e-8", "3.14159265"];
  const term = touch.choice("Add", [["1", "1"], ["0.1", "0.1"], ["0.001", "0.001"], ["0.0001", "0.0001"]], () => add());
  const count = touch.slider("times", { min: 1, max: 6, value: 6, show: (v) => `10${"⁰¹²³⁴⁵⁶"[v]}` }, () => add());

  const bits = ({ sign, exponent, mantissa }) => {
    const part = (name, digits) => touch.make("span", { className: `touch-${name}` }, digits);
    return touch.make("code", { className: "touch-bits" }, part("sign", sign), " ", part("exponent", exponent), " ", part("mantissa", mantissa));
  };
  const show = () => {
    // 65,504 is a whole number, 0,1 a decimal one.
    const typed = input.value.trim().replace("−", "-").replace(/,(?=\d{3}(?!\d))/g, "").replace(",", ".");
    const x = Number(typed.replace(/^([+-]?)inf$/i, "$1Infinity"));
    const bad = input.value.trim() === "" || Number.isNaN(x);
    input.setAttribute("aria-invalid", bad);
    says.textContent = bad ? "Type a number, for example 0.1 or 1e-8." : "";
    if (bad) return touch.fill(body, []);
    touch.fill(body, call("float", x).map((row) => [
      row.format, row.value, row.error === null ? "–" : row.error === 0 ? "exact" : row.error.toExponential(1), bits(row),
      row.largest < 1e6 ? row.largest.toLocaleString("en") : row.largest.toPrecision(3),
    ]));
  };
  const add = () => {
    const [value, n] = [Number(term.get()), 10 ** count.get()];
    touch.fill(sums.body, call("sum", value, n).map((sum, i) => [["fp32", "tf32", "bf16", "fp16", "fp8 e4m3", "fp8 e5m2"][i], sum]));
  };
  input.addEventListener("input", show);
  const buttons = examples.map((text) => touch.button(text, () => { input.value = text; show(); }));
  piece.append(
    touch.make("label", { className: "touch-control" }, "A number ", input), touch.make("div", { className: "touch-row" }, ...buttons), says, table,
    touch.make("div", { className: "touch-row" }, term.row, count.row), sums.table,
  );
  show();
  add();
};
