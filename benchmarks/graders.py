"""The same notebooks through other graders: nbgrader and otter, each as a command and in a process that is warm."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.bundle import make_bundles
from autograder.course import make_course, open_course
from benchmarks import classes

Key = tuple[str, str]  # a student of the example class, and an exercise


@dataclass(frozen=True)
class Grader:
    """How a grader grades one notebook, which is timed, and how the score is found afterwards, which is not."""

    name: str
    warm: bool  # whether it stays in this process, so that a first call prepares those that follow
    grade: Callable[[Key], object]
    score: Callable[[object], float]  # of what `grade` returned


def times(grader: Grader, keys: list[Key]) -> dict[Key, tuple[float, float]]:
    """Seconds by the clock and score for each notebook."""
    results = {}
    with _without_stderr():
        if grader.warm:
            grader.grade(keys[0])
        for key in keys:
            started = time.monotonic()
            graded = grader.grade(key)
            results[key] = time.monotonic() - started, grader.score(graded)
    return results


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    """Drops what kernels write to this process's stderr: a warning each time one starts."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def others(keys: list[Key], folder: Path) -> Iterator[Grader]:
    """nbgrader and otter, set up in `folder` for these notebooks."""
    yield from _nbgrader(keys, folder / "course")
    yield from _otter(folder / "otter")


def _notebook(key: Key) -> Path:
    student, exercise = key
    return classes.EXAMPLES / student / f"{exercise}.ipynb"


def _command(*words: object, cwd: Path) -> None:
    commands = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([commands / str(words[0]), *map(str, words[1:])], cwd=cwd, env=env, check=True, capture_output=True)


def _nbgrader(keys: list[Key], course: Path) -> Iterator[Grader]:
    make_course(course)
    for student, exercise in keys:
        handed_in = course / "submitted" / student / exercise
        handed_in.mkdir(parents=True)
        shutil.copy(_notebook((student, exercise)), handed_in)
    api = open_course(course)

    def by_command(key: Key) -> Key:
        _command("nbgrader", "autograde", key[1], "--student", key[0], cwd=course)
        return key

    def by_interface(key: Key) -> Key:
        outcome = api.autograde(key[1], key[0], force=True)
        if not outcome["success"]:
            raise RuntimeError(f"nbgrader did not grade {key}: {outcome['log']}")
        return key

    def score(key: Key) -> float:
        with api.gradebook as gradebook:
            return gradebook.find_submission(key[1], key[0]).score

    yield Grader("nbgrader autograde", False, by_command, score)
    yield Grader("NbGraderAPI.autograde", True, by_interface, score)


def _otter(folder: Path) -> Iterator[Grader]:
    from otter.api import grade_submission

    bundles = {path.stem: path for path in make_bundles(folder)}

    def by_command(key: Key) -> Path:
        out = folder.joinpath(*key)
        out.mkdir(parents=True)
        _command("otter", "run", "-a", bundles[key[1]], "-o", out, _notebook(key), cwd=folder)
        return out / "results.json"

    def score(results: Path) -> float:
        return sum(test["score"] for test in json.loads(results.read_text())["tests"])

    def by_interface(key: Key) -> object:
        return grade_submission(str(_notebook(key)), str(bundles[key[1]]), quiet=True)

    yield Grader("otter run", False, by_command, score)
    yield Grader("otter.api.grade_submission", True, by_interface, lambda results: results.total)
