"""What the class did, as pages that open offline: one for the instructor, one for each student to read or print."""

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from . import misconceptions
from .catalog import EXERCISES
from .graded import Student, load

BINS = 10
SLOWEST = 10

STATUS = {
    "graded": "graded",
    "missing": "nothing handed in",
    "unreadable": "not readable as a notebook",
    "crashed": "Python ended, or ran out of memory, while it ran",
    "timeout": "took longer than it may",
    "engine-error": "not graded, by a fault of the grader or the machine: run `autograder grade` again",
}


# ---- what the pages show


def _title(exercise: str) -> str:
    return EXERCISES[exercise].title if exercise in EXERCISES else exercise


def histogram(scores: Iterable[tuple[float, float]]) -> list[int]:
    """How many of the (score, max_score) fall in each tenth of the maximum; a full score is in the last."""
    counts = [0] * BINS
    for score, maximum in scores:
        counts[min(int(BINS * score / maximum), BINS - 1)] += 1
    return counts


def _distribution(title: str, scores: list[tuple[float, float]]) -> dict:
    counts = histogram(scores)
    maximum = scores[0][1]
    return {
        "title": title,
        "counts": counts,
        "bounds": [(maximum * i / BINS, maximum * (i + 1) / BINS) for i in range(BINS)],
        "highest": max(counts),
        "number": len(scores),
        "mean": statistics.fmean(score for score, _ in scores),
        "median": statistics.median(score for score, _ in scores),
        "maximum": maximum,
    }


def distributions(students: list[Student]) -> list[dict]:
    """A histogram of the totals, then one for each exercise; what the grader could not grade is left out."""
    by_exercise = defaultdict(list)
    for student in students:
        for result in student.results:
            if result["score"] is not None:
                by_exercise[result["exercise"]].append((result["score"], result["max_score"]))
    charts = [_distribution(_title(exercise), scores) for exercise, scores in by_exercise.items()]
    totals = [(student.score, student.max_score) for student in students if student.counted]
    if len(charts) > 1 and totals:
        charts.insert(0, _distribution("All exercises", totals))
    return charts


def failures(students: list[Student]) -> list[dict]:
    """The checks by the share of graded submissions that failed them, the hardest first."""
    tried, failed = Counter(), Counter()
    for student in students:
        for result in student.results:
            for check in result["checks"]:
                if not check["max_points"]:  # a remark on the notebook as a whole
                    continue
                key = (result["exercise"], check["name"])
                tried[key] += 1
                failed[key] += check["status"] != "passed"
    rows = [
        {"exercise": exercise, "check": check, "failed": failed[exercise, check], "tried": number}
        for (exercise, check), number in tried.items()
    ]
    return sorted(rows, key=lambda row: (-row["failed"] / row["tried"], row["exercise"], row["check"]))


def mistakes(students: list[Student]) -> list[dict]:
    """The misconceptions of this class, the commonest first, each with the students who hold it."""
    holders: dict[tuple[str, str], list[Student]] = defaultdict(list)
    for student in students:
        found = {
            (result["exercise"], check["misconception"])
            for result in student.results
            for check in result["checks"]
            if check["misconception"]
        }
        for key in found:
            holders[key].append(student)
    rows = []
    for (exercise, slug), who in holders.items():
        sentences = {known.slug: known.sentence for known in misconceptions.load(exercise)}
        rows.append({"exercise": exercise, "sentence": sentences.get(slug, slug), "students": who})
    return sorted(rows, key=lambda row: (-len(row["students"]), row["exercise"], row["sentence"]))


def slowest(students: list[Student]) -> list[dict]:
    """The graded submissions that took the grader longest."""
    rows = [
        {"student": student, "exercise": result["exercise"], "seconds": result["seconds"]}
        for student in students
        for result in student.results
        if result["status"] == "graded"
    ]
    return sorted(rows, key=lambda row: -row["seconds"])[:SLOWEST]


def troubles(students: list[Student]) -> list[dict]:
    """The submissions that were handed in and not graded, by what happened to them."""
    rows = [
        {
            "student": student,
            "exercise": result["exercise"],
            "status": result["status"],
            "remark": " ".join(check["message"] for check in result["checks"] if not check["max_points"]),
        }
        for student in students
        for result in student.results
        if result["status"] not in ("graded", "missing")
    ]
    return sorted(rows, key=lambda row: list(STATUS).index(row["status"]), reverse=True)


def absent(students: list[Student]) -> list[dict]:
    """Who handed in nothing for an exercise, where most are missing first."""
    who: dict[str, list[Student]] = {}
    for student in students:
        for result in student.results:
            if result["status"] == "missing":
                who.setdefault(result["exercise"], []).append(student)
    return [{"exercise": name, "students": who[name]} for name in sorted(who, key=lambda name: -len(who[name]))]


# ---- the pages


def _number(value: float) -> str:
    """A score as it is said: 12 or 12.5."""
    return f"{round(value, 2):g}"


def _prose(text: str) -> Markup:
    """The text of a message as HTML: escaped, and what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _number,
        "prose": _prose,
        "url": lambda name: quote(name, safe=""),
        "title": _title,
    }
    environment.globals |= {"STATUS": STATUS}
    return environment


def write_report(out: Path) -> Path:
    """Writes `out/report.html` for the instructor and `out/feedback/<student>.html`; returns the former's path.

    Raises FileNotFoundError when `out` holds no results.
    """
    students = load(out)
    environment = _environment()
    feedback = out / "feedback"
    feedback.mkdir(exist_ok=True)
    page = environment.get_template("student.html")
    for student in students:
        (feedback / f"{student.folder}.html").write_text(page.render(student=student), "utf-8")
    report = out / "report.html"
    report.write_text(
        environment.get_template("report.html").render(
            students=students,
            exercises=list(dict.fromkeys(result["exercise"] for student in students for result in student.results)),
            distributions=distributions(students),
            failures=failures(students),
            mistakes=mistakes(students),
            slowest=slowest(students),
            troubles=troubles(students),
            absent=absent(students),
        ),
        "utf-8",
    )
    return report
