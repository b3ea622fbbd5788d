// What the pieces share: elements, controls with labels, and the start. `wasm_bindgen` and `WASM` are above in the built file.
const touch = { pieces: {} };

/** Creates an element; a property that has a dash, or is `role`, becomes an attribute. */
touch.make = (tag, properties = {}, ...children) => {
  const svg = ["svg", "g", "rect", "path", "text", "line", "circle", "title"].includes(tag);
  const element = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (svg || name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
};

/** A slider with its label and its value as text. */
touch.slider = (label, { min, max, step = 1, value, show = String }, changed) => {
  const output = touch.make("output", {}, show(value));
  const input = touch.make("input", { type: "range", min, max, step, value });
  input.addEventListener("input", () => {
    output.textContent = show(Number(input.value));
    input.setAttribute("aria-valuetext", output.textContent);
    changed();
  });
  input.setAttribute("aria-valuetext", output.textContent);
  const row = touch.make("label", { className: "touch-control" }, `${label} `, input, output);
  return { row, get: () => Number(input.value), set: (v) => { input.value = v; input.dispatchEvent(new Event("input")); } };
};

/** A list to choose from. `options` are pairs of value and text. */
touch.choice = (label, options, changed) => {
  const items = options.map(([value, text]) => touch.make("option", { value }, text));
  const select = touch.make("select", {}, ...items);
  select.addEventListener("change", changed);
  const row = touch.make("label", { className: "touch-control" }, `${label} `, select);
  return { row, get: () => select.value };
};

/** A button. */
touch.button = (text, pressed) => {
  const button = touch.make("button", { type: "button" }, text);
  button.addEventListener("click", pressed);
  return button;
};

/** Shows a button as off. It keeps the focus, which a disabled one loses. */
touch.off = (button, isOff) => button.setAttribute("aria-disabled", isOff);

/** Named rows of boxes over time, and a button that lets the time run. */
touch.timeline = (label) => {
  const chart = touch.make("div", { className: "touch-chart", tabIndex: 0, role: "region", "aria-label": label });
  const appear = [{ clipPath: "inset(0 100% 0 0)" }, { clipPath: "inset(0)" }];
  const run = touch.button("▶ run", () => chart.querySelector(".touch-time").animate(appear, 5000));
  const draw = (names, boxes, end, width = 640) => {
    const [left, height, unit] = [80, 24, width / end];
    const svg = touch.make("svg", { viewBox: `0 0 ${left + width} ${names.length * height}`, width: left + width, "aria-hidden": "true" });
    names.forEach((name, row) => svg.append(touch.make("text", { x: 0, y: row * height + 16, class: "touch-axis" }, name)));
    const time = touch.make("g", { class: "touch-time" });
    for (const { row, start, end: to, color, text } of boxes) {
      const box = { x: left + start * unit, y: row * height + 1, width: Math.max(0.5, (to - start) * unit - 0.5), height: height - 3 };
      time.append(touch.make("rect", { ...box, class: color }));
      if (box.width > 14) time.append(touch.make("text", { x: box.x + box.width / 2, y: box.y + 15, class: "touch-label" }, `${text}`));
    }
    svg.append(time);
    chart.replaceChildren(svg);
  };
  return { chart, run, draw };
};

/** Replaces the content of `table`'s body. A cell is a text or an element; the first of a row is its heading. */
touch.fill = (body, rows) => {
  body.replaceChildren(...rows.map(([head, ...cells]) =>
    touch.make("tr", {}, touch.make("th", { scope: "row" }, head), ...cells.map((cell) => touch.make("td", {}, cell)))));
};

/** A table with a heading row; returns the table, named `label`, and its body. */
touch.table = (label, heads) => {
  const body = touch.make("tbody");
  const cells = heads.map((head) => touch.make("th", { scope: "col" }, head));
  const table = touch.make("table", {}, touch.make("thead", {}, touch.make("tr", {}, ...cells)), body);
  return { table: touch.make("div", { className: "table-wrapper", tabIndex: 0, role: "region", "aria-label": label }, table), body };
};

/** Bytes with a decimal unit. */
touch.bytes = (count) => {
  if (count === 0) return "0 B";
  const units = ["B", "kB", "MB", "GB", "TB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(count, 1)) / 3));
  return `${(count / 10 ** (3 * unit)).toPrecision(3)} ${units[unit]}`;
};

/** Starts each piece of the page in the place of its still picture. */
touch.start = () => {
  wasm_bindgen.initSync({ module: Uint8Array.from(atob(WASM), (c) => c.charCodeAt(0)) });
  for (const place of document.querySelectorAll("[data-touch]")) {
    const piece = touch.make("div", { className: "touch", role: "group", "aria-label": place.dataset.label });
    touch.pieces[place.dataset.touch](piece, (name, ...values) => JSON.parse(wasm_bindgen[name](...values)));
    place.replaceChildren(piece);
    place.dataset.ready = "yes";
  }
};
