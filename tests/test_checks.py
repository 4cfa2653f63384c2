"""What `check(...)` tells a student: the table, the error, and what is wrong with a value before it is compared."""

import dataclasses
import decimal
import fractions
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from autograder.catalog import EXERCISES, ROOT
from exercises import checks
from solutions.vit_param_count import CASES, vit_param_count

# --- diagnosis --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (7, None),
        (2**70, None),
        (None, "returned None: look for a missing `return`"),
        (True, "a bool where a count is asked for"),
        (7.0, "a whole float where a Python int is asked for: divide with `//`"),
        (7.5, "a float with a fraction"),
        (float("nan"), "NaN or infinity"),
        (float("inf"), "NaN or infinity"),
        (np.int64(7), "a NumPy int64 where a Python int is asked for: NumPy's integers wrap around beyond 2**63"),
        (np.float64(7), "a NumPy float64 where a Python int"),
        (np.bool_(True), "a NumPy bool"),
        (np.array([7]), "a NumPy array where a Python int"),
        (np.array(7), "a NumPy array where a Python int"),
        (fractions.Fraction(7), "a Fraction where a Python int is asked for: convert the exact result with `int(...)`"),
        (decimal.Decimal(7), "a Decimal where a Python int"),
        ("7", "a str where a Python int"),
        ([7], "a list where a Python int"),
        (lambda: 7, "a function where a Python int"),
        (type("secret_224", (), {})(), "an object of another class where a Python int"),
    ],
)
def test_counts_are_diagnosed(value, words):
    found = checks.diagnose(value, 7, "count")
    assert found is None if words is None else words in found
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.5, None),
        (1, None),
        (np.float64(0.5), None),
        (np.float32(0.5), None),
        (np.int64(1), None),
        (None, "returned None"),
        (True, "a bool where a float"),
        (np.bool_(True), "a NumPy bool"),
        (float("nan"), "NaN or infinity"),
        (np.float64("inf"), "NaN or infinity"),
        (10**400, "an int too large for a float"),
        (fractions.Fraction(1, 2), "a Fraction where a float is asked for: convert it with `float(...)`"),
        (decimal.Decimal("0.5"), "a Decimal where a float"),
        (np.array([0.5]), "a NumPy array where a float"),
        (1j, "a complex where a float"),
        ("0.5", "a str where a float"),
    ],
)
def test_rates_are_diagnosed(value, words):
    found = checks.diagnose(value, 0.5, "rate")
    assert found is None if words is None else words in found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": 1, "b": 2}, None),
        ({"a": 1, "b": 2, "more": "things"}, None),
        (None, "returned None"),
        ((1, 2), "a tuple where a dict with the keys `a`, `b` is asked for"),
        ({"a": 1}, "a dict without `b`"),
        ({"a": 1, "b": 2.0}, "returned under `b` a whole float"),
        ({"a": None, "b": 2}, "returned under `a` None"),
    ],
)
def test_dicts_of_counts_are_diagnosed(value, words):
    found = checks.diagnose(value, {"a": 1, "b": 2}, "counts")
    assert found is None if words is None else words in found


WANT = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (WANT + 1, None),
        (WANT.astype(np.float32), None),
        (None, "returned None"),
        (WANT.tolist(), "a list where a NumPy array"),
        (WANT.T, "of the wrong shape: its axes are swapped"),
        (WANT[None], "an axis of length 1 is lost or new"),
        (WANT[0], "an array with 1 axes where 2 are asked for"),
        (WANT[:, :2], "the number of axes is right, their lengths are not"),
        (WANT.astype(int), "an array of int64 where floats"),
        (WANT.astype(complex), "an array of complex128 where floats"),
        (np.where(WANT == 4, np.nan, WANT), "NaN in some entries"),
        (np.where(WANT == 4, np.inf, WANT), "infinity in some entries"),
        (np.full_like(WANT, np.nan), "NaN in every entry"),
    ],
)
def test_arrays_are_diagnosed(value, words):
    found = checks.diagnose(value, WANT, "array")
    assert found is None if words is None else words in found


def test_no_diagnosis_holds_a_number_of_the_value_or_of_what_is_asked_for():
    arrays = [WANT[None, None], np.zeros((87, 91)), np.full((2, 3), np.nan), np.zeros(53)]
    said = [checks.diagnose(value, np.zeros((59, 61)), "array") for value in arrays]
    said += [checks.diagnose(value, 5717416, "count") for value in (5717416.0, 224.5, "224", np.int64(224))]
    allowed = {"1", "2", "4", "53", "63", "64"}  # of "2**53", "2**63", "int64" and the numbers of axes
    assert all(set(re.findall(r"\d+", text)) <= allowed for text in said)


