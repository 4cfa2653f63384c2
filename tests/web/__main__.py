"""`python -m tests.web`: how quick and how small the built book is in a real Chromium, and what Lighthouse says of it."""

import functools
import gzip
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.table import Table

from autograder import masters
from autograder.catalog import EXERCISES
from tests.pages import BASE, CHROMIUM, QUIET, ROOT, SITE, Handler

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course import live, npm

HERE = Path(__file__).resolve().parent
EXERCISE, CHAPTER = "book/exercises/vit_param_count.html", "book/05_parameters.html"
PAGES = ("book/index.html", CHAPTER, EXERCISE)
CATEGORIES = {"performance": 95, "accessibility": 95, "best-practices": 95, "seo": 95}
COMPRESSED = (".woff", ".woff2", ".png", ".zip", ".bin", ".gz")
MATHJAX = "https://cdn.jsdelivr.net/npm/mathjax@3/"  # what a plain Jupyter Book asks for
PLAIN = """\
title: The Vision Transformer, counted
execute: {execute_notebooks: "off"}
parse: {myst_enable_extensions: [attrs_block, attrs_inline, colon_fence, deflist, dollarmath, smartquotes, tasklist]}
"""
# From the click on Check to the sentence under the editor, in milliseconds.
CHECK = """() => new Promise((done) => {
  const status = document.querySelector(".live-status");
  const begin = performance.now();
  [...document.querySelectorAll(".live button")].find((button) => button.textContent === "Check").click();
  new MutationObserver((_, watch) => {
    if (status.dataset.state === "busy") return;
    watch.disconnect();
    done(performance.now() - begin);
  }).observe(status, { attributes: true, childList: true });
})"""


class Compressing(Handler):
    """Serves as the usual hosts of static sites do: compressed, over connections that are kept, with a cache's lifetime."""

    protocol_version = "HTTP/1.1"

    def send_head(self) -> io.BytesIO | None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return None
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if path.suffix not in COMPRESSED:
            content = gzip.compress(content, 6)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        return io.BytesIO(content)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Compressing, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{BASE}"
    server.shutdown()


def checks(launch: functools.partial, address: str, times: int = 3) -> tuple[float, float, float]:
    """Milliseconds from the click to the first result, cold and cached, and to later results: medians."""
    cold, cached, later = [], [], []
    for _ in range(times):
        browser = launch()  # with an empty cache
        page = browser.new_page()
        for first in (cold, cached):
            page.goto(address + EXERCISE, wait_until="networkidle")
            first.append(page.evaluate(CHECK))
        later += [page.evaluate(CHECK) for _ in range(10)]
        browser.close()
    return statistics.median(cold), statistics.median(cached), statistics.median(later)


def first_load(browser: Browser, url: str) -> int:
    """Bytes that come over the network until the page is quiet, with nothing cached."""
    context = browser.new_context()
    page = context.new_page()
    network = context.new_cdp_session(page)
    sizes = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    network.send("Network.enable")
    page.goto(url, wait_until="networkidle")
    context.close()
    return int(sum(sizes))


def plain_book(folder: Path) -> Path:
    """The chapter, with its outputs, built by Jupyter Book as it comes; its MathJax is put beside it."""
    name = Path(CHAPTER).stem
    (folder / f"{name}.ipynb").write_bytes((SITE.parent / "jupyter_execute" / "book" / f"{name}.ipynb").read_bytes())
    (folder / "_config.yml").write_text(PLAIN)
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: {name}\n")
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    subprocess.run([jupyter_book, "build", folder], check=True, capture_output=True)
    site = folder / "_build" / "html"
    (site / "mathjax").symlink_to(npm.install(HERE) / "mathjax")
    page = site / f"{name}.html"
    page.write_text(page.read_text().replace(MATHJAX, "mathjax/"))
    return page


