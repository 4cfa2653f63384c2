// Turns the code of an exercise's page into an editor that runs and checks it, with Python in the page.
// Python is loaded by the first click. Without it, and without JavaScript, the code stays the block it is.
import { download, element } from "./live/dom.js";
import { Python } from "./live/python.js";
import { reportTable } from "./live/report.js";
import { load, save } from "./live/store.js";

const LIMIT = 10; // seconds
const here = document.currentScript.src;
const part = (file) => new URL(`${file}?v=${VERSION}`, here).href;
const site = new URL(document.documentElement.dataset.content_root || "./", location.href);

const listed = new Intl.ListFormat("en");
const named = { numpy: "NumPy", scipy: "SciPy" };
const squeezed = (code) => code.replace(/\s+/g, "");

function makeLive(box) {
  const { exercise: name, title, stub: version } = box.dataset;
  const packagesAt = new URL(box.dataset.packagesAt, site).href; // a folder of the site is named from its top
  const words = (list) => box.dataset[list].split(" ").filter(Boolean);
  const source = (part) => box.querySelector(`.live-${part} pre`)?.textContent ?? "";
  const [given, stub] = [source("given"), source("stub")];
  const notebook = document.querySelector("a.course-download").href;
  const files = Object.fromEntries(["checks.py", `cases/${name}.json`].map((file) => [file, new URL(`exercises/${file}`, site).href]));
  const python = new Python(part("worker.js"), { files, packagesAt }, LIMIT);

  let record = load(name, version);
  let editor = null;
  let busy = false;
  const code = () => editor?.code ?? record.code ?? stub;

  // --- what the reader sees ---

  // A button that cannot be used now keeps the focus it has, so it is never really disabled.
  const off = (node) => node.getAttribute("aria-disabled") === "true";
  const button = (label, run, attributes = {}) =>
    element("button", { type: "button", ...attributes, click: (event) => off(event.currentTarget) || run() }, label);
  const runs = [button("Run", () => perform(false)), button("Check", () => perform(true), { class: "live-main" })];
  const stop = button("Stop", () => python.stop("reader"), { "aria-disabled": "true" });
  const bar = element(
    "div",
    { class: "live-bar", role: "group", "aria-label": `Your code for ${title}` },
    ...runs,
    stop,
    element("span", { class: "live-gap" }),
    button("Start over", startOver),
    button("Download .py", () => download(`${name}.py`, given ? `${given}\n\n${code()}` : code(), "text/x-python")),
  );
  const help = element("p", { class: "live-help", id: `live-help-${name}` });
  help.innerHTML =
    "<kbd>Shift+Enter</kbd> runs, <kbd>Ctrl+Enter</kbd> checks. <kbd>Tab</kbd> indents; press <kbd>Esc</kbd>, then <kbd>Tab</kbd>, to leave the editor.";
  const progress = element("progress", { max: 1, value: 0, "aria-label": "Python is loading", hidden: true });
  const status = element("p", { class: "live-status", role: "status" });
  const output = element("pre", { class: "live-output", tabindex: 0, role: "region", "aria-label": "Output", hidden: true });
  const results = element("div", { class: "live-results", tabindex: 0, role: "region", "aria-label": "Result of the check", hidden: true });
  const earlier = element(
    "div",
    { class: "live-earlier", hidden: true },
    element("p", {}, "An earlier answer of yours is kept."),
    button("Bring it back", () => setCode(record.earlier, { earlier: undefined })),
    button("Discard it", () => keep({ earlier: undefined })),
  );
  box.append(earlier, bar, help, progress, status, output, results);

  // Says where things stand, in words that a screen reader hears.
  function say(state, ...parts) {
    status.dataset.state = state;
    status.replaceChildren(...parts);
  }

  const offer = (text) => [text, " ", element("a", { href: notebook, download: true }, "Download the notebook"), ", which runs in any Jupyter."];

  function setBusy(now) {
    busy = now;
    for (const each of runs) each.setAttribute("aria-disabled", now);
    stop.setAttribute("aria-disabled", !now);
    if (!now) progress.hidden = true;
  }

  // --- the reader's work ---

  function show() {
    earlier.hidden = record.earlier === undefined;
    showSolution?.(record.tried || record.shown);
  }

  function keep(changes) {
    record = { ...record, ...changes };
    show();
    if (!save(name, record)) say("trouble", "This browser keeps no answers. Download your code before you leave the page.");
  }

  const keepCode = (text) => text === (record.code ?? stub) || keep({ code: text === stub ? undefined : text });

  function setCode(text, changes = {}) {
    if (editor) editor.code = text;
    keep({ code: text === stub ? undefined : text, ...changes });
  }

  function startOver() {
    if (code() !== stub) setCode(stub, { earlier: code() });
    say("", "This is the code you started from.");
  }

  let later;
  function changed(text) {
    clearTimeout(later);
    later = setTimeout(() => keepCode(text), 300);
  }
  window.addEventListener("pagehide", () => keepCode(code()));

  // --- running and checking ---

  let printed = "";
  let drawing = 0;
  function print(text) {
    printed += text;
    drawing ||= requestAnimationFrame(() => {
      drawing = 0;
      output.hidden = !printed;
      output.textContent = printed;
    });
  }

  function tell(message) {
    if (message.type === "loading") {
      progress.hidden = message.done >= 1;
      progress.value = message.done;
    } else if (message.type === "packages") {
      say("busy", `Loading ${listed.format(message.names.map((each) => named[each] ?? each))} from ${new URL(packagesAt).host} …`);
    } else if (message.type === "running") {
      progress.hidden = true;
      say("busy", "Running …");
    } else if (message.type === "output") print(message.text);
  }

  async function perform(check) {
    if (busy) return;
    const asked = code();
    keepCode(asked);
    printed = "";
    print("");
    results.hidden = true;
    setBusy(true);
    say("busy", python.there ? "Running …" : "Starting Python. The first time, it has to be downloaded …");
    const outcome = await python.run({ given, code: asked, check: check ? words("functions") : [], packages: words("packages") }, tell);
    setBusy(false);
    conclude(outcome, check, asked);
  }

  function conclude({ result, stopped, failed, reason }, check, asked) {
    if (stopped === "limit") say("trouble", `Stopped after ${LIMIT} seconds. Is there a loop that does not end?`);
    else if (stopped) say("trouble", "Stopped.");
    else if (failed === "packages") {
      const wanted = listed.format(words("packages").map((each) => named[each] ?? each)) || "the packages you import";
      say("trouble", ...offer(`This needs ${wanted} from ${new URL(packagesAt).host}, which cannot be reached now. Try again when it can.`));
    } else if (failed === "start") say("trouble", ...offer(`Python could not be loaded here${fromDisk()}.`));
    else if (failed) say("trouble", `Python broke down and will start anew: ${reason}`);
    else if (!result.ok) say("wrong", "Your code stopped with an error: see the last line of its output.");
    else if (!check) say("", printed ? "Done." : "Done. It printed nothing.");
    else {
      results.hidden = false;
      results.replaceChildren(reportTable(result.rows));
      say(result.passed ? "right" : "wrong", result.summary, ...(result.mistake ? [" ", element("strong", {}, result.mistake)] : []));
      keep({ tried: record.tried || squeezed(asked) !== squeezed(stub), solved: record.solved || result.passed });
    }
  }

  const fromDisk = () => (location.protocol === "file:" ? ", because this page was opened from disk and not from a web server" : "");

  // --- hints and the solution ---

  for (const hint of document.querySelectorAll("details.course-hint")) hint.name = `hint-${name}`; // one open at a time
  const showSolution = gate(document.querySelector("details.course-solution"), () => keep({ shown: true }));

  // --- the editor, once it comes near ---

  async function edit() {
    try {
      await loadEditor();
    } catch {
      for (const each of [bar, help]) each.remove();
      say("trouble", ...offer("The editor could not be loaded."));
      return;
    }
    const parent = element("div", { class: "live-editor highlight" });
    const block = box.querySelector(".live-stub");
    block.hidden = true;
    block.after(parent);
    const keys = { "Shift-Enter": () => perform(false), "Mod-Enter": () => perform(true) };
    editor = window.courseEditor({ parent, code: code(), label: `Your code for ${title}`, help: help.id, keys, changed });
    if (fromDisk() && !python.possible()) conclude({ failed: "start" });
  }
  const watch = new IntersectionObserver(
    ([entry]) => {
      if (!entry.isIntersecting) return;
      watch.disconnect();
      edit();
    },
    { rootMargin: "600px" },
  );
  watch.observe(box);
  show();
}

let editorScript;
function loadEditor() {
  editorScript ??= new Promise((loaded, failed) => {
    document.head.append(element("script", { src: part("editor.js"), load: loaded, error: failed }));
  });
  return editorScript;
}

// Holds the solution back until `show(true)` or the reader's own request, and returns `show`. Null where there is none.
function gate(details, asked) {
  if (!details) return null;
  const door = element(
    "div",
    { class: "live-gate" },
    element("p", {}, "The solution is shown here once you have checked an answer of your own."),
    element("button", { type: "button", click: () => (asked(), (details.open = true), details.querySelector("summary").focus()) }, "Show it now"),
  );
  details.before(door);
  return (open) => {
    door.hidden = Boolean(open);
    details.hidden = !open;
  };
}

document.querySelectorAll(".live[data-exercise]").forEach(makeLive);
