"""The command line: `autograder grade`, `doctor`, and the commands of the other parts of the course."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from autograder import batch, doctor
from autograder.catalog import EXERCISES
from autograder.results import OutputError, Results
from autograder.submissions import SubmissionError

app = typer.Typer(
    name="autograder",
    help="Release, collect and grade the exercises of the Vision Transformer course.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
errors = Console(stderr=True)
output = Console()
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
FULL_TABLE = 40  # students up to which each gets a row on the screen
STATUSES = ("graded", "missing", "unreadable", "crashed", "timeout", "engine-error")


class Rate(ProgressColumn):
    """Notebooks per second so far."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "", style="cyan")


def fail(message: str, status: int) -> typer.Exit:
    """Print one sentence to stderr; raise what this returns."""
    errors.print(_shown(f"autograder: {message}"), style="red", soft_wrap=True)
    return typer.Exit(status)


def _shown(text: str) -> Text:
    """What may hold a student's words, such as a file's name: nothing in it reaches the terminal as a command."""
    return Text("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text))


@app.command()
def grade(
    submissions: Annotated[Path, typer.Argument(help="What was handed in: a folder, or a zip of your LMS.")],
    out: Annotated[Path, typer.Option(help="Where grades.csv and results/ go. A second run continues there.")],
    jobs: Annotated[int, typer.Option(min=1, help="Notebooks graded at a time.")] = CORES,
    seed: Annotated[
        str | None, typer.Option(metavar="SALT", help="Course salt of the hidden inputs. Kept in OUT.")
    ] = None,
    exercise: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this exercise; may be repeated.")
    ] = None,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Grade on this Dask cluster.")] = None,
    unsafe_trusted: Annotated[bool, typer.Option("--unsafe-trusted", help="Run the notebooks without a jail.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Grade everything in SUBMISSIONS with the hidden tests.

    Each notebook runs in a jail: it cannot reach the network, other files, other students or the tests. Results are
    written as they come, so a run that is stopped at any moment continues when it is started again, and a second run
    grades only what has changed.

    **Exit status**: 0 when every submission was graded, whatever the scores; 1 when some could not be graded because
    of the grader or the machine; 2 for bad usage.
    """
    if scheduler and unsafe_trusted:
        raise fail("--unsafe-trusted is for this machine alone and cannot go with --scheduler", 2)
    names = exercise or []
    if unknown := [name for name in names if name not in EXERCISES]:
        raise fail(f"there is no exercise {unknown[0]}; there are {', '.join(EXERCISES)}", 2)
    try:
        pairs, notes = batch.plan(submissions, names)
        with (
            Results(out, seed) as results,
            _graders(scheduler, jobs, unsafe_trusted) as (engine, grade_tasks),
            _progress(len(pairs), quiet or as_json) as advance,
        ):
            summary = batch.grade_class(pairs, results, engine, grade_tasks, advance)
    except (SubmissionError, OutputError) as error:
        raise fail(str(error), 2) from None
    except batch.RunStopped as stop:
        raise fail(str(stop), 1) from None
    except KeyboardInterrupt:
        raise fail("stopped. What is graded is kept; the same command continues.", 1) from None
    if as_json:
        output.print_json(json.dumps(_as_data(summary, notes)))
    elif not quiet:
        _print(summary, notes)
    if summary.statuses["engine-error"]:
        raise fail(f"{summary.statuses['engine-error']} could not be graded: see their results; run this again.", 1)


@contextmanager
def _graders(scheduler: str | None, jobs: int, unsafe_trusted: bool) -> Iterator[tuple[str, Callable]]:
    """The kind of jail, and what turns tasks into results: here, or on the cluster at `scheduler`."""
    if scheduler:
        from autograder import cluster

        with cluster.connected(scheduler) as client:
            engine = cluster.engine(client)
            yield engine, partial(cluster.grade_there, engine=engine, client=client)
        return
    if not doctor.IS_LINUX:
        raise fail(doctor.ELSEWHERE, 1)
    engine = "unsafe-trusted" if unsafe_trusted else doctor.best_engine()
    if engine is None:
        raise fail("no jail works on this machine; `autograder doctor` says what is missing.", 1)
    if unsafe_trusted:
        errors.print("autograder: no jail: the notebooks run with your own rights on this machine.", style="bold red")
    yield engine, partial(batch.grade_here, engine=engine, jobs=jobs)


@contextmanager
def _progress(total: int, hidden: bool, what: str = "grading") -> Iterator[Callable[[dict], None]]:
    """A progress bar with rate and time left, on a terminal; yields what is to be called after each notebook."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=hidden or not errors.is_terminal) as progress:
        bar = progress.add_task(what, total=total)
        yield lambda row: progress.advance(bar)


def _print(summary: batch.Summary, notes: list[str]) -> None:
    for note in notes:
        output.print(_shown(f"Note: {note}"), soft_wrap=True)
    exercises = [name for name in EXERCISES if any(row["exercise"] == name for row in summary.rows)]
    table = Table(Column("student", overflow="fold", min_width=16))
    for name in exercises:
        heading = "\n".join([*name.split("_"), f"of {EXERCISES[name].points}"])  # narrow: five must fit 80 columns
        table.add_column(heading, justify="right", overflow="fold")
    students = sorted({row["student"] for row in summary.rows})
    cells = {(row["student"], row["exercise"]): _cell(row) for row in summary.rows}
    if len(students) <= FULL_TABLE:
        for student in students:
            table.add_row(_shown(student), *(cells.get((student, name), "") for name in exercises))
        table.add_section()
    table.add_row("mean", *(_mean([row for row in summary.rows if row["exercise"] == name]) for name in exercises))
    output.print(table)
    counts = ", ".join(f"{summary.statuses[status]:,} {status}" for status in STATUSES if summary.statuses[status])
    unchanged = f" ({summary.unchanged:,} unchanged since the last run)" if summary.unchanged else ""
    output.print(Text(f"{counts}{unchanged}"), soft_wrap=True)
    output.print(Text(f"Scores: {summary.grades}\nReasons: {summary.grades.with_name('results')}/"), soft_wrap=True)


def _cell(row: dict) -> Text:
    """A score, or why there is none."""
    if row["status"] == "graded":
        return Text(f"{row['score']:g}")
    if row["status"] == "missing":
        return Text("–", "dim")
    return Text(f"{row['status']} {row['score'] or ''}".strip(), "yellow")


def _mean(rows: list[dict]) -> str:
    scores = [row["score"] for row in rows if row["score"] is not None]
    return f"{sum(scores) / len(scores):.1f}" if scores else ""


def _as_data(summary: batch.Summary, notes: list[str]) -> dict:
    return {
        "grades": str(summary.grades),
        "engine": summary.engine,
        "seconds": round(summary.seconds, 3),
        "notebooks": summary.total,
        "unchanged": summary.unchanged,
        "statuses": dict(summary.statuses),
        "notes": notes,
    }


@app.command(name="doctor")
def examine() -> None:
    """Say which jail is available here, what is missing, and the command that brings it."""
    findings = doctor.examine()
    for finding in findings:
        mark = Text("works   ", "green") if finding.works else Text("missing ", "red")
        output.print(mark + Text(f"{finding.name}: {finding.says}"), soft_wrap=True)
        if finding.command:
            output.print(Text(f"        to mend it: {finding.command}"), soft_wrap=True)
    engine = doctor.best_engine()
    if engine is None:
        raise fail("no jail works here, so nothing will be graded without --unsafe-trusted.", 1)
    output.print(Text(f"`autograder grade` will use {engine}."))


@app.command()
def release() -> None:
    """Make the students' notebooks and visible cases in exercises/ from the masters in solutions/."""
    from autograder.release import release as make

    for path in make():
        output.print(Text(str(path)), soft_wrap=True)


@app.command()
def course(directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder to make.")]) -> None:
    """Make a ready nbgrader course in DIR: source/, release/, nbgrader_config.py and a gradebook."""
    from autograder.course import CourseError, make_course

    try:
        output.print(Text(f"{make_course(directory)}: run nbgrader's commands beside it."), soft_wrap=True)
    except CourseError as error:
        raise fail(str(error), 2) from None


@app.command()
def bundle(directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where the zips go.")]) -> None:
    """Make the otter and Gradescope autograder zips in DIR, one per exercise."""
    from autograder.bundle import make_bundles

    for path in make_bundles(directory):
        output.print(Text(str(path)), soft_wrap=True)


@app.command()
def report(out: Annotated[Path, typer.Argument(metavar="OUT", help="A graded class.")]) -> None:
    """Write a page on the class for the instructor, OUT/report.html, and one for each student, OUT/feedback/.

    The pages open offline and print.
    """
    from autograder.report import write_report

    try:
        output.print(Text(str(write_report(out))), soft_wrap=True)
    except FileNotFoundError as error:
        raise fail(str(error), 2) from None


class Platform(StrEnum):
    """Where scores can be brought."""

    CANVAS = "canvas"
    MOODLE = "moodle"
    GRADESCOPE = "gradescope"
    NBGRADER = "nbgrader"


@app.command()
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A graded class.")],
    to: Annotated[Platform, typer.Option(help="The platform.")],
    into: Annotated[
        Path | None,
        typer.Option(
            help="The CSV or folder to write, for nbgrader the course. [default: in OUT, named as the platform]"
        ),
    ] = None,
    fill: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Canvas, Moodle: the gradebook or worksheet it exported.")
    ] = None,
    exercise: Annotated[str | None, typer.Option(metavar="NAME", help="Moodle: what the worksheet is about.")] = None,
    submissions: Annotated[
        Path | None, typer.Option(help="nbgrader: what was graded. [default: the course itself]")
    ] = None,
) -> None:
    """Bring the scores and feedback of OUT to Canvas, Moodle, Gradescope or nbgrader.

    With `--fill`, only the columns of the exercises change in the file that the platform exported, and its own people
    are found in it: prefer that. What cannot be placed is said.
    """
    from autograder import export as exports

    try:
        if to is Platform.NBGRADER:
            from autograder.export_nbgrader import to_nbgrader
            from autograder.graded import load

            if into is None:
                raise fail("give the course with --into DIR", 2)
            total = sum(len(student.results) for student in load(out))
            with _progress(total, False, "exporting") as advance:
                notes = to_nbgrader(out, into, submissions or into, advance)
        elif to is Platform.GRADESCOPE:
            into = into or out / "gradescope"
            notes = exports.to_gradescope(out, into)
        elif to is Platform.MOODLE:
            into = into or out / "moodle.csv"
            notes = exports.to_moodle(out, into, fill, exercise)
        else:
            into = into or out / "canvas.csv"
            notes = exports.to_canvas(out, into, fill)
    except (OSError, ValueError) as error:
        raise fail(str(error), 2) from None
    for note in notes:
        output.print(_shown(f"Note: {note}"), soft_wrap=True)
    output.print(Text(str(into)), soft_wrap=True)


def main() -> None:
    """Run the command line."""
    app()
