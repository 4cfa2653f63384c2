"""What the grader's tests share: a jail or a loud skip, notebooks made of cells, and runs of the command line."""

import csv
import ctypes
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder import doctor
from autograder.catalog import ROOT

needs_jail = pytest.mark.jail


@pytest.fixture(scope="session")
def jail_works() -> None:
    """Skips where bubblewrap cannot build a jail, saying what `autograder doctor` says."""
    broken = [finding for finding in doctor.examine() if finding.name in ("bwrap", "Linux") and not finding.works]
    if broken:
        pytest.skip(f"no bubblewrap jail here: {broken[0].says}. {broken[0].command}")


def notebook(*cells: str) -> bytes:
    """A notebook with these code cells."""
    fields = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    document = {
        "cells": [fields | {"source": cell} for cell in cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document).encode()


def hand_in(folder: Path, student: str, exercise: str, data: bytes) -> Path:
    """Put a file where a student's notebook belongs."""
    path = folder / student / f"{exercise}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def autograder(*arguments: object, **options: object) -> subprocess.CompletedProcess:
    """Run the command line to its end."""
    command = [sys.executable, "-m", "autograder", *map(str, arguments)]
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "120"} | options.pop("env", {})
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=600, **options)


def grades(out: Path) -> dict[tuple[str, str], dict]:
    """The rows of OUT/grades.csv by student and exercise."""
    with (out / "grades.csv").open(newline="", encoding="utf-8") as file:
        return {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}


def results(out: Path) -> dict[tuple[str, str], dict]:
    """The result files of OUT by student and exercise."""
    found = [json.loads(path.read_bytes()) for path in (out / "results").glob("*/*.json")]
    return {(result["student"], result["exercise"]): result for result in found}


class Adopted:
    """A block after which every process that was orphaned inside it is this process's child: `left` is what still ran."""

    def __enter__(self) -> "Adopted":
        self.before = self._children()
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        return self

    def __exit__(self, *error: object) -> None:
        ends = time.monotonic() + 20  # the dying have a moment, on a busy machine
        self.left = self._children() - self.before
        while self.left and time.monotonic() < ends:
            for pid in list(self.left):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self.left.remove(pid)
            time.sleep(0.05)
        ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)

    @staticmethod
    def _children() -> set[int]:
        tasks = Path("/proc/self/task").glob("*/children")
        return {int(pid) for task in tasks for pid in task.read_text().split()}
