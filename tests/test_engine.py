"""One submission after the other in one jail: its status, its points and what its student is told."""

import pytest
from grading import needs_jail, notebook

from autograder import engine, hidden
from autograder.jail import open_jail, session
from autograder.jail.session import JailBroken
from autograder.task import Task, failed, missing

pytestmark = [needs_jail, pytest.mark.usefixtures("jail_works")]
RIGHT = """
def vit_param_count(cfg):
    d, d_ff, K = cfg["d"], cfg["d_ff"], cfg["n_classes"]
    token = bool(cfg["cls_token"])
    rows = (cfg["img"] // cfg["P"]) ** 2 + 2 * token + cfg["n_registers"]
    block = 4 * d * d + 2 * d * d_ff + d_ff + 9 * d
    return cfg["P"] ** 2 * cfg["C"] * d + d + rows * d + cfg["L"] * block + 2 * d + d * K + K
"""


@pytest.fixture(scope="module")
def jail(jail_works):
    opened = open_jail("bwrap")
    yield opened
    opened.close()


@pytest.fixture
def graded(jail):
    def grade(*cells: str, exercise: str = "vit_param_count", seed: str = "seed") -> dict:
        return engine.grade(Task("student", exercise, None, seed, notebook(*cells)), jail, "bwrap")

    return grade


def about(result: dict) -> str:
    """What is said of the notebook as a whole."""
    assert result["checks"][0]["name"] == "notebook" and result["checks"][0]["max_points"] == 0
    return result["checks"][0]["message"]


def others(result: dict) -> set[str]:
    return {check["message"] for check in result["checks"][1:]}


def test_a_right_answer_gets_all_points_and_no_remark(graded):
    result = graded(RIGHT)
    assert (result["status"], result["score"], result["max_score"]) == ("graded", 15, 15)
    assert {check["message"] for check in result["checks"]} == {""}
    assert {check["status"] for check in result["checks"]} == {"passed"}


def test_the_same_seed_asks_the_same_questions_and_another_asks_others(graded):
    answers = "def vit_param_count(cfg):\n    raise [ValueError, KeyError, TypeError, OSError][hash(str(cfg)) % 4]"
    first, second, other = (graded(answers, seed=seed)["checks"] for seed in ("a", "a", "b"))
    assert first == second != other


def test_a_cell_that_fails_does_not_stop_the_next_ones(graded):
    result = graded("1 / 0", "import nowhere", "x = (", RIGHT, "vit_param_count(3)")
    assert result["score"] == 15
    assert about(result).splitlines() == [
        "Code cell 1 stopped with ZeroDivisionError: division by zero.",
        "Code cell 2 stopped with ModuleNotFoundError: No module named 'nowhere'.",
        "Code cell 3 stopped with SyntaxError: '(' was never closed, line 1 of the cell.",
        "Code cell 5 stopped with TypeError: 'int' object is not subscriptable.",
    ]


@pytest.mark.parametrize(
    ("line", "skipped"),
    [
        ("%matplotlib inline", True),
        ("!pip install torch", True),
        ("files = !ls", True),
        ("?print", True),
        ("print?", True),
        ("%%bash\nrm -rf /", True),
        ("%%time\nx = 1", True),
        ("if True:\n    %time\n    x = 2", True),
        ("x = (17\n% 5)", False),
        ("text = '''\n%not magic\n'''", False),
        ("%time\tx", True),
        ("np.sum??", True),
    ],
)
def test_a_line_for_jupyter_is_skipped_and_named(graded, line, skipped):
    result = graded(line + "\n" + ("" if line.startswith("%%bash") else RIGHT), RIGHT)
    assert result["score"] == 15
    assert about(result).count("is for Jupyter alone and was skipped") == skipped
    assert result["checks"][0]["status"] == "passed"


def test_a_mistake_in_a_cell_with_a_question_is_a_mistake(graded):
    result = graded(RIGHT, "# is this right?\nif True\n    x = 1  # or this?")
    assert about(result) == "Code cell 2 stopped with SyntaxError: expected ':', line 2 of the cell."


