// Presses buttons and moves sliders of the PointNet in chapter 02. Returns what it says after each change.
(async () => {
  let piece = null;
  while ((piece = document.querySelector('[data-touch="pointnet"][data-ready] .touch')) === null) {
    await new Promise((next) => setTimeout(next, 20));
  }
  const said = [];
  const note = () => {
    const percents = [...piece.querySelectorAll("tbody td:last-child")].map((cell) => cell.textContent);
    said.push([piece.querySelector('[role="status"]').textContent, ...percents]);
  };
  const set = (label, tag, value, event) => {
    const labels = [...piece.querySelectorAll("label")];
    const element = labels.find((one) => one.textContent.startsWith(label)).querySelector(tag);
    element.value = value;
    element.dispatchEvent(new Event(event));
    note();
  };
  note();
  [...piece.querySelectorAll("button")].find((button) => button.textContent === "shuffle").click();
  note();
  set("Input", "select", "1", "change");
  set("Input", "select", "", "change");
  set("Noise", "input", "1", "input");
  // An arrow key turns the tree, not the page, which would end this script.
  for (const key of ["ArrowRight", "ArrowLeft", "ArrowDown"]) {
    piece.querySelector("canvas").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  }
  await new Promise((next) => setTimeout(next, 500));
  note();
  return said;
})();
