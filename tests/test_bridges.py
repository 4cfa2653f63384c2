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

# Of each exercise right answers and wrong ones of many kinds, as (exercise, student). The first goes through each
# grader's command, the others through its interface in this process, which is faster.
HONEST = (
    ("vit_macs", "wrong-mlp-is-four-wide"),
    ("vit_macs", "unfinished"),
    ("vit_forward", "right-list-of-shapes"),
    ("vit_forward", "wrong-loop-over-heads"),
    ("vit_forward", "wrong-registers-have-positions"),
    ("vit_forward", "changes-its-argument"),
    ("vit_param_count", "right-classes-and-a-plot"),
    ("vit_param_count", "wrong-class-token-follows-pool"),
    ("vit_param_count", "syntax-error"),
    ("gpu_days", "right-list-of-shapes"),
    ("gpu_days", "wrong-in-a-way-of-its-own"),
    ("attention_memory", "wrong-at-the-edges"),
    ("attention_memory", "untouched-stub"),
)
CLASS = ROOT / "examples" / "class"
COMMANDS = Path(sys.executable).parent


def command(*words: object, cwd: Path) -> None:
    """One of the real commands, as a person types it in the course's environment."""
    env = os.environ | {"PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([COMMANDS / str(words[0]), *map(str, words[1:])], cwd=cwd, env=env, check=True, capture_output=True)


# ---- nbgrader and otter, end to end


@pytest.fixture(scope="module")
def ours() -> dict[tuple[str, str], float]:
    """What `autograder grade` gives: test_class.py holds it to this table."""
    with (ROOT / "examples" / "expected.csv").open(newline="", encoding="utf-8") as file:
        scores = {(row["exercise"], row["student"]): float(row["score"]) for row in csv.DictReader(file)}
    return {key: scores[key] for key in HONEST}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with the notebooks in it, autograded, with feedback."""
    folder = tmp_path_factory.mktemp("nbgrader") / "course"
    make_course(folder)
    for exercise, student in HONEST:
        (folder / "submitted" / student / exercise).mkdir(parents=True)
        shutil.copy(CLASS / student / f"{exercise}.ipynb", folder / "submitted" / student / exercise)
    (exercise, student), *others = HONEST
    command("nbgrader", "autograde", exercise, "--student", student, cwd=folder)
    api = open_course(folder)
    outcomes = [api.autograde(*key) for key in others]
    outcomes += [api.generate_feedback(exercise) for exercise in EXERCISES]
    assert [outcome["log"] for outcome in outcomes if not outcome["success"]] == []
    command("nbgrader", "export", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def otter(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict]:
    """Each notebook's results.json."""
    from otter.run import main as otter_run

    folder = tmp_path_factory.mktemp("otter")
    bundles = {path.stem: path for path in make_bundles(folder / "bundles")}
    results = {}
    for exercise, student in HONEST:
        notebook, out = CLASS / student / f"{exercise}.ipynb", folder / student / exercise
        out.mkdir(parents=True)
        if (exercise, student) == HONEST[0]:
            command("otter", "run", "-a", bundles[exercise], "-o", out, notebook, cwd=folder)
        else:
            otter_run(str(notebook), autograder=str(bundles[exercise]), output_dir=str(out), no_logo=True)
        results[exercise, student] = json.loads((out / "results.json").read_text())
    return results


def test_the_notebooks_are_of_every_exercise_and_earn_all_part_and_nothing(ours: dict[tuple[str, str], float]) -> None:
    assert {exercise for exercise, _ in ours} == set(EXERCISES)
    parts = [
        0 if score == 0 else 1 if score == EXERCISES[exercise].points else 0.5 for (exercise, _), score in ours.items()
    ]
    assert {0, 0.5, 1} == set(parts)
    forward = EXERCISES["vit_forward"].points
    assert ours["vit_forward", "wrong-loop-over-heads"] == forward - 3


@pytest.mark.slow
def test_nbgrader_gives_our_scores(ours: dict[tuple[str, str], float], course: Path) -> None:
    with (course / "grades.csv").open() as file:
        rows = {(row["assignment"], row["student_id"]): float(row["score"]) for row in csv.DictReader(file)}
    assert {key: rows[key] for key in HONEST} == ours


@pytest.mark.slow
def test_otter_gives_our_scores(ours: dict[tuple[str, str], float], otter: dict[tuple[str, str], dict]) -> None:
    assert {key: float(result["tests"][0]["score"]) for key, result in otter.items()} == ours


@pytest.mark.slow
def test_neither_shows_a_line_of_a_hidden_test(course: Path, otter: dict[tuple[str, str], dict]) -> None:
    for exercise, student in HONEST:
        public = (ROOT / "exercises" / f"{exercise}.ipynb").read_text("utf-8")
        lines = {line.strip() for line in EXERCISES[exercise].test_file.read_text("utf-8").splitlines()}
        lines = {line for line in lines if len(line) > 20 and line not in public}
        assert len(lines) > 30
        page = (course / "feedback" / student / exercise / f"{exercise}.html").read_text("utf-8")
        for shown in (page, json.dumps(otter[exercise, student])):
            assert [line for line in lines if line in shown] == []


@pytest.mark.slow
def test_the_feedback_says_what_each_check_found(course: Path) -> None:
    page = (course / "feedback/wrong-registers-have-positions/vit_forward/vit_forward.html").read_text("utf-8")
    assert "registers: 0 of 2 points." in page
    assert "heads: 2 of 2 points." in page


# ---- the hidden cell's call, on its own

EXERCISE = "vit_param_count"
POINTS = EXERCISES[EXERCISE].points


def right(cfg: dict) -> int:
    d, K = cfg["d"], cfg["n_classes"]
    token, patches = int(cfg["cls_token"]), (cfg["img"] // cfg["P"]) ** 2
    before = (cfg["P"] ** 2 * cfg["C"] + 1 + token + cfg["n_registers"] + patches + token) * d
    block = 4 * d * d + 2 * d * cfg["d_ff"] + cfg["d_ff"] + 9 * d
    return before + cfg["L"] * block + 2 * d + d * K + K


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
