"""Scores out of OUT into an nbgrader course, by nbgrader's own autograde with our results in the place of a kernel.

Its gradebook, formgrader, feedback and export then show what `autograder grade` found, and no student code has run.
"""

import datetime
import hashlib
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import AssignLatePenalties, CheckCellMetadata, NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import temp_attrs
from sqlalchemy.exc import SAWarning

from .archive import SubmissionError
from .catalog import EXERCISES, ROOT
from .course import open_course
from .export import feedback
from .graded import load
from .submissions import Submission, collect

# nbgrader uses a student's id as the name of a folder and as a pattern for file names.
ODD_ID = re.compile(r"[\[\]*?/\\{}]|^\.|^\s|\s$")


def _preprocessor(result: dict) -> type[NbGraderPreprocessor]:
    """What nbgrader runs instead of executing the notebook: it puts the result into the cell of the hidden tests."""
    lines = [
        f"{check['name']}: {check['points']:g} of {check['max_points']:g} points. {check['message']}".rstrip()
        for check in result["checks"]
        if check["max_points"]
    ]

    class PutResult(NbGraderPreprocessor):
        def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
            """Gives the graded cell the output that it would have had."""
            if cell.metadata.get("nbgrader", {}).get("grade") and cell.metadata.nbgrader.get("points"):
                text = "\n".join(lines) + "\n"
                score = {"text/plain": repr(float(result["score"]))}
                cell.outputs = [
                    nbformat.v4.new_output("stream", name="stdout", text=text),
                    nbformat.v4.new_output("execute_result", data=score, execution_count=1),
                ]
            return cell, resources

    return PutResult


def _stand_in(exercise: str, reason: str) -> bytes:
    """The released notebook with the reason why it stands in the place of what was handed in."""
    book = nbformat.read(ROOT / "exercises" / f"{exercise}.ipynb", as_version=4)
    book.cells.insert(0, nbformat.v4.new_markdown_cell(f"**This stands in for what was handed in.** {reason}"))
    return nbformat.writes(book).encode()


def _hand_in(course: Path, submission: Submission, data: bytes) -> None:
    """Puts the notebook where nbgrader expects it, with the time it was handed in if the platform said so."""
    folder = course / "submitted" / submission.student / submission.exercise
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{submission.exercise}.ipynb"
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)
    stamp = folder / "timestamp.txt"
    if submission.when and not stamp.exists():
        when = submission.when.astimezone(datetime.UTC)
        stamp.write_text(f"{when:%Y-%m-%d %H:%M:%S.%f} UTC")


def _comment(gradebook: Gradebook, result: dict) -> None:
    """Puts the feedback under the student's first answer; a comment that a person wrote stays on top of it."""
    cell = EXERCISES[result["exercise"]].functions[0]
    comment = gradebook.find_comment(cell, result["exercise"], result["exercise"], result["student"])
    comment.auto_comment = feedback(result).replace("\n", "\n\n") or None  # it is read as Markdown
    gradebook.db.commit()


def _autograde(course: NbGraderAPI, result: dict) -> bool:
    return course.autograde(result["exercise"], result["student"])["success"]


def _autograde_stand_in(course: NbGraderAPI, result: dict) -> bool:
    """Autograde where nbgrader cannot read what was handed in, which stays as it is in submitted/."""
    student, exercise = result["student"], result["exercise"]
    remarks = [check["message"] for check in result["checks"] if not check["max_points"] and check["message"]]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, student, exercise)
        folder.mkdir(parents=True)
        reason = " ".join(remarks) or "nbgrader cannot read it; the score is that of `autograder grade`."
        (folder / f"{exercise}.ipynb").write_bytes(_stand_in(exercise, reason))
        stamp = Path(course.coursedir.format_path("submitted", student, exercise), "timestamp.txt")
        if stamp.exists():
            shutil.copy(stamp, folder)
        with temp_attrs(course.coursedir, submitted_directory=scratch):
            return _autograde(course, result)


def to_nbgrader(
    out: Path, directory: Path, submissions: Path, advance: Callable[[dict], None] = lambda result: None
) -> list[str]:
    """Brings the scores and comments of `out` into the course in `directory`; returns what the instructor should know.

    `submissions` is what was graded; it may be the course itself. A notebook that nbgrader could not read is replaced
    in `autograded/` by a stand-in that says why. `advance` is told each result when it is done.
    Raises CourseError without a course, SubmissionError without submissions, FileNotFoundError without results.
    """
    course = open_course(directory)
    handed_in = {(s.student, s.exercise): s for s in collect(submissions, EXERCISES).submissions}
    notes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own making
        for student in load(out):
            for exercise, result in student.by_exercise.items():
                note = _bring(course, directory, handed_in.get((student.name, exercise)), result)
                if note:
                    notes.append(f"{student.name}, {exercise}: {note}")
                advance(result)
    return notes


def _bring(course: NbGraderAPI, directory: Path, submission: Submission | None, result: dict) -> str | None:
    """One result into the course; the note says why it was left out."""
    if result["status"] == "missing":
        return None  # without a submission nbgrader shows none, and exports a zero
    if result["score"] is None:
        return "left out, the grader has no score yet"
    if ODD_ID.search(result["student"]):
        return "left out, nbgrader takes no such name for a student"
    if submission is None:
        return "left out, what was graded is no longer among the submissions"
    try:
        data = submission.read()
    except SubmissionError:
        data, digest = None, None
    else:
        digest = hashlib.sha256(data).hexdigest()
    if digest != result["submission_sha256"]:
        return "left out, it has changed since it was graded: run `autograder grade` again"
    if data is not None:
        _hand_in(directory, submission, data)
    course.config.Autograde.autograde_preprocessors = [
        _preprocessor(result),
        SaveAutoGrades,
        AssignLatePenalties,
        CheckCellMetadata,
    ]
    if not _autograde(course, result) and not _autograde_stand_in(course, result):
        return "left out, nbgrader refused it: see its log with `nbgrader autograde`"
    with course.gradebook as gradebook:
        _comment(gradebook, result)
    return None
