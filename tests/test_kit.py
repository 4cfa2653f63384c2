"""The kit of the hidden tests: seeds, configurations, expectations and their words, recorded calls, operations."""

import functools

import numpy as np
import pytest

from autograder import kit
from autograder.kit import CheckFailed

CFG = {"d": 8, "L": 6}


def fails(expectation, *args, **kwargs):
    """The message of an expectation that must fail."""
    with pytest.raises(CheckFailed) as failed:
        expectation(*args, **kwargs)
    assert str(failed.value) == failed.value.message
    return failed.value


def count(cfg):
    return cfg["d"] * cfg["L"]


# --- seeds and configurations -----------------------------------------------------------------------------------


def test_draws_depend_on_the_seed_and_the_check_alone():
    def numbers(seed, name):
        with kit.seed_scope(seed):
            return [kit.draws(name).random() for _ in range(2)]

    first = numbers("salt/student", "head")
    assert first[0] == first[1] and first == numbers("salt/student", "head")
    assert first != numbers("salt/other", "head") and first != numbers("salt/student", "blocks")


def test_draws_are_fresh_outside_of_a_scope():
    with kit.seed_scope("seed"):
        pass
    assert kit.draws("head").random() != kit.draws("head").random()


def test_random_configurations_are_sound():
    for number in range(300):
        rng = kit.draws(f"config {number}")
        cfg = kit.random_config(rng)
        assert cfg["img"] % cfg["P"] == 0 and cfg["d"] % cfg["h"] == 0
        assert cfg["C"] != 3 and cfg["d_ff"] != 4 * cfg["d"] and cfg["n_classes"] and cfg["n_registers"]
        assert cfg["cls_token"] and cfg["pool"] == "cls"
        assert min(value for value in cfg.values() if type(value) is int) >= 5
        assert kit.random_config(rng, pool="gap")["cls_token"] is False
        assert kit.random_config(rng, cls_token=False)["pool"] == "gap"
        fixed = kit.random_config(rng, cls_token=True, pool="gap", P=3, h=2, d=10)
        assert fixed["cls_token"] and fixed["pool"] == "gap" and fixed["img"] % 3 == 0


# --- expectations -----------------------------------------------------------------------------------------------


def test_what_is_right_passes():
    kit.expect_count(count, CFG, want=48, where="a model")
    kit.expect_growth(count, (CFG,), (CFG | {"L": 7},), want=8, where="when blocks are added", rule="each adds d")
    kit.expect_rate(lambda x: x / 3, 1.0, want=1 / 3, where="a run")
    kit.expect_counts(lambda cfg: {"a": 1, "b": 2}, CFG, want={"a": 1}, where="a model")
    kit.expect_array(lambda x: x + 1, np.zeros(3), want=np.ones(3), where="an image", rule="add one")
    kit.expect_count(lambda *, cfg: 48, cfg=CFG, want=48, where="by keyword")


@pytest.mark.parametrize(
    ("value", "want", "words"),
    [
        (24, 12, "twice what it should be"),
        (6, 12, "half of what it should be"),
        (8, 12, "2/3 times what it should be"),
        (60, 12, "too large"),
        (13, 12, "too large"),
        (11, 12, "too small"),
        (-12, 12, "of the wrong sign"),
        (0, 12, "zero, which it should not be"),
        (12, 0, "not zero, which it should be"),
        (2**64 + 1, 2**63, "too large"),
        (2.0 * (1 + 1e-12), 1.0, "twice"),
    ],
)
def test_how_a_value_misses(value, want, words):
    assert kit.compared(value, want).startswith(words)


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (8, "too large by exactly 1 vector of width d (a model)"),
        (-16, "too small by exactly 2 vectors of width d (a model)"),
        (32, "is too large (a model)"),
        (4, "is too large (a model)"),
    ],
)
def test_a_wrong_count_is_said_in_units(off, words):
    unit = ("vector of width d", 8)
    assert words in fails(kit.expect_count, lambda cfg: 48 + off, CFG, want=48, where="a model", unit=unit).message


def test_a_wrong_growth_names_the_rule_and_not_the_numbers():
    def doubled(cfg):
        return 5 + 16 * cfg["L"]

    said = {"where": "when blocks are added", "rule": "each adds d"}
    message = fails(kit.expect_growth, doubled, (CFG,), (CFG | {"L": 7},), want=8, **said).message
    assert message == (
        "`doubled` when blocks are added: each adds d. The change in your count is twice what it should be."
    )


