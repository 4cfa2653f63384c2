"""Numbers as they stand in text: find each one with its unit, its precision and the word of caution before it.

A `Quantity` knows what it claims: "17.56 G MACs" claims a count of MACs that rounds to 17.56 billion. The ledger uses
this to compare a text with a value, and `numbers` to find every number in a chapter.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

# Words that scale a number. A reader sees "17.56 G"; the value behind it is 17.56e9.
SCALES = {
    "%": Fraction(1, 100),
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "B": 10**9,  # only glued to the number, as in 6.7B
    "T": 10**12,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
PREFIXES = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
    "kilo": 10**3,
    "mega": 10**6,
    "giga": 10**9,
    "tera": 10**12,
    "peta": 10**15,
    "exa": 10**18,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "m": Fraction(1, 10**3),
    "µ": Fraction(1, 10**6),
}
# Units that take a prefix, and which prefixes each takes.
PREFIXED = {
    "FLOP": ("FLOP", "k M G T P E kilo mega giga tera peta exa"),
    "FLOPs": ("FLOP", "k M G T P E kilo mega giga tera peta exa"),
    "FLOPS": ("FLOP/second", "k M G T P E kilo mega giga tera peta exa"),
    "MAC": ("MAC", "k M G T P E"),
    "MACs": ("MAC", "k M G T P E"),
    "B": ("byte", "k K M G T P Ki Mi Gi Ti"),
    "byte": ("byte", "kilo mega giga tera"),
    "bytes": ("byte", "kilo mega giga tera"),
    "s": ("second", "m µ"),
}
# Nouns that are units: a number must be backed together with the one that follows it. Plurals are understood.
NOUNS = """
    parameter weight bias MAC multiply-add multiplication addition operation FLOP byte bit number value entry
    token patch register vector row column window grid channel pixel px image class label logit point exercise
    block layer head model tensor matrix query key width dimension
    epoch step batch second minute hour day core-day device-day accelerator-day GPU-day chip-day
    chip core device GPU TPU times x × fold line page
