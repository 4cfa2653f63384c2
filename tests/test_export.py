"""Scores leave in the forms that Canvas, Moodle, Gradescope and nbgrader take, and nothing else is changed."""

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.catalog import EXERCISES, ROOT
from autograder.cli import app
from autograder.course import CourseError, make_course, open_course
from autograder.export import ExportError, feedback, gradescope_result, to_canvas, to_gradescope, to_moodle
from autograder.export_nbgrader import to_nbgrader
from autograder.results import folder_name
from autograder.task import Task, about_notebook, failed, missing, result

EXERCISE = "vit_param_count"
POINTS = EXERCISES[EXERCISE].points
TITLE = EXERCISES[EXERCISE].title


def check(name: str, points: float, maximum: float, message: str = "") -> dict:
    status = "passed" if points == maximum else "failed"
    row = {"name": name, "hidden": True, "points": points, "max_points": maximum}
    return row | {"status": status, "message": message, "misconception": None}


def graded(student: str, score: float, data: bytes = b"", remark: str = "") -> dict:
    """A result of two checks that sum to `score`; the first is worth all but one point."""
    checks = [
        about_notebook("passed", remark),
        check("most", score, POINTS - 1, "`f` is too small."),
        check("rest", 0, 1),
    ]
    return result(Task(student, EXERCISE, hashlib.sha256(data).hexdigest(), "seed"), "graded", checks, "bwrap", 0.25)


def put(out: Path, *outcomes: dict) -> Path:
    for outcome in outcomes:
        folder = out / "results" / folder_name(outcome["student"])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{outcome['exercise']}.json").write_text(json.dumps(outcome), "utf-8")
    return out


def task(student: str) -> Task:
    return Task(student, EXERCISE, None, "seed")


def rows(path: Path, delimiter: str = ",") -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


# ---- Canvas


def canvas_export(delimiter: str = ",", possible: str = "100.00") -> str:
    """What Canvas's gradebook exports, with a row for muted assignments and columns that are read only."""
    table = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Essay (11)", f"{TITLE} (12)", "Final Score"],
        ["", "", "", "", "", "", "Manual Posting", ""],
        ["    Points Possible", "", "", "", "", "10.00", possible, "(read only)"],
        ["Lovelace, Ada", "4411", "sis-1", "ada", "One", "7", "", "35.00"],
        ["Hopper, Grace", "4412", "sis-2", "grace@example.edu", "One", "8", "1", "40.00"],
        ["Twin, A", "4413", "sis-3", "twin1", "One", "9", "2", "1.00"],
        ["Twin, A", "4414", "sis-4", "twin2", "One", "9", "3", "1.00"],
        ["Student, Test", "4499", "", "", "One", "", "", ""],
    ]
    return "".join(delimiter.join(f'"{cell}"' for cell in row) + "\r\n" for row in table)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_canvas_gradebook_is_filled_on_its_own_scale_and_otherwise_left(tmp_path: Path, delimiter: str) -> None:
    out = put(
        tmp_path / "out",
        graded("lovelaceada_4411", 7.5),
        graded("grace@example.edu", POINTS),
        graded("Twin, A", 3),
        graded("twin2", 6),
        failed(task("sis-3"), "bwrap", "The jail broke."),
    )
    gradebook = tmp_path / "gradebook.csv"
    gradebook.write_bytes(b"\xef\xbb\xbf" + canvas_export(delimiter).encode())
    notes = to_canvas(out, tmp_path / "filled.csv", gradebook)
    before, after = rows(gradebook, delimiter), rows(tmp_path / "filled.csv", delimiter)
    assert (tmp_path / "filled.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert [row[6] for row in after[3:]] == ["50", "100", "2", "40", ""]
    assert [row[:6] + row[7:] for row in after] == [row[:6] + row[7:] for row in before]
    assert after[:3] == before[:3]
    assert any(note.startswith("Twin, A: not in the file, or there more than once") for note in notes)
    assert any("sis-3" in note and "no score yet" in note for note in notes)
    assert len(notes) == 2


def test_a_student_called_like_the_row_of_maxima_does_not_change_them(tmp_path: Path) -> None:
    out = put(tmp_path / "out", graded("Points Possible", 1), graded("twin2", 6))
    (tmp_path / "gradebook.csv").write_text(canvas_export())
    notes = to_canvas(out, tmp_path / "filled.csv", tmp_path / "gradebook.csv")
    assert [row[6] for row in rows(tmp_path / "filled.csv", ",")[2:]] == ["100.00", "", "1", "2", "40", ""]
    assert len(notes) == 1 and notes[0].startswith("Points Possible: not in the file")


def test_canvas_columns_are_made_where_no_gradebook_is_given(tmp_path: Path) -> None:
    out = put(tmp_path, graded("lovelaceada_4411", 7), graded("=cmd()", 2), missing(task("dee"), "bwrap"))
    assert to_canvas(out, tmp_path / "new.csv") == []
    header, possible, *people = rows(tmp_path / "new.csv")
    # canvas-lms: header?, update_column_count, process_pp
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", TITLE]
    assert "Points Possible" in possible[0]
    assert possible[5] == str(POINTS)
    assert people == [
        ["'=cmd()", "", "", "'=cmd()", "", "2"],
        ["dee", "", "", "dee", "", "0"],
        ["lovelaceada", "4411", "", "lovelaceada_4411", "", "7"],
    ]


def test_a_gradebook_without_the_exercise_is_refused(tmp_path: Path) -> None:
    out = put(tmp_path / "out", graded("ada", 7))
    gradebook = tmp_path / "gradebook.csv"
    gradebook.write_text("Student,ID,SIS Login ID,Section,Essay (11)\n")
    with pytest.raises(ExportError, match=f"no column for {TITLE}"):
        to_canvas(out, tmp_path / "filled.csv", gradebook)
    gradebook.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExportError, match="no CSV file"):
        to_canvas(out, tmp_path / "filled.csv", gradebook)
    assert not (tmp_path / "filled.csv").exists()


