"""The report counts what the class did, believes no text of a student, and opens offline in light, dark and on paper."""

import html.parser
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from pages import ROOT

from autograder import misconceptions
from autograder.catalog import EXERCISES
from autograder.graded import load
from autograder.report import absent, distributions, failures, histogram, mistakes, slowest, troubles, write_report
from autograder.results import folder_name
from autograder.task import Task, about_notebook, failed, missing, result

EXERCISE = "vit_param_count"
KNOWN = misconceptions.load(EXERCISE)
EVIL = "\"><script>alert('x')</script> & co /../ \u202e`b`"
ODD = 'odd name; "quotes", ünïcödé & $(touch x) #1?%2F'


def check(name: str, passed: bool, points: float = 5, message: str = "", slug: str | None = None) -> dict:
    return {
        "name": name,
        "hidden": True,
        "points": points if passed else 0,
        "max_points": points,
        "status": "passed" if passed else "failed",
        "message": message,
        "misconception": slug,
    }


def task(student: str, exercise: str = EXERCISE) -> Task:
    return Task(student, exercise, "0" * 64, "seed")


def put(out: Path, outcome: dict) -> None:
    folder = out / "results" / folder_name(outcome["student"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{outcome['exercise']}.json").write_text(json.dumps(outcome), "utf-8")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A class of seven, each of whom shows one thing."""
    first, second = KNOWN[0].slug, KNOWN[1].slug
    remark = about_notebook(
        "passed", "Code cell 2: the line `%matplotlib inline` is for Jupyter alone and was skipped."
    )
    graded = {
        "ada": [remark, check("blocks", True), check("head", True), check("total", True)],
        "bob": [check("blocks", True), check("head", False, slug=first), check("total", False, slug=first)],
        "cy": [check("blocks", True), check("head", True), check("total", False, slug=first)],
        ODD: [check("blocks", True), check("head", False, slug=second), check("total", False)],
        EVIL: [check("blocks", True), check("head", False, message=f"{EVIL} `<b>code</b>`"), check("total", False)],
    }
    for seconds, (student, checks) in enumerate(graded.items(), start=1):
        put(tmp_path, result(task(student), "graded", checks, "bwrap", seconds))
    put(tmp_path, missing(task("dee"), "bwrap"))
    put(tmp_path, failed(task("eve"), "bwrap", "The jail broke."))
    return tmp_path


# ---- the numbers


def test_a_full_score_is_in_the_last_bar_and_a_zero_in_the_first() -> None:
    assert histogram([(0, 15), (1.4, 15), (1.5, 15), (7.5, 15), (15, 15), (15, 15)]) == [2, 1, 0, 0, 0, 1, 0, 0, 0, 2]


def test_a_fault_of_the_grader_is_no_zero(out: Path) -> None:
    (chart,) = distributions(load(out))
    assert chart["number"] == 6
    assert chart["mean"] == pytest.approx((15 + 5 + 10 + 5 + 5 + 0) / 6)
    eve = next(student for student in load(out) if student.name == "eve")
    assert not eve.counted


def test_the_checks_are_ranked_by_how_often_they_fail(out: Path) -> None:
    rows = [(row["check"], row["failed"], row["tried"]) for row in failures(load(out))]
    assert rows == [("total", 4, 5), ("head", 3, 5), ("blocks", 0, 5)]


def test_the_misconceptions_are_ranked_by_students_and_carry_their_sentence(out: Path) -> None:
    rows = [(row["sentence"], [student.name for student in row["students"]]) for row in mistakes(load(out))]
    assert rows == [(KNOWN[0].sentence, ["bob", "cy"]), (KNOWN[1].sentence, [ODD])]


def test_what_needs_a_look_comes_with_the_graders_own_faults_first(out: Path) -> None:
    rows = [(row["student"].name, row["status"], row["remark"]) for row in troubles(load(out))]
    assert rows == [("eve", "engine-error", "The jail broke.")]


def test_who_handed_in_nothing_is_listed_by_exercise(out: Path) -> None:
    rows = [(row["exercise"], [student.name for student in row["students"]]) for row in absent(load(out))]
    assert rows == [("vit_param_count", ["dee"])]


def test_the_slowest_come_first(out: Path) -> None:
    assert [row["seconds"] for row in slowest(load(out))] == [5, 4, 3, 2, 1]


def test_totals_are_shown_where_there_are_several_exercises(out: Path) -> None:
    other = result(task("ada"), "graded", [check("x", True, 20)], "bwrap")
    put(out, other | {"exercise": "another", "max_score": 20})
    charts = distributions(load(out))
    assert [chart["title"] for chart in charts] == ["All exercises", EXERCISES[EXERCISE].title, "another"]


# ---- the pages


class Page(html.parser.HTMLParser):
    """What a browser would see: the elements with their attributes, and the text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def attributes(self, name: str) -> list[str]:
        return [attrs[name] for _, attrs in self.elements if attrs.get(name)]


@pytest.fixture
def pages(out: Path) -> dict[str, Page]:
    report = write_report(out)
    assert report == out / "report.html"
    return {path.name: Page(path) for path in (report, *(out / "feedback").iterdir())}


def test_every_student_has_a_page_and_every_link_leads_to_one(out: Path, pages: dict[str, Page]) -> None:
    assert len(pages) == 1 + 7
    links = {unquote(href) for href in pages["report.html"].attributes("href")}
    assert links == {str(path.relative_to(out)) for path in (out / "feedback").iterdir()}


def test_no_text_of_a_student_becomes_an_element(pages: dict[str, Page]) -> None:
    for page in pages.values():
        assert not {tag for tag, _ in page.elements} & {"script", "b", "img", "iframe", "link"}
        assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    evil = pages[f"{folder_name(EVIL)}.html"]
    assert EVIL.replace("`b`", "b") in evil.text.replace("`b`", "b")
    assert "<b>code</b>" in evil.text


def test_nothing_is_asked_of_another_host(pages: dict[str, Page], out: Path) -> None:
    for path in (out / "report.html", *(out / "feedback").iterdir()):
        assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?:https?:)?//", path.read_text("utf-8"))
    for page in pages.values():
        assert any("default-src 'none'" in value for value in page.attributes("content"))


def test_every_chart_has_its_numbers_in_words(pages: dict[str, Page]) -> None:
    report = pages["report.html"]
    charts = [attrs for tag, attrs in report.elements if tag == "svg" and attrs.get("role") == "img"]
    titles = {attrs["id"] for tag, attrs in report.elements if tag == "title" and "id" in attrs}
    assert len(charts) == 1
    assert {attrs["aria-labelledby"] for attrs in charts} <= titles
    assert "how many of 6 scored in each tenth of 15 points: 1, 0, 0, 3, 0, 0, 1, 0, 0, 1." in report.text
    others = [attrs for tag, attrs in report.elements if tag == "svg" and attrs.get("role") != "img"]
    assert all(attrs.get("aria-hidden") == "true" for attrs in others)


def test_the_students_page_says_each_check_in_words(pages: dict[str, Page]) -> None:
    assert "10 of 15 points" in pages["cy.html"].text
    assert "not passed" in pages["cy.html"].text
    assert "%matplotlib inline" in pages["ada.html"].text
    assert "No notebook was handed in." in pages["dee.html"].text
    assert "will be graded again" in pages["eve.html"].text
    assert "jail" not in pages["eve.html"].text


def test_a_folder_without_results_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="grade a class first"):
        write_report(tmp_path)


@pytest.mark.browser
def test_in_a_browser_it_is_accessible_fits_a_phone_and_asks_for_nothing(out: Path, browser: object) -> None:
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from course import npm

    axe = (npm.install() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    report = write_report(out)
    context = browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True)
    page = context.new_page()
    asked, faults = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    for path in (report, out / "feedback" / f"{folder_name(ODD)}.html", out / "feedback" / f"{folder_name(EVIL)}.html"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            asked.clear()
            page.goto(path.as_uri())
            assert asked == [path.as_uri()]
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            page.evaluate(axe)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            assert [(rule["id"], node["html"][:100]) for rule in found for node in rule["nodes"]] == []
    page.goto(report.as_uri())
    page.get_by_role("link", name="odd name").last.click()
    assert "Feedback for odd name" in page.title()
    assert faults == []
    context.close()
