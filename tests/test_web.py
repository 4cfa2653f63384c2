"""Live exercises as a reader meets them, in a real Chromium: solving, going wrong, stopping, coming back."""

import hashlib
import io
import json
import re
import sys
import zipfile
from pathlib import Path

import pytest
from pages import ROOT

from autograder import masters
from autograder.catalog import EXERCISES
from exercises import checks

pytestmark = pytest.mark.browser

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course import live, npm  # noqa: E402

PURE = [name for name, exercise in EXERCISES.items() if not live.packages(exercise, masters.read(exercise))]
RULE_OF_THUMB = "def vit_param_count(cfg):\n    return 12 * cfg['L'] * cfg['d'] ** 2\n"


def solution(name: str) -> str:
    return "\n\n\n".join(masters.read(EXERCISES[name]).reference) + "\n"


class Reader:
    """Someone at a page of the book, with what the page asked of other hosts and what went wrong."""

    def __init__(self, context: object, address: str):
        self.page, self.address = context.new_page(), address
        self.elsewhere, self.faults = [], []
        own = (address, "blob:", "data:")
        self.page.on("request", lambda request: request.url.startswith(own) or self.elsewhere.append(request.url))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, name: str) -> "Reader":
        self.page.goto(f"{self.address}book/exercises/{name}.html", wait_until="load")
        self.page.locator(".live").scroll_into_view_if_needed()
        self.editor.wait_for()
        return self

    @property
    def editor(self):
        return self.page.get_by_role("textbox", name=re.compile("Your code for"))

    @property
    def code(self) -> str:
        return "\n".join(self.page.locator(".cm-line").all_text_contents())

    def write(self, code: str) -> "Reader":
        self.editor.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(code)
        return self

    def press(self, button: str) -> "Reader":
        self.page.get_by_role("button", name=button, exact=True).click()
        return self

    def result(self, timeout: int = 60) -> str:
        """What the page says once Python is done."""
        done = "document.querySelector('.live-status').dataset.state !== 'busy'"
        self.page.wait_for_function(done, timeout=timeout * 1000)
        return self.page.locator(".live-status").inner_text()

    @property
    def rows(self) -> list[list[str]]:
        return [row.locator("td").all_text_contents() for row in self.page.locator(".live-table tbody tr").all()]