# --- comparing --------------------------------------------------------------------------------------------------


def test_counts_agree_exactly_and_rates_within_a_billionth():
    assert checks.agrees(2**64 + 1, 2**64 + 1) and not checks.agrees(2**64, 2**64 + 1)
    assert checks.agrees(1 + 5e-10, 1.0) and not checks.agrees(1 + 2e-9, 1.0)
    assert checks.agrees(np.float64(2.0), 2.0)
    assert checks.agrees({"a": 1, "b": 9}, {"a": 1}) and not checks.agrees({"a": 2}, {"a": 1})
    assert checks.agrees(WANT + 5e-10, WANT) and not checks.agrees(WANT + 1e-6, WANT)


def test_known_wrong_values_match_in_their_type():
    assert checks.matches(7.0, 7.0) and not checks.matches(7, 7.0) and not checks.matches(7.0, 7)
    assert not checks.matches(True, 1) and not checks.matches(None, 1)
    assert checks.matches(np.float64(0.5), 0.5)
    assert checks.matches({"a": 1, "x": 3}, {"a": 1}) and not checks.matches({}, {"a": 1})
    assert checks.matches(WANT + 0, WANT) and not checks.matches(WANT[0], WANT)


def test_same_never_asks_the_object():
    class Always:
        __hash__ = None

        def __eq__(self, other):
            raise AssertionError("asked")

    assert not checks.same(Always(), 7) and not checks.same(7, Always()) and not checks.same([Always()], [Always()])
    assert checks.same({"a": [1, float("nan")]}, {"a": [1, float("nan")]})
    assert not checks.same({"a": 1}, {"a": True}) and not checks.same((1,), [1])
    assert checks.same(WANT, WANT.copy()) and not checks.same(WANT, WANT.astype(np.float32))


# --- the table --------------------------------------------------------------------------------------------------


def test_a_right_answer_passes_and_every_row_says_so():
    report = checks.check_rows({"vit_param_count": vit_param_count})
    assert report.passed and report.summary == f"All {len(CASES)} cases are right." and not report.mistake
    assert [row.case for row in report.rows] == [case["name"] for case in CASES]
    assert report.rows[0].expected == report.rows[0].got == "86,567,656"


def test_a_known_mistake_is_told_by_its_sentence_once():
    report = checks.check_rows({"vit_param_count": lambda cfg: 12 * cfg["L"] * cfg["d"] ** 2})
    assert not report.passed and "rule of thumb 12 L d²" in report.mistake
    assert str(report).count(report.mistake) == 1
    assert report.rows[0].note == "1,633,000 too few"


def test_an_unknown_mistake_is_not_told_as_another():
    report = checks.check_rows({"vit_param_count": lambda cfg: vit_param_count(cfg) - cfg["d"] + cfg["n_classes"]})
    assert not report.passed and report.mistake == ""


def test_every_misconception_is_named_by_the_visible_cases():
    from autograder import misconceptions

    for name, exercise in EXERCISES.items():
        right = {f: getattr(__import__(f"solutions.{name}", fromlist=[f]), f) for f in exercise.functions}
        for misconception in misconceptions.load(name):
            report = checks.check_rows(right | misconception.functions)
            assert report.passed or report.mistake in ("", misconception.sentence), misconception.slug
            if name == "vit_param_count":
                assert report.mistake == misconception.sentence


def broken_call(cfg):
    return cfg["no such key"]


def stub(cfg):
    raise NotImplementedError("vit_param_count: count")


def spoils(cfg):
    cfg["L"] = 0
    return 7


def forgets(cfg, calls=[]):  # noqa: B006
    calls.append(1)
    return len(calls)


@pytest.mark.parametrize(
    ("function", "got", "note"),
    [
        (broken_call, "KeyError", "It raised KeyError: 'no such key', in line"),
        (stub, "NotImplementedError", "It is not written yet."),
        (spoils, "7", "It changed the arguments it was given"),
        (forgets, "1", "It gave another answer when it was called a second time"),
        (lambda cfg: None, "None", "It returned None"),
        (lambda cfg: sys.exit(), "SystemExit", "It raised SystemExit"),
        (lambda: 7, "TypeError", "It raised TypeError"),
        (lambda cfg: 1 / 0, "ZeroDivisionError", "It raised ZeroDivisionError: division by zero, in line"),
        (lambda cfg: 10**5000, "an int of 16,610 bits", "an int of 16,610 bits too many"),
        (lambda cfg: [10**5000], "a list", "It returned a list where a Python int"),
        (None, "not defined", ""),
        (7, "not a function but an int", ""),
    ],
)
def test_what_a_row_says(function, got, note):
    row = checks.check_rows({"vit_param_count": function}).rows[0]
    assert not row.ok and row.got == got and note in row.note


