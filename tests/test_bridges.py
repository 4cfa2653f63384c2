"""One notebook earns the same in `autograder grade`, in nbgrader and in otter, and none of them shows a hidden test."""

import csv
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder import kit
from autograder.bundle import make_bundles
from autograder.catalog import EXERCISES, ROOT
from autograder.course import make_course, open_course
from autograder.nbgrader_cell import grade

pytestmark = [pytest.mark.filterwarnings(f"ignore:::{package}") for package in ("nbgrader", "otter", "traitlets")]

EXERCISE = "vit_param_count"
HONEST = (
    "right-list-of-shapes",
    "right-classes-and-a-plot",
    "wrong-registers-have-positions",
    "wrong-class-token-follows-pool",
    "wrong-division-gives-a-float",
    "wrong-signature",
    "changes-its-argument",
    "untouched-stub",
    "syntax-error",
)
COMMANDS = Path(sys.executable).parent


def command(*words: object, cwd: Path) -> subprocess.CompletedProcess:
    """One of the real commands, as a person types it in the course's environment."""
    env = os.environ | {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [COMMANDS / str(words[0]), *map(str, words[1:])], cwd=cwd, env=env, check=True, capture_output=True, text=True
    )


# ---- the three graders, end to end


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    for student in HONEST:
        shutil.copytree(ROOT / "examples" / "class" / student, folder / student)
    return folder


