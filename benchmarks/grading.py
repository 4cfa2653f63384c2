"""How fast a class is graded, beside nbgrader and otter: `python -m benchmarks.grading [PART ...] [--quick]`.

The parts are `graders` (the same notebooks through all of them), `classes` (time and memory for classes of several
sizes) and `loops` (a class in which one notebook in twenty never ends). A run of all parts at full size is written to
book/data/bench/grading.json, which the page for instructors shows.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autograder.catalog import EXERCISES, ROOT
from autograder.graded import load
from benchmarks import classes, graders, machine

RECORD = ROOT / "book" / "data" / "bench" / "grading.json"
COMPARED = ("right-line-by-line", "right-list-of-shapes", "wrong-class-token-follows-pool")
COPIES = 300  # of each of them for our grader, so that the start of the command is shared as it is in a class
STUDENTS = 1_000
LOOP_EVERY = 4  # students: one notebook of five, so that one in twenty loops
# How many times faster than these the project set out to be.
GOALS = {"nbgrader autograde": 300, "NbGraderAPI.autograde": 60, "otter.api.grade_submission": 200}
CORES = len(os.sched_getaffinity(0))
console = Console(width=120)


def compare(students: Sequence[str], copies: int, scratch: Path) -> dict:
    """The same notebooks through every grader: the seconds that each takes for one, and where their scores differ.

    For ours that is the time of the whole command by the number of notebooks, for the others the median of calls.
    """
    rows: list[dict] = []
    given: dict[graders.Key, set[tuple[float, str]]] = defaultdict(set)
    for jobs in sorted({1, CORES}):
        name = f"autograder grade --jobs {jobs}"
        console.print(f"{name} ...")
        folder = classes.hand_in(scratch / name / "class", copies * len(students), students)
        run = classes.grade(folder, scratch / name / "out", jobs)
        rows.append({"grader": name, "notebooks": run.notebooks, "seconds": run.seconds / run.notebooks})
        for number, student in enumerate(load(scratch / name / "out")):
            for result in student.results:
                given[students[number % len(students)], result["exercise"]].add((result["score"], name))
    keys = list(product(students, EXERCISES))
    for grader in graders.others(keys, scratch):
        console.print(f"{grader.name} ...")
        times = graders.times(grader, keys)
        seconds = statistics.median(seconds for seconds, _ in times.values())
        rows.append({"grader": grader.name, "notebooks": len(keys), "seconds": seconds})
        for key, (_, score) in times.items():
            given[key].add((score, grader.name))
    differ = [f"{key}: {sorted(scores)}" for key, scores in given.items() if len({score for score, _ in scores}) > 1]
    return {"rows": rows, "differ": differ}


def grow(students: int, scratch: Path) -> list[dict]:
    """Time and memory for classes from a fiftieth of `students` to twice as many, five notebooks each."""
    like = classes.complete()
    return [
        grade_class(scratch / str(n), n, like) for n in (students // 50 or 1, students // 5, students, 2 * students)
    ]


def grade_class(scratch: Path, students: int, like: Sequence[str], loop_every: int = 0) -> dict:
    """A class of so many students graded with all cores, as a row for the record."""
    console.print(f"{students:,} students{' and endless loops' if loop_every else ''} ...")
    run = classes.grade(classes.hand_in(scratch / "class", students, like, loop_every), scratch / "out", CORES)
    return asdict(run) | ({"looping": -(-students // loop_every)} if loop_every else {})


def show_comparison(part: dict) -> None:
    """Print seconds per notebook, how many times ours they are, what was aimed at, and differing scores."""
    ours = {row["grader"]: row["seconds"] for row in part["rows"] if row["grader"].startswith("autograder")}
    table = Table("grader", "notebooks", "s a notebook", *(f"times {name.split(' --')[1]}" for name in ours), "aim")
    for row in part["rows"]:
        ratios = [f"{row['seconds'] / seconds:,.1f}" for seconds in ours.values()]
        aim = f"{GOALS[row['grader']]}" if row["grader"] in GOALS else ""
        table.add_row(row["grader"], f"{row['notebooks']:,}", f"{row['seconds']:.4f}", *ratios, aim)
    console.print(table)
    console.print(
        "\n".join(["Scores differ:", *part["differ"]]) if part["differ"] else "All graders give the same scores."
    )


def show_classes(rows: list[dict]) -> None:
    """Print time, rate and memory for each class."""
    table = Table("notebooks", "endless", "jobs", "seconds", "notebooks/s", "memory of the run")
    for row in rows:
        rate = row["notebooks"] / row["seconds"]
        table.add_row(
            *(f"{row['notebooks']:,}", f"{row.get('looping', 0):,}", str(row["jobs"]), f"{row['seconds']:.1f}"),
            *(f"{rate:.1f}", f"{row['parent_mib']:.0f} MiB"),
        )
    console.print(table)


def main(words: list[str]) -> int:
    """Measure, print, and write a whole run down; 1 when the graders' scores differ."""
    parts = ("graders", "classes", "loops")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(parts)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="a smoke run of a minute or two; nothing is written")
    parser.add_argument(
        "--students", type=int, default=STUDENTS, help="in the class that is timed (default: %(default)s)"
    )
    given = parser.parse_args(words)
    if unknown := set(given.parts) - set(parts):
        parser.error(f"there is no part {unknown.pop()}; there are {', '.join(parts)}")
    students, copies, compared = (10, 2, COMPARED[-1:]) if given.quick else (given.students, COPIES, COMPARED)

    record = {"date": date.today().isoformat(), "machine": machine.describe()}
    console.print(", ".join(f"{name} {value}" for name, value in record["machine"].items()))
    if record["machine"]["load_before"] > CORES / 2:
        console.print("This machine is busy: trust the ratios, not the times.", style="yellow")
    with tempfile.TemporaryDirectory() as scratch:
        for part in given.parts or parts:
            folder = Path(scratch, part)
            if part == "graders":
                record[part] = compare(compared, copies, folder)
                show_comparison(record[part])
            elif part == "classes":
                record[part] = grow(students, folder)
                show_classes(record[part])
            else:
                record[part] = [grade_class(folder, students // 5, classes.complete(), LOOP_EVERY)]
                show_classes(record[part])
    if not (given.parts or given.quick or students != STUDENTS):
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        console.print(f"Written to {RECORD.relative_to(ROOT)}.")
    return int(bool(record.get("graders", {}).get("differ")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