def test_a_wrong_array_names_the_rule():
    said = {"where": "an image", "rule": "add one"}
    message = fails(kit.expect_array, lambda x: x, np.zeros(3), want=np.ones(3), **said).message
    assert message.endswith("returned the right shape with wrong values (an image): add one.")


def test_a_wrong_dict_names_the_terms():
    failed = fails(kit.expect_counts, lambda cfg: {"a": 1, "b": 4}, CFG, want={"a": 1, "b": 2}, where="a model")
    assert "`b` is twice what it should be" in failed.message and "`a`" not in failed.message


@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        (lambda cfg: 48.0, "failed", "a whole float where a Python int"),
        (lambda cfg: None, "failed", "returned None"),
        (lambda cfg: cfg["n"], "error", "raised a KeyError (a model)"),
        (lambda cfg: {}[str(cfg)], "error", "raised a KeyError (a model)"),
        (lambda: 48, "error", "raised a TypeError"),
        (lambda cfg: exit(), "error", "raised a SystemExit"),
    ],
)
def test_what_goes_wrong_in_a_call(function, status, words):
    failed = fails(kit.expect_count, function, CFG, want=48, where="a model")
    assert failed.status == status and words in failed.message


def test_an_exception_of_the_students_own_is_not_named():
    class secret_224(Exception):
        pass

    def function(cfg):
        raise secret_224("secret")

    message = fails(kit.expect_count, function, CFG, want=48, where="a model").message
    assert message.endswith("raised an exception (a model).") and "secret" not in message


def test_an_untouched_stub_is_called_one():
    def vit_param_count(cfg):
        raise NotImplementedError("vit_param_count: count")

    failed = fails(kit.expect_count, vit_param_count, CFG, want=48, where="a model")
    assert failed.message == "`vit_param_count` is not written yet: it raises NotImplementedError."


def test_changed_arguments_and_a_second_call():
    def spoils(cfg):
        return cfg.pop("d") * cfg["L"]

    def forgets(cfg, calls=[]):  # noqa: B006
        calls.append(1)
        return 48 if len(calls) == 1 else 49

    cfg = dict(CFG)
    assert "changed the arguments" in fails(kit.expect_count, spoils, cfg, want=48, where="a model").message
    assert cfg == CFG, "the test's own configuration is safe"
    with kit.recording() as calls:
        assert "called a second time" in fails(kit.expect_count, forgets, CFG, want=48, where="a model").message
    assert calls == [], "the first value is right, so that no misconception explains it"


def test_an_array_is_changed_in_place():
    def spoils(x):
        x += 1
        return x

    assert (
        "changed the arguments"
        in fails(kit.expect_array, spoils, np.zeros(2), want=np.ones(2), where="x", rule="add one").message
    )


def test_a_missing_function_is_named_as_the_test_names_it():
    def case(gpu_days, implied_mfu):
        kit.expect_rate(implied_mfu, 1, want=1.0, where="a run")

    assert fails(case, lambda: 1, None).message == "The notebook defines no `implied_mfu`."


def test_a_function_has_the_name_that_the_test_gives_it():
    def case(vit_param_count):
        helper(vit_param_count)

    def helper(f):
        kit.expect_count(f, CFG, want=48, where="a model")

    with kit.recording() as calls:
        assert fails(case, lambda cfg: 47).message.startswith("`vit_param_count` is too small")
    assert [call.function for call in calls] == ["vit_param_count"]


# --- proxies ----------------------------------------------------------------------------------------------------


class Proxy:
    """Stands for a function in a jail."""

    __name__ = "vit_param_count"

    def __init__(self, *answers):
        self.answers = iter(answers)

    def outcome(self, *args, **kwargs):
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return kit.Outcome(*answer)


