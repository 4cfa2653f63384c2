"""Grades one submission: its notebook in a jail, the hidden tests out here, plain data in between."""

import functools
import importlib
import inspect
import time
import traceback
from collections.abc import Callable

from autograder import hidden, kit, notebook
from autograder.catalog import EXERCISES
from autograder.jail.session import LOAD_SECONDS, Answer, Crashed, Jail, JailBroken, Session, SessionEnded, TimedOut
from autograder.task import Task, about_notebook, result

BUDGET_SECONDS = 60.0  # of wall time for one submission, after which every further call counts as timed out
TIMEOUTS_PER_FUNCTION = 2  # after so many, the remaining calls of that function count as timed out at once


class Failed(Exception):
    """The grader itself failed on this submission; the text is the traceback, for the instructor alone."""


def grade(task: Task, jail: Jail, engine: str) -> dict:
    """The result of `task` as it stands in its result file.

    Raises
    ------
    JailBroken
        When the jail died or did not do its part: worth another try in a new one.
    Failed
        When the tests or the grader raised something unforeseen: another try would fail alike.
    """
    started = time.monotonic()
    try:
        if task.refused:
            raise notebook.Unreadable(task.refused)
        book = notebook.read(task.data)
    except notebook.Unreadable as reason:
        status, checks = "unreadable", [about_notebook("error", str(reason))]
    else:
        with _Run(task.exercise, book, jail) as run:
            try:
                checks = run.checks(task.seed)
            except JailBroken:
                raise
            except Exception as error:
                raise Failed(traceback.format_exc()) from error
            status = run.status
    return result(task, status, checks, engine, time.monotonic() - started)


@functools.cache
def _parameters(exercise: str) -> dict[str, list[str]]:
    """The parameters of each function, as the statement (and so the reference) names them."""
    reference = importlib.import_module(f"solutions.{exercise}")
    return {
        name: list(inspect.signature(getattr(reference, name)).parameters) for name in EXERCISES[exercise].functions
    }


