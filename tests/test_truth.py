"""The tests of the tests: they hold for every exercise, and each of them can fail."""

import re

import pytest

from autograder import catalog, hidden, kit, misconceptions, truth
from autograder.misconceptions import Misconception, edited, name_mistake
from solutions.vit_param_count import vit_param_count as right

POINTS = {"vit_forward": 30, "vit_param_count": 15, "vit_macs": 20, "gpu_days": 15, "attention_memory": 20}
EXERCISE = "vit_param_count"


def test_points_are_those_of_the_contract():
    assert {name: exercise.points for name, exercise in catalog.EXERCISES.items()} == POINTS


@pytest.mark.slow
@pytest.mark.parametrize("exercise", catalog.EXERCISES)
def test_the_tests_of(exercise):
    columns = truth.examine(exercise)
    assert [fault for tally in columns.values() for fault in tally.faults] == []
    assert all(tally.all for tally in columns.values())
    assert columns["misconceptions named"].all >= (20 if exercise == "vit_forward" else 12)


# --- each column can fail ---------------------------------------------------------------------------------------


def off_by(slug, error, sentence="You erred."):
    return Misconception(slug, sentence, {EXERCISE: lambda cfg: right(cfg) + error(cfg)})


@pytest.fixture
def known(monkeypatch):
    """Makes the course know the misconceptions given."""

    def know(*known):
        monkeypatch.setattr(misconceptions, "load", lambda exercise: list(known))

    return know


def test_a_misconception_that_loses_nothing_is_told(known):
    known(off_by("harmless", lambda cfg: 0))
    assert truth.named(EXERCISE).faults == ["harmless loses no point"]


def test_two_misconceptions_that_compute_the_same_are_told(known):
    known(off_by("one", lambda cfg: 1), off_by("other", lambda cfg: 1))
    assert [fault.partition(" in ")[0] for fault in truth.named(EXERCISE).faults] == [
        "one is named None",
        "other is named None",
    ]


def test_a_misconception_that_only_some_draws_show_is_told(known):
    known(off_by("rare", lambda cfg: 1 if cfg["L"] == 5 else 0))
    assert len(truth.named(EXERCISE).faults) == 1


def test_a_pair_that_gains_by_a_second_error_is_told(known):
    known(off_by("one", lambda cfg: 1 - cfg["n_registers"]), off_by("other", lambda cfg: cfg["n_registers"]))
    tally = truth.pairs_monotone(EXERCISE)
    assert tally.all == 1 and "together, and" in tally.faults[0]


def test_a_pair_that_cancels_is_a_right_answer(known):
    known(off_by("one", lambda cfg: cfg["d"]), off_by("other", lambda cfg: -cfg["d"]))
    assert truth.pairs_monotone(EXERCISE).all == 0


def test_a_surviving_mutant_and_a_stale_listing_are_told(monkeypatch):
    monkeypatch.setattr(
        truth, "mutants", lambda exercise: iter([truth._solution(exercise).replace("head = d", "head = 0 + d")])
    )
    assert truth.mutants_killed(EXERCISE).faults == [
        "the mutant survives that turns `head = d * K + K` into `head = 0 + d * K + K`"
    ]
    listed = {"was": "head = d * K + K", "becomes": "head = 0 + d * K + K", "why": "zero"}
    monkeypatch.setattr(truth, "_equivalent", lambda exercise: [listed])
    assert truth.mutants_killed(EXERCISE).faults == []
    monkeypatch.setattr(truth, "_equivalent", lambda exercise: [listed, {"was": "a", "becomes": "b", "why": "gone"}])
    assert truth.mutants_killed(EXERCISE).faults == [
        "tests/equivalent lists `a` into `b`, which is no surviving mutant"
    ]


def test_a_mutant_that_does_not_end_counts_as_caught(monkeypatch):
    monkeypatch.setattr(truth, "MUTANT_SECONDS", 1)
    endless = truth._solution(EXERCISE).replace("    P, C", "    while True:\n        pass\n    P, C")
    assert truth._killed(EXERCISE, endless)
    assert not truth._killed(EXERCISE, truth._solution(EXERCISE))


