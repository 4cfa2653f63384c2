"""What a hidden-test file is written with: seeded configurations, and expectations that fail in the student's words.

It serves the three graders alike. In ours, the student's functions are proxies to a jailed worker and a call goes
through `f.outcome`; in nbgrader and otter they are the functions themselves. A message never holds a hidden value,
a line of the test or the text of the student's exception, because a student reads it.
"""

import builtins
import contextlib
import contextvars
import copy
import functools
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import FrameType

try:
    from exercises import checks
except ImportError:  # in an otter bundle checks.py lies beside this file's package
    import checks

SECONDS_PER_CALL = 5  # as the statements promise; the jail enforces it

# --- fresh configurations, the same ones for the same seed ------------------------------------------------------

_seed: contextvars.ContextVar[str | None] = contextvars.ContextVar("seed", default=None)


@contextlib.contextmanager
def seed_scope(seed: str) -> Iterator[None]:
    """Inside it, `draws` depends on `seed` alone, so that a regrade asks the same questions."""
    token = _seed.set(seed)
    try:
        yield
    finally:
        _seed.reset(token)


def draws(check_name: str) -> random.Random:
    """The random numbers of one check: fresh ones outside of a `seed_scope`."""
    seed = _seed.get()
    if seed is None:
        seed = os.urandom(16).hex()
    return random.Random(f"{seed}/{check_name}")


def random_config(rng: random.Random, **fixed: object) -> dict:
    """A small model with a shape of its own; `fixed` sets keys, and the others follow where they must.

    Every term of every formula is there unless `fixed` removes it: a class token (with `pool="cls"`), registers, a
    head, channels other than 3, d_ff other than 4 d. No drawn size is under 5, so that a factor up to 4 in a message
    tells what the mistake is and not what was drawn.
    """
    P = fixed.get("P", rng.choice([5, 7, 8, 14, 16, 32]))
    h = fixed.get("h", rng.choice([5, 6, 7, 8]))
    d = fixed.get("d", h * rng.choice([5, 8, 11, 16, 20]))
    cls_token = fixed.get("cls_token", fixed.get("pool", "cls") == "cls")
    config = {
        "img": P * rng.randint(5, 20),
        "P": P,
        "C": rng.choice([5, 6, 7, 10]),
        "d": d,
        "L": rng.randint(5, 14),
        "h": h,
        "d_ff": d * rng.choice([2, 3, 5]) + rng.randint(5, d - 1),
        "n_classes": rng.randint(11, 2000),
        "cls_token": cls_token,
        "n_registers": rng.randint(5, 9),
        "pool": "cls" if cls_token else "gap",
    }
    return config | fixed


# --- one call of the student's function -------------------------------------------------------------------------


class CheckFailed(AssertionError):
    """A check that the student's function did not pass; `message` is written for the student."""

    def __init__(self, message: str, status: str = "failed") -> None:
        super().__init__(message)
        self.message = message
        self.status = status  # "failed", "error" or "timeout", as in a result's checks


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came back from a call: the value, and the arguments as they are after it."""

    value: object
    args: tuple
    kwargs: dict


class CallFailed(Exception):
    """A call that returned nothing: `kind` is "error", "timeout" or "crashed", `error_type` the exception's name."""

    def __init__(self, kind: str, error_type: str = "") -> None:
        super().__init__(kind, error_type)
        self.kind = kind
        self.error_type = error_type


@dataclass(frozen=True, eq=False)
class Call:
    """A call made by a check: its arguments, what came back (a CallFailed if nothing did), and if that is right."""

    function: str
    args: tuple
    kwargs: dict
    value: object
    ok: bool


_recorded: contextvars.ContextVar[list[Call] | None] = contextvars.ContextVar("recorded", default=None)


@contextlib.contextmanager
def recording() -> Iterator[list[Call]]:
    """Collects the calls made inside it, so that misconceptions can be replayed on the same arguments."""
    calls: list[Call] = []
    token = _recorded.set(calls)
    try:
        yield calls
    finally:
        _recorded.reset(token)


def _record(call: Call) -> None:
    calls = _recorded.get()
    if calls is not None:
        calls.append(call)


