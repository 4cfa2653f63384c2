"""Tests the hidden tests: `python -m autograder.truth [EXERCISE ...]` prints a table and fails below 100%.

For each exercise: every misconception loses points and is told by its own sentence; every mutant of the reference is
caught, or listed as equivalent with the reason; right answers in unusual style keep full marks; the draws never
change a score or a message; the visible cases, learned by heart, earn nothing; and of two errors, fixing one never
lowers the score. The functions run in this process: they are the course's own.
"""

import contextlib
import copy
import functools
import importlib
import io
import itertools
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import cosmic_ray.plugins
import yaml
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from rich.console import Console
from rich.table import Column, Table

from autograder import hidden, kit, masters, misconceptions, release
from autograder.catalog import EXERCISES, ROOT
from autograder.misconceptions import Misconception
from exercises import checks

UNUSUAL = ROOT / "tests" / "unusual"  # <exercise>/<style>.py: right answers
EQUIVALENT = ROOT / "tests" / "equivalent"  # <exercise>.yaml: mutants that compute the same
SEEDS = [f"truth-{number}" for number in range(20)]
MUTANT_SECONDS = 5  # of processor time; a mutant that needs more does not end

Functions = Mapping[str, Callable]


@dataclass
class Tally:
    """How many of a kind came out as they should, and a sentence for each that did not."""

    all: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, fault: str | None) -> None:
        self.all += 1
        if fault:
            self.faults.append(fault)

    def __str__(self) -> str:
        return f"{self.all - len(self.faults)} / {self.all}"


def examine(exercise: str) -> dict[str, Tally]:
    """Everything that is asked of the hidden tests of `exercise`, by the title of its column."""
    return {
        "points add up": points(exercise),
        "misconceptions named": named(exercise),
        "mutants killed": mutants_killed(exercise),
        "unusual accepted": unusual_accepted(exercise),
        "learned by heart": memorised_earn_nothing(exercise),
        "pairs monotone": pairs_monotone(exercise),
    }


def reference(exercise: str) -> dict[str, Callable]:
    """The right functions of the exercise."""
    module = importlib.import_module(f"solutions.{exercise}")
    return {name: getattr(module, name) for name in EXERCISES[exercise].functions}


def score(results: list[hidden.Check]) -> float:
    return sum(check.points for check in results)


def outcome(results: list[hidden.Check]) -> list[tuple]:
    """What no seed may change: the points and the diagnosis. (A factor in a message depends on the model drawn.)"""
    return [(check.name, check.points, check.status, check.misconception) for check in results]


def points(exercise: str) -> Tally:
    """The checks' points sum to the exercise's, each check has some and is hidden, and the reference earns them."""
    tally = Tally()
    results = hidden.run(exercise, reference(exercise), SEEDS[0])
    asked, offered = EXERCISES[exercise].points, sum(check.max_points for check in results)
    tally.add(
        None if asked == offered else f"the checks of {exercise} sum to {offered} points, the master says {asked}"
    )
    for check in results:
        tally.add(None if check.hidden and check.max_points > 0 else f"the check {check.name!r} is visible or free")
        tally.add(None if check.status == "passed" else f"the reference fails {check.name!r}: {check.message}")
    return tally


# --- misconceptions ---------------------------------------------------------------------------------------------


def named(exercise: str) -> Tally:
    """Every misconception loses points and is named in every check that it fails, and every seed says the same."""
    tally = Tally()
    right = reference(exercise)
    for misconception in misconceptions.load(exercise):
        functions = right | misconception.functions
        first = hidden.run(exercise, functions, SEEDS[0])
        failed = [check for check in first if check.status != "passed"]
        fault = None
        if not failed:
            fault = "loses no point"
        elif {check.misconception for check in failed} != {misconception.slug}:
            unnamed = next(check for check in failed if check.misconception != misconception.slug)
            fault = f"is named {unnamed.misconception} in {unnamed.name!r}"
        elif any(outcome(hidden.run(exercise, functions, seed)) != outcome(first) for seed in SEEDS[1:]):
            fault = "gets another score or diagnosis under another seed"
        tally.add(fault and f"{misconception.slug} {fault}")
    return tally