def test_what_only_draws_and_shows_does_no_harm(graded):
    drawing = """
import matplotlib.pyplot as plt
from google.colab import files
from IPython.display import display, Markdown
fig, ax = plt.subplots(figsize=(4, 3))
ax.plot([1, 2], label="x")[0].set_color("red")
with plt.style.context("ggplot"):
    plt.show()
display(Markdown("**done**"))
get_ipython().run_line_magic("matplotlib", "inline")
"""
    result = graded(drawing, RIGHT)
    assert (result["score"], about(result)) == (15, "")


def test_cells_that_only_check_are_not_run(graded):
    result = graded("def check(*functions):\n    raise RuntimeError", RIGHT, "check(vit_param_count)\ncheck()")
    assert (result["score"], about(result)) == (15, "")


def test_the_released_notebook_runs_and_is_not_written_yet(jail):
    from autograder.catalog import EXERCISES, ROOT

    for name, exercise in EXERCISES.items():
        data = (ROOT / "exercises" / f"{name}.ipynb").read_bytes()
        result = engine.grade(Task("student", name, None, "seed", data), jail, "bwrap")
        assert (result["status"], result["score"], result["max_score"]) == ("graded", 0, exercise.points)
        assert (about(result), result["checks"][0]["status"]) == ("", "passed")
        assert all("is not written yet" in message for message in others(result))


@pytest.mark.parametrize(
    ("cell", "remark"),
    [
        ("x = 1", "The notebook defines no `vit_param_count`."),
        ("vit_param_count = 86567656", "`vit_param_count` is not a function in this notebook."),
        (
            "def vit_param_count(config):\n    return 1",
            "`vit_param_count` takes (config), the statement asks for (cfg): keep the names.",
        ),
        (
            "def vit_param_count(cfg, verbose):\n    return 1",
            "`vit_param_count` takes (cfg, verbose), the statement asks for (cfg): keep the names.",
        ),
        ("def vit_param_count(cfg, verbose=False):\n    return 1", ""),
        ("def vit_param_count(*args, **kwargs):\n    return 1", ""),
        ("import functools\nvit_param_count = functools.partial(lambda base, cfg: 1, 0)", ""),
    ],
)
def test_a_function_that_cannot_be_called_as_asked_is_named(graded, cell, remark):
    result = graded(cell)
    assert (result["status"], result["score"], about(result)) == ("graded", 0, remark)


def test_what_is_no_notebook_is_unreadable(jail):
    for task in (
        Task("student", "vit_param_count", None, "seed", b"print('a script')"),
        Task("student", "vit_param_count", None, "seed", refused="The file is larger than 20 MB."),
    ):
        result = engine.grade(task, jail, "bwrap")
        assert (result["status"], result["score"], len(result["checks"])) == ("unreadable", 0, 1)
        assert about(result).startswith("The file is ")


def test_after_two_calls_that_time_out_the_rest_of_that_function_does_at_once(graded, monkeypatch):
    monkeypatch.setattr(session, "CALL_SECONDS", 0.2)
    opened = []
    original = session.Jail.session
    monkeypatch.setattr(session.Jail, "session", lambda *given, **named: opened.append(1) or original(*given, **named))
    result = graded("def vit_param_count(cfg):\n    while True:\n        pass")
    assert (result["status"], result["score"]) == ("timeout", 0)
    assert {check["status"] for check in result["checks"][1:]} == {"timeout"}
    assert len(opened) == 2


def test_what_was_earned_before_and_after_a_time_out_is_kept(graded, monkeypatch):
    monkeypatch.setattr(session, "CALL_SECONDS", 0.2)
    result = graded(RIGHT.replace("(cfg):", "(cfg):\n    while cfg['d'] > 10**6: pass"))
    late = {check["name"] for check in result["checks"] if check["status"] == "timeout"}
    assert result["status"] == "timeout" and late == {"large models"}
    assert result["score"] == 15 - sum(check["max_points"] for check in result["checks"] if check["name"] in late)


def test_what_was_earned_before_and_after_a_crash_is_kept(graded):
    result = graded("import os\n" + RIGHT.replace("(cfg):", "(cfg):\n    if cfg['n_classes'] == 0: os._exit(0)"))
    lost = {check["name"] for check in result["checks"] if check["status"] == "error"}
    assert result["status"] == "crashed" and "head" in lost and 0 < result["score"] < 15


