"""What a page loads before it shows anything: little, from one place, and in the reader's colors."""

import re

import pytest
from pages import documents


@pytest.mark.parametrize("name", documents())
def test_a_page_has_one_style_sheet_and_scripts_that_wait(site, name):
    text = (site / f"{name}.html").read_text(encoding="utf-8")
    sheets = re.findall(r'<link [^>]*href="(?:\.\./)*_static/([^"?]*\.css)', text)
    assert sheets == ["book.css", "pygments.css"]  # the theme writes the second one last, so it stays for itself
    scripts = re.findall(r"<script ([^>]*src=[^>]*)>", text)
    assert scripts and [script for script in scripts if "defer" not in script] == []
    assert "searchindex.js" not in text


def test_pages_say_what_they_are_about(site):
    texts = [(site / f"{name}.html").read_text(encoding="utf-8") for name in documents()]
    said = [re.findall(r'<meta name="description" content="([^"]*)"', text) for text in texts]
    assert [len(each) for each in said] == [1] * len(said)
    assert all(40 <= len(each[0]) <= 400 for each in said) and len({each[0] for each in said}) == len(said)


def test_addresses_in_the_style_sheet_lead_somewhere(site):
    sheet = (site / "_static" / "book.css").read_text(encoding="utf-8")
    fonts = re.findall(r"url\(([^)\"']+\.woff2?)\)", sheet)
    assert "icons.woff" in fonts and any("KaTeX" in font for font in fonts)
    woff2 = [font for font in fonts if font.endswith(("2", "icons.woff"))]
    assert [font for font in woff2 if not (site / "_static" / font).exists()] == []


@pytest.mark.browser
def test_the_small_font_has_all_the_icons(browser, address):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    fonts = []
    page.on("request", lambda request: request.resource_type == "font" and fonts.append(request.url))
    for name in documents():
        page.goto(f"{address}{name}.html", wait_until="networkidle")
    context.close()
    assert any(font.endswith("icons.woff") for font in fonts)
    assert [font for font in fonts if "fa-solid" in font] == []


@pytest.mark.browser
def test_a_dark_page_is_dark_before_the_themes_script_runs(browser, address):
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
    page.goto(f"{address}book/index.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    context.close()


@pytest.mark.browser
def test_the_search_page_finds_something(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}search.html?q=registers")
    page.locator("#search-results li").first.wait_for()
    context.close()


@pytest.mark.browser
def test_a_wide_formula_can_be_scrolled_with_the_keyboard(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{address}book/12_remember.html", wait_until="load")
    wide = "[...document.querySelectorAll('.katex-display')].filter((each) => each.scrollWidth > each.clientWidth)"
    page.wait_for_function(f"{wide}.length > 0 && {wide}.every((each) => each.tabIndex === 0)")
    context.close()
