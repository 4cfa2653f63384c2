"""The tracer: its steps against the model and the definition, and the page as a reader, a keyboard and a phone meet it."""

import ast
import json
import random
import re
import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest
from course import npm, tracer
from pages import ROOT, TOO_WIDE, Built, one_page, violations
from vit import model
from vit.family import config

CHAPTER = (ROOT / "book" / "02_forward.md").read_text(encoding="utf-8")
DEFINITION = re.search(r"^````\{prf:definition\} Vision.*?^````$", CHAPTER, re.DOTALL | re.MULTILINE).group()
STEPS = [step for part in tracer.STEPS.values() for step in part]
PLAIN, HEADED = Path(model.__file__), {"B": 32} | tracer.sizes(config("B/16"))


# --- the steps --------------------------------------------------------------------------------------------------


def made_by(line: str, part: str, frame) -> tuple[int, ...]:
    """The shape of what a line of code is about to make in `frame`; of `part` of the line, if that is given."""
    statement = ast.parse(line.removeprefix("return ") if line.startswith("return ") else line).body[0]
    if isinstance(statement, ast.AugAssign):
        source = f"{ast.unparse(statement.target)} + {ast.unparse(statement.value)}"
    else:
        source = ast.unparse(statement.value)
    value = eval(part or source, frame.f_globals, frame.f_locals)
    if isinstance(value, tuple):  # a shape
        return value
    several = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple) and not part
    return (value[0] if several else value).shape


def shapes_of_a_run(cfg: dict, batch: int) -> dict[str, tuple[int, ...]]:
    """What the lines that the steps name make while the model runs, by step."""
    wanted: dict[int, list[tracer.Step]] = {}
    for number, text in enumerate(PLAIN.read_text(encoding="utf-8").splitlines(), 1):
        for step in STEPS:
            if text.strip().startswith(step.code):
                wanted.setdefault(number, []).append(step)
    found: dict[str, tuple[int, ...]] = {}

    def watch(frame, event, argument):
        if frame.f_code.co_filename != str(PLAIN):
            return None
        if event == "line":
            for step in wanted.get(frame.f_lineno, []):
                found[step.key] = made_by("".join(step.line()), step.part, frame)
        return watch

    params = model.init(np.random.default_rng(0), cfg)
    image = np.random.default_rng(1).random((batch, cfg["img"], cfg["img"], cfg["C"]))
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        model.forward(params, image, "cls")
    finally:
        sys.settrace(before)
    return found


@pytest.mark.parametrize("registers", [0, 3])
def test_each_line_of_code_makes_the_shape_that_its_step_has(registers):
    cfg = config("tiny", d_ff=96, n_registers=registers)
    known = {"B": 2} | tracer.sizes(cfg)
    expected = {step.key: tuple(known[letter] for letter in step.axes.split()) for step in STEPS}
    assert shapes_of_a_run(cfg, batch=2) == expected


def test_each_formula_stands_in_the_definition():
    def bare(text: str) -> str:
        return re.sub(r"[\s&]|\\\\", "", text)

    formulas = [formula for step in STEPS for formula in re.findall(r"\$(.+?)\$", step.definition)]
    assert len(formulas) >= len(STEPS)
    assert [formula for formula in formulas if bare(formula) not in bare(DEFINITION)] == []


def test_only_the_scores_have_the_tokens_twice():
    assert [step.key for step in STEPS if step.axes.split().count("T") == 2] == ["scores"]
    assert max(step.axes.split().count("T") for step in STEPS) == 2


def test_the_five_choices():
    scores = {key: (c["h"], c["T"], c["T"]) for key, (_, cfg) in tracer.CHOICES.items() for c in [tracer.sizes(cfg)]}
    assert scores == {
        "B-16-224": (12, 197, 197),
        "B-16-384": (12, 577, 577),
        "L-14-336": (16, 577, 577),
        "H-14-224": (16, 257, 257),
        "B-16-1024-4": (12, 4101, 4101),
    }


