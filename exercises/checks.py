"""Checks answers on a few known cases: `check(your_function)` shows what was expected and what your function gave.

Standard library only; NumPy is imported when an exercise has arrays. The cases lie beside this file in `cases/`.
"""

import copy
import html
import json
import linecache
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"

# --- for the student --------------------------------------------------------------------------------------------


class CheckError(AssertionError):
    """Some case came out wrong. Notebooks show its sentence and no traceback, because nothing broke."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def check(*functions: Callable) -> None:
    """Shows a table of the known cases of `functions`. Raises CheckError when one of them came out wrong."""
    names = sys._getframe(1).f_globals
    report = check_rows({_name(function, names): function for function in functions})
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
        from IPython.display import display

        display(report)
    else:
        print(report)
    if not report.passed:
        raise CheckError(report.summary)


def check_rows(functions: Mapping[str, object]) -> "Report":
    """The same as plain data, for another front end: the known cases of `functions`, given by name."""
    rows, said = [], []
    for name, function in functions.items():
        exercise = _exercise(name)
        cases = [case for case in exercise["cases"] if case["call"] == name]
        values = []
        for case in cases:
            value, row = _row(function, case)
            values.append(value)
            rows.append(row)
        if not all(row.ok for row in rows[-len(cases) :]):
            said += _mistake(name, values, exercise["mistakes"])
    return Report(tuple(rows), " ".join(said))


@dataclass(frozen=True)
class Row:
    """One case: its configuration in words, the call, what was expected and given as text, and what is wrong."""

    case: str
    call: str
    expected: str
    got: str
    ok: bool
    note: str


@dataclass(frozen=True)
class Report:
    """The rows of a check, and the sentence for the mistake if it is a known one."""

    rows: tuple[Row, ...]
    mistake: str

    @property
    def passed(self) -> bool:
        return all(row.ok for row in self.rows)

    @property
    def summary(self) -> str:
        wrong = sum(not row.ok for row in self.rows)
        if not wrong:
            return f"All {len(self.rows)} cases are right."
        return f"{wrong} of {len(self.rows)} cases {'is' if wrong == 1 else 'are'} not right yet."

    @property
    def _last(self) -> str:
        """What stands under the table; a failure's summary does not, because it is the error that follows."""
        return self.summary if self.passed else self.mistake

    def __repr__(self) -> str:
        lines = []
        for row in self.rows:
            lines += [f"{'[ok]   ' if row.ok else '[wrong]'} {row.case}"]
            if not row.ok:
                lines += [f"        expected  {_indented(row.expected)}", f"        got       {_indented(row.got)}"]
                lines += [f"        {row.note}"] if row.note else []
        return "\n".join([*lines, self._last]).rstrip()

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col" style="{_CELL}">{title}</th>' for title in ("", "case", "expected", "got"))
        rows = "".join(map(_html_row, self.rows))
        return (
            f'<table style="border-collapse: collapse; color: inherit"><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table><p><strong>{_html(self._last)}</strong></p>"
        )


# No text color and no background, so that it reads in every theme; right and wrong are words, the bar only helps.
_CELL = "text-align: left; vertical-align: top; padding: .4em .8em; border-bottom: 1px solid rgba(128, 128, 128, .4)"
_VALUE = f"{_CELL}; font-family: monospace; white-space: pre"
_NOTE = "display: block; max-width: 24em; white-space: normal; font-family: sans-serif"


def _html_row(row: Row) -> str:
    bar = "rgb(46, 160, 67)" if row.ok else "rgb(218, 54, 51)"
    note = f'<em style="{_NOTE}">{_html(row.note)}</em>' if row.note else ""
    call = f"<details><summary>arguments</summary><code>{html.escape(row.call)}</code></details>"
    return (
        f'<tr><td style="{_CELL}; border-left: 4px solid {bar}; white-space: nowrap">'
        f"{'✓ right' if row.ok else '✗ wrong'}</td>"
        f'<td style="{_CELL}; max-width: 30em">{html.escape(row.case)}{call}</td>'
        f'<td style="{_VALUE}">{html.escape(row.expected)}</td>'
        f'<td style="{_VALUE}">{html.escape(row.got)}{note}</td></tr>'
    )


