"""What must not be in the published book: hidden tests, wrong implementations and, where they are held back, solutions."""

import html
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import EXTENSIONS, MYST, ROOT
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace
from test_book_ext import exercise_page

from autograder import masters
from autograder.catalog import EXERCISES

NOT_OURS = {".wasm", ".woff", ".woff2", ".ttf", ".png", ".bin"}
ENOUGH = 28  # characters without spaces, so that nobody else writes the same line


def bare(text: str) -> str:
    """Text without markup, escapes and spaces, so that highlighting, wrapping and JSON hide nothing."""
    text = html.unescape(re.sub(r"<[a-zA-Z/!][^>]*>", "", text))
    return re.sub(r"\\n|[\\\s]", "", text)


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file of a site with its name, those inside of archives too."""
    for path in filter(Path.is_file, folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".zip" and path.name != "python_stdlib.zip":
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
                for member in archive.namelist():
                    yield f"{name}/{member}", archive.read(member).decode("utf-8", "replace")
        elif path.suffix not in NOT_OURS | {".zip"}:
            yield name, path.read_text(encoding="utf-8", errors="replace")


def public() -> str:
    """What every reader may see: the students' folder, the chapters, and what the masters show of themselves."""
    files = [*(ROOT / "exercises").rglob("*.*"), *(ROOT / "book").glob("*.md"), *(ROOT / "book" / "vit").glob("*.py")]
    shown = [path.read_text(encoding="utf-8") for path in files if path.suffix in {".ipynb", ".json", ".py", ".md"}]
    for master in map(masters.read, EXERCISES.values()):
        shown += [master.statement, *master.given, *master.stub, *(hint.body for hint in master.hints)]
    return bare("\n".join(shown))


def lines(*sources: str) -> set[str]:
    """The lines that are nobody else's. Sentences about mistakes are in the cases that everybody gets."""
    seen = public()
    code = {
        bare(line) for source in sources for line in source.splitlines() if not line.strip().startswith(('"', 'f"'))
    }
    return {line for line in code if len(line) >= ENOUGH and line not in seen}


def found(secrets: set[str], folder: Path) -> list[str]:
    return [
        f"{name}: {line}" for name, text in texts(folder) for seen in [bare(text)] for line in secrets if line in seen
    ]


def hidden() -> set[str]:
    """Lines of the hidden tests and of the misconceptions that are not in a solution too."""
    files = [path for part in ("tests", "misconceptions") for path in (ROOT / "autograder" / part).glob("*.py")]
    return lines(*(path.read_text(encoding="utf-8") for path in files)) - solutions()


def solutions() -> set[str]:
    """Lines of the solutions, code and reasoning."""
    return lines(*(masters.read(exercise).solution for exercise in EXERCISES.values()))


@pytest.fixture(scope="module", params=[True, False], ids=["with solutions", "without solutions"])
def exercises(request, tmp_path_factory) -> tuple[Path, bool]:
    """A site of all the exercises and their list, with or without the solutions."""
    folder = tmp_path_factory.mktemp("site")
    pages = folder / "source" / "book" / "exercises"
    pages.mkdir(parents=True)
    for name in EXERCISES:
        (pages / f"{name}.md").write_text(exercise_page(name))
    (folder / "source" / "index.md").write_text(
        "# Index\n\n```{vit-exercise-list}\n```\n\n```{toctree}\n:glob:\n\nbook/exercises/*\n```\n"
    )
    config = {"extensions": EXTENSIONS, "myst_enable_extensions": MYST, "html_theme": "sphinx_book_theme"}
    config |= {"course_solutions": request.param, "nb_execution_mode": "off", "html_copy_source": False}
    with docutils_namespace():
        out = folder / "_build" / "html"
        Sphinx(
            folder / "source", None, out, folder / "trees", "html", config, status=None, warning=io.StringIO()
        ).build()
    return out, request.param


def test_solutions_are_published_only_where_they_may_be(exercises):
    site, shown = exercises
    where = found(solutions(), site)
    assert where if shown else where == []


def test_a_site_of_exercises_holds_no_hidden_test_and_no_misconception(exercises):
    assert found(hidden(), exercises[0]) == []


def test_the_book_holds_no_hidden_test_and_no_misconception(site):
    assert found(hidden(), site) == []


def test_the_search_finds_what_is_there(tmp_path):
    """The canary: a line of each kind, put where it could come to light, is found."""
    secret, answer = sorted(hidden())[0], sorted(solutions())[0]
    (tmp_path / "page.html").write_text("<p>" + html.escape(secret).replace("(", "<span>(</span>") + "</p>")
    (tmp_path / "searchindex.js").write_text(f'Search.setIndex({{"a":"{answer}"}})')
    with zipfile.ZipFile(tmp_path / "folder.zip", "w") as archive:
        archive.writestr("a.py", secret)
    names = {line.partition(": ")[0] for line in found({secret, answer}, tmp_path)}
    assert names == {"page.html", "searchindex.js", "folder.zip/a.py"}
    assert len(hidden()) > 100 and len(solutions()) > 100