def test_a_row_shows_the_line_that_raised():
    note = checks.check_rows({"vit_param_count": broken_call}).rows[0].note
    assert 'return cfg["no such key"]' in note


def test_rows_are_plain_data():
    report = checks.check_rows({"vit_param_count": lambda cfg: 3})
    assert json.loads(json.dumps(dataclasses.asdict(report)))["rows"][0]["expected"] == "86,567,656"


def test_the_table_reads_without_colour_and_escapes_what_it_shows():
    page = checks.check_rows({"vit_param_count": lambda cfg: "<b>&"})._repr_html_()
    assert "✗ wrong" in page and "&lt;b&gt;&amp;" in page and "<b>" not in page
    assert "background" not in page and "color: inherit" in page
    assert "✓ right" in checks.check_rows({"vit_param_count": vit_param_count})._repr_html_()


def test_arrays_and_dicts_are_shown_and_compared(tmp_path, monkeypatch):
    want = {"array": [0.0, 1.0], "shape": [1, 2], "dtype": "float64"}
    case = {"name": "two numbers", "call": "f", "args": [want], "kwargs": {}, "want": want}
    counts = {"name": "a dict", "call": "g", "args": [], "kwargs": {"n": 2}, "want": {"a": 1, "b": 2}}
    content = {"functions": ["f", "g"], "cases": [case, counts], "mistakes": []}
    (tmp_path / "e.json").write_text(json.dumps(content))
    monkeypatch.setattr(checks, "CASES", tmp_path)
    report = checks.check_rows({"f": lambda x: x + 0.5, "g": lambda n: {"a": 1, "b": 5}})
    assert report.rows[0].got.startswith("shape (1, 2)") and "off by 0.5 at [0, 0]" in report.rows[0].note
    assert report.rows[1].note == "b: 3 too many" and report.rows[1].call == "g(n=2)"
    assert checks.check_rows({"f": lambda x: x.copy(), "g": lambda n: {"a": 1, "b": 2}}).passed


def test_a_function_that_no_exercise_asks_for():
    with pytest.raises(checks.CheckError, match="There are no cases for `other`"):
        checks.check_rows({"other": vit_param_count})


# --- check() in a notebook and elsewhere ------------------------------------------------------------------------


def run_in_ipython(capsys, code):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    try:
        result = shell.run_cell(f"from exercises.checks import check\n{code}")
    finally:
        InteractiveShell.clear_instance()
    return result, capsys.readouterr()


def test_in_a_notebook_a_failure_is_a_table_and_one_line(capsys):
    result, shown = run_in_ipython(capsys, "def vit_param_count(cfg):\n    return 3\ncheck(vit_param_count)")
    assert isinstance(result.error_in_exec, checks.CheckError)
    assert "[wrong] ViT-B/16 at 224 pixels" in shown.out and "Traceback" not in shown.out
    assert shown.out.rstrip().endswith(f"{len(CASES)} of {len(CASES)} cases are not right yet.") and not shown.err


def test_in_a_notebook_success_says_so(capsys):
    code = "from solutions.vit_param_count import vit_param_count\ncheck(vit_param_count)"
    result, shown = run_in_ipython(capsys, code)
    assert result.success and f"All {len(CASES)} cases are right." in shown.out and not shown.err


@pytest.mark.parametrize(
    "definition",
    ["vit_param_count = lambda cfg: 3", "vit_param_count = type('A', (), {'__call__': lambda s, cfg: 3})()"],
)
def test_a_function_is_known_by_the_notebooks_name_for_it(capsys, definition):
    _, shown = run_in_ipython(capsys, f"{definition}\ncheck(vit_param_count)")
    assert "got       3" in shown.out


def test_outside_of_a_notebook_it_prints():
    code = "from checks import check\ndef vit_param_count(cfg): return 3\ncheck(vit_param_count)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "exercises", capture_output=True, text=True)
    assert done.returncode == 1 and "[wrong] ViT-B/16 at 224 pixels" in done.stdout


def test_checks_needs_the_standard_library_only():
    """An exercise without arrays is checked where there is no NumPy, as in the page."""
    code = (
        "import sys; sys.modules['numpy'] = None; from checks import check_rows\n"
        "assert not check_rows({'vit_param_count': lambda cfg: 1.0}).passed; print('fine')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
        cwd=ROOT / "exercises",
        capture_output=True,
        text=True,
    )
    assert done.stdout == "fine\n", done.stderr