def _html(text: str) -> str:
    """A sentence as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _indented(text: str) -> str:
    return text.replace("\n", "\n" + " " * 18)


# --- one case ---------------------------------------------------------------------------------------------------


def _name(function: object, names: Mapping[str, object]) -> str:
    """The name under which the notebook knows `function`: what is asked for may be a lambda or an object."""
    known = {name for path in CASES.glob("*.json") for name in _load(path)["functions"]}
    bound = [name for name in sorted(known) if names.get(name) is function]
    return bound[0] if bound else getattr(function, "__name__", repr(function))


def _exercise(function: str) -> dict:
    """The cases of the exercise that asks for `function`. Raises CheckError when there are none."""
    for path in sorted(CASES.glob("*.json")):
        if function in _load(path)["functions"]:
            return json.loads(path.read_text(encoding="utf-8"), object_hook=_decoded)
    raise CheckError(
        f"There are no cases for `{function}` in {CASES}: check a function that an exercise asks for, and keep the "
        "folder `cases` that came with the notebooks beside checks.py."
    )


def _load(path: Path) -> dict:
    """A file of cases as it stands, which needs no NumPy."""
    return json.loads(path.read_text(encoding="utf-8"))


def _decoded(entry: dict) -> object:
    """An array is stored as {"array": its numbers (null for NaN), "shape": its shape, "dtype": its name}."""
    if entry.keys() == {"array", "shape", "dtype"}:
        import numpy as np

        return np.array(entry["array"], dtype=entry["dtype"]).reshape(entry["shape"])
    return entry


def _row(function: object, case: dict) -> tuple[object, Row]:
    """What the function gives in a case (an exception if it raises one), and the row of the table."""
    args, kwargs, want = case["args"], case["kwargs"], case["want"]
    words = [*map(_written, args), *(f"{key}={_written(value)}" for key, value in kwargs.items())]
    call = f"{case['call']}({', '.join(words)})"
    if not callable(function):
        got = "not defined" if function is None else f"not a function but {article(type(function).__name__)}"
        return function, Row(case["name"], call, _shown(want), got, False, "")
    outcomes = []
    for _ in range(2):
        given = copy.deepcopy((args, kwargs))
        try:
            outcomes.append((function(*given[0], **given[1]), *given))
        except (Exception, SystemExit) as error:
            return error, Row(case["name"], call, _shown(want), type(error).__name__, False, _raised(error, function))
    value = outcomes[0][0]
    problem = fault(*outcomes, args, kwargs, want)
    ok = problem is None and agrees(value, want)
    note = f"It {problem}." if problem else "" if ok else _difference(value, want)
    return value, Row(case["name"], call, _shown(want), _shown(value), ok, note)


def _raised(error: BaseException, function: object) -> str:
    """The exception in one line, with the line of the student's code that it comes from."""
    if isinstance(error, NotImplementedError):
        return "It is not written yet."
    place, traceback = "", error.__traceback__
    while traceback:
        frame = traceback.tb_frame
        if frame.f_globals is getattr(function, "__globals__", None):
            line = linecache.getline(frame.f_code.co_filename, traceback.tb_lineno).strip()
            place = f", in line {traceback.tb_lineno}{': ' + line if line else ''}"
        traceback = traceback.tb_next
    return f"It raised {type(error).__name__}: {str(error)[:300]}{place}"


def _written(value: object) -> str:
    """An argument as text, with an array by its shape."""
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {_written(entry)}" for key, entry in value.items()) + "}"
    if type(value) is list:
        return "[" + ", ".join(map(_written, value)) + "]"
    return f"array of shape {value.shape}" if _axes(value) else repr(value)


