"""The folder OUT: one JSON file per result, `grades.csv`, and what makes a second run grade only what changed.

A result is current when the submission's hash and its seed are those of now. The seed is made of the course's salt,
the student, the exercise and the version of the tests, so it changes with any of them.
"""

import contextlib
import csv
import functools
import hashlib
import io
import json
import secrets
import urllib.parse
from pathlib import Path

from autograder.catalog import EXERCISES, ROOT
from autograder.task import Task

COLUMNS = ("student", "exercise", "score", "max_score", "status", "submission_sha256")


class OutputError(RuntimeError):
    """OUT cannot be used; the text says why and what to do."""


@functools.cache
def tests_version(exercise: str) -> str:
    """A hash over all that decides about a score: tests, kit, misconceptions, reference, jail and engine."""
    grader = ROOT / "autograder"
    files = [EXERCISES[exercise].test_file, EXERCISES[exercise].master, ROOT / "exercises" / "checks.py"]
    files += [grader / name for name in ("engine.py", "hidden.py", "kit.py", "notebook.py")]
    files += [grader / "misconceptions" / name for name in ("__init__.py", f"{exercise}.py")]
    files += sorted((grader / "jail").glob("*.py"))
    digest = hashlib.sha256()
    for path in files:
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def folder_name(student: str) -> str:
    """A folder name for any student name, a different one for each: `..`, `a/b` and control characters are harmless."""
    harmful = "".join(c for c in student if c in '/\\:*?"<>|%' or not c.isprintable())
    name = "".join(urllib.parse.quote(c, safe="") if c in harmful else c for c in student)
    name = f"%2E{name[1:]}" if name.startswith(".") else name or "%"
    if len(name.encode()) > 200:
        name = f"{name[:40]}%{hashlib.sha256(student.encode()).hexdigest()[:32]}"
    return name


class Results:
    """OUT, opened by one run at a time; a context manager.

    Raises `OutputError` when the folder cannot be made, or another run is writing to it.
    """

    def __init__(self, out: Path, salt: str | None) -> None:
        self.out, self.folder = out, out / "results"
        self.rows: dict[tuple[str, str], dict] = {}  # (student, exercise) -> the result without its checks
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (out / "run.json").open("a+", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write to {out}: {error.strerror}") from None
        import fcntl  # here, because Windows has none, and the commands that grade nothing work there

        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise OutputError(f"another run is writing to {out}: wait for it, or give another --out") from None
        self.salt = self._settle_salt(salt)
        self._read_all()

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def _settle_salt(self, given: str | None) -> str:
        """The salt given, else the one of the run before, else a fresh one; kept in OUT/run.json."""
        self._lock.seek(0)
        try:
            kept = json.load(self._lock)["salt"]
        except (ValueError, KeyError, TypeError):
            kept = None
        salt = given if given is not None else kept if isinstance(kept, str) else secrets.token_hex(16)
        if salt != kept:
            self._lock.truncate(0)
            json.dump({"schema": 1, "salt": salt}, self._lock)
            self._lock.flush()
        return salt

    def _read_all(self) -> None:
        for path in self.folder.glob("*/*"):
            if path.suffix == ".tmp":  # of a run that was killed
                path.unlink(missing_ok=True)
                continue
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # damaged: graded again
                result = json.loads(path.read_bytes())
                self.rows[result["student"], result["exercise"]] = _row(result)

    def seed(self, student: str, exercise: str) -> str:
        """What the hidden inputs are drawn from; the tests' version is its second half."""
        drawn = hashlib.sha256(json.dumps([self.salt, student, exercise]).encode()).hexdigest()[:16]
        return f"{drawn}.{tests_version(exercise)}"

    def is_current(self, task: Task) -> bool:
        """Whether there is a result for this very submission, under this salt and these tests."""
        row = self.rows.get((task.student, task.exercise))
        return (
            row is not None
            and not task.refused
            and row["status"] != "engine-error"
            and (row["submission_sha256"], row["seed"]) == (task.submission_sha256, task.seed)
        )

    def write(self, result: dict) -> None:
        """Put a result in its place in one step. Raises OSError when the disk does not take it."""
        folder = self.folder / folder_name(result["student"])
        folder.mkdir(exist_ok=True)
        _replace(folder / f"{result['exercise']}.json", _lines(result))
        self.rows[result["student"], result["exercise"]] = _row(result)

    def write_grades(self) -> Path:
        """Write grades.csv from all results in OUT, by student and then in course order."""
        order = {name: position for position, name in enumerate(EXERCISES)}
        table = io.StringIO()
        writer = csv.DictWriter(table, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for key in sorted(self.rows, key=lambda key: (key[0], order.get(key[1], len(order)), key[1])):
            writer.writerow({name: _cell(value) for name, value in self.rows[key].items()})
        path = self.out / "grades.csv"
        _replace(path, table.getvalue())
        return path


def _lines(result: dict) -> str:
    """A result as JSON with a line for each field and each check."""
    checks = ",\n  ".join(json.dumps(check, ensure_ascii=False) for check in result["checks"])
    fields = [
        f'"{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in result.items() if name != "checks"
    ]
    return "{\n " + ",\n ".join([*fields, f'"checks": [\n  {checks}\n ]']) + "\n}\n"


def _row(result: dict) -> dict:
    return {name: result[name] for name in (*COLUMNS, "seed")}


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        return spreadsheet_text(value)
    return f"{value:g}" if isinstance(value, float) else value


def spreadsheet_text(text: str) -> str:
    """Text that can call nothing when a spreadsheet opens it: students choose names, and `=` begins a formula.

    A name that only looks odd, such as `-x`, stays as it is, so that it can be looked up by other programs.
    """
    formula = text[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") and any(sign in text for sign in "(|!")
    return f"'{text}" if formula else text


def _replace(path: Path, text: str) -> None:
    """Write a file so that at every moment either the old or the new one is there, whole.

    Only a power cut can still damage it, and a damaged result is graded again: nothing waits for the disk here.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