def test_a_line_of_code_that_is_gone_is_named(monkeypatch, tmp_path):
    gone = tracer.Step("scores", "attention scores", "B h T T", "", "scores = nothing", "")
    with pytest.raises(ValueError, match=r"'scores': 0 lines begin with 'scores = nothing' in vit/model\.py"):
        gone.line()
    other = tracer.Step("scores", "attention scores", "B h T T", "", "scores = q @", "", part="v @ k")
    with pytest.raises(ValueError, match="'v @ k' is not in the line of 'scores = q @'"):
        other.line()
    monkeypatch.setattr(tracer, "STEPS", {"block": [gone]})
    assert "0 lines begin with" in one_page(tmp_path, "# T\n\n```{vit-tracer}\n```\n").warnings


# --- what a reader types ----------------------------------------------------------------------------------------

TYPED = {
    "(32, 12, 197, 197)": ("Right, every axis.", []),
    "B, h, T, T": ("Right, every axis.", []),
    "32 x 12 x 197 x 197": ("Right, every axis.", []),
    "[32; 12; N_p + 1; 14*14+1]": ("Right, every axis.", []),
    "(32, 12, 197)": ("The tensor has 4 axes; you typed 3.", None),
    "(32, 12, 196, 196)": (
        "T is wrong: you typed 196, which is N_p (patches of an image). T (tokens of an image) is 197.",
        [2, 3],
    ),
    "(B, L, T, T)": ("h is wrong: you typed L (blocks). h (heads) is 12.", [1]),
    "(32, 13, 197, 197)": ("h is wrong: you typed 13. h (heads) is 12.", [1]),
    "(32, 197, 12, 197)": ("These are the right sizes in another order.", [1, 2]),
    "(32, 64, 197, 197)": ("h is wrong: you typed 64, which is d_k (columns of a head). h (heads) is 12.", [1]),
}
UNREADABLE = ["", "four axes", "(32, 12, T*, T)", "(32, , 197)", "2 ** 3, 4", "(B, q, T, T)", "-3, +"]


