"""Makes what a student receives from the masters: the notebooks, through nbgrader, and the visible cases as data."""

import copy
import html
import importlib
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import yaml
from nbformat.notebooknode import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder import masters, misconceptions
from autograder.catalog import EXERCISES, ROOT, Exercise
from exercises import checks

# The setup cell of every notebook. It does not fail where the site is out of reach, because an answer can be written
# and handed in without the checks.
SETUP = """\
# Loads the checks. A notebook that came alone fetches them from the course's site.
from pathlib import Path
from urllib.request import urlopen

try:
    for file in ("checks.py", "cases/{name}.json"):
        if not Path(file).exists():
            content = urlopen("{site}exercises/" + file, timeout=10).read()
            Path(file).parent.mkdir(exist_ok=True)
            Path(file).write_bytes(content)
    from checks import check
except OSError:

    def check(*functions):
        print("There are no checks here: copy checks.py and the folder cases to where this notebook is.")

    check()"""
TOP = """\
# {title}

{in_words}. [The chapter]({site}book/{chapter}.html) that leads to it is in the book.

Run the cells from the top, write your answer where it says `YOUR CODE HERE`, and run the check under it as often as you
like."""
HINTS = """\
## Hints

Open the one whose title is what you see."""
NEXT = """\
## When every case is right

1. Restart the kernel and run all cells, so that nothing rests on a cell you have since changed or deleted.
2. Save the notebook under the name it has and hand it in. It is graded on other models than those above, drawn anew, so
   your answer has to follow from the rules and not from the cases.
3. Compare it with the worked solution on [the page of this exercise]({site}book/exercises/{name}.html){after}."""


def release(folder: Path = ROOT / "exercises") -> list[Path]:
    """Writes every exercise's notebook and cases into `folder`; gives the paths written."""
    written = []
    for exercise in EXERCISES.values():
        files = {
            folder / f"{exercise.name}.ipynb": nbformat.writes(student_notebook(exercise)) + "\n",
            folder / "cases" / f"{exercise.name}.json": cases_text(cases(exercise)),
        }
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written


# --- notebooks --------------------------------------------------------------------------------------------------


def site() -> str:
    """The book's address, with a slash at its end; it is set in _config.yml and nowhere else."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return config["html"]["baseurl"].rstrip("/") + "/"


def source_notebook(exercise: Exercise) -> NotebookNode:
    """The instructor's notebook in nbgrader's format, with the solution and the call of the hidden tests."""
    master = masters.notebook(exercise)
    words = vars(exercise) | {"in_words": exercise.in_words, "site": site(), "after": _after(exercise)}
    cells: dict[str, list[NotebookNode]] = {tag: [] for tag in masters.TAGS}
    for cell in master.cells:
        cells[masters.section(cell)].append(cell)
    body = [cell for cell in master.cells if masters.section(cell) in ("statement", "setup", "given", "stub", "check")]

    for cell in cells["setup"]:
        cell.source = SETUP.format(**words)
        cell.metadata.nbgrader = {"grade_id": "setup", "solution": False, "grade": False, "locked": True}
    for cell in cells["check"]:
        cell.metadata.nbgrader["points"] = 0
    for cell in cells["hidden"]:
        cell.metadata.nbgrader["points"] = exercise.points
    for cell in cells["hint"]:
        hint = masters.hint(cell.source)
        symptom = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(hint.symptom, quote=False))
        cell.source = f"<details>\n<summary>{symptom}</summary>\n\n{hint.body}\n\n</details>"
    for tag, text in {"top": TOP, "hints": HINTS, "next": NEXT}.items():
        cells[tag] = [nbformat.v4.new_markdown_cell(text.format(**words))]

    node = nbformat.v4.new_notebook(metadata={"kernelspec": master.metadata.kernelspec})
    node.cells = [*cells["top"], *body, *cells["hints"], *cells["hint"], *cells["next"], *cells["hidden"]]
    for tag, group in cells.items():
        for number, cell in enumerate(group, start=1):
            cell.id = f"{tag}-{number}"
            cell.metadata = _metadata(cell, tag)
    nbformat.validate(node)
    return node


def _metadata(cell: NotebookNode, tag: str) -> NotebookNode:
    """The cell's metadata in a notebook: its tag, and nbgrader's entry in full."""
    metadata = NotebookNode(tags=[tag])
    if "nbgrader" in cell.metadata:
        entry = cell.metadata.nbgrader
        metadata.nbgrader = NotebookNode({"locked": entry["grade"], "task": False, "schema_version": 3} | entry)
    return metadata


def _after(exercise: Exercise) -> str:
    """Where to go on, as the end of a sentence."""
    later = [other for other in EXERCISES.values() if other.order > exercise.order]
    return f", then go on to [{later[0].title}]({site()}book/exercises/{later[0].name}.html)" if later else ""


def student_notebook(exercise: Exercise) -> NotebookNode:
    """The student's notebook, as nbgrader's generate_assignment makes it in a course of its own."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source", exercise.name, f"{exercise.name}.ipynb")
        source.parent.mkdir(parents=True)
        nbformat.write(source_notebook(exercise), source)
        config = Config()
        config.CourseDirectory.root = folder
        config.CourseDirectory.assignment_id = exercise.name
        config.ClearSolutions.code_stub = {"python": masters.CODE_STUB}
        config.SaveCells.enabled = False  # there is no gradebook
        converter = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config, no_database=True)
        converter.start()
        return nbformat.read(Path(folder, "release", exercise.name, source.name), as_version=4)


# --- cases ------------------------------------------------------------------------------------------------------


def cases(exercise: Exercise) -> dict:
    """The visible cases as data: arguments, the reference's answers, and the answers that known mistakes give.

    A mistake that no case shows, or that raises in one, is left out.
    """
    master = importlib.import_module(f"solutions.{exercise.name}")
    asked = [case | {"args": case.get("args", []), "kwargs": case.get("kwargs", {})} for case in master.CASES]

    def answers(name: str, function: Callable) -> list:
        given = [copy.deepcopy((case["args"], case["kwargs"])) for case in asked if case["call"] == name]
        return [function(*args, **kwargs) for args, kwargs in given]

    wants = {name: answers(name, getattr(master, name)) for name in exercise.functions}
    mistakes = []
    for misconception in misconceptions.load(exercise.name):
        for name, function in misconception.functions.items():
            try:
                values = answers(name, function)
            except Exception:
                continue
            if not all(map(checks.matches, values, wants[name])):
                mistakes.append({"function": name, "sentence": misconception.sentence, "values": values})
    remaining = {name: iter(values) for name, values in wants.items()}
    return {
        "functions": list(exercise.functions),
        "cases": [case | {"want": next(remaining[case["call"]])} for case in asked],
        "mistakes": mistakes,
    }


def cases_text(content: dict) -> str:
    """The cases as JSON, a line for each case and each mistake, arrays in the form that checks.py reads."""

    def encoded(value: object) -> object:
        if isinstance(value, np.ndarray):
            # Rounded, so that the last bits of another machine do not change the file; and JSON has no NaN.
            numbers = np.where(np.isnan(value), None, value.astype(float).round(10)).ravel().tolist()
            return {"array": numbers, "shape": value.shape, "dtype": value.dtype.name}
        raise TypeError(f"a case holds {type(value).__name__}, which cannot be written as data")

    lists = (
        f' "{key}": [\n  ' + ",\n  ".join(json.dumps(entry, default=encoded) for entry in entries) + "\n ]"
        for key, entries in content.items()
    )
    return "{\n" + ",\n".join(lists) + "\n}\n"
