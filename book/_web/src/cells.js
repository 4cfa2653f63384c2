// Lets the reader change and run code cells of a chapter, those that the book has marked (see cells.py).
import { button, LIMIT, makeBench, part, putEditor, site } from "./live/bench.js";
import { element } from "./live/dom.js";
import { Python } from "./live/python.js";

const marks = [...document.querySelectorAll("script.live-cell")].map((mark) => ({ mark, ...JSON.parse(mark.textContent) }));
const packagesAt = new URL(marks[0].packagesAt, site).href;
const own = [...new Set(marks.flatMap((each) => each.files))].map((file) => [file, new URL(`python/${file}`, site).href]);
// One Python for the page. The cells import modules of vit one by one, so the package itself has nothing to import.
const setup = { files: Object.fromEntries(own), empty: ["vit/__init__.py"], packagesAt };
const python = new Python(part("worker.js"), setup, LIMIT);

marks.forEach(({ mark, given, packages }, i) => {
  const block = mark.parentElement.querySelector("div.highlight");
  const source = block.querySelector("pre").textContent;
  const open = element("div", { class: "live-bar live-open" }, button("Edit and run", edit));
  mark.before(open);

  async function edit() {
    const label = `Code cell ${i + 1} of this page, yours to change`;
    let editor = null;
    const bench = makeBench({
      python,
      packagesAt,
      title: label,
      runs: { Run: () => ({ given, code: editor.code, check: [], packages }) },
      concluded: () => {},
      buttons: [button("Start over", () => (editor.code = source))],
    });
    const help = element("p", { class: "live-help", id: `live-help-cell-${i}` });
    help.innerHTML = "<kbd>Shift+Enter</kbd> runs. Press <kbd>Esc</kbd>, then <kbd>Tab</kbd>, to leave the editor.";
    const place = element("div", { class: "live" }, ...bench.parts);
    open.replaceWith(place);
    bench.bar.after(help);
    try {
      editor = await putEditor(block, { code: source, label, help: help.id, keys: { "Shift-Enter": () => bench.perform("Run") }, changed: () => {} });
      editor.focus();
    } catch {
      help.remove();
      bench.cannotEdit();
    }
  }
});
