// Turns each prediction of a page into a form: the reader commits to a number or a shape, hears how far off it is, sees the answer.
(() => {
  "use strict";

  const PREFIXES = {
    k: 1e3, K: 1e3, M: 1e6, m: 1e6, G: 1e9, g: 1e9, T: 1e12, t: 1e12, P: 1e15, E: 1e18, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40,
    thousand: 1e3, million: 1e6, mn: 1e6, billion: 1e9, bn: 1e9, b: 1e9, B: 1e9, trillion: 1e12, exa: 1e18,
  };
  const BASES = { B: "bytes", byte: "bytes", mac: "macs", flop: "flops", parameter: "parameters", param: "parameters", params: "parameters" };

  // Two spellings of one unit compare equal after this: "B", "byte" and "bytes"; "MAC" and "MACs".
  const base = (word) => BASES[word] ?? BASES[word.toLowerCase()] ?? word.toLowerCase();

  // "GB" -> {scale: 1e9, base: "bytes"}, or null where the word is not a prefix before `unit`. `unit` is the base unit asked for.
  function readUnit(word, unit) {
    if (base(word) === unit) return { scale: 1, base: unit };
    for (const [prefix, scale] of Object.entries(PREFIXES)) {
      if (word === prefix) return { scale, base: unit };
      const rest = word.startsWith(prefix) ? word.slice(prefix.length).replace(/^[\s-]+/, "") : "";
      if (rest && base(rest) === unit) return { scale, base: unit };
    }
    return null;
  }

  // The base unit of an option such as "GB", "million parameters", "%" or "MACs per image", and how much one of it is.
  function wantedUnit(text) {
    for (const [prefix, scale] of Object.entries(PREFIXES)) {
      const rest = text.startsWith(prefix) ? text.slice(prefix.length) : "";
      if (/^(B|bytes|MACs?|FLOPs?)$/i.test(rest) || /^ \S/.test(rest)) return { scale, base: base(rest.trim()) };
    }
    return { scale: 1, base: base(text) };
  }

  // A typed number in the unit asked for; {error} says what to type instead.
  function readNumber(typed, unitText = "") {
    const text = typed.trim().replace(/[−–]/g, "-").replace(/^(about|around|roughly|~|≈)\s*/i, "");
    const match = text.match(/^([+-]?(?:\d[\d,_ ]*)?(?:\.\d+)?)(?:\s*(?:[x×*·]\s*10\s*(?:\^|\*\*)?\s*|[eE](?=[+-]?\d))([+-]?\d+))?\s*(.*)$/);
    const digits = match ? match[1].replace(/[,_ ]/g, "") : "";
    if (!/\d/.test(digits)) return { error: "Type a number, for example 86.6 M or 1,234." };
    const wanted = wantedUnit(unitText);
    const number = Number(digits) * 10 ** Number(match[2] ?? 0);
    const word = match[3].trim();
    if (!word) return { value: number };
    const unit = readUnit(word, wanted.base);
    if (!unit) return { error: unitText ? `“${word}” is not a unit of this answer. It is asked for in ${unitText}.` : `The answer is a plain number; leave “${word}” out.` };
    return { value: (number * unit.scale) / wanted.scale };
  }

  // A typed shape as a list of whole numbers, or {error}.
  function readShape(typed) {
    const inner = typed.trim().replace(/^[([]|[)\]]$/g, "");
    const parts = inner.split(/\s*[,;x×]\s*|\s+/).filter(Boolean);
    if (!parts.length || !parts.every((part) => /^\d+$/.test(part))) return { error: "Type whole numbers with commas, for example (32, 197, 768)." };
    return { value: parts.map(Number) };
  }

  const plain = (number) => (Math.abs(number) >= 10 ? Math.round(number).toLocaleString("en-US") : String(Number(number.toPrecision(2))));

  // What to say about a number: whether it is right, and otherwise by what factor it is off.
  function judgeNumber(value, answer, tolerance) {
    if (value === answer) return { right: true, words: "Exactly right." };
    const error = Math.abs(value - answer) / Math.abs(answer || 1);
    if (error <= tolerance) return { right: true, words: `Right: ${error < 0.001 ? "less than 0.1" : plain(error * 100)}% off.` };
    const side = value < answer ? "low" : "high";
    if (answer === 0 || value / answer <= 0) return { right: false, words: `Too ${side}.` };
    const factor = Math.max(value / answer, answer / value);
    return { right: false, words: factor < 2 ? `Too ${side}, by ${plain(error * 100)}%.` : `Too ${side}, by a factor of ${plain(factor)}.` };
  }

  // What to say about a shape: which axes are wrong, by their letters where they have any.
  function judgeShape(value, answer, letters) {
    if (value.length !== answer.length) return { right: false, words: `The tensor has ${answer.length} axes; you typed ${value.length}.` };
    const name = (i) => (letters.length ? `axis ${i + 1} (${letters[i]})` : `axis ${i + 1}`);
    const wrong = answer.flatMap((size, i) => (value[i] === size ? [] : [`${name(i)} is not ${value[i].toLocaleString("en-US")}`]));
    if (!wrong.length) return { right: true, words: "Right, every axis." };
    const sorted = (list) => [...list].sort((a, b) => a - b).join();
    const order = sorted(value) === sorted(answer) ? " These are the right sizes in another order." : "";
    return { right: false, words: `Not quite: ${wrong.join(", ")}.${order}` };
  }

  if (typeof module !== "undefined") {
    module.exports = { readNumber, readShape, judgeNumber, judgeShape };
    return;
  }

  function enhance(box) {
    const { kind, answer, unit = "", tolerance, letters = "" } = box.dataset;
    const details = box.querySelector(".prediction-answer");
    const form = document.createElement("form");
    form.className = "prediction-form";
    form.noValidate = true;
    const id = `${box.id}-input`;
    const asked = kind === "shape" ? "Your shape" + (letters ? `, as (${letters.split(" ").join(", ")})` : "") : "Your number" + (unit ? `, in ${unit}` : "");
    form.innerHTML = `<label for="${id}"></label><span class="prediction-row"><input id="${id}" type="text" autocomplete="off" spellcheck="false"
      aria-describedby="${id}-verdict"><button type="submit">Predict</button></span><p class="prediction-verdict" id="${id}-verdict" role="status"></p>`;
    form.querySelector("label").textContent = asked;
    const input = form.querySelector("input");
    const verdict = form.querySelector(".prediction-verdict");
    details.hidden = true;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const read = kind === "shape" ? readShape(input.value) : readNumber(input.value, unit);
      input.setAttribute("aria-invalid", String(Boolean(read.error)));
      if (read.error) {
        verdict.textContent = read.error;
        verdict.dataset.state = "unread";
        input.focus();
        return;
      }
      const judged =
        kind === "shape"
          ? judgeShape(read.value, answer.split(",").map(Number), letters ? letters.split(" ") : [])
          : judgeNumber(read.value, Number(answer), Number(tolerance));
      verdict.textContent = judged.words;
      verdict.dataset.state = judged.right ? "right" : "wrong";
      details.hidden = false;
      details.open = true;
    });
    details.before(form);
  }

  document.querySelectorAll(".prediction").forEach(enhance);
  // Paper has no form: show what is behind every fold.
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll(".prediction-answer")) Object.assign(details, { hidden: false, open: true });
  });
})();
