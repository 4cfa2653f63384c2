"""The hidden tests inside nbgrader: the one call that the hidden cell of a notebook makes.

Here the tests run in the student's own kernel, as nbgrader does it, so code that means harm can reach them. Where
marks matter, grade with `autograder grade` and bring the scores in with `autograder export --to nbgrader`.
"""

import contextlib
import copy
import io
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping

from . import kit


class _Overtime(BaseException):
    """Raised in a call that takes too long; not an Exception, so that a student's `except Exception` lets it pass."""


class _Timed:
    """The student's function as the tests see it: each call works on copies and has a time limit.

    A function's own attributes stay behind, so one that calls itself a proxy is not taken for one.
    """

    def __init__(self, function: Callable) -> None:
        self.__wrapped__ = function

    def outcome(self, *args: object, **kwargs: object) -> kit.Outcome:
        """What the call returned and left of its arguments. Raises kit.CallFailed when it returned nothing."""
        args, kwargs = copy.deepcopy((args, kwargs))
        try:
            with _limit(kit.SECONDS_PER_CALL):
                value = self.__wrapped__(*args, **kwargs)
        except _Overtime:
            raise kit.CallFailed("timeout") from None
        except KeyboardInterrupt:  # nbgrader's own limit on the cell
            raise
        except BaseException as error:
            raise kit.CallFailed("error", type(error).__name__) from None
        return kit.Outcome(value, args, kwargs)


@contextlib.contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Interrupts the block after `seconds` of wall time, where the system can: in the main thread, not on Windows."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def interrupt(*_: object) -> None:
        raise _Overtime

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Drops what is written in the block: one line on stderr would cost the cell all its points in nbgrader, and
    what a student's function prints would show the hidden configurations."""
    saved = {fd: os.dup(fd) for fd in (1, 2)}
    disabled = logging.root.manager.disable
    logging.disable()
    with open(os.devnull, "w") as nowhere:
        for fd in saved:
            os.dup2(nowhere.fileno(), fd)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                yield
        finally:
            for fd, copied in saved.items():
                os.dup2(copied, fd)
                os.close(copied)
            logging.disable(disabled)


def grade(exercise: str, namespace: Mapping[str, object]) -> float:
    """The points that the functions in `namespace` (the notebook's globals) earn; prints a line for each check.

    nbgrader takes the value of the cell as partial credit. Raises RuntimeError where the tests themselves fail.
    """
    try:
        with _silence():
            from . import hidden  # brings otter, which is slow to import and may warn

            functions = {
                name: _Timed(namespace[name])
                for name in hidden.EXERCISES[exercise].functions
                if callable(namespace.get(name))
            }
            checks = hidden.run(exercise, functions, seed=os.urandom(16).hex())
    except Exception as error:
        # Without its traceback, which would quote the hidden tests in the feedback.
        raise RuntimeError(
            f"the tests of {exercise} stopped with {type(error).__name__}: tell your instructor"
        ) from None
    for check in checks:
        print(f"{check.name}: {check.points:g} of {check.max_points:g} points. {check.message}".rstrip())
    return float(sum(check.points for check in checks))
