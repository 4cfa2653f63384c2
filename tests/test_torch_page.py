"""Chapter 10 needs no library that is not in requirements.txt, and its notebook shows the model and carries the records."""

import ast
import re

import nbformat
import pytest
from vit import notebooks
from vit.chapters import BOOK, Directive, read

PAGE = BOOK / "10_pytorch.md"


def imported(source: str) -> set[str]:
    """The top-level packages that a piece of code imports."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.split(".")[0] for name in names}


def test_the_page_and_the_library_need_no_timm():
    cells = [part for part in read(PAGE) if isinstance(part, Directive) and part.name == "code-cell"]
    sources = ["\n".join(cell.body) for cell in cells]
    sources += [path.read_text(encoding="utf-8") for path in (BOOK / "vit").glob("*.py")]
    needed = set.union(*map(imported, sources))
    assert {"torch", "sklearn", "safetensors"} <= needed
    assert not needed & {"timm", "torchvision", "transformers", "PIL"}


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The chapter as a notebook."""
    folder = tmp_path_factory.mktemp("notebooks")
    notebooks.build(folder)
    return nbformat.read(folder / "10_pytorch.ipynb", 4)


def test_the_notebook_shows_the_code_that_the_page_includes(notebook):
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    source = (BOOK / "vit" / "torch_model.py").read_text(encoding="utf-8")
    for name in ("Block", "ViT"):
        code = re.search(rf"^class {name}\(.*?(?=\n\n\n)", source, re.MULTILINE | re.DOTALL).group()
        assert f"```python\n{code}\n```" in text


def test_records_of_a_gpu_travel_with_the_notebooks(tmp_path, monkeypatch):
    (tmp_path / "book" / "data" / "gpu").mkdir(parents=True)
    (tmp_path / "book" / "data" / "gpu" / "card.json").write_text("{}")
    (tmp_path / "book" / "references.bib").write_text("")
    (tmp_path / "_config.yml").write_text("html: {baseurl: 'https://example.org/'}")
    monkeypatch.setattr(notebooks, "BOOK", tmp_path / "book")
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "chapters", list)
    notebooks.build(tmp_path / "out")
    assert (tmp_path / "out" / "data" / "gpu" / "card.json").exists()
