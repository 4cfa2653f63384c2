"""Checks your answers on a few known cases: `check(your_function)` in the notebook. Standard library only."""

import copy
import html
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"


# --- what is wrong with a value, before it is compared -----------------------------------------------------------


def diagnose(value: object, want: object, kind: str) -> str | None:
    """What is wrong with `value` before any comparison with `want`, as the end of "your function ...", or None.

    `kind` is "count" (an exact int), "rate" (a float), "counts" (a dict of counts with at least the keys of `want`)
    or "array" (floats in the shape of `want`). The sentence names types, keys and shapes, and no value.
    """
    if value is None:
        return "returned None: is a `return` missing, or only printed?"
    return {"count": _count, "rate": _rate, "counts": _counts, "array": _array}[kind](value, want)


def _count(value: object, _want: object = None) -> str | None:
    kind = type(value)
    if kind is int:
        return None
    if kind is bool:
        return "returned a bool where a count is asked for: return the number itself"
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            return "returned a float that is no number (NaN or infinite): a count is an int"
        if value == int(value):
            return "returned a whole float where a Python int is asked for: divide with `//`, floats are exact only up to 2**53"
        return (
            "returned a float with a fraction where a count is asked for: a division that should come out even does not"
        )
    if _from_numpy(value):
        if getattr(value, "shape", ()) != ():
            return "returned a NumPy array where one Python int is asked for"
        return f"returned a NumPy {kind.__name__}, which overflows beyond 2**63: compute with Python ints, or wrap it in `int(...)`"
    if kind.__name__ in ("Fraction", "Decimal"):
        return f"returned a {kind.__name__} where a Python int is asked for: wrap the exact result in `int(...)`"
    return f"returned {article(kind.__name__)} where a Python int is asked for"


def _rate(value: object, _want: object = None) -> str | None:
    kind = type(value)
    if kind is bool:
        return "returned a bool where a number is asked for"
    if kind in (int, float):
        if value != value:
            return "returned NaN"
        if value in (float("inf"), float("-inf")):
            return "returned infinity"
        return None
    if _from_numpy(value):
        if getattr(value, "shape", ()) != ():
            return "returned a NumPy array where one number is asked for"
        if kind.__name__.startswith(("float", "int", "uint")):
            return _rate(float(value))
        return f"returned a NumPy {kind.__name__} where a float is asked for"
    if kind.__name__ in ("Fraction", "Decimal"):
        return f"returned a {kind.__name__} where a float is asked for: wrap it in `float(...)`"
    return f"returned {article(kind.__name__)} where a float is asked for"


def _counts(value: object, want: Mapping[str, int]) -> str | None:
    if type(value) is not dict:
        return f"returned {article(type(value).__name__)} where a dict with the keys {_listed(want)} is asked for"
    missing = [key for key in want if key not in value]
    if missing:
        return f"returned a dict without {_listed(missing)}"
    for key in want:
        problem = "returned None" if value[key] is None else _count(value[key])
        if problem:
            return problem.replace("returned ", f"returned under `{key}` ", 1)
    return None


def _array(value: object, want: object) -> str | None:
    import numpy as np

    kind = type(value)
    if kind in (list, tuple):
        return f"returned a {kind.__name__} where a NumPy array of shape {want.shape} is asked for"
    if kind is not np.ndarray:
        return f"returned {article(kind.__name__)} where a NumPy array of shape {want.shape} is asked for"
    if value.shape != want.shape:
        if value.ndim > 1 and sorted(value.shape) == sorted(want.shape):
            return f"returned shape {value.shape}, which is {want.shape} with its axes swapped"
        if [n for n in value.shape if n != 1] == [n for n in want.shape if n != 1]:
            return (
                f"returned shape {value.shape} where {want.shape} is asked for: an axis of length 1 is gained or lost"
            )
        return f"returned shape {value.shape} where {want.shape} is asked for"
    if value.dtype.kind != "f":
        return f"returned an array of {value.dtype} where floats are asked for"
    bad = ~np.isfinite(value)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        name = "NaN" if np.isnan(value[first]) else "infinity"
        return f"returned {name} in {int(bad.sum())} of {value.size} entries, first at index {first}"
    return None


def _from_numpy(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "numpy"


def article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
