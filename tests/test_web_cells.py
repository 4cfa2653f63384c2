"""Code cells of the chapters that run in the page: which ones do, and that they give there what the book shows."""

import sys

import pytest
from pages import ROOT, documents
from test_web_parts import perform  # noqa: F401

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course import cells

COLLECT = """() => [...document.querySelectorAll("script.live-cell")].map((mark) => {
  const cell = mark.closest("div.cell");
  const shown = [...cell.querySelectorAll(".cell_output pre")].map((pre) => pre.textContent).join("");
  return { ...JSON.parse(mark.textContent), code: cell.querySelector("pre").textContent, shown };
})"""


def given(cell: str, *earlier: str) -> str | None:
    """The statements that a cell gets from earlier cells, or None if it is not live."""
    chosen = cells.before(cells.statements(cell), [each for code in earlier for each in cells.statements(code)])
    return None if chosen is None else "; ".join(statement.code for statement in chosen)


def test_a_cell_gets_what_it_needs_and_no_more():
    first = "import math, json\nfrom vit import cost, model\nx = 2\ny = math.sqrt(x)\nz = 3"
    assert given("y + 1", first) == "import math; x = 2; y = math.sqrt(x)"
    assert given("z", first) == "z = 3"
    assert given("cost.parameters", first) == "from vit import cost"
    assert given("f(1)", "n = 1", "def f(k):\n    return [k + n for k in range(k)]") == (
        "n = 1; def f(k):\n    return [k + n for k in range(k)]"
    )
    assert given("s", "s = 1", "s += 1", "t = 0") == "s = 1; s += 1"
    assert given("for x in y:\n    n += x", "x = 5", "n = 0", "y = [1]") == "n = 0; y = [1]"
    assert given("T = 3\nT", "import numpy as np\nT = np.ones(3)") == "", "its own T"
    assert given(
        "rng.normal()", "import numpy as np\nrng = np.random.default_rng(1)\nx = rng.normal(size=3)\ny = 1"
    ) == ("import numpy as np; rng = np.random.default_rng(1); x = rng.normal(size=3)"), "what was drawn before counts"


def test_a_cell_that_needs_more_than_numpy_is_not_live():
    assert given("plt.plot(1)", "import matplotlib.pyplot as plt") is None
    assert given("a", "import torch", "a = torch.ones(3)") is None
    assert given("figure()", "from vit.figures import figure") is None
    assert given("unknown") is None
    assert given("np.ones(3)", "import numpy as np\nimport torch") == "import numpy as np"


def test_what_a_cell_loads_is_found_through_the_books_library():
    assert cells.files(cells.reach({"vit.cost"})) == ["vit/cost.py", "vit/family.py"]
    assert "numpy" in cells.reach({"vit.model"}) and "numpy" not in cells.reach({"vit.cost"})
    assert any(file.startswith("data/") for file in cells.files({"vit.data"}))


@pytest.mark.browser
@pytest.mark.parametrize(
    "name", [name for name in documents() if name.startswith("book/0") or name.startswith("book/1")]
)
def test_live_cells_give_what_the_page_shows(browser, address, perform, name):  # noqa: F811
    page = browser.new_page()
    page.goto(f"{address}{name}.html", wait_until="networkidle")  # the server is silent from here on
    collected = page.evaluate(COLLECT)
    page.close()
    for cell in collected:
        result, printed = perform(cell["code"], given=cell["given"])
        assert result["ok"], printed
        assert printed.split() == cell["shown"].split(), cell["code"]


@pytest.mark.browser
def test_a_cell_is_changed_and_run_in_the_page(browser, address):
    page = browser.new_page()
    elsewhere = []
    page.on("request", lambda request: request.url.startswith((address, "blob:")) or elsewhere.append(request.url))
    page.goto(f"{address}book/07_training_compute.html")
    pure = [i for i, cell in enumerate(page.evaluate(COLLECT)) if not cell["packages"]]
    cell = page.locator("div.cell:has(script.live-cell)").nth(pure[0])
    cell.get_by_role("button", name="Edit and run").click()
    editor = cell.locator(".cm-content")
    editor.wait_for()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.insert_text("\nprint('changed')")
    page.keyboard.press("Shift+Enter")
    cell.get_by_text("Done.").wait_for()
    assert cell.locator(".live-output").inner_text().endswith("changed\n")
    cell.get_by_role("button", name="Start over").click()
    assert "changed" not in editor.inner_text()
    assert elsewhere == []
    page.close()
