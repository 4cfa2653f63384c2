// What a model of the family costs at the resolution that the reader chooses: shares, totals, memory, windows, training.
import { addressOf, followAddress } from "./figure/address.js";
import { areas, bar, patterns, swatch } from "./figure/chart.js";
import { forward, kept, training, windowed } from "./figure/costs.js";
import { percent, rounded, short, whole } from "./figure/words.js";
import { element } from "./live/dom.js";

const TERMS = { linear: "linear layers", attention: "attention", patch: "patch embedding", head: "head" };
const MOST = { registers: 16, epochs: 10_000 };

function makeExplorer(box) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const own = (name) => ({ model: name, cls: data.models[name].cls, registers: data.models[name].registers });
  let state = { ...data.start, ...own(data.start.model) };

  const model = () => data.models[state.model];
  const largest = () => Math.floor(data.largest / model().P) * model().P;
  const nearest = (res) => Math.min(Math.max(Math.round(res / model().P), 1) * model().P, largest());

  // --- controls; each sentence of `troubles` stands until its field is right again ---

  const troubles = new Map();
  const trouble = element("p", { class: "explorer-trouble", id: "explorer-trouble", role: "status" });
  function right(control, sentence) {
    troubles.set(control, sentence);
    control.setAttribute("aria-invalid", Boolean(sentence));
    trouble.textContent = [...troubles.values()].filter(Boolean).join(" ");
    return !sentence;
  }

  const labeled = (words, ...controls) => element("label", {}, element("span", {}, words), ...controls);
  const select = (key, entries) =>
    element(
      "select",
      { change: (event) => change({ [key]: event.target.value }) },
      ...entries.map(([value, words]) => element("option", { value }, words)),
    );
  const number = (attributes, input) => element("input", { type: "number", "aria-describedby": "explorer-trouble", input, ...attributes });
  const titles = (choices) => Object.entries(choices).map(([key, { title }]) => [key, title]);

  const count = (key, least, words) =>
    number({ min: least, max: MOST[key], step: 1 }, ({ target }) => {
      const value = Number(target.value);
      const good = target.value !== "" && Number.isInteger(value) && value >= least && value <= MOST[key];
      if (right(target, good ? "" : `${words} are a whole number from ${least} to ${whole(MOST[key])}.`)) change({ [key]: value });
    });

  const controls = {
    model: select("model", Object.keys(data.models).map((name) => [name, name.includes("/") && !name.startsWith("SoViT") ? `ViT-${name}` : name])),
    res: number({ min: 1, max: data.largest }, ({ target }) => setRes(target)),
    slider: element("input", { type: "range", "aria-label": "Image side", input: ({ target }) => setRes(target) }),
    cls: element("input", { type: "checkbox", change: ({ target }) => change({ cls: target.checked }) }),
    registers: count("registers", 0, "Registers"),
    images: select("images", titles(data.images)),
    epochs: count("epochs", 1, "Epochs"),
    machine: select("machine", titles(data.machines)),
    mfu: number({ min: 1, max: 100, step: 0.1 }, ({ target }) => {
      const value = Number(target.value);
      if (right(target, value > 0 && value <= 100 ? "" : "A utilization is above 0 and at most 100%.")) change({ mfu: value });
    }),
  };

  function setRes(control) {
    const [res, side] = [Number(control.value), model().P];
    let sentence = "";
    if (control.value === "" || !Number.isInteger(res) || res < side || res > largest())
      sentence = `The image side is a whole number of pixels from ${side} to ${whole(largest())}.`;
    else if (res % side) {
      const below = res - (res % side);
      sentence = `${whole(res)} pixels cannot be cut into patches of ${side}. Take ${whole(below)} or ${whole(Math.min(below + side, largest()))}.`;
    }
    if (right(controls.res, sentence)) change({ res });
  }

  function drawControls() {
    for (const key of ["model", "images", "machine"]) controls[key].value = state[key];
    for (const key of ["res", "registers", "epochs", "mfu"]) {
      if (troubles.get(controls[key])) continue;
      if (controls[key].value === "" || Number(controls[key].value) !== state[key]) controls[key].value = state[key];
    }
    controls.cls.checked = state.cls;
    for (const control of [controls.res, controls.slider]) Object.assign(control, { min: model().P, max: largest(), step: model().P });
    controls.slider.value = state.res;
    controls.slider.setAttribute("aria-valuetext", `${whole(state.res)} pixels`);
  }

  // --- what is shown; a value has a name, by which a test compares it with Python's ---

  const value = (name, words) => element("span", { "data-value": name }, words);
  const exact = (name, number, unit = "") => [value(name, whole(number)), element("small", {}, short(number, unit))];

  // A table from its caption, its columns and its rows, whose first cells are the rows' names; a wide one has a line of its own.
  function table(caption, columns, rows, wide = false) {
    const row = (name, ...cells) => [element("th", { scope: "row" }, ...[name].flat()), ...cells.map((cell) => element("td", {}, ...[cell].flat()))];
    const head = element("tr", {}, element("td", {}), ...columns.map((name) => element("th", { scope: "col" }, name)));
    const body = element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...row(...cells))));
    return element("table", { class: wide ? "explorer-wide" : false }, element("caption", {}, caption), ...(columns.length ? [element("thead", {}, head)] : []), body);
  }

  const less = (name, before, after) => {
    const ratio = before / after;
    return ratio === 1 ? value(name, "the same") : [value(name, rounded(Math.max(ratio, 1 / ratio))), ratio > 1 ? " times less" : " times more"];
  };

  function forwardTables({ patches, prefix, tokens, macs, total, parameters, crossover }) {
    const terms = Object.entries(TERMS).map(([term, words]) => [
      [swatch(term), ` ${words}`],
      value(`macs.${term}`, whole(macs[term])),
      value(`share.${term}`, percent(macs[term] / total)),
    ]);
    return [
      table("One image, forward", ["multiply-adds", "share"], terms),
      table("In all", [], [
        ["multiply-adds", exact("macs.total", total)],
        ["FLOPs, two for each", exact("flops", 2 * total)],
        ["parameters, positions for this side included", exact("parameters", parameters)],
        ["tokens", [value("tokens", whole(tokens)), element("small", {}, `${whole(patches)} patches + ${prefix}`)]],
        ["attention costs as much as the linear layers from", [value("crossover", whole(crossover)), " pixels"]],
      ]),
    ];
  }

  function memoryTable(tokens) {
    const { weights, logSumExp } = kept(model(), tokens);
    const L = model().L;
    const row = (name, words, bytes) => [words, exact(`${name}.layer`, bytes / L, "B"), exact(`${name}.all`, bytes, "B")];
    const caption = "Bytes kept for the backward pass, for one image";
    return table(caption, ["one layer", `all ${L}`], [
      row("weights", "attention weights, bfloat16", weights),
      row("logSumExp", "or the log-sum-exp that FlashAttention keeps, float32", logSumExp),
      ["the second is", "", less("logSumExp.less", weights, logSumExp)],
    ], true);
  }

  function windowTable({ window, global, everywhere, mixed }) {
    const row = (words, name, of) => [words, exact(`${name}.macs`, of.macs), exact(`${name}.weights`, of.weights, "B")];
    return table("With windows, as in SAM", ["attention, multiply-adds", "weights kept, bytes"], [
      row("all blocks global", "global", everywhere),
      row(`${model().L - global} in windows of ${window} by ${window}, ${global} global`, "mixed", mixed),
      ["the second is", less("mixed.macs.less", everywhere.macs, mixed.macs), less("mixed.weights.less", everywhere.weights, mixed.weights)],
    ], true);
  }

  const windowWords = ({ grid, padded, windows }) => [
    "Windows: the grid of ",
    value("window.grid", whole(grid)),
    " patches a side, padded to ",
    value("window.padded", whole(padded)),
    ", makes ",
    value("window.count", whole(windows)),
    windows === 1 ? " window" : " windows",
    ". A class token and registers belong to no window, so this table leaves them out.",
  ];

  function trainingTable(total) {
    const [machine, { images }] = [data.machines[state.machine], data.images[state.images]];
    const { flops, days } = training(total, images, state.epochs, machine.peak * 1e12, state.mfu / 100);
    return table("A training run at this side", [], [
      ["images per epoch", value("images", whole(images))],
      ["compute: six FLOPs for each multiply-add", [value("exaflops", rounded(Number(flops) / 1e18)), " exaFLOPs"]],
      [["time on one device at ", value("mfu", String(state.mfu)), "% of ", value("peak", String(machine.peak)), " TFLOP/s"], [value("days", rounded(days)), " device-days"]],
    ]);
  }

  const shares = (cost) => Object.entries(TERMS).map(([term, words]) => [term, words, cost.macs[term] / cost.total]);

  const title = element("p", { class: "explorer-title" });
  const pictures = element("div", {});
  const tables = element("div", { class: "explorer-tables" });
  const windows = element("p", { class: "explorer-note" });
  const run = element("div", { class: "explorer-tables" });
  const source = element("p", { class: "explorer-note" });

  function drawPictures(cost) {
    const sides = Array.from({ length: largest() / model().P }, (_, i) => (i + 1) * model().P);
    const curve = sides.map((res) => [res, shares(forward(model(), { ...state, res }))]);
    const width = pictures.clientWidth;
    pictures.replaceChildren(bar(shares(cost), width), areas(curve, { width, at: state.res, crossover: cost.crossover, until: data.largest }));
  }

  function draw() {
    drawControls();
    const cost = forward(model(), state);
    const cut = windowed(model(), state.res, data.window, data.global);
    title.textContent = `${controls.model.selectedOptions[0].text} at ${whole(state.res)} pixels`;
    drawPictures(cost);
    tables.replaceChildren(...forwardTables(cost), memoryTable(cost.tokens), windowTable({ ...data, ...cut }));
    windows.replaceChildren(...windowWords(cut));
    run.replaceChildren(trainingTable(cost.total));
    const { what, source: from } = data.machines[state.machine];
    source.textContent = `${what}. Source: ${from}.`;
    link.href = address();
    return cost;
  }

  // --- the state ---

  const address = () => addressOf("explorer", { ...state, cls: state.cls ? "yes" : "no" });
  const link = element("a", {}, "Link to these settings");
  const said = element("p", { class: "explorer-said", role: "status" });
  let later;

  function change(changes) {
    if (changes.model) {
      Object.assign(changes, own(changes.model));
      for (const key of ["res", "registers"]) right(controls[key], "");
    }
    state = { ...state, ...changes };
    state.res = nearest(state.res);
    const cost = draw();
    clearTimeout(later);
    later = setTimeout(() => {
      history.replaceState(history.state, "", address());
      const words = shares(cost).map(([, words, share]) => `${words} ${percent(share)}`);
      said.textContent = `${state.model} at ${whole(state.res)} pixels: ${short(cost.total)} multiply-adds; ${words.join(", ")}.`;
    }, 500);
  }

  // Shows what a link asks for, as far as it exists.
  function show(asked) {
    if (asked.model in data.models) state = { ...state, ...own(asked.model) };
    const within = (key, least, most, whole = true) => {
      const number = Number(asked[key]);
      if (asked[key] && number >= least && number <= most && (!whole || Number.isInteger(number))) state[key] = number;
    };
    within("res", 1, data.largest);
    within("registers", 0, MOST.registers);
    within("epochs", 1, MOST.epochs);
    within("mfu", Number.MIN_VALUE, 100, false);
    if (asked.cls) state.cls = asked.cls === "yes";
    if (asked.images in data.images) state.images = asked.images;
    if (asked.machine in data.machines) state.machine = asked.machine;
    state.res = nearest(state.res);
    for (const key of ["res", "registers", "epochs", "mfu"]) right(controls[key], "");
    draw();
  }

  const group = (label, ...children) => element("div", { class: "explorer-controls", role: "group", "aria-label": label }, ...children);
  const checkbox = (control, words) => element("label", { class: "explorer-check" }, control, words);
  const withoutScript = [...box.children].filter((child) => child.localName !== "script");
  box.prepend(
    patterns(),
    group(
      "The model and its image",
      labeled("Model", controls.model),
      labeled("Image side in pixels", controls.res),
      labeled("Registers", controls.registers),
      checkbox(controls.cls, "Class token"),
      controls.slider,
      trouble,
    ),
    title,
    pictures,
    tables,
    windows,
    group(
      "A training run",
      labeled("Images", controls.images),
      labeled("Epochs", controls.epochs),
      labeled("Accelerator", controls.machine),
      labeled("Utilization (MFU) in %", controls.mfu),
    ),
    run,
    source,
    element("p", { class: "explorer-note explorer-link" }, link),
    said,
  );
  for (const node of withoutScript) node.remove();
  draw();
  followAddress("explorer", box, show);
  let width = pictures.clientWidth;
  new ResizeObserver(() => pictures.clientWidth === width || ((width = pictures.clientWidth), draw())).observe(pictures);
}

document.querySelectorAll(".explorer").forEach(makeExplorer);
