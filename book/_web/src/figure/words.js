// Numbers as the book writes them.

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];
const fourDigits = new Intl.NumberFormat("en-US", { minimumSignificantDigits: 4, maximumSignificantDigits: 4 });

// 17563828224 -> "17,563,828,224"
export const whole = (number) => number.toLocaleString("en-US");

// Four digits: 0.040726 -> "0.04073", 12345.6 -> "12,350"
export const rounded = (number) => fourDigits.format(number);

// 17563828224 -> "17.56 G"; with a unit, 340918272 -> "340.9 MB"
export function short(number, unit = "") {
  let step = 0;
  while (number >= 1000 && step < PREFIXES.length - 1) [number, step] = [number / 1000, step + 1];
  return `${rounded(number)} ${PREFIXES[step]}${unit}`.trimEnd();
}

// 0.040726 -> "4.07%"; what is there but rounds to nothing is said to be less than that
export function percent(share) {
  return share > 0 && share < 0.00005 ? "< 0.01%" : `${(100 * share).toFixed(2)}%`;
}
