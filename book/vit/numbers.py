"""Find every number in the prose of the chapters and what backs it: `python -m vit.numbers [CHAPTER ...]`, from book/.

The prose is what a reader reads: paragraphs, tables, formulas, captions, titles, alternative texts, and the answers of
the predictions. Code, options, labels, citations and addresses are not. What backs a number is an entry of the ledger
(`ledger` says how to write one): the chapter's cells are run here, so an entry that does not hold is found as well.
"""

import ast
import builtins
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from .chapters import BOOK, Directive, Part, chapters, parse, read
from .ledger import ENTRIES, Entry, LedgerError
from .quantities import Quantity, quantities

# What is no claim although it has digits. `quantities` adds: exponents, subscripts, digits glued to a letter, whole
# coefficients (4d) and 0, 1, 2 in a formula with symbols.
EXEMPT = {
    "a year": r"\b(?:19[5-9]\d|20[0-3]\d)\b(?![,.]?\d)",
    "a numbered thing": r"\b(?:Chapter|Section|Table|Figure|Equation|Appendix|Theorem|Exercise|Part|Algorithm)"
    r"(?:s|es|ices)?[ ~](?:[A-Z]\.)?[\d.]+(?:\([a-z]\))?(?:(?:,| and| or| to|-|–) (?:[A-Z]\.)?[\d.]+)*"
    r"|\b(?:[Rr]ow|[Ss]tep|[Vv]ersion|[Ll]ine|[Bb]lock|[Ii]ndex|[Pp]osition|[Ll]abel|[Cc]lass|[Ss]tage|[Hh]ead)"
    r"[ ~]\d+\b(?![.,]?\d|%)",
    "a list's marker": r"^[ \t]*[1-9][.)](?=\s)",
    "a model's name": r"\b(?:So)?(?:ViT|DeiT|GPT|BERT|ResNet|SigLIP|DINO|PaLM|CLIP|Swin)[- ]?v?\d+\w*(?:/\d+)?"
    r"|\b(?:\w+-)?(?:Ti|So400m|400m|S|B|L|H|g|G|s)/\d+\b|\bSigLIP 2\b|\b(?:7|22)B\b(?! param)",
    "a data set's name": r"\bImageNet-?\d+k?\b|\bJFT-\d+[MB]\b|\bCIFAR-\d+\b",
    "a machine's name": r"\bTPU[- ]?v\d\b|\b[VAHB]\d{3}\b",
    "one- or two-dimensional": r"\b[1-4]-?D\b",
    "where counting starts": r"\bcounted from [01]\b|\bfrom [01] on\b",
    "a software's or a license's version": r"\b(?:Python|NumPy|PyTorch|timm|torchvision|CC BY(?:-SA)?) v?\d[\d.]*",
    "top-1 and the like": r"\btop-\d\b",
    "an arXiv number": r"\barXiv[: ]\s*\d{4}\.\d{4,5}(?:v\d)?",
}

# Not prose: blanked before numbers are looked for. The order matters.
_HIDDEN = [
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^%.*$", re.MULTILINE),
    re.compile(r"^\([^)\n]+\)=[ \t]*$|^\+\+\+.*$", re.MULTILINE),
    re.compile(r"\{(?!math|sub|sup|term|abbr)[\w:-]+\}`[^`<]*`"),  # a role without a text of its own
    re.compile(r"\{[\w:-]+\}(?=`)"),  # the name of any other role
    re.compile(r"<[\w./#:-]+>(?=`)"),  # its target
    re.compile(r"\]\([^)\s]*\)|<https?://[^>]*>|https?://\S+|^\[[^\]]+\]:.*$", re.MULTILINE),
    re.compile(r"\[\^[^\]]+\]"),
    re.compile(r"</?[a-zA-Z][^>]*>"),
    re.compile(r"\{[#.][^}\n]*\}"),
    re.compile(r"\\mathbf\{1\}"),  # the column of ones
    re.compile(r"\\(?:label|tag|eqref|begin|end|hspace|vspace|color|htmlClass)\{[^}]*\}|\\\\\[[^\]]*\]"),
]
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_ONLY_NUMBERS = re.compile(r"^[\d\s.,()×x{}\\-]+$")  # a shape or a number in code letters is read all the same

