"""What the tests of the book share: the built site, its pages, a server under a sub-path, a real browser."""

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
BASE = "/some/course/"  # the book must work under any path, so the tests serve it under one
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


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


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the book is served while the tests run, for example http://127.0.0.1:40000/some/course/."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{BASE}"
    server.shutdown()
    server.server_close()


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
