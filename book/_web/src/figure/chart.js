// The explorer's pictures: a bar of shares, and shares against the image side. Each part has a pattern beside its color.
import { percent, whole } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const fill = (term) => `url(#explorer-${term})`;

// The patterns of the parts, for all pictures of the page: plain, hatched, dotted, crossed.
export function patterns() {
  const pattern = (term, ...marks) =>
    svg(
      "pattern",
      { id: `explorer-${term}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: 8, height: 8, class: `explorer-${term}` }),
      ...marks,
    );
  const line = (d) => svg("path", { d, class: "explorer-stroke" });
  return svg(
    "svg",
    { width: 0, height: 0, class: "explorer-patterns", "aria-hidden": true },
    svg(
      "defs",
      {},
      pattern("linear"),
      pattern("attention", line("M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4")),
      pattern("patch", svg("circle", { cx: 4, cy: 4, r: 1.8, class: "explorer-dot" })),
      pattern("head", line("M0,0 l8,8 M0,8 l8,-8")),
    ),
  );
}

// A sample of a part's pattern.
export const swatch = (term) =>
  svg("svg", { class: "explorer-swatch", viewBox: "0 0 16 16", "aria-hidden": true }, svg("rect", { width: 16, height: 16, fill: fill(term) }));

function picture(width, height, description, ...children) {
  return svg("svg", { class: "explorer-picture", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": description }, ...children);
}

const text = (x, y, words, anchor = "middle", name = "") => svg("text", { x, y, "text-anchor": anchor, class: name }, words);

// One bar, cut by `shares` ([term, words, share], in order).
export function bar(shares, width) {
  const said = shares.map(([, words, share]) => `${words} ${percent(share)}`).join(", ");
  let x = 0;
  const parts = shares.map(([term, words, share]) => {
    const from = x;
    x += share * width;
    const label = share * width > 9 * words.length ? [text(from + (share * width) / 2, 12, `${words} ${Math.round(100 * share)}%`)] : [];
    return [svg("rect", { x: from, y: 18, width: share * width, height: 26, fill: fill(term), "data-term": term }), ...label];
  });
  return picture(width, 46, `Shares of the multiply-adds: ${said}.`, ...parts.flat(), svg("rect", { y: 18, width, height: 26, class: "explorer-frame" }));
}

// Shares, stacked, against the image side: `curve` is [[side, shares], ...]. Marks the side `at` and the crossover.
export function areas(curve, { width, at, crossover, until }) {
  const [left, top, right, bottom, height] = [44, 38, 12, 40, 260];
  const x = (side) => left + ((width - left - right) * side) / until;
  const y = (share) => top + (height - top - bottom) * (1 - share);
  const point = (side, share) => `${x(side).toFixed(2)},${y(share).toFixed(2)}`;
  let below = curve.map(() => 0);
  const stacked = curve[0][1].map(([term], k) => {
    const above = curve.map(([, shares], i) => below[i] + shares[k][2]);
    const upper = curve.map(([side], i) => point(side, above[i]));
    const lower = curve.map(([side], i) => point(side, below[i])).reverse();
    below = above;
    return svg("path", { d: `M${[...upper, ...lower].join("L")}Z`, fill: fill(term), "data-term": term });
  });
  const ticks = [0, 512, 1024, 1536, 2048].filter((side) => side <= until);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => [
    svg("path", { d: `M${left - 4},${y(share)} H${width - right}`, class: "explorer-grid" }),
    text(left - 8, y(share) + 4, `${100 * share}%`, "end"),
  ]);
  const sides = ticks.map((side) => text(x(side), height - bottom + 18, whole(side), side === until ? "end" : "middle"));
  // An upright line from the words above it, or from below both rows of words where it would cross the other's.
  const apart = Math.abs(x(at) - x(crossover)) > 90;
  const upright = (side, row, words, name) => {
    const anchor = x(side) > width - 90 ? "end" : x(side) < 110 ? "start" : "middle";
    return [svg("path", { d: `M${x(side)},${(apart ? row : 30) + 4} V${height - bottom}`, class: name }), text(x(side), row, words, anchor, "explorer-mark")];
  };
  const equal = crossover > until ? [] : upright(crossover, 30, `equal at ${whole(crossover)}`, "explorer-equal");
  const share = (side, k) => curve.find(([each]) => each === side)[1][k][2];
  const last = curve.at(-1)[0];
  const description =
    `Shares against the image side, stacked. Attention takes ${percent(share(at, 1))} at ${whole(at)} pixels and ${percent(share(last, 1))} at ${whole(last)}; ` +
    (crossover > until ? `it does not catch up with the linear layers before ${whole(until)}.` : `it catches up with the linear layers at ${whole(crossover)}.`);
  return picture(
    width,
    height,
    description,
    ...stacked,
    ...grid.flat(),
    ...sides,
    text(left + (width - left - right) / 2, height - 4, "image side in pixels"),
    ...equal,
    ...upright(at, 12, `${whole(at)} pixels`, "explorer-at"),
  );
}