def call(f: Callable, *args: object, **kwargs: object) -> Outcome:
    """Calls the student's function on copies of the arguments. Raises CallFailed when it returns nothing."""
    if hasattr(f, "outcome"):
        return f.outcome(*args, **kwargs)
    args, kwargs = copy.deepcopy((args, kwargs))
    try:
        value = f(*args, **kwargs)
    except (Exception, SystemExit) as error:
        raise CallFailed("error", type(error).__name__) from error
    return Outcome(value, args, kwargs)


def _name(f: Callable | None) -> str:
    """The student's name for `f`. otter binds the functions to the parameters of the test, also when one is missing."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_globals is globals():
        frame = frame.f_back
    name, test_file = None, frame and frame.f_globals
    while frame and frame.f_globals is test_file:
        code = frame.f_code
        for parameter in code.co_varnames[: code.co_argcount]:
            if frame.f_locals.get(parameter, frame) is f:
                name = parameter
                break
        frame = frame.f_back
    return name or getattr(f, "__name__", "the function")


def _checked_call(f: Callable | None, args: tuple, kwargs: dict, where: str, want: object) -> object:
    """The value of a call that returned, left its arguments alone, repeats and has the right type.

    Raises CheckFailed for any other.
    """
    name = _name(f)
    if f is None:
        raise CheckFailed(f"The notebook defines no `{name}`.")
    try:
        if hasattr(f, "outcomes"):
            first, second = f.outcomes(*args, **kwargs)
        else:
            first, second = call(f, *args, **kwargs), call(f, *args, **kwargs)
    except CallFailed as failure:
        _record(Call(name, args, kwargs, failure, ok=False))
        raise _explained(failure, name, where) from None
    outcomes = [(outcome.value, list(outcome.args), outcome.kwargs) for outcome in (first, second)]
    problem = checks.fault(*outcomes, list(args), kwargs, want)
    if problem:
        # Where the value is right and the arguments are changed, there is no wrong value for a misconception to explain.
        if checks.diagnose(first.value, want, checks.kind(want)):
            _record(Call(name, args, kwargs, first.value, ok=False))
        raise CheckFailed(f"`{name}` {problem} ({where}).")
    return first.value


def _explained(failure: CallFailed, name: str, where: str) -> CheckFailed:
    if failure.kind == "timeout":
        return CheckFailed(f"`{name}` took more than the {SECONDS_PER_CALL} s a call may take ({where}).", "timeout")
    if failure.kind == "crashed":
        return CheckFailed(f"Python ended while `{name}` ran, or ran out of memory ({where}).", "error")
    if failure.error_type == "NotImplementedError":
        return CheckFailed(f"`{name}` is not written yet: it raises NotImplementedError.", "error")
    known = isinstance(getattr(builtins, failure.error_type, None), type)  # another name could carry a message
    error = checks.article(failure.error_type) if known else "an exception"
    return CheckFailed(f"`{name}` raised {error} ({where}).", "error")


# --- expectations -----------------------------------------------------------------------------------------------


def expect_count(
    f: Callable | None, *args: object, want: int, where: str, unit: tuple[str, int] | None = None, **kwargs: object
) -> None:
    """Expects the exact int `want`.

    `where` says on which kind of configuration: "a model with registers". `unit` is what answers are often off by a
    few of, as a name and a size: ("vector of width d", cfg["d"]).
    """
    value = _checked_call(f, args, kwargs, where, want)
    ok = value == want
    _record(Call(_name(f), args, kwargs, value, ok))
    if not ok:
        units = Fraction(value - want, unit[1]) if unit else 0
        if abs(units) in (1, 2, 3):
            noun = unit[0] if abs(units) == 1 else unit[0].replace(" ", "s ", 1)
            problem = f"too {'large' if units > 0 else 'small'} by exactly {abs(units)} {noun}"
        else:
            problem = compared(value, want)
        raise CheckFailed(f"`{_name(f)}` is {problem} ({where}).")


def expect_growth(f: Callable | None, before: tuple, after: tuple, *, want: int, where: str, rule: str) -> None:
    """Expects the count to grow by exactly `want` from the arguments `before` to `after`.

    This isolates one term, whatever is wrong with the others. `where` says what changes ("when registers are
    added"), `rule` what should happen ("each adds one vector of width d").
    """
    values = [_checked_call(f, args, {}, where, want) for args in (before, after)]
    grown = values[1] - values[0]
    ok = grown == want
    for args, value in zip((before, after), values, strict=True):
        _record(Call(_name(f), args, {}, value, ok))
    if not ok:
        raise CheckFailed(f"`{_name(f)}` {where}: {rule}. The change in your count is {compared(grown, want)}.")


def expect_counts(f: Callable | None, *args: object, want: Mapping[str, int], where: str, **kwargs: object) -> None:
    """Expects a dict with at least the keys of `want` and exactly its ints."""
    value = _checked_call(f, args, kwargs, where, want)
    wrong = [key for key in want if value[key] != want[key]]
    _record(Call(_name(f), args, kwargs, value, not wrong))
    if wrong:
        terms = "; ".join(f"`{key}` is {compared(value[key], want[key])}" for key in wrong)
        raise CheckFailed(f"`{_name(f)}`: {terms} ({where}).")


def expect_rate(f: Callable | None, *args: object, want: float, where: str, **kwargs: object) -> None:
    """Expects a number within 1e-9 of `want`, relative."""
    value = _checked_call(f, args, kwargs, where, want)
    ok = checks.agrees(value, want)
    _record(Call(_name(f), args, kwargs, value, ok))
    if not ok:
        raise CheckFailed(f"`{_name(f)}` is {compared(float(value), want)} ({where}).")


def expect_array(f: Callable | None, *args: object, want: object, where: str, rule: str, **kwargs: object) -> None:
    """Expects an array of the shape of `want` within 1e-7 relative (1e-9 absolute).

    `rule` says what decides the values in this configuration; it is told when they are wrong.
    """
    value = _checked_call(f, args, kwargs, where, want)
    ok = checks.agrees(value, want)
    _record(Call(_name(f), args, kwargs, value, ok))
    if not ok:
        raise CheckFailed(f"`{_name(f)}` returned the right shape with wrong values ({where}): {rule}.")


_SIMPLE = {Fraction(a, b) for a in range(1, 5) for b in range(1, 5)} - {1}
_IN_WORDS = {Fraction(1, 2): "half of", Fraction(2): "twice"}


def compared(value: float, want: float) -> str:
    """How `value` misses `want` without saying either: by a simple factor, in sign, or too large or too small."""
    if value == 0 or want == 0:
        return "zero, which it should not be" if value == 0 else "not zero, which it should be"
    ratio = Fraction(value) / Fraction(want)
    if ratio < 0:
        return "of the wrong sign"
    exact = type(value) is int and type(want) is int
    factor = next((simple for simple in _SIMPLE if abs(ratio / simple - 1) <= (0 if exact else 1e-9)), None)
    if factor is None:
        return "too large" if ratio > 1 else "too small"
    return f"{_IN_WORDS.get(factor, f'{factor} times')} what it should be"


# --- how much Python the student's own code executes ------------------------------------------------------------


def operations(f: Callable, *args: object, **kwargs: object) -> int:
    """The number of bytecode instructions that a call executes in the student's own code, not in libraries.

    The student's own code is what shares the function's globals: helpers, lambdas, comprehensions and methods count,
    NumPy's Python layer does not. Raises CallFailed as `call` does.
    """
    if hasattr(f, "operations"):
        return f.operations(*args, **kwargs)
    own = _globals(f)
    executed = 0

    def trace(frame: FrameType, event: str, _arg: object) -> Callable | None:
        nonlocal executed
        if frame.f_globals is not own:
            return None
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            executed += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(f, *args, **kwargs)
    finally:
        sys.settrace(before)
    return executed


def expect_no_more_operations(f: Callable | None, small: dict, large: dict, *, where: str) -> None:
    """Expects the arguments `large` to take no more operations in the student's own code than `small`.

    Both are given by keyword. `where` says what grows between them ("when there are more heads").
    """
    name = _name(f)
    if f is None:
        raise CheckFailed(f"The notebook defines no `{name}`.")
    try:
        call(f, **small)  # the first call may import or build what the later ones find
        grown = operations(f, **large) > operations(f, **small)
    except CallFailed as failure:
        raise _explained(failure, name, where) from None
    if grown:
        raise CheckFailed(
            f"`{name}` executes more Python operations {where}: some loop or comprehension runs over them, where one "
            "array operation should do it."
        )


def _globals(f: Callable) -> dict | None:
    """The globals of the function behind `f`, also through functools.partial, decorators and callable objects."""
    while isinstance(f, functools.partial):
        f = f.func
    f = getattr(f, "__wrapped__", f)
    if not hasattr(f, "__globals__"):
        f = type(f).__call__
    return getattr(f, "__globals__", None)
