"""Grades a whole class: what is to do, a slot for each job, results written as they come, nothing lost."""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from autograder.catalog import EXERCISES
from autograder.results import Results
from autograder.slot import Slot, SlotLost
from autograder.submissions import Submission, SubmissionError, collect
from autograder.task import Task, failed, missing

LOSSES_IN_A_ROW = 3  # after so many submissions lost with no result between, the machine is at fault: the run stops


class RunStopped(RuntimeError):
    """The run cannot go on; what is graded is kept. The text says why and what to do."""


@dataclass
class Summary:
    """What a run did, for people and for scripts."""

    engine: str
    total: int
    unchanged: int = 0
    seconds: float = 0.0
    rows: list[dict] = field(default_factory=list)
    grades: Path | None = None

    @property
    def statuses(self) -> Counter:
        """How many rows have each status."""
        return Counter(row["status"] for row in self.rows)


@dataclass(frozen=True, slots=True)
class Pair:
    """A student and an exercise, with the notebook if there is one."""

    student: str
    exercise: str
    submission: Submission | None


def plan(path: Path, exercises: list[str]) -> tuple[list[Pair], list[str]]:
    """Everything that gets a row in grades.csv, in order, and what the instructor should know.

    With no `exercises` named, those that somebody handed in. Raises SubmissionError when there is nothing to grade.
    """
    collection = collect(path, {name: EXERCISES[name] for name in exercises or EXERCISES})
    found = {(submission.student, submission.exercise): submission for submission in collection.submissions}
    wanted = [name for name in EXERCISES if name in (exercises or {exercise for _, exercise in found})]
    students = {student for student, _ in found}
    students = sorted(students | _empty_handed(path, students))
    pairs = [Pair(student, exercise, found.get((student, exercise))) for student in students for exercise in wanted]
    return pairs, collection.notes


def _empty_handed(path: Path, students: set[str]) -> set[str]:
    """Students whose own folder is there but holds no notebook, where each student has a folder."""
    root = path / "submitted" if (path / "submitted").is_dir() else path
    folders = {entry.name for entry in root.iterdir() if entry.is_dir()} if root.is_dir() else set()
    if not students <= folders:
        return set()
    return {name for name in folders - students if not name.startswith(".") and name not in EXERCISES}


def task_for(pair: Pair, results: Results) -> Task:
    """The pair's notebook, read, hashed and ready to grade. What cannot be read says so in its result."""
    key = (pair.student, pair.exercise)
    seed = results.seed(*key)
    if pair.submission is None:
        return Task(*key, None, seed)
    try:
        data = pair.submission.read()
    except SubmissionError as reason:
        return Task(*key, None, seed, refused=f"The file {reason}.")
    except OSError as error:
        return Task(*key, None, seed, refused=f"The file cannot be read: {error.strerror}.")
    return Task(*key, hashlib.sha256(data).hexdigest(), seed, data)


def grade_class(
    pairs: list[Pair],
    results: Results,
    engine: str,
    grade_tasks: Callable[[Iterator[Task]], Iterator[dict]],
    advance: Callable[[dict], None],
) -> Summary:
    """Grade what is not current, write each result as it comes, and grades.csv at the end.

    `grade_tasks` turns tasks into results, in any order; `advance` is told each pair's row.

    Raises
    ------
    RunStopped
        When the machine does not let the run go on. What was graded is kept, and the next run continues.
    """
    started = time.monotonic()
    summary = Summary(engine, len(pairs))

    def done(student: str, exercise: str) -> None:
        row = results.rows[student, exercise]
        summary.rows.append(row)
        advance(row)

    def tasks() -> Iterator[Task]:
        for pair in pairs:
            task = task_for(pair, results)
            if results.is_current(task):
                summary.unchanged += 1
                done(pair.student, pair.exercise)
            elif pair.submission is None:
                results.write(missing(task, engine))
                done(pair.student, pair.exercise)
            else:
                yield task

    try:
        for result in grade_tasks(tasks()):
            results.write(result)
            done(result["student"], result["exercise"])
        summary.grades = results.write_grades()
    except OSError as error:
        raise RunStopped(
            f"cannot write to {results.out}: {error.strerror}. What is graded is kept: make room and run this again."
        ) from error
    summary.seconds = time.monotonic() - started
    return summary


def grade_here(tasks: Iterator[Task], engine: str, jobs: int) -> Iterator[dict]:
    """The results of `tasks`, graded in `jobs` processes of this machine, in the order in which they are ready.

    Raises
    ------
    RunStopped
        When slot after slot is lost with no result between: then not the submissions are the reason.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    slots = [Slot(engine, core) for core in (cores if jobs == len(cores) else [None] * jobs)]
    idle: SimpleQueue[Slot] = SimpleQueue()
    for slot in slots:
        idle.put(slot)

    def grade(task: Task) -> dict:
        slot = idle.get()
        try:
            return slot.grade(task)
        finally:
            idle.put(slot)

    running: dict[Future[dict], Task] = {}
    losses = 0
    threads = ThreadPoolExecutor(jobs)
    try:
        while True:
            # One more task per slot than it can take, so that none waits while a result is written.
            while len(running) < 2 * jobs and (task := next(tasks, None)):
                running[threads.submit(grade, task)] = task
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                task = running.pop(future)
                try:
                    result, losses = future.result(), 0
                except SlotLost as reason:
                    result, losses = failed(task, engine, f"The grader failed here, twice: {reason}."), losses + 1
                    if losses == LOSSES_IN_A_ROW:
                        raise RunStopped(f"the jail keeps failing: {reason}. Try `autograder doctor`.") from reason
                yield result
        for slot in slots:
            slot.close()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for slot in slots:
            slot.stop()
        threads.shutdown()
