"""A submission to grade and the shape of its result: what the run, its slots and the result files share."""

from dataclasses import dataclass

from autograder.catalog import EXERCISES


@dataclass(frozen=True)
class Task:
    """One submission to grade. `data` is the file; where it cannot be read, `refused` is the sentence that says why."""

    student: str
    exercise: str
    submission_sha256: str | None  # None where there are no bytes to hash
    seed: str
    data: bytes = b""
    refused: str = ""


def result(task: Task, status: str, checks: list[dict], engine: str, seconds: float = 0.0) -> dict:
    """A result with the fields of its file. The score of an engine-error is None: it is our fault, never a zero."""
    return {
        "schema": 1,
        "student": task.student,
        "exercise": task.exercise,
        "submission_sha256": task.submission_sha256,
        "seed": task.seed,
        "status": status,
        "score": None if status == "engine-error" else sum(check["points"] for check in checks),
        "max_score": EXERCISES[task.exercise].points,
        "seconds": round(seconds, 3),
        "engine": engine,
        "checks": checks,
    }


def about_notebook(status: str, message: str) -> dict:
    """What is to be said about the notebook as a whole, as a first check that is worth nothing."""
    fields = {"name": "notebook", "hidden": False, "points": 0, "max_points": 0}
    return fields | {"status": status, "message": message, "misconception": None}


def missing(task: Task, engine: str) -> dict:
    """The result where no notebook was handed in."""
    return result(task, "missing", [about_notebook("failed", "No notebook was handed in.")], engine)


def failed(task: Task, engine: str, reason: str) -> dict:
    """The result where the grader or the machine failed; the next run tries again."""
    return result(task, "engine-error", [about_notebook("error", reason)], engine)
