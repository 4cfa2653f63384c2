"""The first exercise: its reference is right, its hidden tests ask what the statement says, its feedback is of use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vit import cost

from autograder import hidden, misconceptions
from autograder.catalog import EXERCISES
from exercises import checks
from solutions.vit_param_count import B16, TINY, vit_param_count

EXERCISE = "vit_param_count"
TESTS = hidden.test_file(EXERCISE)


def grade(f, seed="seed"):
    return hidden.run(EXERCISE, {EXERCISE: f}, seed)


def failed(f):
    """The checks that `f` fails, by name, with their messages."""
    return {check.name: check.message for check in grade(f) if check.status != "passed"}


@st.composite
def configurations(draw):
    """Any configuration that the statement allows."""
    P, h, cls_token = draw(st.integers(1, 32)), draw(st.integers(1, 48)), draw(st.booleans())
    return {
        "img": P * draw(st.integers(1, 100)),
        "P": P,
        "C": draw(st.integers(1, 16)),
        "d": h * draw(st.integers(1, 2**30)),
        "L": draw(st.integers(1, 200)),
        "h": h,
        "d_ff": draw(st.integers(1, 2**40)),
        "n_classes": draw(st.integers(0, 30_000)),
        "cls_token": cls_token,
        "n_registers": draw(st.integers(0, 16)),
        "pool": draw(st.sampled_from(["cls", "gap"])) if cls_token else "gap",
    }


@given(configurations())
def test_the_reference_agrees_with_the_books_own_count(cfg):
    assert vit_param_count(cfg) == cost.parameters(cfg)


@pytest.mark.parametrize(
    ("cfg", "parameters"),
    [
        (B16, 86_567_656),
        (B16 | {"img": 384}, 86_859_496),
        (B16 | {"n_classes": 0}, 85_798_656),
        (B16 | {"d": 192, "h": 3, "d_ff": 768}, 5_717_416),
        (B16 | {"d": 384, "h": 6, "d_ff": 1536}, 22_050_664),
        (B16 | {"d": 1024, "h": 16, "d_ff": 4096, "L": 24}, 304_326_632),
        (B16 | {"d": 1280, "h": 16, "d_ff": 5120, "L": 32, "P": 14}, 632_045_800),
        (B16 | {"d": 1024, "h": 16, "d_ff": 4096, "L": 24, "P": 32}, 306_535_400),
    ],
)
def test_published_sizes(cfg, parameters):
    assert vit_param_count(cfg) == parameters


def test_the_visible_cases_hold_every_rule():
    """Each misconception differs from the reference in some visible case, so a student can find it alone."""
    for misconception in misconceptions.load(EXERCISE):
        assert checks.check_rows(misconception.functions).mistake == misconception.sentence


def test_partial_credit_is_by_term():
    assert failed(lambda cfg: vit_param_count(cfg | {"n_registers": 0})).keys() == {
        "registers",
        "whole models",
        "large models",
    }
    assert failed(lambda cfg: vit_param_count(cfg) - cfg["d"]).keys() == {"whole models", "large models"}
    assert len(failed(lambda cfg: 12 * cfg["L"] * cfg["d"] ** 2)) == len(TESTS.test_cases)


def test_only_the_largest_models_show_a_float_inside():
    def inexact(cfg):
        return int(float(vit_param_count(cfg)))

    assert failed(inexact).keys() == {"large models"}


def test_two_errors_are_told_term_by_term_and_not_as_a_third():
    def two(cfg):
        return vit_param_count(cfg | {"n_registers": 2 * cfg["n_registers"], "cls_token": True})

    results = {check.name: check for check in grade(two)}
    assert {check.misconception for check in results.values()} == {None}
    assert "twice what it should be" in results["registers"].message
    assert "zero, which it should not be" in results["class token"].message
    assert results["head"].status == results["mlp width"].status == "passed"


def test_feedback_holds_no_hidden_value():
    """What was drawn differs between seeds, so what is said must not."""
    for f in (lambda cfg: 7, lambda cfg: vit_param_count(cfg) * 2, lambda cfg: vit_param_count(cfg) + cfg["d"]):
        said = {tuple(check.message for check in grade(f, seed)) for seed in map(str, range(10))}
        assert len(said) == 1


def test_the_configurations_are_those_that_the_statement_allows():
    seen = []

    def record(cfg):
        seen.append(cfg)
        return vit_param_count(cfg)

    assert not failed(record)
    for cfg in seen:
        assert cfg.keys() == TINY.keys()
        assert cfg["img"] % cfg["P"] == 0 and cfg["d"] % cfg["h"] == 0
        assert cfg["cls_token"] or cfg["pool"] == "gap"
        assert type(cfg["cls_token"]) is bool
        assert cfg["L"] <= 100, "a recursion over the blocks is a right answer"
    counts = sorted(map(vit_param_count, seen))
    assert counts[-1] > 2**63 and any(2**53 < n < 2**63 for n in counts) and any(2**31 < n < 2**53 for n in counts)
    for kind in (
        lambda cfg: cfg["n_classes"] == 0,
        lambda cfg: cfg["n_registers"] == 0,
        lambda cfg: cfg["cls_token"] and cfg["pool"] == "gap",
        lambda cfg: not cfg["cls_token"],
        lambda cfg: cfg["C"] == 3,
        lambda cfg: cfg["C"] != 3,
        lambda cfg: cfg["d_ff"] != 4 * cfg["d"],
    ):
        assert any(map(kind, seen))


def test_the_test_file_names_the_exercise_and_shows_nothing():
    assert TESTS.name == EXERCISE
    assert all(case.hidden for case in TESTS.test_cases)
    assert sum(case.points for case in TESTS.test_cases) == EXERCISES[EXERCISE].points == 15