def _shown(value: object) -> str:
    """A value as text, short enough for a table."""
    if type(value) is int:
        return f"{value:,}" if value.bit_length() < 1000 else f"an int of {value.bit_length():,} bits"
    if type(value) is dict:
        return "\n".join(f"{key}: {_shown(entry)}" for key, entry in value.items())
    if _from_numpy(value) and getattr(value, "ndim", 0):
        import numpy as np

        return f"shape {value.shape}\n{np.array2string(value, precision=4, threshold=12, edgeitems=2)}"
    try:
        text = repr(value)
    except Exception:  # such as a list with an int of more digits than Python writes out
        return _type(value)
    return text if len(text) <= 200 else text[:200] + " …"


def _difference(value: object, want: object) -> str:
    """By how much a value of the right type misses."""
    if type(want) is int:
        return f"{_shown(abs(value - want))} too {'many' if value > want else 'few'}"
    if type(want) is dict:
        return "; ".join(f"{key}: {_difference(value[key], want[key])}" for key in want if value[key] != want[key])
    if type(want) is float:
        return f"{float(value) / want:.6g} times what was expected" if want else ""
    off = abs(value - want)
    worst = max(range(off.size), key=lambda i: off.flat[i])
    index = ", ".join(str(int(i)) for i in _unravelled(worst, off.shape))
    return f"off by {off.flat[worst]:.3g} at [{index}], where it is furthest off"


def _unravelled(flat: int, shape: tuple[int, ...]) -> list[int]:
    index = []
    for n in reversed(shape):
        flat, i = divmod(flat, n)
        index.insert(0, i)
    return index


def _mistake(function: str, values: list[object], mistakes: list[dict]) -> list[str]:
    """The sentence of the one known mistake that gives exactly `values`, the answers to all cases of the function."""
    sentences = [
        mistake["sentence"]
        for mistake in mistakes
        if mistake["function"] == function and all(map(matches, values, mistake["values"]))
    ]
    return sentences if len(sentences) == 1 else []


# --- what is wrong with a value, before it is compared ----------------------------------------------------------


def kind(want: object) -> str:
    """What is asked for, by the expected value: "count" (an int), "rate" (a float), "counts" (a dict), "array"."""
    return {int: "count", float: "rate", dict: "counts"}.get(type(want), "array")


def fault(first: tuple, second: tuple, args: tuple | list, kwargs: dict, want: object) -> str | None:
    """What is wrong with two calls, each a (value, args after, kwargs after), before values are compared, or None."""
    problem = diagnose(first[0], want, kind(want))
    if problem is None and not same(list(first[1:]), [args, kwargs]):
        problem = "changed the arguments it was given: work on a copy"
    if (
        problem is None and second[0] is not first[0] and not matches(second[0], first[0])
    ):  # sums of floats may differ in their last bit
        problem = "gave another answer when it was called a second time with the same arguments"
    return problem


def diagnose(value: object, want: object, kind: str) -> str | None:
    """What is wrong with `value` before it is compared with `want`, as the end of "your function ...", or None.

    The sentence names types, keys and shapes, and no value.
    """
    if value is None:
        return "returned None: look for a missing `return`, or an answer that is only printed"
    return {"count": _count, "rate": _rate, "counts": _counts, "array": _array}[kind](value, want)


def _count(value: object, _want: object = None) -> str | None:
    if type(value) is int:
        return None
    if type(value) is bool:
        return "returned a bool where a count is asked for: return the number itself"
    if type(value) is float:
        if not math.isfinite(value):
            return "returned NaN or infinity where a count is asked for"
        if value == int(value):
            return (
                "returned a whole float where a Python int is asked for: divide with `//`, because a float is exact "
                "only up to 2**53"
            )
        return "returned a float with a fraction where a count is asked for: some division does not come out even"
    if _from_numpy(value) and not _axes(value):
        return (
            f"returned {_type(value)} where a Python int is asked for: NumPy's integers wrap around beyond 2**63, so "
            "convert with `int(...)` before you multiply"
        )
    if type(value).__name__ in ("Fraction", "Decimal"):
        return f"returned {_type(value)} where a Python int is asked for: convert the exact result with `int(...)`"
    return f"returned {_type(value)} where a Python int is asked for"


