"""Hostile notebooks, and a referee that plays each against a jail.

corpus/*.py holds them, grouped by what they try, one to a cell: `# %% <status>: <name>`, where status is what the result
must be, "graded" if the attack simply does not work and "any" if how it ends depends on the machine's memory and speed.
A cell called "before each" is put before each of its file. None may earn a point; one whose aim was not a point
returns `REACHED` where it reached it.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from autograder import engine
from autograder.jail.session import Jail, SessionEnded
from autograder.task import Task

EXERCISE = "vit_param_count"
REACHED = 10**9
CELL = re.compile(r"^# %% (?:(?P<status>\w+): )?(?P<name>.+)\n", re.MULTILINE)
CONFIG = {"img": 32, "P": 8, "C": 3, "d": 32, "L": 2, "h": 4, "d_ff": 100, "n_classes": 10}
CONFIG |= {"cls_token": True, "n_registers": 4, "pool": "cls"}


@dataclass(frozen=True)
class Attack:
    """One hostile notebook, as its code cells."""

    aim: str  # the first line of its file
    name: str
    status: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What an attack came to."""

    status: str
    points: float
    reached: bool
    messages: str


def attacks() -> list[Attack]:
    """The whole corpus, in the order of its files."""
    found = []
    for path in sorted((Path(__file__).parent / "corpus").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        marks = list(CELL.finditer(text))
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        before: tuple[str, ...] = ()
        for mark, end in zip(marks, ends, strict=True):
            code = text[mark.end() : end].strip() + "\n"
            if mark["status"]:
                found.append(
                    Attack(text.partition("\n")[0].lstrip("# "), mark["name"], mark["status"], (*before, code))
                )
            else:
                before = (code,)
    return found


def notebook(cells: tuple[str, ...]) -> bytes:
    """A notebook of these code cells."""
    document = {"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4}
    return json.dumps(document).encode()


def grade(cells: tuple[str, ...], jail: Jail, kind: str) -> dict:
    """The result of a notebook of `cells`, as a run would write it."""
    return engine.grade(Task("mallory", EXERCISE, None, "seed", notebook(cells)), jail, kind)


def play(attack: Attack, jail: Jail, kind: str) -> Outcome:
    """Grade the attack, and ask its function once by itself whether it reached what it wanted."""
    result = grade(attack.cells, jail, kind)
    session = jail.session()
    try:
        session.load(list(enumerate(attack.cells, start=1)), [EXERCISE])
        reached = session.call(EXERCISE, (CONFIG,), {}).value == REACHED
    except SessionEnded:
        reached = False
    finally:
        session.close()
    messages = "\n".join(check["message"] for check in result["checks"])
    return Outcome(result["status"], result["score"], bool(reached), messages)