def pairs_monotone(exercise: str) -> Tally:
    """Of two errors at once, fixing one never lowers the score, and no third one is told."""
    tally = Tally()
    right = reference(exercise)
    single = {m.slug: m for m in misconceptions.load(exercise)}
    alone = {slug: score(hidden.run(exercise, right | m.functions, SEEDS[0])) for slug, m in single.items()}
    for one, other in itertools.combinations(single.values(), 2):
        functions = composed(exercise, one, other)
        if functions is None:
            continue
        results = hidden.run(exercise, functions, SEEDS[0])
        both = score(results)
        if both == EXERCISES[exercise].points:
            continue  # they cancel: together they are a right answer
        worse = min(alone[one.slug], alone[other.slug])
        fault = None
        if both > worse:
            fault = f"earn {both:g} together, and {worse:g} when one of them is fixed"
        third = {check.misconception for check in results} - {None, one.slug, other.slug}
        if third and not all(third <= _told(exercise, functions, seed) for seed in SEEDS):  # else they are the same
            fault = f"are told as {third.pop()}"
        tally.add(fault and f"{one.slug} and {other.slug} {fault}")
    return tally


def _told(exercise: str, functions: Functions, seed: str) -> set[str | None]:
    return {check.misconception for check in hidden.run(exercise, functions, seed)}


def composed(exercise: str, one: Misconception, other: Misconception) -> dict[str, Callable] | None:
    """The functions with both errors: both edits to the code, or else both corrections to the value.

    None when the two edits are to the same piece of code.
    """
    if one.edits and other.edits:
        try:
            return misconceptions.functions_after(exercise, one.edits + other.edits)
        except ValueError:
            return None
    right = reference(exercise)
    functions = right | one.functions | other.functions
    for name in one.functions.keys() & other.functions.keys():
        functions[name] = functools.partial(_corrected, right[name], one.functions[name], other.functions[name])
    return functions


def _corrected(right: Callable, one: Callable, other: Callable, *args: object, **kwargs: object) -> object:
    """What is off in `one` and what is off in `other`, both applied to the right value."""
    want, a, b = (f(*copy.deepcopy(args), **copy.deepcopy(kwargs)) for f in (right, one, other))
    if type(want) is dict:
        return {key: a[key] + b[key] - want[key] for key in want}
    return a * b / want if type(want) is float else a + b - want


# --- right answers and learned ones -----------------------------------------------------------------------------


def unusual_accepted(exercise: str) -> Tally:
    """Every right answer in tests/unusual keeps full marks, whatever the seed."""
    tally = Tally()
    for path in sorted((UNUSUAL / exercise).glob("*.py")):
        functions = student_functions(exercise, path.read_text(encoding="utf-8"), str(path))
        with contextlib.redirect_stdout(io.StringIO()):  # a right answer may print
            results = [check for seed in SEEDS for check in hidden.run(exercise, functions, seed)]
        lost = [check for check in results if check.status != "passed"]
        tally.add(f"{path.stem} loses points in {lost[0].name!r}: {lost[0].message}" if lost else None)
    return tally


def student_functions(exercise: str, source: str, filename: str) -> dict[str, Callable]:
    """The functions that a notebook with the code `source` defines, after what the exercise gives."""
    namespace: dict = {"__name__": "__main__"}
    for given in masters.read(EXERCISES[exercise]).given:
        exec(given, namespace)
    exec(compile(source, filename, "exec"), namespace)
    return {name: namespace[name] for name in EXERCISES[exercise].functions if name in namespace}


def memorised_earn_nothing(exercise: str) -> Tally:
    """Answers that know the visible cases by heart earn nothing, whether they raise elsewhere or answer anyhow."""
    tally = Tally()
    content = release.cases(EXERCISES[exercise])
    for elsewhere in ("raises", "gives the first answer", "gives the last answer"):
        functions = {name: _memorised(content["cases"], name, elsewhere) for name in EXERCISES[exercise].functions}
        earned = [check.name for seed in SEEDS for check in hidden.run(exercise, functions, seed) if check.points]
        tally.add(f"an answer that knows the cases and {elsewhere} elsewhere earns {earned[0]!r}" if earned else None)
    return tally


