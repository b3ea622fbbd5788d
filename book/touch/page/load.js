// Quizzes, and the start of the interactive pieces. Without this script, a page shows every answer, and its still pictures.
"use strict";
addEventListener("DOMContentLoaded", () => {
  // mdBook's label says whether the sidebar is open, which only a button may.
  document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
  // What scrolls can be reached with the keyboard.
  for (const wide of document.querySelectorAll(".table-wrapper, pre > code, figure.wide > p")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
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
