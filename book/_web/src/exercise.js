// Turns the code of an exercise's page into an editor that runs and checks it, with Python in the page.
// Python is loaded by the first click. Without it, and without JavaScript, the code stays the block it is.
import { button, LIMIT, makeBench, part, putEditor, site } from "./live/bench.js";
import { download, element } from "./live/dom.js";
import { Python } from "./live/python.js";
import { reportTable } from "./live/report.js";
import { load, save } from "./live/store.js";

const squeezed = (code) => code.replace(/\s+/g, "");

function makeLive(box) {
  const { exercise: name, title, stub: version } = box.dataset;
  const packagesAt = new URL(box.dataset.packagesAt, site).href; // a folder of the site is named from its top
  const words = (list) => box.dataset[list].split(" ").filter(Boolean);
  const source = (part) => box.querySelector(`.live-${part} pre`)?.textContent ?? "";
  const [given, stub] = [source("given"), source("stub")];
  const files = Object.fromEntries(["checks.py", `cases/${name}.json`].map((file) => [file, new URL(`exercises/${file}`, site).href]));

  let record = load(name, version);
  let editor = null;
  const code = () => editor?.code ?? record.code ?? stub;

  // --- what the reader sees ---

  const label = `Your code for ${title}`;
  const task = (check) => {
    keepCode(code());
    results.hidden = true;
    return { given, code: code(), check, packages: words("packages") };
  };
  const bench = makeBench({
    python: new Python(part("worker.js"), { files, packagesAt }, LIMIT),
    packagesAt,
    title: label,
    notebook: document.querySelector("a.course-download").href,
    runs: { Run: () => task([]), Check: () => task(words("functions")) },
    concluded: (_, result, { code: asked }) => result.rows && showReport(result, asked),
    buttons: [
      button("Start over", startOver),
      button("Download .py", () => download(`${name}.py`, given ? `${given}\n\n${code()}` : code(), "text/x-python")),
    ],
  });
  const help = element("p", { class: "live-help", id: `live-help-${name}` });
  help.innerHTML =
    "<kbd>Shift+Enter</kbd> runs, <kbd>Ctrl+Enter</kbd> checks. <kbd>Tab</kbd> indents; press <kbd>Esc</kbd>, then <kbd>Tab</kbd>, to leave the editor.";
  const results = element("div", { class: "live-results", tabindex: 0, role: "region", "aria-label": "Result of the check", hidden: true });
  const earlier = element(
    "div",
    { class: "live-earlier", hidden: true },
    element("p", {}, "An earlier answer of yours is kept."),
    button("Bring it back", () => setCode(record.earlier, { earlier: undefined })),
    button("Discard it", () => keep({ earlier: undefined })),
  );
  box.append(earlier, ...bench.parts, results);
  bench.bar.after(help);

  function showReport(result, asked) {
    results.hidden = false;
    results.replaceChildren(reportTable(result.rows));
    bench.say(result.passed ? "right" : "wrong", result.summary, ...(result.mistake ? [" ", element("strong", {}, result.mistake)] : []));
    keep({ tried: record.tried || squeezed(asked) !== squeezed(stub), solved: record.solved || result.passed });
  }

  // --- the reader's work ---

  function show() {
    earlier.hidden = record.earlier === undefined;
    showSolution?.(record.tried || record.shown);
  }

  function keep(changes) {
    record = { ...record, ...changes };
    show();
    if (!save(name, record)) bench.say("trouble", "This browser keeps no answers. Download your code before you leave the page.");
  }

  const keepCode = (text) => text === (record.code ?? stub) || keep({ code: text === stub ? undefined : text });

  function setCode(text, changes = {}) {
    if (editor) editor.code = text;
    keep({ code: text === stub ? undefined : text, ...changes });
  }

  function startOver() {
    if (code() !== stub) setCode(stub, { earlier: code() });
    bench.say("", "This is the code you started from.");
  }

  let later;
  function changed(text) {
    clearTimeout(later);
    later = setTimeout(() => keepCode(text), 300);
  }
  window.addEventListener("pagehide", () => keepCode(code()));

  // --- hints and the solution ---

  for (const hint of document.querySelectorAll("details.course-hint")) hint.name = `hint-${name}`; // one open at a time
  const showSolution = gate(document.querySelector("details.course-solution"), () => keep({ shown: true }));

  // --- the editor, once it comes near ---

  async function edit() {
    const keys = { "Shift-Enter": () => bench.perform("Run"), "Mod-Enter": () => bench.perform("Check") };
    try {
      editor = await putEditor(box.querySelector(".live-stub"), { code: code(), label, help: help.id, keys, changed });
    } catch {
      help.remove();
      bench.cannotEdit();
    }
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

// Holds the solution back until `show(true)` or the reader's own request, and returns `show`. Null where there is none.
function gate(details, asked) {
  if (!details) return null;
  const door = element(
    "div",
    { class: "live-gate" },
    element("p", {}, "The solution is shown here once you have checked an answer of your own."),
    button("Show it now", () => (asked(), (details.open = true), details.querySelector("summary").focus())),
  );
  details.before(door);
  return (open) => {
    door.hidden = Boolean(open);
    details.hidden = !open;
  };
}

document.querySelectorAll(".live[data-exercise]").forEach(makeLive);