def _memorised(cases: list[dict], name: str, elsewhere: str) -> Callable:
    known = [case for case in cases if case["call"] == name]

    def function(*args: object, **kwargs: object) -> object:
        for case in known:
            if checks.same([list(args), kwargs], [case["args"], case["kwargs"]]):
                return copy.deepcopy(case["want"])
        if elsewhere == "raises":
            raise LookupError
        return copy.deepcopy(known[0 if "first" in elsewhere else -1]["want"])

    return function


# --- mutants ----------------------------------------------------------------------------------------------------


def mutants_killed(exercise: str) -> Tally:
    """Every mutant of the reference fails a check, or is listed as equivalent; what is listed must survive."""
    tally = Tally()
    listed = {(entry["was"], entry["becomes"]): entry["why"] for entry in _equivalent(exercise)}
    sources = list(mutants(exercise))
    with multiprocessing.get_context("fork").Pool() as pool:
        killed = pool.starmap(_killed, [(exercise, mutant) for mutant in sources], chunksize=8)
    survivors = {changed(exercise, mutant) for mutant, dead in zip(sources, killed, strict=True) if not dead}
    for change in sorted({changed(exercise, mutant) for mutant in sources}):
        alive = change in survivors and change not in listed
        tally.add(f"the mutant survives that turns `{change[0]}` into `{change[1]}`" if alive else None)
    for was, becomes in sorted(listed.keys() - survivors):
        tally.add(f"tests/equivalent lists `{was}` into `{becomes}`, which is no surviving mutant")
    return tally


def _equivalent(exercise: str) -> list[dict]:
    path = EQUIVALENT / f"{exercise}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []


@functools.cache
def _solution(exercise: str) -> str:
    return "\n\n\n".join(masters.read(EXERCISES[exercise]).reference) + "\n"


def mutants(exercise: str) -> Iterator[str]:
    """The code of the reference with one change each, by every operator of cosmic-ray that needs no settings."""
    source = _solution(exercise)
    nodes = list(ast_nodes(get_ast(source)))
    for name in cosmic_ray.plugins.operator_names():
        operator_class = cosmic_ray.plugins.get_operator(name)
        if operator_class.arguments():
            continue
        operator = operator_class()
        for occurrence in range(sum(len(list(operator.mutation_positions(node))) for node in nodes)):
            yield mutate_code(source, operator, occurrence)


def changed(exercise: str, mutant: str) -> tuple[str, str]:
    """The line that a mutant changes, as it was and as it becomes."""
    pairs = zip(_solution(exercise).splitlines(), mutant.splitlines(), strict=True)
    was, becomes = next((was, becomes) for was, becomes in pairs if was != becomes)
    return was.strip(), becomes.strip()


def _killed(exercise: str, mutant: str) -> bool:
    """Whether the hidden tests catch the mutant, or it does not end. It runs in a process that it cannot outlive."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status) != 0
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (MUTANT_SECONDS, MUTANT_SECONDS))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a mutant may warn
    survives = False
    with contextlib.suppress(BaseException), kit.seed_scope(SEEDS[0]):
        functions = student_functions(exercise, mutant, "<mutant>")
        for case in hidden.test_file(exercise).test_cases:
            case.body.call_func(functions)
        survives = True
    os._exit(0 if survives else 1)


# --- the table --------------------------------------------------------------------------------------------------


def main(names: list[str]) -> int:
    """Prints the table for the exercises named, or all; 0 if everything is at 100%, 1 if not, 2 for a wrong name."""
    unknown = [name for name in names if name not in EXERCISES]
    if unknown:
        print(f"There is no exercise {unknown[0]}; the exercises are {', '.join(EXERCISES)}.", file=sys.stderr)
        return 2
    results = {name: examine(name) for name in names or EXERCISES}
    table = Table(*(Column(title, no_wrap=True) for title in ("exercise", *next(iter(results.values())))))
    for name, columns in results.items():
        table.add_row(name, *map(str, columns.values()))
    Console(width=140).print(table)
    faults = [f"{name}: {fault}" for name, columns in results.items() for t in columns.values() for fault in t.faults]
    empty = [f"{name}: no {title}" for name, columns in results.items() for title, t in columns.items() if not t.all]
    for fault in faults + empty:
        print(fault)
    return 1 if faults or empty else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
