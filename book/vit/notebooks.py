"""Turn every chapter into a notebook that a plain Jupyter, VS Code or Colab shows well: `python -m vit.notebooks`.

Written to _build/notebooks/, with the library and the data beside them, and copied into the site when it is built. What
only the book's software understands becomes plain Markdown: boxes turn into quotations, predictions into folds,
citations and references into links. The hidden cells that back the numbers stay behind.
"""

import ast
import json
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from pybtex.database import BibliographyData, parse_file
from pybtex.richtext import Text as LaTeX

from .chapters import BOOK, Directive, Part, Text, chapters, parse, read
from .quantities import math_spans

ROOT = BOOK.parent
LIBRARY = ("vit", "data", "data/gpu")  # folders of book/ that a notebook needs beside it

# What a notebook that was opened alone, as Colab does, runs first.
FETCH = """\
# The course's library `vit` lies beside this notebook. If it does not, fetch it from the book.
from importlib.util import find_spec

if not find_spec("vit"):
    from io import BytesIO
    from urllib.request import urlopen
    from zipfile import ZipFile

    address = "{address}notebooks/vit.zip"
    try:
        ZipFile(BytesIO(urlopen(address).read())).extractall()
    except OSError as error:
        message = f"put the folders vit and data beside this notebook ({{address}}: {{error}})"
        raise ModuleNotFoundError(message) from None
"""

QUOTED = {"admonition", "note", "tip", "warning", "important", "caution", "hint", "attention", "seealso", "margin"}
FOLDED = {"dropdown", "prediction", "toggle"}
CODE = {"code-block", "code"}
IN_THE_PAGE = {"vit-tracer", "vit-explorer"}  # figures that are scripts


@dataclass(frozen=True)
class Label:
    """What a label points at: "(3)" or "the theorem of ...", and in which chapter."""

    words: str
    path: Path


def labels(paths: list[Path]) -> dict[str, Label]:
    """Every labeled formula and statement of the chapters. Formulas are numbered anew in each chapter."""
    found: dict[str, Label] = {}
    for path in paths:
        formulas = 0
        for part in _all_parts(read(path)):
            label = str(part.options.get("label", ""))
            if part.name == "math" and label:
                formulas += 1
                found[label] = Label(f"({formulas})", path)
            elif part.name.startswith("prf:") and label:
                kind = part.name.removeprefix("prf:")
                found[label] = Label(f"the {kind} “{part.argument}”" if part.argument else f"the {kind}", path)
    return found


def _all_parts(parts: list[Part]) -> Iterator[Directive]:
    for part in parts:
        if isinstance(part, Directive) and part.name != "code-cell":
            yield part
            if part.name and part.name not in ("math", *CODE):
                yield from _all_parts(parse(part.body, part.body_line))