def lighthouse(url: str, times: int = 3) -> dict[str, int]:
    """The scores of a page, of 100, as on Lighthouse's slow phone: medians, because its own runs differ."""
    program = npm.install(HERE) / "lighthouse" / "cli" / "index.js"
    options = [f"--only-categories={','.join(CATEGORIES)}", "--output=json", "--quiet"]
    flags = f"--chrome-flags=--headless=new {' '.join(QUIET)}"
    environment = os.environ | {"CHROME_PATH": CHROMIUM}
    runs = []
    for _ in range(times):
        done = subprocess.run(
            [npm.NODE, program, url, *options, flags], env=environment, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"Lighthouse could not measure {url}.\n{done.stderr[-2000:]}")
        runs.append(json.loads(done.stdout)["categories"])
    return {name: round(100 * statistics.median(run[name]["score"] for run in runs)) for name in CATEGORIES}


def solved(said: str) -> bool:
    return said.startswith("All ") and said.endswith(" cases are right.")


def in_firefox(program: str, address: str) -> dict:
    """What Firefox made of the exercises that need no package: right answers, an endless loop, a reload."""
    answers = {}
    for name, exercise in EXERCISES.items():
        master = masters.read(exercise)
        if not live.packages(exercise, master):
            answers[name] = "\n\n\n".join(master.reference) + "\n"
    script = HERE / "firefox.mjs"
    npm.install(HERE)
    done = subprocess.run(
        [npm.NODE, script, program, address],
        input=json.dumps({"answers": answers, "check": CHECK}),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"Firefox did not get through the exercises.\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main() -> None:
    """Measure and print; what misses its target is marked."""
    if CHROMIUM is None:
        raise SystemExit("There is no chromium here; install it with your system's package manager.")
    table = Table("what", "measured", "target", title="The pages")

    def row(what: str, value: float, form: str, target: float, at_least: bool = False) -> None:
        held = value >= target if at_least else value <= target
        sign = "at least" if at_least else "at most"
        table.add_row(what, form.format(value) + ("" if held else " ✗"), f"{sign} {form.format(target)}")

    with sync_playwright() as playwright, served(SITE) as address, tempfile.TemporaryDirectory() as folder:
        launch = functools.partial(playwright.chromium.launch, executable_path=CHROMIUM, args=QUIET)
        cold, cached, later = checks(launch, address)
        row("first result after the click, cold", cold / 1000, "{:.1f} s", 6)
        row("first result after the click, cached", cached / 1000, "{:.1f} s", 3)
        row("later checks, median", later, "{:.0f} ms", 100)
        page = plain_book(Path(folder))
        browser = launch()
        ours = first_load(browser, address + CHAPTER)
        with served(page.parent) as plain:
            theirs = first_load(browser, plain + page.name)
        browser.close()
        row(f"{CHAPTER}, first load", ours / 1000, "{:.0f} kB", theirs / 2000)
        firefox = shutil.which("firefox") or shutil.which("firefox-esr")
        there = in_firefox(firefox, address) if firefox else None
        for name in PAGES:
            for category, score in lighthouse(address + name).items():
                row(f"{name}, {category}", score, "{:.0f}", CATEGORIES[category], at_least=True)
    if there is None:
        table.caption = "There is no Firefox here: not tried."
    else:
        table.title = f"The pages, in Chromium and {there['version']}"
        row(
            "Firefox, exercises solved",
            sum(map(solved, there["solved"].values())),
            "{}",
            len(there["solved"]),
            at_least=True,
        )
        row("Firefox, loop stopped", there["stopped"] == "Stopped.", "{:d}", 1, at_least=True)
        row("Firefox, answer there after a reload", "while True" in there["kept"], "{:d}", 1, at_least=True)
        row("Firefox, first result after the click, cold", there["first"] / 1000, "{:.1f} s", 6)
        row("Firefox, later checks, median", statistics.median(there["later"]), "{:.0f} ms", 100)
        row("Firefox, errors of the page", len(there["faults"]), "{}", 0)
    Console().print(table)
    Console().print(f"A plain Jupyter Book loads {theirs / 1000:.0f} kB for the same chapter.")


if __name__ == "__main__":
    main()