class _Run:
    """One submission under way: its session, opened again when a call ended it, and what has happened so far."""

    def __init__(self, exercise: str, book: notebook.Notebook, jail: Jail) -> None:
        self.exercise, self.book, self.jail = exercise, book, jail
        self.status = "graded"
        self.ends = time.monotonic() + BUDGET_SECONDS
        self.timeouts: dict[str, int] = {}
        self.session: Session | None = None

    def __enter__(self) -> "_Run":
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self.session:
            session, self.session = self.session, None
            session.close()

    def _load(self) -> dict:
        self.session = self.jail.session(scipy=any("scipy" in source for _, source in self.book.cells))
        try:
            return self.session.load(self.book.cells, list(EXERCISES[self.exercise].functions))
        except SessionEnded as end:
            self.happened(end)
            raise

    def happened(self, end: SessionEnded) -> None:
        """Keep the first thing that went wrong as the status, and give up the session."""
        if self.status == "graded":
            self.status = "timeout" if isinstance(end, TimedOut) else "crashed"
        self._leave()

    def checks(self, seed: str) -> list[dict]:
        """Load the notebook and run the hidden tests against proxies of its functions."""
        try:
            loaded = self._load()
        except TimedOut:
            message = (
                f"The notebook did not run to its end within {LOAD_SECONDS:g} s, so nothing in it could be checked."
            )
            return self._nothing_checked("timeout", message)
        except Crashed:
            message = "Python ended while the notebook's cells ran, so nothing in it could be checked."
            return self._nothing_checked("error", message)
        found = loaded["functions"]
        proxies = {name: Proxy(self, name) for name, parameters in found.items() if type(parameters) is list}
        remarks = self._remarks(loaded)
        stopped = any(kind == "error" for _, kind, _ in loaded["events"])
        about = about_notebook("error" if stopped or len(proxies) < len(found) else "passed", "\n".join(remarks))
        return [about, *map(_fields, hidden.run(self.exercise, proxies, seed))]

    def _nothing_checked(self, status: str, message: str) -> list[dict]:
        cases = hidden.test_file(self.exercise).test_cases
        return [
            about_notebook(status, message),
            *(_fields(hidden.Check(case.name, case.hidden, 0, case.points, status, message)) for case in cases),
        ]

    def _remarks(self, loaded: dict) -> list[str]:
        remarks = []
        for cell, kind, text in loaded["events"]:
            if kind == "skipped":
                remarks.append(f"Code cell {cell}: the line `{text}` is for Jupyter alone and was skipped.")
            else:
                remarks.append(f"Code cell {cell} stopped with {text}.")
        for name, parameters in loaded["functions"].items():
            wanted = _parameters(self.exercise)[name]
            if parameters is None:
                remarks.append(f"The notebook defines no `{name}`.")
            elif type(parameters) is not list:
                remarks.append(f"`{name}` is not a function in this notebook.")
            elif parameters and not _fits(parameters, wanted):
                given = ", ".join(parameter.rstrip("=") for parameter in parameters)
                remarks.append(
                    f"`{name}` takes ({given}), the statement asks for ({', '.join(wanted)}): keep the names."
                )
        return remarks

    def ask(self, name: str, question: Callable[[Session], tuple[Answer, ...]]) -> tuple[Answer, ...]:
        """What the session answers about a function; raises kit.CallFailed when a call returns nothing."""
        if self.timeouts.get(name, 0) >= TIMEOUTS_PER_FUNCTION or time.monotonic() > self.ends:
            self.status = "timeout" if self.status == "graded" else self.status
            raise kit.CallFailed("timeout")
        try:
            if self.session is None:
                self._load()
            answers = question(self.session)
        except SessionEnded as end:
            self.happened(end)
            if isinstance(end, TimedOut):
                self.timeouts[name] = self.timeouts.get(name, 0) + 1
                raise kit.CallFailed("timeout") from None
            raise kit.CallFailed("crashed") from None
        for answer in answers:
            if answer.error:
                raise kit.CallFailed("error", answer.error)
        return answers


def _fields(check: hidden.Check) -> dict:
    return dict(vars(check))


class Proxy:
    """A student's function as the hidden tests see it. The calls go to the jail and come back as plain data."""

    def __init__(self, run: _Run, name: str) -> None:
        self._run = run
        self.__name__ = name

    def outcome(self, *args: object, **kwargs: object) -> kit.Outcome:
        """What a call returned, and the arguments after it. Raises kit.CallFailed when it returned nothing."""
        (answer,) = self._run.ask(self.__name__, lambda session: (session.call(self.__name__, args, kwargs),))
        return _outcome(answer, args, kwargs)

    def outcomes(self, *args: object, **kwargs: object) -> tuple[kit.Outcome, kit.Outcome]:
        """`outcome`, twice."""
        answers = self._run.ask(self.__name__, lambda session: session.call_twice(self.__name__, args, kwargs))
        first, second = (_outcome(answer, args, kwargs) for answer in answers)
        return first, second

    def operations(self, *args: object, **kwargs: object) -> int:
        """The Python operations that a call executes in the notebook's own code. Raises kit.CallFailed likewise."""
        (answer,) = self._run.ask(self.__name__, lambda session: (session.call(self.__name__, args, kwargs, True),))
        return answer.operations

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.outcome(*args, **kwargs).value


def _outcome(answer: Answer, args: tuple, kwargs: dict) -> kit.Outcome:
    after, named = (list(args), kwargs) if answer.arguments is None else answer.arguments
    return kit.Outcome(answer.value, tuple(after), named)


def _fits(parameters: list[str], wanted: list[str]) -> bool:
    """Whether a function with `parameters` ("name", "name=" with a default, "*name") can be called as asked for."""
    if any(parameter.startswith("*") for parameter in parameters):
        return True
    names = [parameter.rstrip("=") for parameter in parameters]
    return names[: len(wanted)] == wanted and all(parameter.endswith("=") for parameter in parameters[len(wanted) :])