@pytest.fixture
def context(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield context
    context.close()


@pytest.fixture
def reader(context, address):
    reader = Reader(context, address)
    yield reader
    assert reader.faults == []


# --- solving ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PURE)
def test_a_right_answer_is_checked_in_the_page(reader, name):
    said = reader.open(name).write(solution(name)).press("Check").result()
    assert re.fullmatch(r"All \d+ cases are right\.", said)
    assert {row[0] for row in reader.rows} == {"✓ right"}
    assert reader.elsewhere == [], "asks other hosts"


def test_there_are_four_exercises_that_need_no_network():
    assert len(PURE) == 4


def test_a_known_mistake_is_named_in_the_words_of_the_notebook(reader):
    report = checks.check_rows({"vit_param_count": lambda cfg: 12 * cfg["L"] * cfg["d"] ** 2})
    said = reader.open("vit_param_count").write(RULE_OF_THUMB).press("Check").result()
    assert said == f"{report.summary} {report.mistake}" and report.mistake
    assert [(row[2], row[3]) for row in reader.rows] == [(row.expected, row.got + row.note) for row in report.rows]


def test_an_error_points_at_the_readers_line(reader):
    said = reader.open("gpu_days").write("def f():\n    return 1 / 0\n\nprint('begun')\nf()\n").press("Run").result()
    printed = reader.page.get_by_role("region", name="Output").inner_text()
    assert "stopped with an error" in said
    assert printed.startswith("begun\nTraceback") and 'File "your code", line 2, in f' in printed


# --- stopping ---------------------------------------------------------------------------------------------------


def test_stop_ends_a_loop_and_python_is_there_again(reader):
    reader.open("vit_param_count").write("print('begun')\nwhile True:\n    pass\n").press("Run")
    reader.page.get_by_text("begun", exact=True).wait_for()
    assert reader.press("Stop").result() == "Stopped."
    assert reader.write("print('back')").press("Run").result() == "Done."


@pytest.mark.slow
def test_a_loop_ends_by_itself_after_ten_seconds(reader):
    said = reader.open("vit_param_count").write("while True:\n    print(1)\n").press("Check").result()
    assert said == "Stopped after 10 seconds. Is there a loop that does not end?"
    said = reader.write(solution("vit_param_count")).press("Check").result()
    assert said.startswith("All")


# --- coming back ------------------------------------------------------------------------------------------------


def test_work_is_there_after_a_reload_and_counts_on_the_list(reader):
    name = "attention_memory"
    reader.open(name).write(solution(name)).press("Check").result()
    reader.open(name)
    assert reader.code == solution(name)
    page = reader.page
    page.goto(f"{reader.address}book/index.html")
    assert "1 of 5 solved" in page.locator(".live-progress").inner_text()
    marked = page.locator("td", has=page.locator(".live-mark")).inner_text()
    assert marked.startswith(EXERCISES[name].title) and marked.endswith("✓ solved")
    with page.expect_download() as download:
        reader.press("Export my answers")
    assert json.loads(Path(download.value.path()).read_text())[name]["code"] == solution(name)
    reader.press("Clear my answers").press("Really clear them?")
    assert "0 of 5 solved" in page.locator(".live-progress").inner_text()
    assert "YOUR CODE HERE" in reader.open(name).code


def test_starting_over_keeps_the_answer_on_offer(reader):
    reader.open("gpu_days").write("x = 1").press("Start over")
    assert "YOUR CODE HERE" in reader.code
    reader.open("gpu_days").press("Bring it back")
    assert reader.code == "x = 1"


def test_an_answer_to_another_version_does_not_hide_the_code_to_begin_with(reader):
    reader.open("gpu_days").write("x = 1").press("Run").result()
    reader.page.goto("about:blank")
    older = re.compile('data-stub="[0-9a-f]+"')

    def changed(route: object) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=older.sub('data-stub="another"', answer.text()))

    reader.page.route("**/gpu_days.html", changed)
    assert "YOUR CODE HERE" in reader.open("gpu_days").code
    reader.press("Bring it back")
    assert reader.code == "x = 1"


def test_an_answer_can_be_downloaded(reader):
    reader.open("gpu_days").write("x = 1")
    with reader.page.expect_download() as download:
        reader.press("Download .py")
    text = Path(download.value.path()).read_text()
    assert download.value.suggested_filename == "gpu_days.py"
    assert text.startswith("def forward_macs(cfg, res):") and text.endswith("x = 1")


# --- hints and the solution -------------------------------------------------------------------------------------


def test_hints_open_one_at_a_time(reader):
    hints = reader.open("vit_macs").page.locator("details.course-hint")
    for i in range(2):
        hints.nth(i).locator("summary").click()
    assert [hint.get_attribute("open") is not None for hint in hints.all()][:3] == [False, True, False]


@pytest.mark.parametrize("asked", ["an answer", "a request"])
def test_the_solution_comes_after_an_answer_or_a_request(reader, asked):
    fold = reader.open("vit_param_count").page.locator("details.course-solution")
    reader.press("Check").result()
    assert not fold.is_visible(), "a check of untouched code is no answer"
    if asked == "an answer":
        reader.write(RULE_OF_THUMB).press("Check").result()
        assert fold.is_visible() and fold.get_attribute("open") is None
    else:
        reader.press("Show it now")
        assert fold.get_attribute("open") is not None
    assert reader.open("vit_param_count").page.locator("details.course-solution").is_visible(), "and stays"


# --- NumPy and SciPy, which come from elsewhere -------------------------------------------------------------------


