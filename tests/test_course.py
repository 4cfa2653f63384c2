"""`autograder course` makes a course that nbgrader takes, and releases nothing that a student must not have."""

import json
import sqlite3
from pathlib import Path

import nbformat
import pytest

from autograder.catalog import EXERCISES, ROOT
from autograder.course import CourseError, make_course, open_course
from autograder.release import student_notebook


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("courses") / "a course"
    make_course(folder)
    return folder


def text(folder: Path) -> str:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    return "\n".join(path.read_text("utf-8") for path in files)


def secrets() -> list[str]:
    """Lines that stand in hidden tests, misconceptions or solutions and in nothing a student receives."""
    public = text(ROOT / "exercises")
    private = []
    for exercise in EXERCISES.values():
        private += exercise.test_file.read_text("utf-8").splitlines()
        private += (ROOT / "autograder" / "misconceptions" / f"{exercise.name}.py").read_text("utf-8").splitlines()
        solution = exercise.master.read_text("utf-8").split("### BEGIN SOLUTION")[1:]
        private += [line for part in solution for line in part.split("### END SOLUTION")[0].splitlines()]
    lines = {line.strip() for line in private}
    return sorted(line for line in lines if len(line) > 25 and json.dumps(line)[1:-1] not in public)


def test_every_exercise_is_an_assignment_in_the_gradebook(course: Path) -> None:
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        assignments = {name for (name,) in gradebook.execute("SELECT name FROM assignment")}
        points = dict(
            gradebook.execute(
                "SELECT assignment.name, SUM(grade_cells.max_score) FROM grade_cells"
                " JOIN base_cell ON base_cell.id = grade_cells.id JOIN notebook ON notebook.id = base_cell.notebook_id"
                " JOIN assignment ON assignment.id = notebook.assignment_id GROUP BY assignment.name"
            )
        )
    assert assignments == set(EXERCISES)
    assert points == {exercise.name: exercise.points for exercise in EXERCISES.values()}


@pytest.mark.parametrize("step", ["source", "release"])
def test_the_checks_and_cases_lie_beside_the_notebook(course: Path, step: str) -> None:
    for name in EXERCISES:
        files = {str(p.relative_to(course / step / name)) for p in (course / step / name).rglob("*") if p.is_file()}
        assert files == {f"{name}.ipynb", "checks.py", f"cases/{name}.json"}


def test_the_release_is_what_students_get_everywhere_else(course: Path) -> None:
    for name, exercise in EXERCISES.items():
        released = nbformat.read(course / "release" / name / f"{name}.ipynb", as_version=4)
        assert released == student_notebook(exercise)


def test_no_secret_is_released_and_the_source_holds_no_test(course: Path) -> None:
    lines = secrets()
    assert len(lines) > 50
    released = text(course / "release")
    assert [line for line in lines if json.dumps(line)[1:-1] in released] == []
    tests = [line for name in EXERCISES for line in EXERCISES[name].test_file.read_text("utf-8").splitlines()]
    source = text(course / "source")
    assert [line for line in tests if line in lines and json.dumps(line)[1:-1] in source] == []
    for name in EXERCISES:
        assert f'grade("{name}", globals())' in source.replace('\\"', '"')


def test_making_it_again_keeps_the_instructors_settings(course: Path) -> None:
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text() + "c.Execute.timeout = 7\n")
    (course / "source" / next(iter(EXERCISES)) / "checks.py").write_text("outdated")
    make_course(course)
    assert config.read_text().endswith("c.Execute.timeout = 7\n")
    assert "outdated" not in text(course / "source")
    assert open_course(course).config.Execute.timeout == 7


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(CourseError, match="not empty and no nbgrader course"):
        make_course(tmp_path)
    with pytest.raises(CourseError, match="is a file"):
        make_course(tmp_path / "thesis.tex")
    with pytest.raises(CourseError, match="make one with"):
        open_course(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
