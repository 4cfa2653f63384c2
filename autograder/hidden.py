"""Runs an exercise's hidden tests on a set of functions and says, check by check, what was earned and why not.

The functions may be the student's own (nbgrader, `make truth`) or proxies to a jailed worker (`autograder grade`).
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from otter.test_files import ExceptionTestFile

from autograder import kit, misconceptions
from autograder.catalog import EXERCISES


@dataclass(frozen=True)
class Check:
    """The result of one check, with the fields that a result file has."""

    name: str
    hidden: bool
    points: float
    max_points: float
    status: str  # "passed", "failed", "error" or "timeout"
    message: str
    misconception: str | None = None


@functools.cache
def test_file(exercise: str) -> ExceptionTestFile:
    """The exercise's hidden tests as otter reads them."""
    return ExceptionTestFile.from_file(str(EXERCISES[exercise].test_file))


def run(exercise: str, functions: Mapping[str, Callable], seed: str) -> list[Check]:
    """All checks of `exercise` on `functions`; a function that is not there counts as not defined.

    An exception that is no CheckFailed is a fault of the tests, not the student's, and goes through.
    """
    checks, blamed, calls = [], [], []
    with kit.seed_scope(seed):
        for case in test_file(exercise).test_cases:
            with kit.recording() as made:
                check = Check(case.name, case.hidden, case.points, case.points, "passed", "")
                try:
                    case.body.call_func(dict(functions))
                except kit.CheckFailed as failure:
                    check = replace(check, points=0, status=failure.status, message=failure.message)
            checks.append(check)
            blamed.append({call.function for call in made if not call.ok})
            calls += made
    mistakes = {
        function: misconceptions.name_mistake(exercise, [call for call in calls if call.function == function])
        for function in set().union(*blamed)
    }
    return [
        _named(check, [mistakes[f] for f in sorted(functions)]) for check, functions in zip(checks, blamed, strict=True)
    ]


def _named(check: Check, mistakes: list[misconceptions.Misconception | None]) -> Check:
    """The check with the sentence of the mistake behind it, where there is exactly one."""
    if check.status == "passed" or len(mistakes) != 1 or mistakes[0] is None:
        return check
    return replace(check, message=f"{check.message} {mistakes[0].sentence}", misconception=mistakes[0].slug)
