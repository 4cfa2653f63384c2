// A formula too wide for the screen scrolls in its own line; the keyboard must reach it to scroll it.
(() => {
  "use strict";
  const formulas = document.querySelectorAll(".katex-display");
  const update = () => {
    for (const formula of formulas) {
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
      else formula.removeAttribute("tabindex");
    }
  };
  window.addEventListener("resize", update);
  window.addEventListener("load", update);
})();
