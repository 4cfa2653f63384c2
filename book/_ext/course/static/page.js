// What every page of the book needs: formulas that the keyboard can scroll, and paper that is white.
(() => {
  "use strict";

  // A formula too wide for the screen scrolls in its own line; the keyboard must reach it to scroll it.
  const formulas = document.querySelectorAll(".katex-display");
  const markWide = () => {
    for (const formula of formulas) {
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
      else formula.removeAttribute("tabindex");
    }
  };
  window.addEventListener("load", markWide);
  window.addEventListener("resize", markWide);

  const root = document.documentElement;
  let theme;
  window.addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  window.addEventListener("afterprint", () => {
    root.dataset.theme = theme;
  });
})();