""".split()  # noqa: SIM905
SYNONYMS = {
    "px": "pixel",
    "x": "times",
    "×": "times",
    "fold": "times",
    "s": "second",
    "multiply-add": "MAC",
    "gigabyte": "byte",
    "megabyte": "byte",
}
CAUTION = {
    "about": r"about|roughly|nearly|almost|around|approximately|some|close to|~|≈",
    "at most": r"within|under|below|less than|at most|up to|no more than|fewer than|<|≤",
    "at least": r"over|above|more than|at least|no less than|>|≥",
}
# LaTeX that stands between numbers. Any other command glued to a number is read as a space.
LATEX = {"cdot": "·", "times": "×", "approx": "≈", "sim": "~", "le": "≤", "leq": "≤", "lt": "<", "ge": "≥", "geq": "≥"}
LATEX |= {"gt": ">"}

_NUMBER = re.compile(
    r"""(?<![A-Za-z_\d])(?<![A-Za-z\d]\.)
    (?P<sign>(?<![^\s(\[{$,=|~])[-−](?=\d))?
    (?P<whole>\d{1,3}(?:(?:,|\{,\}|\\,|[\u2009\u202f])\d{3})+(?!\d)|\d+)
    (?P<fraction>\.\d+)?
    (?:[eE](?P<e>[-+]?\d+)(?!\w))?
    (?P<power>\s*[×·]\s*10\s*(?:\^\{?(?P<p>[-−]?\d+)\}?|(?P<sup>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?""",
    re.VERBOSE,
)
_ALONE = re.compile(r"\^\{?(?P<p>[-−]?\d+)\}?|(?P<sup>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")  # what makes a bare 10 into a power of ten
_DIGITS = re.compile(r"\D")
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_GLUE = re.compile(r"(?:(?!\n[ \t]*\n)[\s~\u00a0\u2009\u202f*$]|\\[,;:! ]|-(?=[A-Za-z])|\\(?:text|mathrm)\{|\})*")
_WORD = re.compile(r"\\?%|×(?!\s*[\d$\\(A-Za-z])|[A-Za-zµ]+(?:-[A-Za-z]+)?(?:/[A-Za-z]+)?")
_PER = re.compile(r"\s+(?:per|an?|each)\s+([A-Za-z]+)")
# What follows a coefficient: a symbol, or brackets with one in them.
_COEFFICIENT = re.compile(
    r"(?:[\s·×]|\\[,;:! ])*(?:[A-Za-z]|\((?=[^()]*[A-Za-z])|\\sqrt\{(?=[^{}]*[A-Za-z])|\\(?!text|sqrt|[dt]?frac)[A-Za-z])"
)
_CAUTIONS = [(name, re.compile(rf"(?:^|[^A-Za-z\\])(?:{words})[\s$*(]*$")) for name, words in CAUTION.items()]


@dataclass(frozen=True)
class Quantity:
    """A number in a text: where it stands, and what it claims."""

    start: int
    end: int
    digits: str  # as shown, without separators: "86567656", "3.40", "-0.75"
    exponent: int  # the k of a written "× 10^k"
    scale: Fraction  # of the word after it: 10**9 for "G" and for "GB"
    unit: str  # canonical: "parameter", "image/second", "byte", or "" for none
    caution: str  # "", "about", "at most" or "at least"
    formal: bool  # part of a formula's form, not a claim: a whole coefficient (4d), or 0, 1, 2 beside symbols

    @property
    def value(self) -> Fraction:
        """The number claimed, in the plain unit."""
        return Fraction(self.digits) * Fraction(10) ** self.exponent * self.scale

    @property
    def step(self) -> Fraction:
        """The last place shown. After "about", trailing zeros do not count, but the step stays below a tenth."""
        decimals = len(self.digits.partition(".")[2])
        step = Fraction(10) ** (self.exponent - decimals) * self.scale
        if self.caution == "about" and not decimals:
            zeros = len(self.digits) - len(self.digits.rstrip("0"))
            step = max(step, min(step * 10**zeros, abs(self.value) / 10))
        return step

    def holds(self, value: Fraction) -> bool:
        """Whether `value` (in the plain unit) is what the text claims, at the precision shown."""
        slack = abs(value) / 10**12  # a float that stands for a decimal is off by its last bit
        if self.caution == "at most":
            return abs(value) <= self.value + slack
        if self.caution == "at least":
            return value >= self.value - slack
        return abs(value - self.value) <= self.step / 2 + slack

    def reading(self, text: str, value: Fraction) -> str:
        """What the text should show for `value`, in its own form."""
        written = _NUMBER.match(text, self.start)
        if self.digits != ("-" if written["sign"] else "") + _DIGITS.sub("", written["whole"]) + (
            written["fraction"] or ""
        ):
            return f"{float(value):.3g}"  # a bare power of ten
        unscaled = value / self.scale / Fraction(10) ** self.exponent
        decimals = len(self.digits.partition(".")[2])
        if not decimals and abs(unscaled) < 10 and unscaled.denominator != 1:
            shown = f"{float(unscaled):.2g}"  # a whole number would hide the difference
        else:
            shown = f"{float(round(unscaled, decimals)):,.{decimals}f}" if decimals else f"{round(unscaled):,}"
        return shown + text[written.end("fraction") if decimals else written.end("whole") : self.end]

    def covers(self, other: "Quantity") -> bool:
        """Whether backing this one backs `other`: same number, same scale, and the same unit if `other` has one."""
        same = (self.digits, self.exponent, self.scale) == (other.digits, other.exponent, other.scale)
        return same and other.unit in ("", self.unit) and self.caution in ("", other.caution)


def _singular(noun: str) -> str:
    for singular in (noun, noun.removesuffix("s"), noun.removesuffix("es"), noun.removesuffix("ies") + "y"):
        for known in (singular, singular.lower()):
            if known in NOUNS or known in SYNONYMS:
                return SYNONYMS.get(known, known)
    return {"matrices": "matrix", "biases": "bias", "axes": "axis"}.get(noun, "")


def unit_of(words: str, glued: bool = False) -> tuple[Fraction, str, int]:
    """(scale, canonical unit, characters read) of the unit that `words` begins with; (1, "", 0) for none."""
    word = _WORD.match(words)
    if not word:
        return Fraction(1), "", 0
    scale, unit, end = Fraction(1), "", 0
    name = word.group().removeprefix("\\")
    if name in SCALES and (glued or name != "B"):
        scale, end = Fraction(SCALES[name]), word.end()
        gap = _GLUE.match(words, end).end()
        if noun := re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)?(?:/[A-Za-z]+)?").match(words, gap):
            below, unit, read = unit_of(words[gap:])
            if below != 1:  # "G" and then "GB": two units, not one
                unit, read = "", 0
            end = gap + read if read else end
        return scale, unit, end
    base, _, rate = name.partition("/")
    for known, (canonical, prefixes) in PREFIXED.items():
        prefix = base.removesuffix(known)
        if base.endswith(known) and prefix in prefixes.split():
            scale, unit = Fraction(PREFIXES[prefix]), canonical
    unit = unit or _singular(base) or _singular(base.partition("-")[0])
    if not unit:
        return Fraction(1), "", 0
    end = word.end()
    if rate:
        unit += "/" + (_singular(rate) or rate)
    while per := _PER.match(words, end):
        if not (noun := _singular(per.group(1))):
            break
        unit, end = f"{unit}/{noun}", per.end()
    return scale, unit, end


def _latex(command: re.Match[str]) -> str:
    """One sign for a LaTeX command, padded so that nothing after it moves."""
    return LATEX.get(command.group(1), " ").rjust(len(command.group()))


def math_spans(text: str) -> list[tuple[int, int]]:
    """Where `$...$` and `$$...$$` stand in `text`."""
    return [
        m.span()
        for m in re.finditer(r"(?<!\\)\$\$.+?(?<!\\)\$\$|(?<![\\$])\$[^$\n]+(?:\n[^$\n]+)*?(?<!\\)\$", text, re.S)
    ]


def _is_form(text: str, start: int, end: int, number: re.Match[str]) -> bool:
    """Whether a whole number in the formula text[start:end] belongs to its form: 4d, N_p + 1, but not d = 2."""
    after = text[number.end() : end].rstrip("$")
    if _COEFFICIENT.match(after):
        return True
    symbols = re.sub(r"\\(?:text|mathrm)\{[^}]*\}|\\[A-Za-z]+", "", text[start:end])
    alone = text[start : number.start()].rstrip().endswith(("=", "≈")) and re.match(
        r"\s*(?:[,.;)](?!\s*\\[a-z]?dots)|$)", after
    )
    return number.group() in ("0", "1", "2") and bool(re.search(r"[A-Za-z]", symbols)) and not alone


def quantities(text: str, math: list[tuple[int, int]] | None = None) -> Iterator[Quantity]:
    """Every number in `text`, in order. `math` says where formulas stand (found by their `$` when not given).

    Exponents, subscripts and digits glued to a letter (float32, W_1, v3) are parts of names and formulas, not numbers.
    """
    math = math_spans(text) if math is None else math
    text = re.sub(r"\\([A-Za-z]+)(?![A-Za-z])(?=\s*[\d$])", _latex, text)
    position = 0
    while found := _NUMBER.search(text, position):
        start, end = found.span()
        position = end
        before = text[:start].rstrip()
        if before.endswith(("^", "_")) or re.search(r"[\^_]\{[^{}]*$", before[-80:]):
            continue
        whole = _DIGITS.sub("", found["whole"])
        digits = ("-" if found["sign"] else "") + whole + (found["fraction"] or "")
        power = found["p"] or found["e"] or (found["sup"] or "").translate(_SUPERSCRIPTS)
        if whole == "10" and not found["fraction"] and not power and (alone := _ALONE.match(text, end)):
            digits, power = digits.replace("10", "1"), alone["p"] or alone["sup"].translate(_SUPERSCRIPTS)
            position = end = alone.end()
        exponent = int(power.replace("−", "-")) if power else 0
        gap = _GLUE.match(text, end)
        formal, scale, unit, read = False, Fraction(1), "", 0
        around = next(((a, b) for a, b in math if a <= start < b), None)
        formal = around is not None and not found["fraction"] and not power and _is_form(text, *around, found)
        if around and gap.end() < around[1] - 1 and "{" not in gap.group():
            if text.startswith("\\%", gap.end()):
                scale, unit, read = unit_of(text[gap.end() :])
        else:
            scale, unit, read = unit_of(text[gap.end() :], glued=gap.end() == end)
        if read:
            position = end = gap.end() + read
        caution = next((name for name, words in _CAUTIONS if words.search(text[max(0, start - 24) : start])), "")
        yield Quantity(start, end, digits, exponent, scale, unit, caution, formal)
