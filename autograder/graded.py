"""Reads back a graded class, the folder OUT, for the report and the exports."""

import json
from dataclasses import dataclass
from pathlib import Path

from .catalog import EXERCISES


@dataclass(frozen=True)
class Student:
    """A student's results, in course order."""

    name: str
    folder: str  # the name of their folder in results/, which is harmless whatever theirs is
    results: list[dict]

    @property
    def score(self) -> float:
        return sum(result["score"] or 0 for result in self.results)

    @property
    def max_score(self) -> float:
        return sum(result["max_score"] for result in self.results)

    @property
    def by_exercise(self) -> dict[str, dict]:
        """The results by the name of the exercise."""
        return {result["exercise"]: result for result in self.results}

    @property
    def counted(self) -> bool:
        """Whether the score is final: a fault of the grader is no zero."""
        return all(result["score"] is not None for result in self.results)


def load(out: Path) -> list[Student]:
    """The students of a graded class, by name.

    Raises FileNotFoundError when `out` holds no results, with what to do.
    """
    folders = sorted(path for path in (out / "results").glob("*") if path.is_dir())
    order = {name: position for position, name in enumerate(EXERCISES)}
    students = []
    for folder in folders:
        results = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")]
        if results:
            results.sort(key=lambda result: (order.get(result["exercise"], len(order)), result["exercise"]))
            students.append(Student(results[0]["student"], folder.name, results))
    if not students:
        raise FileNotFoundError(
            f"{out} holds no results: grade a class first, `autograder grade SUBMISSIONS --out {out}`"
        )
    return sorted(students, key=lambda student: student.name.casefold())