# ---- Moodle

ASKED = ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"]
WORKSHEET = [
    [*ASKED, "Last modified (submission)", "Last modified (grade)", "Feedback comments"],
    ["Participant 4411", "Ada Lovelace", "ada@example.edu", "Submitted", "", "100.00", "Yes", "Monday", "-", ""],
    ["Participant 4412", "Grace Hopper", "grace@example.edu", "Submitted", "1", "100.00", "Yes", "Monday", "-", "old"],
]


def write(path: Path, table: list[list[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(table)
    return path


def test_moodle_worksheet_gets_grade_and_feedback_and_keeps_the_rest(tmp_path: Path) -> None:
    out = put(tmp_path / "out", graded("Ada Lovelace", 7.5), graded("nobody", 1))
    worksheet = write(tmp_path / "worksheet.csv", WORKSHEET)
    notes = to_moodle(out, tmp_path / "filled.csv", worksheet)
    header, ada, grace = rows(tmp_path / "filled.csv")
    assert header == WORKSHEET[0]
    assert (ada[4], ada[5]) == ("50", "100.00")
    assert ada[9] == f"most (7.5 of {POINTS - 1}): `f` is too small.\nrest (0 of 1): not passed"
    assert ada[:4] + ada[5:9] == WORKSHEET[1][:4] + WORKSHEET[1][5:9]
    assert grace == WORKSHEET[2]
    assert notes == ["nobody: not in the worksheet, or there more than once"]


def test_moodle_numbers_find_people_with_the_same_name(tmp_path: Path) -> None:
    table = [WORKSHEET[0], WORKSHEET[1], ["Participant 5500", *WORKSHEET[1][1:]]]
    out = put(tmp_path / "out", graded("Ada Lovelace_4411", 3), graded("Ada Lovelace_5500", 6))
    to_moodle(out, tmp_path / "filled.csv", write(tmp_path / "worksheet.csv", table))
    assert [row[4] for row in rows(tmp_path / "filled.csv")[1:]] == ["20", "40"]


def test_moodle_worksheet_is_about_one_exercise(tmp_path: Path) -> None:
    out = put(tmp_path / "out", graded("Ada Lovelace", 3), graded("Ada Lovelace", 3) | {"exercise": "another"})
    worksheet = write(tmp_path / "worksheet.csv", WORKSHEET)
    with pytest.raises(ExportError, match="which exercise"):
        to_moodle(out, tmp_path / "filled.csv", worksheet)
    to_moodle(out, tmp_path / "filled.csv", worksheet, EXERCISE)
    assert rows(tmp_path / "filled.csv")[1][4] == "20"


def test_moodle_gradebook_export_is_filled(tmp_path: Path) -> None:
    header = ["First name", "Last name", "Email address", f"Assignment: {TITLE} (Real)", "Last downloaded"]
    gradebook = write(tmp_path / "grades.csv", [header, ["Ada", "Lovelace", "ada@example.edu", "-", "1700000000"]])
    out = put(tmp_path / "out", graded("Ada Lovelace", 7.5))
    assert to_moodle(out, tmp_path / "filled.csv", gradebook) == []
    assert rows(tmp_path / "filled.csv")[1] == ["Ada", "Lovelace", "ada@example.edu", "7.5", "1700000000"]


def test_moodle_columns_are_made_where_no_file_is_given(tmp_path: Path) -> None:
    out = put(tmp_path, graded("Ada Lovelace", 7), graded("grace@example.edu", 2), graded("Participant_77", 1))
    to_moodle(out, tmp_path / "new.csv")
    assert rows(tmp_path / "new.csv") == [
        ["Identifier", "Full name", "Email address", TITLE],
        ["", "Ada Lovelace", "", "7"],
        ["", "grace@example.edu", "grace@example.edu", "2"],
        ["Participant 77", "Participant", "", "1"],
    ]


# ---- Gradescope


def test_gradescope_gets_what_its_schema_asks_for(tmp_path: Path) -> None:
    broken = failed(task("eve"), "bwrap", "The jail broke.")
    out = put(tmp_path / "out", graded("ada/../x", 7.5, remark="Code cell 2 stopped."), broken)
    notes = to_gradescope(out, tmp_path / "gradescope")
    (path,) = (tmp_path / "gradescope").rglob("*.json")
    assert path == tmp_path / "gradescope" / "ada%2F..%2Fx" / EXERCISE / "results.json"
    assert notes == [f"eve, {EXERCISE}: left out, the grader has no score yet"]
    data = json.loads(path.read_text())
    assert data == gradescope_result(graded("ada/../x", 7.5, remark="Code cell 2 stopped."))
    assert (data["score"], data["execution_time"], data["output"]) == (7.5, 0.25, "Code cell 2 stopped.")
    assert data["visibility"] in {"hidden", "after_due_date", "after_published", "visible"}
    assert sum(test["score"] for test in data["tests"]) == data["score"]
    for test in data["tests"]:
        assert set(test) <= {"name", "score", "max_score", "status", "output", "output_format", "visibility"}
        assert test["status"] in {"passed", "failed"}
        assert test["output_format"] in {"text", "html", "simple_format", "md", "ansi"}


def test_the_feedback_says_what_was_lost_and_no_more() -> None:
    assert feedback(graded("ada", POINTS - 1, remark="A remark.")) == "A remark.\nrest (0 of 1): not passed"


# ---- the command


@pytest.mark.parametrize("platform", ["canvas", "moodle", "gradescope"])
def test_the_command_writes_into_out_and_says_where(tmp_path: Path, platform: str) -> None:
    out = put(tmp_path / "out", graded("ada", 7), failed(task("eve"), "bwrap", "The jail broke."))
    done = CliRunner().invoke(app, ["export", str(out), "--to", platform])
    assert done.exit_code == 0, done.output
    written = Path(done.output.splitlines()[-1])
    assert written.exists()
    assert written.stem == platform


@pytest.mark.parametrize(
    "words", [["--to", "canvas"], ["--to", "nbgrader"], ["--to", "nbgrader", "--into", "nowhere"], ["--to", "paper"]]
)
def test_bad_usage_is_said_and_ends_with_status_2(tmp_path: Path, words: list[str]) -> None:
    out = tmp_path if words == ["--to", "canvas"] else put(tmp_path / "out", graded("ada", 7))
    done = CliRunner().invoke(app, ["export", str(out), *words])
    assert done.exit_code == 2
    assert "Traceback" not in done.output


# ---- nbgrader

CLASS = ROOT / "examples" / "class"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with the results of a few of the example class in it, without their code having run."""
    folder = tmp_path_factory.mktemp("exported")
    course = folder / "course"
    make_course(course)
    handed_in = folder / "handed in"
    scores = {"right-line-by-line": 9.5, "untouched-stub": 0, "corrupt-file": 0, "syntax-error": 2, "endless-loop": 1}
    for student, score in scores.items():
        shutil.copytree(CLASS / student, handed_in / student)
        data = (handed_in / student / f"{EXERCISE}.ipynb").read_bytes()
        remark = "The file is not a Jupyter notebook." if student == "corrupt-file" else ""
        put(folder / "out", graded(student, score, data, remark))
    shutil.copytree(CLASS / "sys-exit", handed_in / "changed")
    put(
        folder / "out",
        graded("changed", 3, b"something else"),
        graded("gone", 3),
        graded("od[d]", 3),
        missing(task("nothing"), "bwrap"),
        failed(task("eve"), "bwrap", "The jail broke."),
    )
    (course / "notes.txt").write_text("\n".join(to_nbgrader(folder / "out", course, handed_in)))
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for words in (["generate_feedback", EXERCISE], ["export"]):
        subprocess.run(["nbgrader", *words], cwd=course, env=environment, check=True, capture_output=True)
    return course


@pytest.mark.slow
def test_nbgrader_export_has_our_scores(exported: Path) -> None:
    with (exported / "grades.csv").open() as file:
        scores = {row["student_id"]: row["score"] for row in csv.DictReader(file) if row["assignment"] == EXERCISE}
    want = {"right-line-by-line": 9.5, "untouched-stub": 0, "corrupt-file": 0, "syntax-error": 2, "endless-loop": 1}
    assert {student: float(score) for student, score in scores.items()} == want


@pytest.mark.slow
def test_what_was_left_out_is_said(exported: Path) -> None:
    notes = (exported / "notes.txt").read_text().splitlines()
    assert [(note.split(",")[0], note.split("left out, ")[1][:12]) for note in notes] == [
        ("changed", "it has chang"),
        ("eve", "the grader h"),
        ("gone", "what was gra"),
        ("od[d]", "nbgrader tak"),
    ]


@pytest.mark.slow
def test_formgrader_sees_autograded_submissions_with_comments(exported: Path) -> None:
    api = open_course(exported)
    submissions = {entry["student"]: entry for entry in api.get_submissions(EXERCISE)}
    ada = submissions["right-line-by-line"]
    assert (ada["autograded"], ada["submitted"], ada["needs_manual_grade"]) == (True, True, False)
    assert (ada["score"], ada["max_score"]) == (9.5, POINTS)
    with api.gradebook as gradebook:
        comment = gradebook.find_comment(EXERCISE, EXERCISE, EXERCISE, "right-line-by-line")
        assert comment.auto_comment == feedback(graded("x", 9.5)).replace("\n", "\n\n")


@pytest.mark.slow
def test_the_feedback_shows_the_checks_and_a_stand_in_where_nbgrader_cannot_read(exported: Path) -> None:
    pages = {path.parent.parent.name: path.read_text("utf-8") for path in exported.glob("feedback/*/*/*.html")}
    assert f"most: 9.5 of {POINTS - 1} points. `f` is too small." in pages["right-line-by-line"]
    assert "This stands in for what was handed in." in pages["corrupt-file"]
    assert "The file is not a Jupyter notebook." in pages["corrupt-file"]
    broken = exported / "submitted" / "corrupt-file" / EXERCISE / f"{EXERCISE}.ipynb"
    assert broken.read_bytes() == (CLASS / "corrupt-file" / f"{EXERCISE}.ipynb").read_bytes()


@pytest.mark.slow
def test_exporting_again_takes_the_new_score(exported: Path, tmp_path: Path) -> None:
    data = (CLASS / "right-line-by-line" / f"{EXERCISE}.ipynb").read_bytes()
    put(tmp_path, graded("right-line-by-line", 4, data))
    assert to_nbgrader(tmp_path, exported, exported) == []  # graded from the course's own submitted/
    entries = {entry["student"]: entry["score"] for entry in open_course(exported).get_submissions(EXERCISE)}
    assert entries["right-line-by-line"] == 4


def test_without_a_course_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="make one with"):
        to_nbgrader(put(tmp_path / "out", graded("ada", 1)), tmp_path, CLASS)