class Chapter:
    """One chapter on its way to a notebook."""

    def __init__(self, path: Path, known: dict[str, Label], references: BibliographyData, address: str) -> None:
        self.path = path
        self.address = address  # where the book is published
        self.known = known
        self.references = references

    # --- cells ------------------------------------------------------------------------------------------------------

    def notebook(self) -> nbformat.NotebookNode:
        """The whole chapter."""
        cells: list[nbformat.NotebookNode] = []
        markdown = ""
        for part in [*read(self.path), None]:
            if isinstance(part, Text) or (part and part.name != "code-cell"):
                markdown += self.markdown([part])
                continue
            if part and "remove-cell" in part.options.get("tags", []):
                continue
            cells += [nbformat.v4.new_markdown_cell(text.strip()) for text in _split(markdown)]
            markdown = ""
            if part and not any(cell.cell_type == "code" for cell in cells):
                cells.append(nbformat.v4.new_code_cell(FETCH.format(address=self.address).strip()))
            if part:
                cells.append(_code_cell(part))
        for number, cell in enumerate(cells):
            cell["id"] = f"{self.path.stem.replace('_', '-')}-{number}"  # the same every time
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        return nbformat.v4.new_notebook(
            cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
        )

    # --- blocks -----------------------------------------------------------------------------------------------------

    def markdown(self, parts: list[Part]) -> str:
        """Plain Markdown for `parts`. Raises ValueError for a directive that has no plain form yet."""
        return "".join(self._block(part) if isinstance(part, Directive) else self._text(part.lines) for part in parts)

    def _text(self, lines: list[str]) -> str:
        kept = [line for line in lines if not re.match(r"%|\([^)]+\)=\s*$", line)]
        return self._inline("\n".join(kept)) + "\n"

    def _block(self, part: Directive) -> str:
        name = part.name
        if not name:
            return "\n".join([f"\n```{part.language}", *part.body, "```\n\n"])
        if name in CODE:
            return "\n".join([f"\n```{part.argument}", *part.body, "```\n\n"])
        if name in IN_THE_PAGE:
            return f"\n*The figure is in the book: [open its page]({self.address}book/{self.path.stem}.html).*\n\n"
        if name == "literalinclude":
            return "\n".join([f"\n```{part.options['language']}", *self._included(part), "```\n\n"])
        if name == "math":
            return self._formula(part)
        body = self.markdown(parse(part.body, part.body_line)).strip()
        title = self._inline(part.argument)
        if name in QUOTED:
            return _quote(f"**{title or name.capitalize()}**\n\n{body}")
        if name.startswith("prf:"):
            if name == "prf:proof":
                return _quote(f"*Proof.* {body} $\\square$")
            kind = name.removeprefix("prf:").capitalize()
            return _quote(f"**{kind}{f' ({title})' if title else ''}.** {body}")
        if name == "prediction":
            answer = str(part.options.get("answer", ""))
            shown = f"{int(answer):,}" if answer.isdigit() else answer
            unit = str(part.options.get("unit", ""))
            return f"\n**Predict.** {title}\n\n" + _fold(
                "The answer", f"**{shown} {unit}**".replace(" **", "**") + f"\n\n{body}"
            )
        if name in FOLDED:
            return _fold(title, body)
        raise ValueError(f"{self.path.name}:{part.line}: no plain form is known for the directive {name}")

    def _included(self, part: Directive) -> list[str]:
        """The class or function that a literalinclude shows, as the lines of its file."""
        lines = (self.path.parent / part.argument).read_text(encoding="utf-8").splitlines()
        tree = ast.parse("\n".join(lines))
        shown = next(node for node in tree.body if getattr(node, "name", "") == part.options["pyobject"])
        return lines[shown.lineno - 1 : shown.end_lineno]

    def _formula(self, part: Directive) -> str:
        body = "\n".join(part.body).strip()
        if r"\\" in body and r"\begin" not in body:
            body = f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
        label = self.known.get(str(part.options.get("label", "")))
        tag = f" \\tag{{{label.words.strip('()')}}}" if label else ""
        return f"\n$$ {' '.join(body.split())}{tag} $$\n\n"  # one line: in a quotation, each line begins with >

    # --- within a line ----------------------------------------------------------------------------------------------

    def _inline(self, text: str) -> str:
        text = re.sub(r"\{[#.][^}\n]*\}(?=\s|$)", "", text)
        for start, end in math_spans(text):
            text = text[:start] + text[start:end].replace("\n", " ") + text[end:]
        return re.sub(r"\{([a-z:]+)\}`([^`]+)`", self._role, text)

    def _role(self, found: re.Match[str]) -> str:
        role, inside = found.groups()
        named = re.match(r"(.*?)\s*<([^>]+)>$", inside, re.DOTALL)
        words, target = named.groups() if named else ("", inside)
        match role:
            case "cite" | "cite:p":
                return f"({'; '.join(self._citation(key, '{} {}') for key in inside.split(','))})"
            case "cite:t":
                return " and ".join(self._citation(key, "{} ({})") for key in inside.split(","))
            case "doc":
                return self._page(words, target)
            case "eq" | "prf:ref":
                label = self.known[target]
                elsewhere = f" of {self._page('', label.path.stem)}" if label.path != self.path else ""
                return (words or label.words) + elsewhere
            case "math":
                return f"${inside}$"
            case "sub" | "sup":
                return f"<{role}>{inside}</{role}>"
            case "ref" | "numref" | "term":
                return words or inside
        raise ValueError(f"{self.path.name}: no plain form is known for the role {role}")

    def _citation(self, key: str, form: str) -> str:
        """The authors and the year in `form`, as a link."""
        entry = self.references.entries[key.strip()]
        people = [" ".join(person.last_names) for person in entry.persons["author"]]
        names = [LaTeX.from_latex(name).render_as("text") for name in people]
        who = names[0] if len(names) == 1 else f"{names[0]} and {names[1]}" if len(names) == 2 else f"{names[0]} et al."
        words, address = form.format(who, entry.fields["year"]), entry.fields.get("url")
        return f"[{words}]({address})" if address else words

    def _page(self, words: str, target: str) -> str:
        """A link to a chapter's notebook, or to the page of the site when it is no chapter."""
        source = BOOK / f"{target.lstrip('/')}.md"
        text = (
            source.read_text(encoding="utf-8") if source.exists() else ""
        )  # the book's own build says what is missing
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        words = words or (title.group(1) if title else source.stem)
        return f"[{words}]({target}.ipynb)" if source in chapters() else f"[{words}]({self.address}book/{target}.html)"


def _code_cell(part: Directive) -> nbformat.NotebookNode:
    tags = part.options.get("tags", [])
    hidden = {"jupyter": {"source_hidden": True}} if "hide-input" in tags else {}
    return nbformat.v4.new_code_cell("\n".join(part.body).strip(), metadata=hidden)


def _split(markdown: str) -> list[str]:
    """One cell for each section."""
    return [text for text in re.split(r"\n(?=##? )", re.sub(r"\n{3,}", "\n\n", markdown)) if text.strip()]


def _quote(text: str) -> str:
    return "\n" + "\n".join(f"> {line}".rstrip() for line in text.splitlines()) + "\n\n"


def _fold(title: str, body: str) -> str:
    return f"\n<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>\n\n"


def build(folder: Path) -> list[Path]:
    """Write all notebooks to `folder`, with the library and the data beside them and in vit.zip."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    address = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]
    references = parse_file(BOOK / "references.bib")
    known = labels(chapters())
    written = []
    for path in chapters():
        notebook = Chapter(path, known, references, address).notebook()
        nbformat.validate(notebook)
        written.append(folder / f"{path.stem}.ipynb")
        written[-1].write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    with zipfile.ZipFile(folder / "vit.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in (file for name in LIBRARY for file in sorted((BOOK / name).glob("*.[pj]*"))):
            target = folder / file.relative_to(BOOK)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
            archive.write(file, file.relative_to(BOOK))
    return written


def main() -> int:
    """Write _build/notebooks/, and the same folder inside the site when there is one."""
    folder = ROOT / "_build" / "notebooks"
    written = build(folder)
    if (site := ROOT / "_build" / "html").is_dir():
        shutil.copytree(folder, site / "notebooks", dirs_exist_ok=True)
    print(f"{len(written)} notebooks in {folder.relative_to(ROOT)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
