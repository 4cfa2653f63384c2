r"""Back every number of a chapter: this page tells how.

A number in the prose is a claim. In a cell tagged `remove-cell`, right after the paragraph or at the end of its
section, say what stands behind it:

    from vit.ledger import back, cite, declare

    back("86,567,656 parameters", cost.parameters(B16))          # computed here
    back("17.56 G MACs", cost.macs(B16)["total"])                # value in MACs: the text carries the prefix
    back("4.1%", m["attention"] / m["total"])                    # value as a fraction
    back("0.93 MB", bytes_per_layer)                             # value in bytes; MB is 10^6, MiB is 2^20
    back("about 170 million numbers", 32 * 16 * 577**2)          # "about": trailing zeros do not count
    back("within 0.15%", worst_error)                            # at most; "more than", "over": at least
    back("(32, 16, 577, 577)", scores.shape)                     # several numbers: as many values, in order
    back("14 by 14", (side, side))
    back(r"12\cdot768^2 + 13\cdot768 = 7{,}087{,}872", cost.block_parameters(B16))   # every side of it is the value
    cite("292.3 images per second", "deit_table5", "DeiT-B")     # a figure of book/data/*.json
    cite("17.5 G MACs", "swin_table1", "DeiT-B", "macs")         # data set, row, column
    declare("3 colors", "red, green, blue")                      # a definition; whole numbers below 100 only

The text is what stands in the prose: the number as shown and the unit after it, with the caution before it. The value
must round to the number shown at the precision shown, in the plain unit: MACs, FLOPs, bytes, seconds (for ms), a
fraction (for %). Days, pixels, tokens and the like have no prefix. When it does not, LedgerError says what the text
should read, and the book is not built.

One entry covers every place in its chapter where the same number stands with the same unit, or with no unit (a table, a
formula). "86,567,656 tokens" is another claim than "86,567,656 parameters". The unit is the word right after the
number, if it is one of `quantities.NOUNS`, with its "per second" and so on. An entry that covers nothing is an error.

Read are paragraphs, tables, titles, formulas, captions, alternative texts, ```text diagrams, shapes in code letters such
as `(2, 16, 192)`, and the answers of predictions. In formulas, exponents, subscripts, whole coefficients (4d^2) and 0, 1
and 2 beside a symbol (N_p + 1) belong to the form; all else is a claim, and 7{,}087{,}872 is the same as 7,087,872.
`numbers.EXEMPT` lists what else need not be backed. `make numbers` shows what is missing and where; from book/,
`python -m vit.numbers 05_parameters` does so for one chapter.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real

import numpy as np

from .arithmetic import evaluate
from .data import datum
from .quantities import Quantity, quantities, unit_of


class LedgerError(AssertionError):
    """A number in the text that its value does not bear out. The message says what it should read."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: the text, what backs it, and where that is said."""

    kind: str  # "computed", "cited" or "declared"
    text: str
    backing: str
    file: str
    line: int


ENTRIES: list[Entry] = []  # of this process, in the order in which they were made


def back(text: str, value: object) -> None:
    """Say that the numbers in `text` are `value`: a number, or as many as the text holds, in order.

    One value for several numbers means that the text is arithmetic, such as "197·768 = 151,296 numbers": each side of
    each = must give the value. Raises LedgerError when a value does not round to the number shown, and when counts
    of numbers differ.
    """
    values = _exact(text, value)
    if len(values) == 1 and len(list(quantities(text))) > 1:
        _check_sides(text, values[0])
    else:
        _check(text, values)
    _record("computed", text, _plain(value))


def cite(text: str, dataset: str, key: str, column: str | None = None) -> None:
    """Say that the number in `text` is the published one: row `key` (and `column`) of `dataset` in book/data/.

    Raises LedgerError when the number or its unit differ, KeyError when there is no such figure.
    """
    figure = datum(dataset, key, column)
    scale, unit, _ = unit_of(figure.unit, glued=True)
    (shown,) = _check(text, [_fraction(text, figure.value) * scale])
    if shown.unit and unit and shown.unit != unit:
        raise LedgerError(f'"{text}" is in {shown.unit}, but {dataset} gives {key} in {unit}')
    _record("cited", text, f"{figure.value} {figure.unit}, {figure.source}")


def declare(text: str, why: str) -> None:
    """Say that the numbers in `text` are definitions, and of what. Whole numbers below 100 only.

    Raises LedgerError for any other number: compute it, or cite it.
    """
    for shown in _numbers(text):
        if shown.value.denominator != 1 or not 0 <= shown.value < 100 or shown.scale != 1:
            raise LedgerError(f'"{text}" cannot be declared: compute it with back() or cite it with cite()')
    _record("declared", text, why)


def _check(text: str, values: list[Fraction]) -> list[Quantity]:
    shown = _numbers(text)
    if len(shown) != len(values):
        raise LedgerError(f'"{text}" shows {len(shown)} numbers, but {len(values)} values are given')
    for number, value in zip(shown, values, strict=True):
        if not number.holds(value):
            side = {"at most": "is more than", "at least": "is less than"}.get(number.caution, "is not")
            raise LedgerError(
                f'the value {_decimal(value)} {side} "{text[number.start : number.end]}" in "{text}"; '
                f'it should read "{number.reading(text, value)}"'
            )
    return shown


def _check_sides(text: str, value: Fraction) -> None:
    for side in re.split(r"=|≈|\\approx", text):
        result = evaluate(side)
        if result is None or not side.strip(" $"):
            _check(side, [value])
        elif len(list(quantities(side))) > 1 and abs(result - value) > abs(value) / 10**9:
            raise LedgerError(f'"{side.strip()}" in "{text}" is {_decimal(result)}, but the value is {_decimal(value)}')
        elif len(list(quantities(side))) == 1:
            _check(side, [value])


def _numbers(text: str) -> list[Quantity]:
    if not (shown := [number for number in quantities(text) if not number.formal]):
        raise LedgerError(f'"{text}" shows no number')
    return shown


def _exact(text: str, value: object) -> list[Fraction]:
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_fraction(text, one) for one in value]
    return [_fraction(text, value)]


def _fraction(text: str, value: object) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real | Decimal) or value != value:
        raise LedgerError(f'"{text}" is backed by {value!r}, which is not a number')
    return Fraction(value)


def _decimal(value: Fraction) -> str:
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):.6g}"


def _plain(value: object) -> str:
    if isinstance(value, np.ndarray):
        value = tuple(value.ravel().tolist())
    if isinstance(value, np.generic):
        value = value.item()
    return f"{value:,}" if isinstance(value, int) else str(value)


def _record(kind: str, text: str, backing: str) -> None:
    caller = sys._getframe(2)  # the cell that called back, cite or declare
    ENTRIES.append(Entry(kind, text, backing, caller.f_code.co_filename, caller.f_lineno))
