// What every page of the book needs: formulas that the keyboard can scroll, and paper that is white.
(() => {
  "use strict";

  // A formula too wide for the screen scrolls in its own line; the keyboard must reach it to scroll it. A few are measured at
  // a time, because measuring lays them out, and all at once would hold up the page.
  const soon = window.requestIdleCallback ?? ((run) => setTimeout(run, 20));
  const measure = (formulas) =>
    soon(() => {
      for (const formula of formulas.splice(0, 5)) {
        if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
        else formula.removeAttribute("tabindex");
      }
      if (formulas.length) measure(formulas);
    });
  const markWide = () => measure([...document.querySelectorAll(".katex-display")]);
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