@pytest.fixture(scope="module")
def ours(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    out = tmp_path_factory.mktemp("ours") / "out"
    command("autograder", "grade", honest, "--out", out, "--quiet", cwd=ROOT)
    with (out / "grades.csv").open() as file:
        return {row["student"]: float(row["score"]) for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def course(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course with the class in it, autograded; all but one through nbgrader's API, which is faster."""
    folder = tmp_path_factory.mktemp("nbgrader") / "course"
    make_course(folder)
    for student in HONEST:
        shutil.copytree(honest / student, folder / "submitted" / student / EXERCISE)
    api = open_course(folder)
    for student in HONEST[1:]:
        outcome = api.autograde(EXERCISE, student)
        assert outcome["success"], outcome["log"]
    command("nbgrader", "autograde", EXERCISE, "--student", HONEST[0], cwd=folder)
    command("nbgrader", "generate_feedback", EXERCISE, cwd=folder)
    command("nbgrader", "export", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def otter(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Each student's results.json; all but one through otter's API, which is faster."""
    from otter.run import main as otter_run

    folder = tmp_path_factory.mktemp("otter")
    bundle = next(path for path in make_bundles(folder / "bundles") if path.stem == EXERCISE)
    results = {}
    for student in HONEST:
        out = folder / student
        out.mkdir()
        notebook = honest / student / f"{EXERCISE}.ipynb"
        if student == HONEST[0]:
            command("otter", "run", "-a", bundle, "-o", out, notebook, cwd=folder)
        else:
            otter_run(str(notebook), autograder=str(bundle), output_dir=str(out), no_logo=True)
        results[student] = json.loads((out / "results.json").read_text())
    return results


@pytest.mark.slow
@pytest.mark.jail
def test_nbgrader_gives_our_scores(ours: dict[str, float], course: Path) -> None:
    with (course / "grades.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["assignment"] == EXERCISE]
    assert {row["student_id"]: float(row["score"]) for row in rows} == ours
    assert len(set(ours.values())) > 3  # partial credit is among them


@pytest.mark.slow
@pytest.mark.jail
def test_otter_gives_our_scores(ours: dict[str, float], otter: dict[str, dict]) -> None:
    assert {student: float(result["tests"][0]["score"]) for student, result in otter.items()} == ours


@pytest.mark.slow
def test_neither_shows_a_line_of_a_hidden_test(course: Path, otter: dict[str, dict]) -> None:
    public = (ROOT / "exercises" / f"{EXERCISE}.ipynb").read_text("utf-8")
    lines = {line.strip() for line in EXERCISES[EXERCISE].test_file.read_text("utf-8").splitlines()}
    lines = {line for line in lines if len(line) > 20 and line not in public}
    assert len(lines) > 30
    pages = [path.read_text("utf-8") for path in (course / "feedback").rglob("*.html")]
    assert len(pages) == len(HONEST)
    for shown in (*pages, *map(json.dumps, otter.values())):
        assert [line for line in lines if line in shown] == []


@pytest.mark.slow
def test_the_feedback_says_what_each_check_found(course: Path) -> None:
    page = (course / "feedback/wrong-registers-have-positions" / EXERCISE / f"{EXERCISE}.html").read_text("utf-8")
    assert "registers: 0 of 2 points." in page
    assert "head: 2 of 2 points." in page


# ---- the hidden cell's call, on its own


def right(cfg: dict) -> int:
    d, K = cfg["d"], cfg["n_classes"]
    token, patches = int(cfg["cls_token"]), (cfg["img"] // cfg["P"]) ** 2
    before = (cfg["P"] ** 2 * cfg["C"] + 1 + token + cfg["n_registers"] + patches + token) * d
    block = 4 * d * d + 2 * d * cfg["d_ff"] + cfg["d_ff"] + 9 * d
    return before + cfg["L"] * block + 2 * d + d * K + K


POINTS = EXERCISES[EXERCISE].points


def test_a_right_answer_earns_all_and_the_value_is_a_float(capfd: pytest.CaptureFixture[str]) -> None:
    score = grade(EXERCISE, {EXERCISE: right})
    assert score == POINTS
    assert type(score) is float
    out, err = capfd.readouterr()
    assert err == ""
    assert all(" of " in line and "points." in line for line in out.splitlines())
    assert len(out.splitlines()) > 5


def noisy(cfg: dict) -> int:
    import logging
    import warnings

    print("the config is", cfg)
    print("the config is", cfg, file=sys.stderr)
    warnings.warn("the config is", stacklevel=1)
    logging.warning("the config is")
    os.write(1, b"the config is")
    os.write(2, b"the config is")
    return right(cfg)


@pytest.mark.filterwarnings("ignore:the config is")
def test_what_the_function_writes_neither_shows_nor_costs_points(capfd: pytest.CaptureFixture[str]) -> None:
    assert grade(EXERCISE, {EXERCISE: noisy}) == POINTS
    print("written later", file=sys.stderr)
    out, err = capfd.readouterr()
    assert "config" not in out
    assert err == "written later\n"


class Forged(int):
    """An int that is equal to everything."""

    __hash__ = int.__hash__
    __eq__ = lambda self, other: True  # noqa: E731
    __sub__ = lambda self, other: self  # noqa: E731


def claims_to_be_a_proxy(cfg: dict) -> int:
    return 1


claims_to_be_a_proxy.outcome = lambda *args, **kwargs: pytest.fail("the function's own attribute was called")


def exits(cfg: dict) -> int:
    sys.exit(0)


def raises_outside_of_exception(cfg: dict) -> int:
    raise GeneratorExit


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {EXERCISE: None},
        {EXERCISE: 86567656},
        {EXERCISE: int},
        {EXERCISE: lambda: 1},
        {EXERCISE: lambda cfg: Forged(3)},
        {EXERCISE: claims_to_be_a_proxy},
        {EXERCISE: exits},
        {EXERCISE: raises_outside_of_exception},
    ],
    ids=["nothing", "None", "a number", "a type", "no arguments", "equal to all", "a proxy", "exit", "GeneratorExit"],
)
def test_what_is_no_answer_earns_nothing_and_breaks_nothing(answer: dict, capfd: pytest.CaptureFixture[str]) -> None:
    assert grade(EXERCISE, answer) == 0.0
    out, err = capfd.readouterr()
    assert err == ""
    assert ": 0 of " in out


def test_a_call_that_takes_too_long_fails_its_checks_only(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kit, "SECONDS_PER_CALL", 0.05)

    def slow_without_head(cfg: dict) -> int:
        while cfg["n_classes"] == 0:
            try:
                time.sleep(0.01)
            except Exception:
                continue
        return right(cfg)

    score = grade(EXERCISE, {EXERCISE: slow_without_head})
    out, _ = capfd.readouterr()
    assert 0 < score < POINTS
    assert "more than the 0.05 s" in out


def test_it_works_outside_of_the_main_thread() -> None:
    scores = []
    thread = threading.Thread(target=lambda: scores.append(grade(EXERCISE, {EXERCISE: right})))
    thread.start()
    thread.join()
    assert scores == [POINTS]


def test_a_fault_of_the_tests_is_no_zero_and_quotes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from autograder import hidden

    def broken(*args: object, **kwargs: object) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr(hidden, "run", broken)
    with pytest.raises(RuntimeError, match="stopped with KeyError: tell your instructor") as caught:
        grade(EXERCISE, {EXERCISE: right})
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
