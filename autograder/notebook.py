"""Reads the code cells of a notebook that a student handed in, believing nothing about the file."""

import json
from dataclasses import dataclass

MAX_CODE = 800_000  # bytes of code in all, as JSON; a long honest notebook has 20,000, the protocol takes a million


class Unreadable(ValueError):
    """The file is no notebook that can be graded; the text is a sentence for the student."""


@dataclass(frozen=True)
class Notebook:
    """What of a notebook is graded: its code cells, numbered from 1 as the student counts them."""

    cells: list[tuple[int, str]]


def read(data: bytes) -> Notebook:
    """The code cells of an .ipynb file of format 3 or 4, whatever else is odd about it.

    Only `cell_type` and the source of a cell matter: missing metadata, doubled cell ids, outputs of any size and
    another kernel's name do no harm.

    Raises
    ------
    Unreadable
        When the file is empty, no UTF-8, no JSON, nested without end, of another shape, or holds too much code.
    """
    if not data.strip():
        raise Unreadable("The file is empty.")
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("The file is not a Jupyter notebook: it is not UTF-8 text.") from None
    except RecursionError:
        raise Unreadable("The file is not a Jupyter notebook: its JSON is nested too deeply.") from None
    except ValueError as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"The file is not a Jupyter notebook: its JSON is damaged{where}.") from None
    cells = _cells(document)
    code = [_source(cell) for cell in cells if type(cell) is dict and cell.get("cell_type") == "code"]
    cells = list(enumerate(code, start=1))
    if len(json.dumps(cells)) > MAX_CODE:
        raise Unreadable(f"The notebook holds more than {MAX_CODE // 1000} kB of code.")
    return Notebook(cells)


def _cells(document: object) -> list:
    if type(document) is not dict:
        raise Unreadable("The file is JSON, but not a Jupyter notebook.")
    cells = document.get("cells")
    sheets = document.get("worksheets")
    if cells is None and type(sheets) is list:  # format 3
        cells = [cell for sheet in sheets if type(sheet) is dict for cell in _listed(sheet.get("cells"))]
    if type(cells) is not list:
        raise Unreadable("The file is JSON, but not a Jupyter notebook: it has no list of cells.")
    return cells


def _listed(value: object) -> list:
    return value if type(value) is list else []


def _source(cell: dict) -> str:
    """A cell's source, which the format allows to be one string or a list of them. Format 3 called it `input`."""
    source = cell.get("source", cell.get("input", ""))
    if type(source) is list and all(type(line) is str for line in source):
        return "".join(source)
    return source if type(source) is str else ""
