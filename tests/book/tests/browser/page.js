// Runs in each page, after axe-core if there is one. Returns how many pieces and quizzes the page has, and what is wrong.
(async () => {
  const wrong = [];
  const pieces = [...document.querySelectorAll("[data-touch], .quiz")];
  const started = () => pieces.filter((piece) => piece.dataset.ready === "yes").length;
  const late = Date.now() + 20000;
  while (started() < pieces.length && Date.now() < late) await new Promise((next) => setTimeout(next, 20));
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) wrong.push(`the page is ${scrollWidth} pixels wide in a window of ${clientWidth}`);
  if (started() < pieces.length) wrong.push(`of ${pieces.length} pieces and quizzes, ${started()} started`);

  for (const theme of typeof axe === "undefined" ? [] : ["light", "navy"]) {
    document.getElementById(`mdbook-theme-${theme}`).click();
    if (!document.documentElement.classList.contains(theme)) throw new Error(`the menu has no theme ${theme}`);
    // What changes slowly changes at once. Each round may start further transitions.
    for (let round = 0; round < 9; round += 1) {
      for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
    }
    const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    // With `preload`, axe-core would request style sheets.
    const found = await axe.run({ runOnly: rules, resultTypes: ["violations"], preload: false });
    for (const rule of found.violations) {
      for (const node of rule.nodes) {
        const advice = node.failureSummary.replace(/\s+/g, " ");
        wrong.push(`theme ${theme}: ${rule.id} (${rule.help}), at ${node.target.join(" ")}: ${advice}`);
      }
    }
  }
  return { pieces: pieces.length, wrong };
})();