def test_without_network_the_numpy_page_says_so_and_offers_the_notebook(reader):
    reader.page.route(re.compile("^https://"), lambda route: route.abort())
    said = reader.open("vit_forward").press("Check").result()
    assert said.startswith("This needs NumPy and SciPy from ") and "cannot be reached now" in said
    assert reader.page.locator(".live-status a").get_attribute("href").endswith("exercises/vit_forward.ipynb")
    hosts = {re.match(r"https://[^/]+/", request).group() for request in reader.elsewhere}
    assert len(hosts) == 1, "one host, and only after the click"


def wheel(name: str, **modules: str) -> bytes:
    """A wheel of pure Python modules."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, text in modules.items():
            archive.writestr(path.replace("__", "/") + ".py", text)
        info = f"{name}-1.0.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return content.getvalue()


def test_packages_come_from_the_address_that_the_book_names(reader):
    """The real ones are on no registry, so two small wheels stand in: what is tested is how they get here."""
    wheels = {
        "numpy": wheel("numpy", numpy="told = 'a stand-in'"),
        "scipy": wheel("scipy", scipy____init__="", scipy__special="erf = abs"),
    }
    lock = json.loads((npm.python() / "pyodide-lock.json").read_text())
    for name, content in wheels.items():
        digest = hashlib.sha256(content).hexdigest()
        lock["packages"][name] |= {"sha256": digest, "file_name": f"{name}-1.0-py3-none-any.whl"}
    reader.page.route("**/pyodide-lock.json", lambda route: route.fulfill(json=lock))
    serve = lambda route: route.fulfill(  # noqa: E731
        body=wheels[route.request.url.rsplit("/", 1)[-1].partition("-")[0]],
        headers={"Access-Control-Allow-Origin": "*"},
    )
    reader.page.route(re.compile(r"^https://.*\.whl$"), serve)
    assert reader.open("vit_forward").write("import numpy\nprint(numpy.told)").press("Run").result() == "Done."
    assert reader.page.get_by_role("region", name="Output").inner_text() == "a stand-in\n"


# --- with a keyboard, a screen reader, a phone, without a script or a server ------------------------------------------


def test_the_keyboard_is_enough(reader):
    page = reader.open("vit_param_count").page
    reader.editor.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("def vit_param_count(cfg):\nreturn 12")
    assert reader.code == "def vit_param_count(cfg):\n    return 12", "a new line is indented"
    page.keyboard.press("ControlOrMeta+Enter")
    assert "not right yet" in reader.result()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className").startswith("cm-content"), "Tab indents"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Run"


def test_nothing_of_python_is_loaded_before_the_first_click(reader):
    loaded = []
    reader.page.on("request", lambda request: loaded.append(request.url))
    reader.open("vit_param_count").page.wait_for_load_state("networkidle")
    assert [url for url in loaded if "pyodide" in url or "worker" in url] == []


def test_a_checked_answer_is_accessible_in_light_dark_and_on_a_phone(reader):
    axe = (npm.install() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    page = reader.open("vit_param_count").page
    reader.write(RULE_OF_THUMB + "print('a')\n").press("Check").result()
    reader.press("Start over")
    page.evaluate(axe)
    for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
        page.wait_for_timeout(300)  # colors change in a transition
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert [f"{rule['id']}: {node['html'][:160]}" for rule in found for node in rule["nodes"]] == [], (
            scheme,
            width,
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_without_scripts_the_code_is_a_block_and_the_solution_a_fold(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}book/exercises/vit_param_count.html")
    assert "YOUR CODE HERE" in page.locator(".live-stub pre").inner_text()
    assert page.locator(".live button:visible").count() == 0
    assert page.locator("details.course-solution").is_visible()
    context.close()


def test_opened_from_disk_a_page_says_what_it_lacks_and_offers_the_notebook(context, site):
    page = context.new_page()
    page.goto((site / "book" / "exercises" / "vit_param_count.html").as_uri())
    page.locator(".live").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.live-status')?.textContent")
    said = page.locator(".live-status").inner_text()
    assert "opened from disk" in said and "Download the notebook" in said
    assert "YOUR CODE HERE" in page.locator(".cm-content").inner_text(), "it can be edited all the same"
