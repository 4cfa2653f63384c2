// How far the reader is, on the page that lists the exercises. The answers are in this browser and nowhere else.
import { download, element } from "./live/dom.js";
import { load, remove } from "./live/store.js";

function showProgress(box) {
  const exercises = JSON.parse(box.dataset.exercises); // [{name, stub}]
  const table = box.previousElementSibling;
  const said = element("p", { role: "status" });
  const clear = element("button", { type: "button", click: forget }, "Clear my answers");
  const buttons = element("div", { class: "live-bar" }, element("button", { type: "button", click: hand }, "Export my answers"), clear);
  box.replaceChildren(said, buttons);

  const records = () => Object.fromEntries(exercises.map(({ name, stub }) => [name, load(name, stub)]));
  const state = ({ solved, code, tried }) => (solved ? "✓ solved" : code || tried ? "… begun" : "");

  function draw() {
    const all = records();
    const states = Object.values(all).map(state);
    const solved = states.filter((each) => each.includes("solved")).length;
    said.textContent = `${solved} of ${exercises.length} solved` + (solved === exercises.length ? ". That is all of them." : ".");
    buttons.hidden = states.every((each) => !each);
    for (const mark of document.querySelectorAll(".live-mark")) mark.remove();
    exercises.forEach(({ name }, i) => {
      const link = table?.querySelector(`a[href$="exercises/${name}.html"]`);
      if (states[i]) link?.after(element("span", { class: "live-mark" }, ` ${states[i]}`));
    });
  }

  function hand() {
    download("answers.json", JSON.stringify(records(), null, 2), "application/json");
  }

  // Asks once more, in the button itself.
  function forget() {
    if (clear.dataset.sure) {
      for (const { name } of exercises) remove(name);
      draw();
    }
    clear.dataset.sure = clear.dataset.sure ? "" : "yes";
    clear.textContent = clear.dataset.sure ? "Really clear them?" : "Clear my answers";
  }

  draw();
  window.addEventListener("pageshow", draw); // also when the reader comes back
}

document.querySelectorAll(".live-progress").forEach(showProgress);
