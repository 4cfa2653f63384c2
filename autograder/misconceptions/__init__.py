"""Known wrong answers: what a student believed, as a function that computes it and a sentence that says it."""

import copy
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from autograder import kit
from autograder.catalog import EXERCISES


@dataclass(frozen=True)
class Misconception:
    """A belief that gives wrong answers.

    `sentence` speaks to the student: what was done and what should be done, without the line of code.
    `functions` holds the functions that come out wrong; the others of the exercise are right. `edits` are the changes
    to the master's code that make them, where that is how they are made.
    """

    slug: str
    sentence: str
    functions: dict[str, Callable]
    edits: tuple[tuple[str, str], ...] = ()


def edited(exercise: str, slug: str, sentence: str, *edits: tuple[str, str]) -> Misconception:
    """The misconception that comes from the master's code by `edits`, pairs of a piece of code and what replaces it.

    Raises ValueError when a piece is not there exactly once.
    """
    return Misconception(slug, sentence, functions_after(exercise, edits), edits)


def functions_after(exercise: str, edits: Iterable[tuple[str, str]]) -> dict[str, Callable]:
    """The functions of the master of `exercise` after edits to its code, made one after the other."""
    source = inspect.getsource(importlib.import_module(f"solutions.{exercise}"))
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"{old!r} stands {source.count(old)} times in the master of {exercise}, not once")
        source = source.replace(old, new)
    namespace = {"__name__": f"{exercise}_edited"}
    exec(compile(source, f"<{exercise} edited>", "exec"), namespace)
    return {name: namespace[name] for name in EXERCISES[exercise].functions}


def load(exercise: str) -> list[Misconception]:
    """The misconceptions of `exercise`; the list is empty for an exercise that has none yet."""
    module = f"{__name__}.{exercise}"
    if importlib.util.find_spec(module) is None:
        return []
    return importlib.import_module(module).MISCONCEPTIONS


def reproduces(misconception: Misconception, call: kit.Call) -> bool:
    """Whether the misconception gives what the student's function gave (a value, or an exception of that type)."""
    function = misconception.functions[call.function]
    args, kwargs = copy.deepcopy((call.args, call.kwargs))
    try:
        value = function(*args, **kwargs)
    except Exception as error:
        return isinstance(call.value, kit.CallFailed) and call.value.error_type == type(error).__name__
    return kit.checks.matches(call.value, value)


def name_mistake(exercise: str, calls: Iterable[kit.Call]) -> Misconception | None:
    """The one misconception that explains every recorded call of the functions that went wrong, else None.

    Several that fit, or none, are no diagnosis. Pass all calls of one function to have that function explained.
    """
    calls = list(calls)
    wrong = {call.function for call in calls if not call.ok}
    if not wrong:
        return None
    calls = [call for call in calls if call.function in wrong]
    calls.sort(key=lambda call: call.ok)  # a wrong answer first: most misconceptions do not give it
    fitting = [
        misconception
        for misconception in load(exercise)
        if wrong <= misconception.functions.keys() and all(reproduces(misconception, call) for call in calls)
    ]
    return fitting[0] if len(fitting) == 1 else None
