"""The figures that papers and documentation print, kept in book/data/*.json with their sources.

A data set is `{"what", "source", "sure", "rows"}` with the unit of its numbers: one `"unit"` for all rows, `"units"` by
row, or `"columns"` by column when a row has several numbers. `"sure"` says in words how far to trust it.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"

Number = int | float
Row = Number | str | list[Number] | dict[str, Number]


@dataclass(frozen=True)
class Datum:
    """One published figure: the number as printed, its unit, where it is printed and how sure it is."""

    value: Number
    unit: str
    source: str
    sure: str


@cache
def _datasets() -> dict[str, dict]:
    files = sorted(DATA.glob("*.json"))
    return {name: body for file in files if file.name != "facts.json" for name, body in _read(file).items()}


def _read(file: Path) -> dict[str, dict]:
    return json.loads(file.read_text(encoding="utf-8"))


def dataset(name: str) -> dict:
    """The whole data set, with its source. Raises KeyError with the names there are."""
    if name not in _datasets():
        raise KeyError(f"no data set is called {name!r}; there are {', '.join(_datasets())}")
    return _datasets()[name]


def published(name: str) -> dict[str, Row]:
    """The rows of a data set as printed: `published("deit_table5")["DeiT-B"]` is 292.3 (images per second)."""
    return dataset(name)["rows"]


def datum(name: str, key: str, column: str | None = None) -> Datum:
    """One number of a data set, with its unit and source. Raises KeyError with the keys there are."""
    body = dataset(name)
    if key not in body["rows"]:
        raise KeyError(f"{name} has no row {key!r}; it has {', '.join(body['rows'])}")
    value = body["rows"][key]
    if isinstance(value, dict):
        if column not in value:
            raise KeyError(f"{name}, row {key!r}, needs a column: one of {', '.join(value)}")
        return Datum(value[column], body["columns"][column], body["source"], body["sure"])
    unit = body["units"][key] if "units" in body else body["unit"]
    return Datum(value, unit, body["source"], body["sure"])
