// Turns the table of a forward pass into a walk from tensor to tensor, in which the reader can predict each shape first.
import { addressOf, followAddress } from "./figure/address.js";
import { judgeShape, readShape } from "./figure/shape.js";
import { short, whole } from "./figure/words.js";
import { element } from "./live/dom.js";

const MOST_IMAGES = 4096;
const WHERE = { input: () => "before the blocks", block: (blocks) => `in each of the ${blocks} blocks`, output: () => "after the blocks" };
const TITLES = { input: () => "Input", block: (blocks) => `In each of ${blocks} blocks`, output: () => "Output" };

function makeTracer(box) {
  const { letters: names, types, batch, choices, steps } = JSON.parse(box.querySelector("script").textContent);
  const rows = [...box.querySelectorAll("tbody tr")];
  const caption = box.querySelector(".tracer-caption");
  const first = Object.keys(choices)[0];
  let state = { model: first, batch, type: Object.keys(types)[0], step: steps[0].key, predict: false };
  let predictions = new Map(); // step -> {typed, axes, judged}, for this model and batch; `given up` has no judged

  // --- what there is to know about a step ---

  const sizes = () => ({ B: state.batch, ...choices[state.model].sizes });
  const shape = (step) => step.axes.map((letter) => sizes()[letter]);
  const numbers = (step) => shape(step).reduce((product, size) => product * size, 1);
  const bytes = (step) => numbers(step) * types[state.type];
  const grows = (step) => step.axes.filter((letter) => letter === "T").length === 2;
  const at = () => steps.findIndex((step) => step.key === state.step);
  const open = (step) => !state.predict || Boolean(predictions.get(step.key)?.open);
  const counted = (step) => `${whole(numbers(step))} numbers, ${whole(bytes(step))} bytes in ${state.type} (${short(bytes(step), "B")})`;
  const square = "This is the only tensor that grows with the square of the number of tokens.";

  // d_ff -> d with a subscript
  const letter = (name) => {
    const [base, below] = name.split("_");
    return below ? element("span", {}, base, element("sub", {}, below)) : element("span", {}, base);
  };

  // --- controls ---

  const option = ([value, words]) => element("option", { value }, words);
  const labeled = (words, control) => element("label", {}, element("span", {}, words), control);
  const model = element(
    "select",
    { change: () => change({ model: model.value }) },
    ...Object.entries(choices).map(([key, { title }]) => option([key, title])),
  );
  const images = element("input", { type: "number", min: 1, max: MOST_IMAGES, step: 1, "aria-describedby": "tracer-batch", input: setBatch });
  const type = element("select", { change: () => change({ type: type.value }) }, ...Object.keys(types).map((name) => option([name, name])));
  const predict = element("input", { type: "checkbox", change: () => change({ predict: predict.checked }) });
  const trouble = element("p", { class: "tracer-trouble", id: "tracer-batch", role: "status" });
  const controls = element(
    "div",
    { class: "tracer-controls", role: "group", "aria-label": "What goes through the model" },
    labeled("Model and image", model),
    labeled("Images in the batch", images),
    labeled("Type of a number", type),
    element("label", { class: "tracer-check" }, predict, "Predict each shape first"),
    trouble,
  );

  function setBatch() {
    const count = Number(images.value);
    const right = Number.isInteger(count) && count >= 1 && count <= MOST_IMAGES;
    images.setAttribute("aria-invalid", !right);
    trouble.textContent = right ? "" : `The batch is a whole number from 1 to ${whole(MOST_IMAGES)}.`;
    if (right) change({ batch: count });
  }

  // --- the step that is shown ---

  const where = element("p", { class: "tracer-where" });
  const name = element("p", { class: "tracer-name", id: "tracer-name" });
  const typed = element("input", { type: "text", autocomplete: "off", spellcheck: false, "aria-describedby": "tracer-verdict" });
  const verdict = element("p", { class: "tracer-verdict", id: "tracer-verdict", role: "status" });
  const form = element(
    "form",
    { class: "tracer-form", novalidate: true, submit: judge },
    labeled("Its shape, in numbers or letters", typed),
    element("button", { type: "submit", class: "tracer-main" }, "Predict"),
    element("button", { type: "button", click: giveUp }, "Show the shape"),
    verdict,
  );
  const axes = element("ol", { class: "tracer-axes", "aria-label": "Shape" });
  const size = element("p", { class: "tracer-size" });
  const mark = element("p", { class: "tracer-square" }, square);
  const words = element("p", {});
  const source = element("dl");
  const previous = element("button", { type: "button", click: () => go(at() - 1) }, "← Previous");
  const next = element("button", { type: "button", click: () => go(at() + 1) }, "Next →");
  const link = element("a", {}, "Link to this step");
  const panel = element(
    "div",
    { class: "tracer-panel", role: "group", "aria-labelledby": "tracer-name" },
    element("div", { class: "tracer-moves" }, previous, next, link),
    where,
    name,
    form,
    axes,
    size,
    mark,
    words,
    element("div", { class: "tracer-source" }, source),
  );

  function drawPanel() {
    const [step, i] = [steps[at()], at()];
    where.textContent = `Step ${i + 1} of ${steps.length}, ${WHERE[step.where](sizes().L)}`;
    name.textContent = step.name[0].toUpperCase() + step.name.slice(1);
    const wrong = predictions.get(step.key)?.judged?.wrong ?? [];
    axes.replaceChildren(...step.axes.map((each, k) => axis(each, step.meanings[k], shape(step)[k], wrong.includes(k))));
    size.textContent = counted(step);
    words.textContent = step.words;
    for (const node of [axes, size]) node.hidden = !open(step);
    mark.hidden = !open(step) || !grows(step);
    const [definition, code] = [".tracer-definition", ".tracer-code"].map((part) => [...rows[i].querySelector(part).cloneNode(true).childNodes]);
    source.replaceChildren(
      element("dt", {}, "Definition"),
      element("dd", {}, ...definition),
      element("dt", {}, "Code"),
      element("dd", { class: "tracer-code" }, ...code),
    );
    previous.setAttribute("aria-disabled", i === 0);
    next.setAttribute("aria-disabled", i === steps.length - 1);
    link.href = address();
  }

  const axis = (name, meaning, number, wrong) =>
    element(
      "li",
      wrong ? { "data-wrong": true } : {},
      element("span", { class: "tracer-number" }, whole(number)),
      element("span", { class: "tracer-letter" }, letter(name)),
      element("span", { class: "tracer-meaning" }, meaning),
    );

  // --- predicting ---

  function drawForm() {
    const { typed: before = "", judged } = predictions.get(state.step) ?? {};
    form.hidden = !state.predict;
    typed.value = before;
    typed.removeAttribute("aria-invalid");
    verdict.textContent = judged?.words ?? "";
    verdict.dataset.state = judged ? (judged.right ? "right" : "wrong") : "";
  }

  function judge(event) {
    event.preventDefault();
    const read = readShape(typed.value, sizes());
    typed.setAttribute("aria-invalid", Boolean(read.error));
    if (read.error) {
      verdict.textContent = read.error;
      verdict.dataset.state = "";
      typed.focus();
      return;
    }
    const judged = judgeShape(read.axes, steps[at()].axes, sizes(), names);
    const earlier = predictions.get(state.step);
    predictions.set(state.step, { typed: typed.value, judged, open: earlier?.open || judged.wrong !== null });
    draw();
    typed.focus();
  }

  function giveUp() {
    predictions.set(state.step, { ...predictions.get(state.step), open: true });
    draw();
    say();
  }

  // --- the list of steps, with how many numbers each tensor has ---

  const items = steps.map((step, i) => {
    const bar = element("span", { class: "tracer-bar", "aria-hidden": true }, element("span", grows(step) ? { class: "tracer-growing" } : {}));
    const state = element("span", { class: "tracer-state" });
    return element("button", { type: "button", click: () => go(i) }, element("span", {}, step.name), state, bar);
  });
  const list = element("div", { class: "tracer-steps", role: "group", "aria-label": "Steps" });
  const lists = Object.keys(TITLES).map((part) => {
    const title = element("p", { class: "tracer-part", id: `tracer-${part}` });
    const start = steps.findIndex((step) => step.where === part);
    const inside = items.filter((_, i) => steps[i].where === part).map((item) => element("li", {}, item));
    list.append(title, element("ol", { start: start + 1, "aria-labelledby": title.id }, ...inside));
    return [part, title];
  });
  const legend = element("p", { class: "tracer-legend" }, "Bars: how many numbers a tensor has. Arrow keys move from step to step.");
  list.append(legend);

  function drawList() {
    const most = Math.max(...steps.map(numbers));
    for (const [part, title] of lists) title.textContent = TITLES[part](sizes().L);
    items.forEach((item, i) => {
      const [step, here] = [steps[i], i === at()];
      item.tabIndex = here ? 0 : -1;
      if (here) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
      item.querySelector(".tracer-bar").firstChild.style.width = open(step) ? `${(100 * numbers(step)) / most}%` : 0;
      const judged = predictions.get(step.key)?.judged;
      const mark = state.predict ? judged && (judged.right ? "✓ right" : "✗ wrong") : grows(step) && "grows with T²";
      item.querySelector(".tracer-state").textContent = mark || "";
    });
  }

  // --- the table of all steps ---

  function drawTable() {
    caption.textContent = `${choices[state.model].title}, a batch of ${whole(state.batch)}; bytes in ${state.type}.`;
    steps.forEach((step, i) => {
      const write = (part, text) => (rows[i].querySelector(`.tracer-${part}`).textContent = text);
      write("shape", `(${shape(step).join(", ")})`);
      write("numbers", whole(numbers(step)));
      write("bytes", `${whole(bytes(step))} B`);
    });
    all.hidden = state.predict; // it holds every answer
  }

  const all = element("details", { class: "tracer-all" }, element("summary", {}, "All steps in one table"));
  const said = element("p", { class: "tracer-said", role: "status" });
  const stage = element("div", { class: "tracer-stage", keydown: onKey }, panel, list);

  function say() {
    const step = steps[at()];
    const read = shape(step).map((size, i) => `${step.axes[i]} ${size}`).join(", ");
    const known = open(step) ? `Shape: ${read}. ${counted(step)}. ${grows(step) ? square : ""}` : "Predict its shape.";
    said.textContent = `${where.textContent}: ${step.name}. ${known}`;
  }

  // --- moving ---

  const address = () => addressOf("tracer", { ...state, predict: state.predict ? "yes" : "no" });

  function draw() {
    [model.value, type.value, predict.checked] = [state.model, state.type, state.predict];
    if (Number(images.value) !== state.batch) images.value = state.batch;
    drawPanel();
    drawForm();
    drawList();
    drawTable();
  }

  function change(changes) {
    if ("model" in changes || "batch" in changes) predictions = new Map();
    state = { ...state, ...changes };
    draw();
    say();
    history.replaceState(history.state, "", address());
  }

  function go(i) {
    if (i < 0 || i >= steps.length) return;
    const inList = list.contains(document.activeElement);
    change({ step: steps[i].key });
    if (inList) items[i].focus();
  }

  function onKey(event) {
    const to = { ArrowLeft: at() - 1, ArrowUp: at() - 1, ArrowRight: at() + 1, ArrowDown: at() + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (to === undefined || event.target.matches("input") || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go(to);
  }

  // Shows what a link asks for, as far as it exists.
  function show({ model, batch, type, step, predict }) {
    const count = Number(batch);
    if (model in choices) state.model = model;
    if (Number.isInteger(count) && count >= 1 && count <= MOST_IMAGES) state.batch = count;
    if (type in types) state.type = type;
    if (steps.some(({ key }) => key === step)) state.step = step;
    state.predict = predict === "yes";
    predictions = new Map();
    draw();
  }

  const shown = [...box.children].filter((child) => child.localName !== "script");
  box.prepend(controls, stage, said, all);
  all.append(...shown);
  draw();
  followAddress("tracer", box, show);
  window.addEventListener("beforeprint", () => (all.open = true));
}

document.querySelectorAll(".tracer").forEach(makeTracer);
