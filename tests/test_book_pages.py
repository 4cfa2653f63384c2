"""Every page of the book in a real browser: nothing from elsewhere, accessible in light and dark, fit for a phone."""

from pathlib import Path

import pytest
from pages import TOO_WIDE, documents, violations

pytestmark = pytest.mark.browser

PAGES = [f"{name}.html" for name in [*documents(), "genindex", "search"]]


@pytest.fixture
def page(browser, address):
    """A page that notes what it asks of other hosts, and what goes wrong."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.elsewhere, page.faults = [], []
    own = (address, "file://", "data:", "blob:")
    page.on("request", lambda request: request.url.startswith(own) or page.elsewhere.append(request.url))
    page.on("requestfailed", lambda request: page.faults.append(request.url))
    page.on("response", lambda answer: answer.status < 400 or page.faults.append(f"{answer.status} {answer.url}"))
    page.on("console", lambda message: message.type == "error" and page.faults.append(message.text))
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    yield page
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_page(page, address, axe, name):
    page.goto(address + name, wait_until="networkidle")
    assert page.elsewhere == [], "asks other hosts"
    assert page.faults == []
    assert violations(page, axe) == [], "light"

    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    page.wait_for_timeout(300)  # colors change in a transition
    assert violations(page, axe) == [], "dark"

    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, page.evaluate(TOO_WIDE)
    assert page.evaluate(TOO_WIDE) == []

    images = page.eval_on_selector_all("article img", "images => images.map(image => [image.src, image.alt])")
    assert [source for source, alt in images if len(alt) < 12 or Path(source).name in alt] == [], (
        "without a description"
    )


@pytest.mark.parametrize("name", PAGES)
def test_page_without_a_server(page, site, name):
    page.goto((site / name).as_uri(), wait_until="load")
    assert page.locator("main h1:not(#jb-print-docs-body *)").first.is_visible()
    assert page.elsewhere == []
    assert [fault for fault in page.faults if "searchindex" not in fault] == []
