// Quizzes, long contracts, and the start of the interactive pieces. Without this script, a page shows every answer and every line of
// a contract, and its still pictures.
"use strict";
addEventListener("DOMContentLoaded", () => {
  // mdBook's label says whether the sidebar is open, which only a button may.
  document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
  // What scrolls can be reached with the keyboard.
  for (const wide of document.querySelectorAll(".table-wrapper, pre > code, figure.wide > p")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  }
  // Of a long contract, the first three lines; the exercise has all of it.
  for (const code of document.querySelectorAll("code.contract")) {
    const lines = code.innerHTML.split("\n");
    const end = lines.findIndex((line) => !line.includes("///"));
    if (end < 5) continue;
    code.innerHTML = `${lines.slice(0, 3).join("\n")}\n<span hidden>${lines.slice(3, end).join("\n")}\n</span>${lines.slice(end).join("\n")}`;
    const rest = code.querySelector("[hidden]");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "contract-rest";
    const show = (hidden) => {
      rest.hidden = hidden;
      button.textContent = hidden ? `Show ${end - 3} more lines of the contract` : "Show fewer lines";
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
      const right = choice.querySelector(":scope > em, :scope > p > em") !== null;
      button.append(...[...choice.childNodes].filter((node) => node !== explanation).map((node) => node.textContent.trim()));
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
  if (!document.querySelector("[data-touch]")) return;
  const script = document.createElement("script");
  script.src = `${path_to_root}touch.js`;
  document.body.append(script);
});
