// Reads the shape that a reader types, in numbers, in letters or in products of both, and says which letter is wrong.

const TOKEN = /\s*(?:(\d+)|(d_?ff|d_?k|N_?p?|n_?p?|[BbHWCcPpTtRrdhLlKk])|(\*\*\s*2|\^\s*2|²)|([*·×])|(\/)|([+−-]))/y;
const SPELLED = { N: "N_p", n: "N_p", Np: "N_p", np: "N_p", n_p: "N_p", dk: "d_k", dff: "d_ff", b: "B", c: "C", p: "P", t: "T", r: "R", l: "L", k: "K" };

// One axis, such as 577, T, 3d, P²C or N_p + 1: its number, and its letters without spaces. Null when it cannot be read.
function readAxis(typed, sizes) {
  let [sum, term, sign, divide, factor, letters, open] = [0, 1, 1, false, 1, "", true];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < typed.trimEnd().length) {
    const match = TOKEN.exec(typed);
    if (!match) return null;
    const [, number, letter, square, times, over, plus] = match;
    if (number || letter) {
      const name = SPELLED[letter] ?? letter;
      factor = number ? Number(number) : sizes[name];
      term = divide ? term / factor : term * factor;
      letters += number ?? name;
      [divide, open] = [false, false];
    } else if (open) return null;
    else if (square) {
      term *= factor;
      letters += "²";
    } else if (times || over) [divide, open] = [Boolean(over), true];
    else {
      sum += sign * term;
      letters += plus;
      [term, sign, open] = [1, plus === "+" ? 1 : -1, true];
    }
  }
  return open ? null : { number: sum + sign * term, letters };
}

// "(32, 197, 768)", "B x T x d" -> {axes: [{number, letters}, ...]}, or {error} with what to type instead.
export function readShape(typed, sizes) {
  const inner = typed.trim().replace(/^[([]|[)\]]$/g, "").trim();
  const parts = inner.split(/[,;]/.test(inner) ? /[,;]/ : /\s*[x×]\s*|\s+/).map((part) => part.trim());
  if (parts.length > 1 && !parts.at(-1)) parts.pop(); // (32,)
  const axes = parts.map((part) => readAxis(part, sizes));
  if (!inner || axes.includes(null)) return { error: "Type one number or letter per axis, for example (32, 224, 224, 3) or (B, H, W, C)." };
  return { axes };
}

const either = new Intl.ListFormat("en", { type: "disjunction" });

// Compares a shape that was read with the right one, which is `letters`; `names` says what each letter means. Returns
// {right, words, wrong}: what to tell the reader, and which axes are wrong, or null where they cannot be compared.
export function judgeShape(axes, letters, sizes, names) {
  if (axes.length !== letters.length) return { right: false, words: `The tensor has ${letters.length} axes; you typed ${axes.length}.`, wrong: null };
  const off = (i) => axes[i].number !== sizes[letters[i]];
  const otherLetter = (i) => axes[i].letters in names && axes[i].letters !== letters[i]; // wrong, even with the right number
  const wrong = [...letters.keys()].filter((i) => off(i) || otherLetter(i));
  if (!wrong.length) return { right: true, words: "Right, every axis.", wrong };
  const sorted = (numbers) => [...numbers].sort((a, b) => a - b).join();
  const sameSizes = sorted(axes.map((axis) => axis.number)) === sorted(letters.map((letter) => sizes[letter]));
  if (sameSizes && wrong.every(off)) return { right: false, words: "These are the right sizes in another order.", wrong };
  const sentences = wrong.map((i) => sentence(axes[i], letters[i], sizes, names));
  return { right: false, words: [...new Set(sentences)].join(" "), wrong };
}

function sentence(typed, letter, sizes, names) {
  const named = (name) => `${name} (${names[name]})`;
  const number = typed.number.toLocaleString("en-US");
  const same = Object.keys(names).filter((name) => sizes[name] === typed.number);
  let what = number;
  if (typed.letters in names) what = named(typed.letters);
  else if (same.length) what = `${number}, which is ${either.format(same.map(named))}`;
  return `${letter} is wrong: you typed ${what}. ${named(letter)} is ${sizes[letter].toLocaleString("en-US")}.`;
}
