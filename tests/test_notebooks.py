"""The chapters as notebooks: plain Markdown, complete, and each runs from top to bottom."""

import json
import re

import nbformat
import pytest
from nbclient import NotebookClient
from vit.chapters import BOOK, chapters
from vit.notebooks import build

NAMES = [path.stem for path in chapters()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All notebooks, built once."""
    folder = tmp_path_factory.mktemp("notebooks")
    build(folder)
    return folder


def test_every_chapter_is_there_with_the_library(folder):
    assert sorted(file.stem for file in folder.glob("*.ipynb")) == NAMES
    assert (folder / "vit" / "model.py").exists() and (folder / "data" / "vit.json").exists()
    assert (folder / "vit.zip").stat().st_size > 10_000


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_books_own_software_is_left(folder, name):
    for cell in nbformat.read(folder / f"{name}.ipynb", 4).cells:
        if cell.cell_type == "code":
            assert "vit.ledger" not in cell.source
            assert not cell.source.lstrip().startswith(":")
        else:
            prose = re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL))
            assert not re.search(r"\{[a-z:]+\}`|^:::|`{3,}\{|^\([\w-]+\)=|^%", cell.source, re.MULTILINE), cell.source
            assert "\n> " not in "".join(re.findall(r"\$\$.*?\$\$", prose, re.DOTALL)), "a formula broken by >"


def test_building_again_gives_the_same_files(folder, tmp_path):
    build(tmp_path / "again")
    for file in folder.glob("*.ipynb"):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_runs_from_top_to_bottom(folder, name):
    notebook = nbformat.read(folder / f"{name}.ipynb", 4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    printed = json.dumps([cell.outputs for cell in notebook.cells if cell.cell_type == "code"])
    for fact in json.loads((BOOK / "data" / "facts.json").read_text(encoding="utf-8")):
        if fact["chapter"] == name and "printed" in fact:
            assert fact["shown"] in printed, fact["what"]
