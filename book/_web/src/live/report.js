// The table of a check, from the rows of checks.py: the words are those of the notebook.
import { element } from "./dom.js";

export function reportTable(rows) {
  const head = ["result", "case", "expected", "got"].map((title) => element("th", { scope: "col" }, title));
  return element(
    "table",
    { class: "live-table" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map(reportRow)),
  );
}

function reportRow({ case: words, call, expected, got, ok, note }) {
  return element(
    "tr",
    { "data-state": ok ? "right" : "wrong" },
    element("td", { class: "live-mark" }, ok ? "✓ right" : "✗ wrong"),
    element("td", {}, words, element("details", {}, element("summary", {}, "arguments"), element("code", {}, call))),
    element("td", { class: "live-value", "data-label": "expected" }, expected),
    element("td", { class: "live-value", "data-label": "got" }, got, ...(note ? [element("em", {}, note)] : [])),
  );
}
