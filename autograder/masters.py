"""Reads a master: the statement, stub, hints, solution and visible cases of an exercise, each in its section."""

import re
from dataclasses import dataclass

import jupytext
from nbformat.notebooknode import NotebookNode

from autograder.catalog import Exercise

TAGS = ("statement", "setup", "given", "stub", "check", "hidden", "hint", "solution", "cases")
CODE_STUB = "# YOUR CODE HERE"  # what nbgrader puts in the place of a solution
_SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Hint:
    """Help under the symptom that a student sees."""

    symptom: str
    body: str


@dataclass(frozen=True)
class Master:
    """The sections of a master that are shown; markdown, or Python where the name says code."""

    statement: str
    given: tuple[str, ...]  # code the student is given
    stub: tuple[str, ...]  # code the student starts from, without the solution
    hints: tuple[Hint, ...]
    reasoning: str
    reference: tuple[str, ...]  # code of the solution

    @property
    def solution(self) -> str:
        """The worked solution: the reasoning, then the code."""
        return f"{self.reasoning}\n\n```python\n" + "\n\n\n".join(self.reference) + "\n```"


def notebook(exercise: Exercise) -> NotebookNode:
    """The master as a notebook.

    Raises ValueError when a cell has no tag that says what it is, or more than one.
    """
    node = jupytext.read(exercise.master)
    for cell in node.cells:
        if sum(tag in TAGS for tag in cell.metadata.get("tags", ())) != 1:
            first = cell.source.partition("\n")[0]
            raise ValueError(f"{exercise.master.name}: the cell {first!r} needs one tag out of {', '.join(TAGS)}")
    return node


def section(cell: NotebookNode) -> str:
    """The tag that says what the cell is."""
    return next(tag for tag in cell.metadata.tags if tag in TAGS)


def read(exercise: Exercise) -> Master:
    """The sections of the exercise's master.

    Raises ValueError for a hint without a symptom or a stub without a marked solution.
    """
    cells: dict[str, list[str]] = {tag: [] for tag in TAGS}
    for cell in notebook(exercise).cells:
        cells[section(cell)].append(cell.source)
    return Master(
        statement="\n\n".join(cells["statement"]),
        given=tuple(cells["given"]),
        stub=tuple(without_solution(source) for source in cells["stub"]),
        hints=tuple(hint(source) for source in cells["hint"]),
        reasoning="\n\n".join(cells["solution"]),
        reference=tuple(_reference(source) for source in cells["stub"]),
    )


def hint(source: str) -> Hint:
    """A hint's symptom, its first line after `### `, and its body."""
    first, _, body = source.partition("\n")
    if not first.startswith("### ") or not body.strip():
        raise ValueError(f"a hint begins with a line '### ' and the symptom, not with {first!r}")
    return Hint(first.removeprefix("### ").strip(), body.strip())


def without_solution(source: str) -> str:
    """The stub as nbgrader makes it for the student."""
    stub, replaced = _SOLUTION.subn(rf"\1{CODE_STUB}\n", source)
    if not replaced:
        raise ValueError("a stub needs its solution between '### BEGIN SOLUTION' and '### END SOLUTION'")
    return stub


def _reference(source: str) -> str:
    """The solved function: no markers, and nothing after the solution, where only the stub's error follows."""
    found = _SOLUTION.search(source)
    return (source[: found.start()] + found.group(2)).rstrip()