@pytest.mark.parametrize(
    ("failure", "status", "words"),
    [
        (kit.CallFailed("timeout"), "timeout", "took more than the 5 s a call may take (a model)"),
        (kit.CallFailed("crashed"), "error", "Python ended while"),
        (kit.CallFailed("error", "ValueError"), "error", "raised a ValueError (a model)"),
        (kit.CallFailed("error", "img is 224"), "error", "raised an exception (a model)"),
        (kit.CallFailed("error", "print"), "error", "raised an exception (a model)"),
    ],
)
def test_a_proxy_that_fails(failure, status, words):
    failed = fails(kit.expect_count, Proxy(failure), CFG, want=48, where="a model")
    assert failed.status == status and words in failed.message and "224" not in failed.message


def test_a_proxy_whose_arguments_come_back_changed():
    answers = [(48, (CFG | {"d": 9},), {})] * 2
    assert "changed the arguments" in fails(kit.expect_count, Proxy(*answers), CFG, want=48, where="a model").message
    kit.expect_count(Proxy(*[(48, (dict(CFG),), {})] * 2), CFG, want=48, where="a model")


# --- recorded calls ---------------------------------------------------------------------------------------------


def test_every_call_is_recorded_with_what_came_of_it():
    with kit.recording() as calls:
        kit.expect_count(count, CFG, want=48, where="a model")
        fails(kit.expect_count, count, CFG | {"d": 1}, want=48, where="a model")
        fails(kit.expect_count, lambda cfg: cfg[0], CFG, want=48, where="a model")
    assert [(call.args[0]["d"], call.ok) for call in calls] == [(8, True), (1, False), (8, False)]
    assert calls[1].value == 6 and calls[2].value.error_type == "KeyError"
    with kit.recording() as later:
        pass
    assert later == [] and len(calls) == 3


# --- operations -------------------------------------------------------------------------------------------------


def vectorized(x, h):
    heads = x.reshape(len(x), h, -1)
    return np.einsum("nhi,mhi->nmh", heads, heads).sum(axis=-1)


def looped(x, h):
    heads = np.split(x, h, axis=1)
    return sum(head @ head.T for head in heads)


def comprehended(x, h):
    return np.array([x[i] * 2 for i in range(len(x))])


def through_numpy(x, h):
    return np.vectorize(lambda value: value + 1)(x)


class Loops:
    def __call__(self, x, h):
        return looped(x, h)


def image(tokens=4, width=48, h=2):
    return {"x": np.ones((tokens, width)), "h": h}


def test_operations_do_not_depend_on_sizes_without_a_loop():
    counts = {kit.operations(vectorized, **image(tokens, h=h)) for tokens in (4, 48) for h in (2, 8)}
    assert len(counts) == 1 and min(counts) > 10


@pytest.mark.parametrize(
    "f", [looped, functools.partial(looped), Loops(), functools.wraps(looped)(lambda *a, **k: looped(*a, **k))]
)
def test_a_loop_over_heads_is_seen(f):
    message = fails(kit.expect_no_more_operations, f, image(h=2), image(h=8), where="when there are more heads").message
    assert "more Python operations when there are more heads" in message


@pytest.mark.parametrize("f", [comprehended, through_numpy])
def test_a_loop_over_tokens_is_seen(f):
    fails(kit.expect_no_more_operations, f, image(4), image(48), where="when there are more tokens")
    kit.expect_no_more_operations(vectorized, image(4), image(48), where="when there are more tokens")


def test_operations_of_the_first_call_alone_do_not_count():
    seen = {}

    def caches(x, h):
        if not seen:
            seen.update((i, i) for i in range(50))
        return vectorized(x, h)

    kit.expect_no_more_operations(caches, image(h=2), image(h=8), where="when there are more heads")


def test_operations_say_when_a_call_fails_or_there_is_no_function():
    failed = fails(kit.expect_no_more_operations, lambda x, h: h.no, image(), image(), where="more heads")
    assert failed.status == "error" and "raised an AttributeError" in failed.message
    assert "defines no" in fails(kit.expect_no_more_operations, None, image(), image(), where="more heads").message


def test_operations_leave_a_tracer_in_place():
    import sys

    def tracer(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        kit.operations(vectorized, **image())
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_a_proxy_counts_for_itself():
    class Counting(Proxy):
        def operations(self, *args, **kwargs):
            return 7 * kwargs["h"]

    answers = [(0, (), {})] * 3
    fails(kit.expect_no_more_operations, Counting(*answers), image(h=2), image(h=8), where="more heads")
    assert kit.operations(Counting(), h=1) == 7