_NO_TEXT = {
    "code",
    "code-block",
    "literalinclude",
    "include",
    "raw",
    "mermaid",
    "toctree",
    "bibliography",
    "glossary-index",
}
_NO_TITLE = {"figure", "image", "vit-exercise", "math", "list-table", "div", "grid", "csv-table"}


@dataclass(frozen=True)
class Number:
    """A number in a chapter: as shown, where, and the entry that backs it (None for none)."""

    shown: str
    line: int
    entry: Entry | None


@dataclass(frozen=True)
class Chapter:
    """The ledger of one chapter."""

    path: Path
    numbers: list[Number]
    faults: list[str]  # entries that do not hold or back nothing, cells that fail

    @property
    def unbacked(self) -> list[Number]:
        return [number for number in self.numbers if not number.entry]


# --- the prose ------------------------------------------------------------------------------------------------------


def prose(parts: list[Part]) -> Iterator[tuple[int, str]]:
    """(line number, text) of every line that a reader reads."""
    for part in parts:
        if not isinstance(part, Directive):
            yield from enumerate(part.lines, part.line)
        elif part.name == "code-cell":
            shown = part.options.get("mystnb", {})
            for text in (shown.get("figure", {}).get("caption"), shown.get("image", {}).get("alt")):
                yield part.line, text or ""
        elif part.name == "math":
            yield from [(part.line, "$$"), *enumerate(part.body, part.body_line), (part.line, "$$")]
        elif part.name not in _NO_TEXT and (part.name or part.language in ("", "text")):
            yield from _inside(part)
        yield part.line, ""


def _inside(part: Directive) -> Iterator[tuple[int, str]]:
    if part.name not in _NO_TITLE:
        yield part.line, part.argument
    yield part.line, ""
    yield part.line, str(part.options.get("alt", "")) + "\n"
    answer = str(part.options.get("answer", ""))
    unit = str(part.options.get("unit", ""))
    yield part.line, f"{answer} {unit}"
    yield part.line, ""
    if part.name:
        yield from prose(parse(part.body, part.body_line))
    else:
        yield from enumerate(part.body, part.body_line)


def readable(parts: list[Part]) -> tuple[str, list[int]]:
    """The prose as one text, with all that is not read blanked, and the line number of each of its lines."""
    lines = [(line, piece) for line, text in prose(parts) for piece in text.split("\n")]
    text = "\n".join(piece for _, piece in lines)
    for hidden in _HIDDEN:
        text = hidden.sub(_blank, text)
    text = _CODE.sub(lambda m: m.group() if _ONLY_NUMBERS.match(m.group(1)) else _blank(m), text)
    return text.replace("`", " "), [line for line, _ in lines]


def claims(parts: list[Part]) -> Iterator[tuple[int, str, Quantity]]:
    """(line, the number as shown, the quantity) of every number that must be backed."""
    text, lines = readable(parts)
    exempt = [m.span() for rule in EXEMPT.values() for m in re.finditer(rule, text, re.MULTILINE)]
    for found in quantities(text):
        if not found.formal and not any(a <= found.start < b for a, b in exempt):
            yield lines[text.count("\n", 0, found.start)], _plain(text[found.start : found.end]), found


def _plain(shown: str) -> str:
    return " ".join(re.sub(r"\\[,;:! ]|[$*{}]|\\(?=%)|\\(?:text|mathrm)", " ", shown.replace("{,}", ",")).split())


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group())


# --- the ledger of a chapter ----------------------------------------------------------------------------------------


