"""What the tests of the book share: the built site or a page made for a test, a server under a sub-path, a real browser."""

import functools
import http.server
import io
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
BASE = "/some/course/"  # the book must work under any path, so the tests serve it under one
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
EXTENSIONS = ["myst_nb", "sphinx_design", "sphinx_book_theme", "sphinx_exercise", "course"]
MYST = ["colon_fence", "dollarmath"]

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course import npm  # noqa: E402

# Elements that are wider than a phone, outside of anything that scrolls by itself.
TOO_WIDE = """() => {
  const cut = (node) => /auto|scroll|hidden|clip/.test(getComputedStyle(node).overflowX);
  const scrolls = (node) => node && (cut(node) || scrolls(node.parentElement));
  return [...document.querySelectorAll("article *")]
    .filter((node) => node.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node.parentElement))
    .map((node) => node.outerHTML.slice(0, 120));
}"""


def documents() -> list[str]:
    """Every page of _toc.yml, as the path of its source without the suffix."""

    def walk(entry: dict) -> Iterator[str]:
        yield from [entry["file"]] if "file" in entry else []
        for children in ("parts", "chapters", "sections"):
            for child in entry.get(children, []):
                yield from walk(child)

    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    return [toc["root"], *walk(toc)]


@pytest.fixture(scope="session")
def site() -> Path:
    """The built book, as `make book` leaves it; built first if it is not there."""
    if not (SITE / "index.html").exists():
        jupyter_book = Path(sys.executable).with_name("jupyter-book")
        subprocess.run([jupyter_book, "build", ROOT, "-W", "-n", "--keep-going"], check=True)
    return SITE


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site below BASE and nothing above it, without a log."""

    def translate_path(self, path: str) -> str:
        inside = path.removeprefix(BASE) if path.startswith(BASE) else "no-such-page"
        return super().translate_path("/" + inside)

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address under which `folder` is served, for example http://127.0.0.1:40000/some/course/."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{BASE}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the book is served while the tests run."""
    with served(site) as address:
        yield address


@dataclass
class Built:
    """A site of one page."""

    app: Sphinx
    folder: Path
    warnings: str

    page = Path("book", "exercises", "page.html")

    @property
    def html(self) -> str:
        return (self.folder / self.page).read_text(encoding="utf-8")

    @property
    def everything(self) -> str:
        """All that a reader could get at: pages, the search index, downloads."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and "_static" not in path.parts]
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)


def one_page(folder: Path, text: str, **config: object) -> Built:
    """Build a page with the given text below `folder`; a second call builds again over the first."""
    source = folder / "source"
    page = (source / Built.page).with_suffix(".md")
    page.parent.mkdir(parents=True, exist_ok=True)
    if not page.exists() or page.read_text() != text:
        page.write_text(text)
    (source / "index.md").write_text("# Index\n\n```{toctree}\nbook/exercises/page\n```\n")
    warnings = io.StringIO()
    settings = {
        "extensions": EXTENSIONS,
        "myst_enable_extensions": MYST,
        "html_theme": "sphinx_book_theme",
        **config,
    }
    settings |= {"html_copy_source": False, "suppress_warnings": ["ref.doc"], "nb_execution_mode": "off"}
    with docutils_namespace():
        out = folder / "_build" / "html"
        app = Sphinx(source, None, out, folder / "trees", "html", settings, status=None, warning=warnings)
        app.build()
    return Built(app, out, warnings.getvalue())


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """A real Chromium, driven by playwright."""
    if CHROMIUM is None:
        pytest.skip("no chromium here; install it with your system's package manager to run the browser tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def axe() -> str:
    return (npm.install() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def violations(page: object, axe: str) -> list[str]:
    """What axe-core finds wrong, one line for each rule and element."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]]


@pytest.fixture(scope="module")
def page_address(built):
    """The address of the one page that the test module's own fixture `built` made."""
    with served(built.folder) as address:
        yield address + str(Built.page)


@pytest.fixture
def open_page(browser, page_address):
    """Opens the page, at a link's state; what goes wrong there fails the test."""
    contexts, wrong = [], []

    def run(link: str = "", **context: object):
        context = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"} | context
        contexts.append(browser.new_context(**context))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: r.url.startswith(page_address.split("/some/")[0]) or wrong.append(r.url))
        page.goto(page_address + link)
        return page

    yield run
    for context in contexts:
        context.close()
    assert wrong == []
