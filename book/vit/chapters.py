"""Read a chapter's source: which lines are prose, which are directives, which are code.

A chapter is a MyST notebook. `parse` gives its top-level parts in order; a directive's body is parsed by whoever wants
to look inside, because only the reader of the parts knows which bodies are text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

BOOK = Path(__file__).resolve().parent.parent

_OPENING = re.compile(
    r"^(?P<indent>\s*)(?P<fence>`{3,}|~{3,}|:{3,})(?:\{(?P<name>[^}]+)\}|(?P<language>[\w-]*))(?P<argument>.*)$"
)
_OPTION = re.compile(r"^\s*:(?P<key>[\w-]+):(?P<value>.*)$")


@dataclass(frozen=True)
class Text:
    """Lines of Markdown outside any fence. `line` is the number of the first, counted from 1."""

    line: int
    lines: list[str]


@dataclass(frozen=True)
class Directive:
    """A fenced part: a directive (`name` is set) or plain code (`language` may be)."""

    line: int
    name: str
    language: str
    argument: str
    options: dict[str, object] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    body_line: int = 0


Part = Text | Directive


def chapters() -> list[Path]:
    """The chapters of the book, in order."""
    return sorted(BOOK.glob("[0-9][0-9]_*.md"))


def read(path: Path) -> list[Part]:
    """The parts of a chapter, its front matter left out."""
    lines = path.read_text(encoding="utf-8").splitlines()
    start = lines.index("---", 1) + 1 if lines and lines[0] == "---" else 0
    return parse(lines[start:], start + 1)


def parse(lines: list[str], line: int) -> list[Part]:
    """The parts of `lines`, the first of which is line number `line`. Raises ValueError for a fence left open."""
    return list(_parts(lines, line))


def _parts(lines: list[str], line: int) -> Iterator[Part]:
    at = text_from = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at])
        if not opening or ("`" in opening["argument"] and opening["fence"][0] == "`"):
            at += 1
            continue
        if at > text_from:
            yield Text(line + text_from, lines[text_from:at])
        end = _closing(lines, at, opening["fence"], line)
        yield _directive(opening, lines[at + 1 : end], line + at)
        at = text_from = end + 1
    if at > text_from:
        yield Text(line + text_from, lines[text_from:at])


def _closing(lines: list[str], opened: int, fence: str, line: int) -> int:
    for at in range(opened + 1, len(lines)):
        mark = lines[at].strip()
        if len(mark) >= len(fence) and set(mark) == {fence[0]}:
            return at
    raise ValueError(f"the fence opened in line {line + opened} never closes")


def _directive(opening: re.Match[str], body: list[str], line: int) -> Directive:
    indent = len(opening["indent"])
    body = [text[indent:] if not text[:indent].strip() else text for text in body]
    options: dict[str, object] = {}
    used = 0
    if opening["name"] and body and body[0].strip() == "---":
        used = body.index("---", 1) + 1
        options = yaml.safe_load("\n".join(body[1 : used - 1])) or {}
    elif opening["name"]:
        while used < len(body) and body[used].lstrip().startswith(":") and (used or _OPTION.match(body[used])):
            used += 1
        options = _short_options(body[:used])
    name, language, argument = opening["name"] or "", opening["language"] or "", opening["argument"].strip()
    return Directive(line, name, language, argument, options, body[used:], line + 1 + used)


def _short_options(lines: list[str]) -> dict[str, object]:
    """Options written `:key: value`. Those of a code cell are YAML behind colons, so try that first."""
    try:
        options = yaml.safe_load("\n".join(text.strip().removeprefix(":") for text in lines)) or {}
        return options if isinstance(options, dict) else {}
    except yaml.YAMLError:
        return {m["key"]: m["value"].strip() for text in lines if (m := _OPTION.match(text))}
