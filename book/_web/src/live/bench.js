// Where code runs and the page says how that goes: buttons, a progress bar, a sentence, the output.
import { element } from "./dom.js";

export const here = document.currentScript.src;
export const part = (file) => new URL(`${file}?v=${VERSION}`, here).href;
export const site = new URL(document.documentElement.dataset.content_root || "./", location.href);
export const LIMIT = 10; // seconds

const listed = new Intl.ListFormat("en");
const named = { numpy: "NumPy", scipy: "SciPy" };
const names = (packages) => listed.format(packages.map((each) => named[each] ?? each));
const fromDisk = location.protocol === "file:";

let editorScript;
// Loads the editor and puts one in the place of `block`; resolves with it (see editor.js).
export async function putEditor(block, options) {
  editorScript ??= new Promise((loaded, failed) => {
    document.head.append(element("script", { src: part("editor.js"), load: loaded, error: failed }));
  });
  await editorScript;
  const parent = element("div", { class: "live-editor highlight" });
  block.hidden = true;
  block.after(parent);
  return window.courseEditor({ parent, ...options });
}

// A button that cannot be used now keeps the focus it has, so it is never really disabled.
const off = (node) => node.getAttribute("aria-disabled") === "true";
export const button = (label, run, attributes = {}) =>
  element("button", { type: "button", ...attributes, click: (event) => off(event.currentTarget) || run() }, label);

// `runs` maps labels of buttons to functions that give the task (see worker.mjs). `concluded(label, result, task)` is told of
// a task that ran to its end. `notebook` is the address of what to use where the page cannot run anything.
export function makeBench({ python, packagesAt, title, runs, concluded, notebook, buttons = [] }) {
  const starts = Object.keys(runs).map((label) => button(label, () => perform(label), { class: label === "Check" ? "live-main" : "" }));
  const stop = button("Stop", () => python.stop("reader"), { "aria-disabled": "true" });
  const bar = element("div", { class: "live-bar", role: "group", "aria-label": title }, ...starts, stop, element("span", { class: "live-gap" }), ...buttons);
  const progress = element("progress", { max: 1, value: 0, "aria-label": "Python is loading", hidden: true });
  const status = element("p", { class: "live-status", role: "status" });
  const output = element("pre", { class: "live-output", tabindex: 0, role: "region", "aria-label": "Output", hidden: true });

  // Says where things stand, in words that a screen reader hears.
  function say(state, ...parts) {
    status.dataset.state = state;
    status.replaceChildren(...parts);
  }

  const offer = (text) =>
    notebook ? [text, " ", element("a", { href: notebook, download: true }, "Download the notebook"), ", which runs in any Jupyter."] : [text];

  let busy = false;
  function setBusy(now) {
    busy = now;
    for (const each of starts) each.setAttribute("aria-disabled", now);
    stop.setAttribute("aria-disabled", !now);
    if (!now) progress.hidden = true;
  }

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
      say("busy", `Loading ${names(message.names)} from ${new URL(packagesAt).host} …`);
    } else if (message.type === "running") {
      progress.hidden = true;
      say("busy", "Running …");
    } else if (message.type === "output") print(message.text);
  }

  async function perform(label) {
    if (busy) return;
    const task = runs[label]();
    printed = "";
    print("");
    setBusy(true);
    say("busy", python.there ? "Running …" : "Starting Python. The first time, it has to be downloaded …");
    const outcome = await python.run(task, tell);
    setBusy(false);
    if (outcome.result) say("", printed ? "Done." : "Done. It printed nothing.");
    if (outcome.result?.ok) concluded(label, outcome.result, task);
    else excuse(outcome, task);
  }

  function excuse({ result, stopped, failed, reason }, task) {
    if (result) say("wrong", "Your code stopped with an error: see the last line of its output.");
    else if (stopped === "limit") say("trouble", `Stopped after ${LIMIT} seconds. Is there a loop that does not end?`);
    else if (stopped) say("trouble", "Stopped.");
    else if (failed === "packages") {
      const wanted = names(task.packages) || "the packages you import";
      say("trouble", ...offer(`This needs ${wanted} from ${new URL(packagesAt).host}, which cannot be reached now. Try again when it can.`));
    } else if (failed === "run") say("trouble", `Python broke down and will start anew: ${reason}`);
    else cannotStart();
  }

  function cannotStart() {
    const why = fromDisk ? ", because this page was opened from disk and not from a web server" : "";
    say("trouble", ...offer(`Python could not be loaded here${why}.`));
  }
  if (fromDisk && !python.possible()) cannotStart();

  function cannotEdit() {
    bar.remove();
    say("trouble", ...offer("The editor could not be loaded."));
  }

  return { bar, parts: [bar, progress, status, output], say, perform, cannotEdit };
}