def _rate(value: object, _want: object = None) -> str | None:
    if type(value) in (int, float) or _number_from_numpy(value):
        try:
            return None if math.isfinite(value) else "returned NaN or infinity"
        except OverflowError:
            return "returned an int too large for a float"
    if type(value).__name__ in ("Fraction", "Decimal"):
        return f"returned {_type(value)} where a float is asked for: convert it with `float(...)`"
    return f"returned {_type(value)} where a float is asked for"


def _counts(value: object, want: Mapping[str, int]) -> str | None:
    if type(value) is not dict:
        return f"returned {_type(value)} where a dict with the keys {_listed(want)} is asked for"
    missing = [key for key in want if key not in value]
    if missing:
        return f"returned a dict without {_listed(missing)}"
    for key in want:
        problem = diagnose(value[key], want[key], "count")
        if problem:
            return problem.replace("returned", f"returned under `{key}`", 1)
    return None


def _array(value: object, want: object) -> str | None:
    import numpy as np

    if type(value) is not np.ndarray:
        return f"returned {_type(value)} where a NumPy array is asked for"
    if value.ndim != want.ndim:
        if [n for n in value.shape if n != 1] == [n for n in want.shape if n != 1]:
            return "returned an array of the wrong shape: an axis of length 1 is lost or new"
        return f"returned an array with {value.ndim} axes where {want.ndim} are asked for"
    if value.shape != want.shape:
        if sorted(value.shape) == sorted(want.shape):
            return "returned an array of the wrong shape: its axes are swapped"
        return "returned an array of the wrong shape: the number of axes is right, their lengths are not"
    if value.dtype.kind != "f":
        return f"returned an array of {value.dtype.name} where floats are asked for"
    finite = np.isfinite(value)
    if not finite.all():
        name = "NaN" if np.isnan(value).any() else "infinity"
        return f"returned {name} in {'some entries' if finite.any() else 'every entry'}"
    return None


def _from_numpy(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "numpy"


def _number_from_numpy(value: object) -> bool:
    return _from_numpy(value) and not _axes(value) and type(value).__name__.startswith(("float", "int", "uint"))


def _axes(value: object) -> int:
    return getattr(value, "ndim", 0)


def _type(value: object) -> str:
    """The type of `value` in words. A class of the student's own is not named: its name could carry a message."""
    kind = type(value)
    if _from_numpy(value):
        return "a NumPy array" if kind.__name__ == "ndarray" else f"a NumPy {kind.__name__}"
    known = kind.__module__ == "builtins" or kind.__name__ in ("Fraction", "Decimal")
    return article(kind.__name__) if known else "an object of another class"


# --- comparing --------------------------------------------------------------------------------------------------


def agrees(value: object, want: object) -> bool:
    """Whether a value without a fault is right: ints exactly, rates within 1e-9, arrays within 1e-7 (1e-9 absolute)."""
    if kind(want) == "array":
        import numpy as np

        return bool(np.allclose(value, want, rtol=1e-7, atol=1e-9, equal_nan=True))
    if kind(want) == "counts":
        return all(value[key] == want[key] for key in want)
    return value == want if kind(want) == "count" else math.isclose(value, want, rel_tol=1e-9)


def matches(value: object, known: object) -> bool:
    """Whether any value, also a faulty one, is the known wrong one: in its type, and within the tolerances above."""
    if type(known) is float and _number_from_numpy(value):
        value = float(value)
    if type(value) is not type(known):
        return False
    if type(known) is dict:
        return all(key in value and matches(value[key], known[key]) for key in known)
    if kind(known) == "array" and _from_numpy(known):
        return value.shape == known.shape and agrees(value, known)
    return agrees(value, known) if type(known) in (int, float) else same(value, known)


def same(a: object, b: object) -> bool:
    """Equality of plain data that never asks a foreign object: equal types all the way down, NaN equal to NaN."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is dict:
        return len(a) == len(b) and all(key in b and same(a[key], b[key]) for key in a)
    if type(a) in (int, bool, str, float, type(None)):
        return a == b or (a != a and b != b)
    if _from_numpy(a):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return False


def _from_numpy(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "numpy"


def article(noun: str) -> str:
    """The noun with "a" or "an" before it."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
