// Quizzes, long contracts, and the start of the interactive pieces. Without this script, a page shows every answer and every line of
// a contract, and its still pictures.
"use strict";
addEventListener("DOMContentLoaded", () => {
  // mdBook's label says whether the sidebar is open, which only a button may.
  document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
  // Short code, an option with its value, and a short word in a table stay whole; a long one in a table breaks after punctuation.
  const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  for (const code of document.querySelectorAll("main :not(pre) > code")) {
    const isCell = code.closest("table") !== null;
    if (code.textContent.length <= (isCell ? 17 : 30) || /^[01 ]+$/.test(code.textContent)) {
      code.classList.add("unbroken");
      continue;
    }
    code.innerHTML = code.textContent.match(/[`(]?-\S+(?: [\w.`]{1,9}(?!\S))?|\S+|\s+/g).map((word) => {
      const isWhole = /^[`(]?-.{1,30}$/.test(word) || (isCell && /^\S{1,17}$/.test(word));
      if (isWhole) return `<span class="unbroken">${escape(word)}</span>`;
      const ends = word.length > 24 ? /(::|[./(,=_])(?=[^\s):,.…])/g : /(::|[./(,])(?=[^\s):,.…])/g;
      return isCell ? escape(word).replace(ends, "$1<wbr>") : escape(word);
    }).join("");
  }
  // A number and its unit stay together.
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (text.parentElement.closest("code, script")) continue;
    text.data = text.data.replace(/(\d) (?=%|·|(?:ms|s|m|kB|MB|GB|KiB|MiB|GiB|W|kWh)(?!\w))/g, "$1\u00a0");
  }
  // What scrolls can be reached with the keyboard.
  for (const wide of document.querySelectorAll(".table-wrapper, pre > code, figure.wide > p")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  }
  // Of the first comment of more than five lines in a contract, three lines or fewer, to the end of a sentence.
  for (const code of document.querySelectorAll("code.contract:not(details *)")) {
    code.innerHTML = code.innerHTML.replace(/-&gt;|&amp;\[/g, '<span class="unbroken">$&</span>');
    const lines = code.innerHTML.split("\n");
    const isComment = (i) => lines[i]?.includes("///");
    const first = lines.findIndex((_, i) => !isComment(i - 1) && [0, 1, 2, 3, 4, 5].every((k) => isComment(i + k)));
    if (first < 0) continue;
    // Not within a list or a table.
    const plain = lines.map((line) => line.replace(/<[^>]*>/g, "").trim());
    const isEnd = (i) => /[.:]$/.test(plain[i]) && !/^\/\/\/ [-|]/.test(plain[i + 1]);
    const from = first + ([3, 2].find((n) => isEnd(first + n - 1)) ?? 1);
    const end = lines.findIndex((_, i) => i > from && !isComment(i));
    const [shown, folded, after] = [lines.slice(0, from), lines.slice(from, end), lines.slice(end)].map((part) => part.join("\n"));
    code.innerHTML = `${shown}\n<span class="contract-gap hljs-comment">/// …\n</span><span hidden>${folded}\n</span>${after}`;
    const gap = code.querySelector(".contract-gap");
    const rest = code.querySelector("[hidden]");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "contract-rest";
    const show = (hidden) => {
      [rest.hidden, gap.hidden] = [hidden, !hidden];
      button.textContent = hidden ? `Show ${end - from} more lines of the contract` : "Show fewer lines";
      button.setAttribute("aria-expanded", !hidden);
    };
    show(true);
    button.addEventListener("click", () => show(!rest.hidden));
    code.parentElement.after(button);
  }
  for (const quiz of document.querySelectorAll(".quiz")) {
    const choices = [...quiz.querySelectorAll(":scope > ul > li")];
    for (const choice of choices) {
      const explanation = choice.querySelector("ul");
      const button = document.createElement("button");
      button.type = "button";
      // The text before the explanation is the choice; the right one is emphasised.
      const right = choice.querySelector(":scope > em, :scope > p > em");
      right?.replaceWith(...right.childNodes);
      button.append(...[...choice.childNodes].filter((node) => node !== explanation));
      const answer = document.createElement("div");
      answer.hidden = true;
      answer.className = "quiz-answer";
      answer.append(right ? "✓ Right. " : "✗ Not quite. ", ...explanation.querySelector("li").childNodes);
      choice.replaceChildren(button, answer);
      choice.setAttribute("aria-live", "polite");
      button.addEventListener("click", () => {
        answer.hidden = false;
        button.dataset.chosen = right ? "right" : "wrong";
      });
    }
    quiz.dataset.ready = "yes";
  }
  // mdBook turns the page at ← and →, and opens the sidebar at a swipe. In a piece, and in what scrolls, both are the reader's.
  const keep = (event) => event.target.closest(".touch, .quiz, [tabindex='0']") && event.stopPropagation();
  document.body.addEventListener("keydown", (event) => event.key.startsWith("Arrow") && keep(event));
  document.body.addEventListener("touchstart", keep, { passive: true });
  if (!document.querySelector("[data-touch]")) return;
  const script = document.createElement("script");
  script.src = `${path_to_root}touch.js`;
  document.body.append(script);
});