def run(path: Path) -> tuple[list[Entry], list[str]]:
    """Run a chapter's cells as its kernel would, from book/: the entries they make, and what went wrong.

    Changes the working folder and keeps what the cells leave behind, so give it a process of its own.
    """
    os.chdir(BOOK)
    os.environ["MPLBACKEND"] = "Agg"
    builtins.display = lambda *shown, **how: None
    namespace: dict[str, object] = {"__name__": "__main__"}
    faults: list[str] = []
    ENTRIES.clear()
    for part in read(path):
        if not isinstance(part, Directive) or part.name != "code-cell":
            continue
        for statement in ast.parse("\n".join(part.body)).body:
            ast.increment_lineno(statement, part.body_line - 1)
            try:
                exec(compile(ast.Module([statement], []), str(path), "exec"), namespace)
            except LedgerError as wrong:
                faults.append(f"{path.name}:{statement.lineno}: {wrong}")
            except Exception as wrong:
                faults.append(f"{path.name}:{statement.lineno}: the cell fails with {type(wrong).__name__}: {wrong}")
                return ENTRIES, faults
    return ENTRIES, faults


def examine(path: Path) -> Chapter:
    """The ledger of one chapter. Runs it in this process."""
    entries, faults = run(path)
    backed = [(entry, [part for part in quantities(entry.text) if not part.formal]) for entry in entries]
    used: set[int] = set()
    numbers = []
    for line, shown, quantity in claims(read(path)):
        covering = [i for i, (_, parts) in enumerate(backed) if any(part.covers(quantity) for part in parts)]
        used.update(covering)
        numbers.append(Number(shown, line, backed[covering[0]][0] if covering else None))
    for i, (entry, _) in enumerate(backed):
        if i not in used:
            faults.append(f'{path.name}:{entry.line}: "{entry.text}" backs no number of this chapter')
    return Chapter(path, numbers, faults)


def examine_all(paths: list[Path]) -> Iterator[Chapter]:
    """The ledgers of several chapters, each run in a fresh process."""
    with ProcessPoolExecutor(2, get_context("spawn"), max_tasks_per_child=1) as pool:
        yield from pool.map(examine, paths)


def report(chapters: list[Chapter]) -> str:
    """The ledger as text: number, where, what backs it; then what is not backed, the faults, and the share backed."""
    lines = []
    for chapter in chapters:
        lines += [f"\n{chapter.path.name}"]
        for number in chapter.numbers:
            backing = f"{number.entry.kind}: {number.entry.backing}" if number.entry else "NOT BACKED"
            lines.append(f"  {number.shown:<32.32} {chapter.path.name}:{number.line:<5} {backing}")
    everything = [(chapter, number) for chapter in chapters for number in chapter.numbers]
    missing = [f"  {chapter.path.name}:{n.line}: {n.shown}" for chapter, n in everything if not n.entry]
    faults = [f"  {fault}" for chapter in chapters for fault in chapter.faults]
    declared = sorted(
        {f"  {n.entry.text}: {n.entry.backing}" for _, n in everything if n.entry and n.entry.kind == "declared"}
    )
    for title, rows in (("Declared, not computed", declared), ("Not backed", missing), ("Wrong", faults)):
        lines += [f"\n{title}:", *rows] if rows else []
    total = len(everything)
    share = 100 * (total - len(missing)) / total if total else 100
    lines.append(f"\n{total:,} numbers, {total - len(missing):,} backed: {share:.1f}%")
    lines.append("Not counted: " + ", ".join(EXEMPT) + ", and the exponents, subscripts and coefficients of formulas")
    return "\n".join(lines)


def main(names: list[str]) -> int:
    """Print the ledger of the named chapters, or of all. 1 when a number is not backed or an entry is wrong."""
    paths = [path for path in chapters() if not names or path.stem in names]
    if unknown := set(names) - {path.stem for path in paths}:
        print(f"there is no chapter {sorted(unknown)[0]}", file=sys.stderr)
        return 2
    examined = list(examine_all(paths))
    print(report(examined))
    return int(any(chapter.unbacked or chapter.faults for chapter in examined))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
