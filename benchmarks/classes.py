"""Classes of any size, made of the example class, and `autograder grade` on them under observation."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.catalog import EXERCISES, ROOT

EXAMPLES = ROOT / "examples" / "class"
LOOP = "vit_param_count"  # the exercise in which the example class has an endless loop
SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class Run:
    """A class graded: how many notebooks at how many at a time, the time by the clock, and the memory of the run's own
    process at its peak, that of the processes in which notebooks are graded not included."""

    notebooks: int
    jobs: int
    seconds: float
    parent_mib: float


def complete() -> list[str]:
    """The students of the example class who handed in every exercise: right, wrong, and one who left it untouched."""
    everything = {f"{exercise}.ipynb" for exercise in EXERCISES}
    return sorted(path.name for path in EXAMPLES.iterdir() if everything <= {file.name for file in path.iterdir()})


def hand_in(folder: Path, students: int, like: Sequence[str], loop_every: int = 0) -> Path:
    """A class whose students handed in what those in `like` did, in turn; returns `folder`.

    The first of every `loop_every` students handed in an endless loop for one of the exercises.
    """
    for number in range(students):
        own = folder / f"s{number:05}"
        own.mkdir(parents=True)
        for exercise in EXERCISES:
            loops = loop_every and number % loop_every == 0 and exercise == LOOP
            student = "endless-loop" if loops else like[number % len(like)]
            shutil.copy(EXAMPLES / student / f"{exercise}.ipynb", own)
    return folder


def grade(folder: Path, out: Path, jobs: int) -> Run:
    """`autograder grade` on the class in `folder`. Raises RuntimeError with its last words when it did not end well."""
    command = [sys.executable, "-m", "autograder", "grade", folder, "--out", out, "--jobs", str(jobs), "--json"]
    started, peak = time.monotonic(), 0
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, _peak_kib(process.pid))
            time.sleep(SECONDS_BETWEEN_LOOKS)
        seconds = time.monotonic() - started
        said, complaint = process.communicate()
    if process.returncode:
        raise RuntimeError(f"autograder grade ended with {process.returncode}: {complaint.strip()}")
    return Run(json.loads(said)["notebooks"], jobs, seconds, peak / 1024)


def _peak_kib(pid: int) -> int:
    """The most memory that a process has held so far; 0 when it is over."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0
