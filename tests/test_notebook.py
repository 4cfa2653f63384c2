"""Every file is read or refused with a sentence: odd notebooks are read, and what is none says so."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder import notebook
from autograder.notebook import MAX_CODE, Unreadable

FUZZ = settings(
    max_examples=int(os.environ.get("FUZZ", "300")),  # `make soak` sets 10,000
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
SENTENCE = r"^(The file is|The notebook holds) .+\.$"


def code(source: object, **fields: object) -> dict:
    return {"cell_type": "code", "source": source, **fields}


def written(document: object) -> bytes:
    return json.dumps(document).encode()


def test_code_cells_are_numbered_from_one_and_other_cells_are_left_out():
    cells = [{"cell_type": "markdown", "source": "# title"}, code("a = 1\n"), code(["b = 2\n", "c = 3"])]
    assert notebook.read(written({"cells": cells, "nbformat": 4})).cells == [(1, "a = 1\n"), (2, "b = 2\nc = 3")]


@pytest.mark.parametrize(
    ("document", "sources"),
    [
        ({"cells": []}, []),
        ({"cells": [code("x")], "nbformat": "four", "metadata": None}, ["x"]),
        ({"cells": [code("x", id="same"), code("y", id="same")]}, ["x", "y"]),
        ({"cells": [code("x", metadata="none", outputs="none", execution_count={})]}, ["x"]),
        ({"cells": [code("x")], "metadata": {"kernelspec": {"language": "R", "name": "ir"}}}, ["x"]),
        ({"cells": [code(None), code(3), code(["a", 3]), {"cell_type": "code"}]}, ["", "", "", ""]),
        ({"cells": ["text", None, 3, [], {"cell_type": ["code"]}, code("x")]}, ["x"]),
        ({"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["x\n", "y"]}]}]}, ["x\ny"]),
        ({"nbformat": 3, "worksheets": [None, {"cells": None}, {}]}, []),
        ({"cells": [code("print('\ud800')")]}, ["print('\ud800')"]),
    ],
)
def test_odd_notebooks_are_read(document, sources):
    assert [source for _, source in notebook.read(written(document)).cells] == sources


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm():
    data = b"\xef\xbb\xbf" + json.dumps({"cells": [code("x")]}, indent=1).replace("\n", "\r\n").encode()
    assert notebook.read(data).cells == [(1, "x")]


def test_of_a_doubled_key_the_last_counts():
    data = b'{"cells": [], "cells": [{"cell_type": "markdown", "cell_type": "code", "source": "x"}]}'
    assert notebook.read(data).cells == [(1, "x")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b" \n\t ", "is empty"),
        (b"PK\x03\x04 a zip", "JSON is damaged"),
        (b"\xff\xfe\x00{", "not UTF-8"),
        (b"print('a script')", "JSON is damaged (line 1)"),
        (b'{"cells": [\n{"cell_type": "code",', "JSON is damaged (line 2)"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"cells": ' * 50_000, "nested too deeply"),
        (b'{"cells": [' + b"9" * 10_000 + b"]}", "JSON is damaged"),
        (b"[1, 2]", "not a Jupyter notebook"),
        (b"null", "not a Jupyter notebook"),
        (b'"cells"', "not a Jupyter notebook"),
        (b"{}", "no list of cells"),
        (b'{"cells": {"a": 1}}', "no list of cells"),
        (b'{"worksheets": 3}', "no list of cells"),
        (written({"cells": [code("#" * (MAX_CODE + 1))]}), "more than 800 kB of code"),
        (written({"cells": [code("")] * (MAX_CODE // 8)}), "more than 800 kB of code"),
        (written({"cells": [code("é" * 1000)] * (MAX_CODE // 6000 + 1)}), "more than 800 kB of code"),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_sentence(data, says):
    with pytest.raises(Unreadable, match=SENTENCE) as refusal:
        notebook.read(data)
    assert says in str(refusal.value)


def read_or_refused(data: bytes) -> None:
    try:
        cells = notebook.read(data).cells
    except Unreadable as refusal:
        assert str(refusal).startswith("The ") and str(refusal).endswith(".") and len(str(refusal)) < 200
    else:
        assert [number for number, _ in cells] == list(range(1, len(cells) + 1))
        assert all(type(source) is str for _, source in cells)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["cells", "source"]), inner),
    max_leaves=20,
)
odd_cells = st.fixed_dictionaries(
    {}, optional={"cell_type": anything | st.just("code"), "source": anything, "input": anything, "metadata": anything}
)


@FUZZ
@given(st.binary())
def test_any_bytes(data):
    read_or_refused(data)


@FUZZ
@given(anything)
def test_any_json(document):
    read_or_refused(written(document))


@FUZZ
@given(st.fixed_dictionaries({"cells": st.lists(odd_cells | anything)}))
def test_any_cells(document):
    read_or_refused(written(document))


@FUZZ
@given(st.data())
def test_a_real_notebook_with_a_piece_missing_or_changed(data):
    whole = written({"cells": [code(["x = 1\n", "y = 2"], metadata={"tags": ["stub"]}, id="a")] * 3, "nbformat": 4})
    at = data.draw(st.integers(0, len(whole)))
    to = data.draw(st.integers(at, len(whole)))
    read_or_refused(whole[:at] + data.draw(st.binary(max_size=8)) + whole[to:])