def judged(typed: list[str], axes: str) -> list[dict]:
    """What shape.js says of typed shapes, run by node."""
    module = (npm.WEB / "src" / "figure" / "shape.js").as_uri()
    script = f"""import {{ judgeShape, readShape }} from {json.dumps(module)};
    const [typed, axes, sizes, names] = {json.dumps([typed, axes.split(), HEADED, tracer.LETTERS])};
    const judge = (text) => {{ const read = readShape(text, sizes); return read.error ? read : judgeShape(read.axes, axes, sizes, names); }};
    console.log(JSON.stringify(typed.map(judge)));"""
    done = subprocess.run([npm.NODE, "--input-type=module", "-e", script], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_the_wrong_letter_is_named():
    answers = judged(list(TYPED), "B h T T")
    assert {typed: (a["words"], a["wrong"]) for typed, a in zip(TYPED, answers, strict=True)} == TYPED
    assert [a["right"] for a in answers] == [wrong == [] for _, wrong in TYPED.values()]


def test_what_cannot_be_read_is_said():
    assert all(
        answer["error"].startswith("Type one number or letter per axis") for answer in judged(UNREADABLE, "B h T T")
    )


def test_every_step_can_be_typed_in_numbers_and_in_letters():
    for step in STEPS:
        numbers = ", ".join(str(HEADED[letter]) for letter in step.axes.split())
        letters = ", ".join(step.axes.split())
        assert [a["right"] for a in judged([numbers, letters, letters.replace("_", "")], step.axes)] == [True] * 3, (
            step.key
        )


# --- the page ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    """A page with the definition and the tracer."""
    text = f"# The forward pass\n\n{DEFINITION}\n\n## Tensor by tensor\n\n```{{vit-tracer}}\n```\n"
    return one_page(
        tmp_path_factory.mktemp("tracer"),
        text,
        extensions=["myst_nb", "sphinx_design", "sphinx_book_theme", "sphinx_exercise", "sphinx_proof", "course"],
        html_title="Test",
    )


def expected(choice: str, batch: int, number_type: str) -> list[tuple[tuple[int, ...], int, int]]:
    """(shape, numbers, bytes) of every step."""
    known = {"B": batch} | tracer.sizes(tracer.CHOICES[choice][1])
    shapes = [tuple(known[letter] for letter in step.axes.split()) for step in STEPS]
    return [(shape, prod(shape), prod(shape) * tracer.BYTES_PER[number_type]) for shape in shapes]


def table(page) -> list[tuple[tuple[int, ...], int, int]]:
    """The same, from the page's table."""
    rows = page.eval_on_selector_all(
        ".tracer tbody tr",
        "rows => rows.map(row => ['shape', 'numbers', 'bytes'].map(part => row.querySelector('.tracer-' + part).textContent))",
    )
    return [(ast.literal_eval(shape), *(int(re.sub(r"\D", "", n)) for n in numbers)) for shape, *numbers in rows]


def test_the_page_is_built_without_a_warning(built):
    assert built.warnings == ""
    assert "web/tracer.js" in built.html
    assert "web/tracer" not in (built.folder / "index.html").read_text(encoding="utf-8")


@pytest.mark.browser
def test_without_a_script_all_steps_are_in_a_table(open_page):
    page = open_page(java_script_enabled=False)
    assert table(page) == expected("B-16-224", 32, "bfloat16")
    assert page.locator(".tracer button").count() == 0
    marked = page.locator(".tracer tbody tr", has_text="grows with")
    assert [row.locator("td p").first.inner_text() for row in marked.all()] == ["attention scores"]
    assert page.locator(".tracer tbody .katex").count() >= 2 * len(STEPS) - 1


@pytest.mark.browser
def test_every_number_is_pythons(open_page):
    page, rng = open_page(), random.Random(6)
    for choice in tracer.CHOICES:
        batch, number_type = rng.randint(1, 4096), rng.choice(list(tracer.BYTES_PER))
        page.get_by_label("Model and image").select_option(choice)
        page.get_by_label("Images in the batch").fill(str(batch))
        page.get_by_label("Type of a number").select_option(number_type)
        steps = expected(choice, batch, number_type)
        assert table(page) == steps
        most = max(numbers for _, numbers, _ in steps)
        page.locator(".tracer-steps button").first.click()
        for step, (shape, numbers, in_bytes) in zip(STEPS, steps, strict=True):
            shown = page.locator(".tracer-number").all_inner_texts()
            assert tuple(int(text.replace(",", "")) for text in shown) == shape, step.key
            size = page.locator(".tracer-size").inner_text()
            assert size.startswith(f"{numbers:,} numbers, {in_bytes:,} bytes in {number_type}")
            assert page.locator(".tracer-square").is_visible() == (step.key == "scores")
            bar = page.locator("[aria-current] .tracer-bar > span")
            assert float(bar.get_attribute("style").split()[1].rstrip("%;")) == pytest.approx(
                100 * numbers / most, abs=1e-3
            )
            if step is not STEPS[-1]:
                page.get_by_role("button", name="Next").click()


@pytest.mark.browser
def test_a_prediction_comes_before_the_shape(open_page):
    page = open_page("#tracer?model=L-14-336&step=scores&batch=32&predict=yes")
    shape, answers = page.get_by_role("list", name="Shape"), page.get_by_text("All steps in one table")
    box = page.get_by_label("Its shape, in numbers or letters")
    assert shape.is_hidden() and answers.is_hidden() and page.locator(".tracer-size").is_hidden()
    assert "577" not in page.locator(".tracer").inner_text()

    for typed, verdict, open_now in [
        ("what?", "Type one number or letter per axis", False),
        ("(32, 577, 577)", "The tensor has 4 axes; you typed 3.", False),
        ("(32, 16, 576, 576)", "T is wrong: you typed 576, which is N_p", True),
        ("(32, 16, 577, 577)", "Right, every axis.", True),
    ]:
        box.fill(typed)
        box.press("Enter")
        assert page.locator(".tracer-verdict").inner_text().startswith(verdict)
        assert shape.is_visible() == open_now
        assert page.locator("[data-wrong]").count() == (2 if "576" in typed else 0)

    page.get_by_role("button", name="Next").click()
    assert shape.is_hidden() and box.input_value() == ""
    page.get_by_role("button", name="Show the shape").click()
    assert shape.is_visible()
    page.get_by_label("Images in the batch").fill("8")  # another shape, so predict anew
    assert shape.is_hidden()
    page.get_by_label("Predict each shape first").uncheck()
    assert shape.is_visible() and answers.is_visible()


@pytest.mark.browser
def test_the_keyboard_walks_and_a_screen_reader_hears_it(open_page):
    page = open_page()
    said = page.locator(".tracer-said")
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    assert said.inner_text().startswith(
        "Step 2 of 19, before the blocks: flattened patches. Shape: B 32, N_p 196, P²C 768."
    )
    page.keyboard.press("End")
    assert said.inner_text().startswith("Step 19 of 19, after the blocks: logits. Shape: B 32, K 1000.")
    page.keyboard.press("ArrowRight")  # nothing follows
    assert "Step 19" in said.inner_text() and page.evaluate("document.activeElement.textContent") == "Next →"
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    page.locator(".tracer-steps [aria-current]").focus()
    for key in ["Home", "ArrowDown", "ArrowRight", "ArrowUp"]:
        page.keyboard.press(key)
    assert "Step 2 of 19" in said.inner_text()
    assert "flattened patches" in page.evaluate("document.activeElement.textContent")
    assert page.locator(".tracer-steps button[tabindex='0']").count() == 1
    page.get_by_label("Images in the batch").press("ArrowUp")  # a number's own key
    assert page.get_by_label("Images in the batch").input_value() == "33" and "Step 2 of 19" in said.inner_text()


@pytest.mark.browser
def test_a_link_leads_to_a_step(open_page, page_address):
    page = open_page()
    page.get_by_label("Model and image").select_option("H-14-224")
    page.locator(".tracer-steps").get_by_role("button", name="inside the MLP").click()
    link = page.get_by_role("link", name="Link to this step").get_attribute("href")
    assert page.url == page_address + link
    other = open_page(link)
    assert other.locator(".tracer-name").inner_text() == "Inside the MLP"
    assert other.locator(".tracer-number").all_inner_texts() == ["32", "257", "5,120"]
    assert other.evaluate("document.querySelector('.tracer').getBoundingClientRect().top") < 200
    odd = open_page("#tracer?model=X&step=none&batch=1.5&type=int8")
    assert (
        odd.locator(".tracer-name").inner_text() == "Image" and odd.locator(".tracer-number").first.inner_text() == "32"
    )
    plain = open_page("#tensor-by-tensor")
    assert plain.url.endswith("#tensor-by-tensor"), "the address is left alone until the reader does something"


@pytest.mark.browser
@pytest.mark.parametrize("typed", ["0", "-3", "2.5", "4097", ""])
def test_a_batch_that_is_none_is_refused_in_a_sentence(open_page, typed):
    page = open_page()
    page.get_by_label("Images in the batch").fill(typed)
    assert page.locator(".tracer-trouble").inner_text() == "The batch is a whole number from 1 to 4,096."
    assert page.locator(".tracer-number").first.inner_text() == "32"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_and_fit_for_a_phone(open_page, axe, scheme):
    for link in ("#tracer?model=B-16-1024-4&step=scores", "#tracer?step=hidden&predict=yes"):
        page = open_page(link, color_scheme=scheme)
        if "predict" in link:
            page.get_by_label("Its shape").fill("(32, 197, 768)")
            page.keyboard.press("Enter")
        else:
            page.get_by_text("All steps in one table").click()
        page.wait_for_timeout(300)  # colors change in a transition
        assert violations(page, axe) == []
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate(TOO_WIDE) == []


@pytest.mark.browser
def test_paper_gets_the_table(open_page):
    page = open_page()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".tracer tbody tr").last.is_visible() and page.locator(".tracer-stage").is_hidden()