def test_an_unusual_answer_that_is_wrong_is_told(monkeypatch, tmp_path):
    (tmp_path / EXERCISE).mkdir()
    (tmp_path / EXERCISE / "floats.py").write_text("def vit_param_count(cfg):\n    return 1.0\n")
    monkeypatch.setattr(truth, "UNUSUAL", tmp_path)
    assert truth.unusual_accepted(EXERCISE).faults[0].startswith("floats loses points in 'head'")


def test_an_answer_that_earns_by_heart_is_told(monkeypatch):
    monkeypatch.setattr(truth, "_memorised", lambda cases, name, elsewhere: right)
    assert len(truth.memorised_earn_nothing(EXERCISE).faults) == 3


def test_points_that_do_not_sum_up_are_told(monkeypatch):
    changed = {EXERCISE: catalog.read(catalog.EXERCISES[EXERCISE].master)}
    object.__setattr__(changed[EXERCISE], "points", 16)
    monkeypatch.setattr(truth, "EXERCISES", changed)
    assert truth.points(EXERCISE).faults == ["the checks of vit_param_count sum to 15 points, the master says 16"]


def test_the_command_prints_the_table_and_the_faults(monkeypatch, capsys):
    good, bad = truth.Tally(2), truth.Tally(2, ["rare loses no point"])
    monkeypatch.setattr(truth, "examine", lambda exercise: {"points": good, "misconceptions named": good})
    assert truth.main([EXERCISE]) == 0
    assert "2 / 2" in capsys.readouterr().out
    monkeypatch.setattr(truth, "examine", lambda exercise: {"points": good, "misconceptions named": bad})
    assert truth.main([EXERCISE]) == 1
    assert "1 / 2" in (shown := capsys.readouterr().out) and f"{EXERCISE}: rare loses no point" in shown
    monkeypatch.setattr(truth, "examine", lambda exercise: {"points": good, "unusual accepted": truth.Tally()})
    assert truth.main([EXERCISE]) == 1
    assert truth.main(["nothing"]) == 2
    assert "There is no exercise nothing" in capsys.readouterr().err


# --- naming and running -----------------------------------------------------------------------------------------


def calls(f, *cfgs):
    with kit.recording() as made:
        for cfg in cfgs:
            try:
                kit.expect_count(f, cfg, want=right(cfg), where="a model")
            except kit.CheckFailed:
                continue
    return [kit.Call(EXERCISE, *[getattr(call, key) for key in ("args", "kwargs", "value", "ok")]) for call in made]


def test_a_mistake_is_named_only_if_it_explains_every_call():
    rng = kit.draws("naming")
    gap, cls = kit.random_config(rng, pool="gap"), kit.random_config(rng, pool="cls")
    always = next(m for m in misconceptions.load(EXERCISE) if m.slug == "class-token-always").functions[EXERCISE]
    assert name_mistake(EXERCISE, calls(always, cls)) is None, "nothing went wrong"
    assert name_mistake(EXERCISE, calls(always, gap, cls)).slug == "class-token-always"
    assert name_mistake(EXERCISE, calls(lambda cfg: always(cfg) + (cfg["pool"] == "cls"), gap, cls)) is None
    assert name_mistake(EXERCISE, calls(lambda cfg: 1 / 0, gap, cls)) is None


def test_an_edit_that_is_not_there_once_is_refused():
    with pytest.raises(ValueError, match="stands 0 times in the master"):
        edited(EXERCISE, "slug", "You erred.", ("no such code", "x"))


def test_misconceptions_speak_to_the_student():
    for exercise in catalog.EXERCISES:
        known = misconceptions.load(exercise)
        assert len({m.slug for m in known}) == len(known) == len({m.sentence for m in known})
        for misconception in known:
            said = misconception.sentence
            assert re.search(r"\b[Yy]ou", said) and said.endswith(".") and len(said) < 330, misconception.slug
            assert misconception.functions.keys() <= set(catalog.EXERCISES[exercise].functions)


def test_a_fault_of_the_tests_is_not_the_students(monkeypatch):
    def broken(functions):
        raise ZeroDivisionError

    case = hidden.test_file(EXERCISE).test_cases[0]
    monkeypatch.setattr(case.body, "call_func", broken)
    with pytest.raises(ZeroDivisionError):
        hidden.run(EXERCISE, {EXERCISE: right}, "seed")