def test_a_notebook_that_does_not_end_is_a_time_out_for_every_check(graded, monkeypatch):
    monkeypatch.setattr(session, "LOAD_SECONDS", 0.2)
    result = graded("while True:\n    pass", RIGHT)
    assert (result["status"], result["score"]) == ("timeout", 0)
    assert {check["status"] for check in result["checks"]} == {"timeout"} and len(result["checks"]) > 5


def test_a_submission_has_a_budget_of_its_own(graded, monkeypatch):
    monkeypatch.setattr(engine, "BUDGET_SECONDS", 0.0)
    result = graded(RIGHT)
    assert (result["status"], result["score"]) == ("timeout", 0)


def test_a_known_mistake_is_named(graded):
    result = graded(RIGHT.replace("+ 2 * token +", "+ token +"))
    assert {check["misconception"] for check in result["checks"]} == {None, "class-token-counted-once"}


def test_an_unforeseen_error_of_the_tests_is_the_graders_fault(graded, monkeypatch):
    monkeypatch.setattr(hidden, "run", lambda *args: 1 / 0)
    with pytest.raises(engine.Failed, match="ZeroDivisionError"):
        graded(RIGHT)


def test_a_broken_jail_is_not_the_submissions_fault(monkeypatch, jail_works):
    opened = open_jail("bwrap")
    opened.workers[False].process.kill()
    opened.workers[False].process.wait()
    with pytest.raises(JailBroken):
        engine.grade(Task("student", "vit_param_count", None, "seed", notebook(RIGHT)), opened, "bwrap")
    opened.close()


def test_results_without_grading_say_why():
    task = Task("student", "vit_param_count", None, "seed")
    assert (missing(task, "bwrap")["status"], missing(task, "bwrap")["score"]) == ("missing", 0)
    assert (failed(task, "bwrap", "No power.")["status"], failed(task, "bwrap", "No power.")["score"]) == (
        "engine-error",
        None,
    )


HARD = """
import numpy as np

VALUES = [
    0, -1, 2**64, 10**4000, -(10**4000), True, None, 1.5, -0.0, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324,
    "text", "", [], [1], (), (1, 2), {}, {"total": None}, 3j, b"x", object(), len,
    np.int64(3), np.uint8(200), np.float64(3.5), np.float16("inf"), np.float32("nan"), np.bool_(True), np.complex128(1j),
    np.zeros(0), np.zeros(3), np.ones((2, 3), dtype=int), np.array("x"), np.array(5), np.full((2, 2), np.nan),
    np.zeros((1, 10), dtype=complex), np.zeros((2, 0, 3)), np.array([10**400], dtype=object),
]
KEYS = ["patch_embed", "linear", "attention", "head", "total", "patch", "extra"]
count = iter(range(10**9))


def any_of(*args, **kwargs):
    n = next(count) // 2
    value = VALUES[n % len(VALUES)]
    return {key: VALUES[(n + shift) % len(VALUES)] for shift, key in enumerate(KEYS)} if n % 3 == 0 else value


"""


@pytest.mark.parametrize("exercise", hidden.EXERCISES)
def test_no_value_whatever_makes_the_tests_themselves_fail(graded, exercise):
    names = hidden.EXERCISES[exercise].functions
    for shift in range(0, 44, 2):
        skipped = f"for _ in range({shift}): next(count)\n"
        result = graded(HARD + skipped + "".join(f"{name} = any_of\n" for name in names), exercise=exercise)
        assert result["status"] == "graded"
        assert result["score"] < result["max_score"]


def test_one_wrong_value_of_each_kind_fails_each_check(graded):
    """The same hard value for every call, so that the second call agrees with the first."""
    for exercise, entry in hidden.EXERCISES.items():
        for index in range(44):
            cell = HARD + f"def same(*args, **kwargs):\n    return VALUES[{index} % len(VALUES)]\n"
            result = graded(cell + "".join(f"{name} = same\n" for name in entry.functions), exercise=exercise)
            assert result["status"] == "graded", (exercise, index)
            assert result["score"] == 0, (exercise, index, result["checks"])
