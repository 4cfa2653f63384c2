"""The example class gets exactly its expected grades, no hostile notebook gains a point, and nothing is left behind."""

import csv
import importlib.util
import json

import pytest
from grading import Adopted, autograder, grades, hand_in, needs_jail, notebook, results

from autograder.catalog import EXERCISES, ROOT
from autograder.results import COLUMNS, Results
from autograder.task import Task, missing

EXAMPLES = ROOT / "examples"
pytestmark = [needs_jail, pytest.mark.usefixtures("jail_works")]


def expected() -> list[dict]:
    """A row for each notebook that was handed in."""
    with (EXAMPLES / "expected.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def make_class():
    spec = importlib.util.spec_from_file_location("make_class", EXAMPLES / "make_class.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The class graded once, with this process adopting whatever the grader might leave running."""
    out, scratch = tmp_path_factory.mktemp("out"), tmp_path_factory.mktemp("scratch")
    with Adopted() as processes:
        finished = autograder("grade", EXAMPLES / "class", "--out", out, "--seed", "x", env={"TMPDIR": str(scratch)})
    assert finished.returncode == 0, finished.stderr
    return out, scratch, processes.left


def test_the_class_is_what_its_script_makes(make_class):
    committed = {
        path.relative_to(EXAMPLES / "class"): path.read_text(encoding="utf-8")
        for path in (EXAMPLES / "class").rglob("*")
        if path.is_file()
    }
    assert committed == make_class.files(), "run `python examples/make_class.py`"


def test_every_notebook_is_expected(make_class):
    notebooks = [path for path in make_class.files() if path.suffix == ".ipynb"]
    assert sorted((str(path.parent), path.stem) for path in notebooks) == sorted(
        (row["student"], row["exercise"]) for row in expected()
    )


@pytest.mark.parametrize("row", expected(), ids=lambda row: f"{row['student']}: {row['exercise']}")
def test_grade(run, row):
    out, *_ = run
    key = row["student"], row["exercise"]
    got = grades(out)[key]
    assert (got["status"], got["score"]) == (row["status"], row["score"])
    slugs = {check["misconception"] for check in results(out)[key]["checks"]} - {None}
    assert slugs == set(row["misconception"].split())


def test_whatever_else_was_asked_for_is_missing(run, make_class):
    out, *_ = run
    students = {str(path.parent) for path in make_class.files()}
    handed_in = {(row["student"], row["exercise"]) for row in expected()}
    table = grades(out)
    assert table.keys() == {(student, exercise) for student in students for exercise in EXERCISES}
    assert {key for key, row in table.items() if row["status"] == "missing"} == table.keys() - handed_in
    assert {row["score"] for row in table.values() if row["status"] == "missing"} == {"0"}


def test_grades_and_results_agree(run):
    out, *_ = run
    written = results(out)
    assert written.keys() == grades(out).keys()
    assert (out / "grades.csv").read_text(encoding="utf-8").splitlines()[0] == ",".join(COLUMNS)
    for result in written.values():
        assert list(result) == [
            *("schema", "student", "exercise", "submission_sha256", "seed"),
            *("status", "score", "max_score", "seconds", "engine", "checks"),
        ]
        assert result["score"] == sum(check["points"] for check in result["checks"])
        for check in result["checks"]:
            assert list(check) == ["name", "hidden", "points", "max_points", "status", "message", "misconception"]
            assert check["points"] == (check["max_points"] if check["status"] == "passed" else 0)


def test_nothing_is_left_behind(run):
    out, scratch, left = run
    assert not left, "processes outlived the run"
    assert list(scratch.iterdir()) == []
    assert {path.name for path in out.iterdir()} == {"grades.csv", "results", "run.json"}
    assert {path.suffix for path in out.glob("results/*/*")} == {".json"}


def test_no_message_shows_the_tests_or_the_machine(run):
    out, *_ = run
    text = json.dumps(list(results(out).values()))
    for secret in (str(ROOT), "/worker", "Traceback", "test_case", "expect_"):
        assert secret not in text


def test_the_table_of_grades_fits_a_narrow_terminal(run):
    out, *_ = run
    shown = autograder("grade", EXAMPLES / "class", "--out", out, env={"COLUMNS": "80"}).stdout
    table = [line for line in shown.splitlines() if line and line[0] in "┏┃┡│├└"]
    assert table and {len(line) for line in table} <= {len(table[0])} and len(table[0]) <= 80
    assert all(line[-1] in "┓┃┩│┤┘" for line in table), "the last column is cut off"
    assert "attention" in shown and "memory" in shown


def test_a_second_run_grades_nothing_and_changes_nothing(run):
    out, *_ = run
    before = {path: path.stat().st_mtime_ns for path in out.glob("results/*/*")}
    table = (out / "grades.csv").read_bytes()
    again = autograder("grade", EXAMPLES / "class", "--out", out, "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["unchanged"] == len(before)
    assert {path: path.stat().st_mtime_ns for path in out.glob("results/*/*")} == before
    assert (out / "grades.csv").read_bytes() == table


ODD = ["--out", "-rf *", "\"double\" and 'single'", "two\nlines", "a:b|c?", " spaces ", "%2E%2E", "x" * 200]


def test_students_with_odd_names_get_their_grades_and_nothing_else(tmp_path):
    for student in ODD:
        hand_in(tmp_path / "class", student, "vit_param_count", notebook("vit_param_count = lambda cfg: 0"))
    out = tmp_path / "out"
    finished = autograder("grade", tmp_path / "class", "--out", out, "--quiet")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
    assert results(out).keys() == {(student, "vit_param_count") for student in ODD}
    assert grades(out).keys() == {(student, "vit_param_count") for student in ODD}
    assert {row["status"] for row in grades(out).values()} == {"graded"}
    assert {path.name for path in tmp_path.iterdir()} == {"class", "out"}
    assert len(list((out / "results").iterdir())) == len(ODD)
    for path in (out / "results").iterdir():
        assert path.name.isprintable() and not set(path.name) & set('/\\:*?"<>|') and not path.name.startswith(".")


@pytest.mark.parametrize("student", ["..", ".", "", "../../escaped", "/etc/x", "..\\x", "C:\\x"])
def test_a_name_that_no_folder_can_have_stays_inside_of_the_results(tmp_path, student):
    opened = Results(tmp_path / "out", "salt")
    opened.write(missing(Task(student, "vit_macs", None, "seed"), "bwrap"))
    (written,) = (tmp_path / "out" / "results").glob("*/vit_macs.json")
    assert json.loads(written.read_bytes())["student"] == student
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
