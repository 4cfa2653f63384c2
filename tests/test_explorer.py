"""The explorer: every number it shows against vit.cost, at settings drawn at random, and the page as a reader meets it."""

import random
import re
from fractions import Fraction

import pytest
from course import explorer
from pages import TOO_WIDE, Built, one_page, violations
from vit import cost
from vit.data import datum
from vit.family import FAMILY, Config

PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
SETTINGS = 200


# --- what Python says -------------------------------------------------------------------------------------------


def draw(rng: random.Random) -> dict[str, str]:
    """Settings as a link writes them; every model at its smallest and its largest side comes up now and then."""
    model = rng.choice(list(FAMILY))
    P = FAMILY[model]["P"]
    sides = list(range(P, explorer.LARGEST + 1, P))
    return {
        "model": model,
        "res": str(rng.choice([sides[0], sides[-1], 224, *rng.sample(sides, 9)])),
        "cls": rng.choice(["yes", "no"]),
        "registers": str(rng.choice([0, 4, rng.randint(0, 16)])),
        "images": rng.choice(list(explorer.IMAGES)),
        "epochs": str(rng.choice([1, 7, 300, rng.randint(1, 10_000)])),
        "machine": rng.choice(list(explorer.MACHINES)),
        "mfu": str(rng.choice([40, 54.9, 100, rng.randint(1, 100), rng.randint(1, 1000) / 10])),
    }


def config(settings: dict[str, str]) -> tuple[Config, int]:
    changes = {"cls_token": settings["cls"] == "yes", "n_registers": int(settings["registers"])}
    res = int(settings["res"])
    return FAMILY[settings["model"]] | changes | {"img": res}, res


def expected(settings: dict[str, str]) -> dict[str, float | Fraction]:
    """Every value that the page shows, by its name there."""
    cfg, res = config(settings)
    bare = cfg | explorer.BARE
    L, window, n_global = cfg["L"], 14, 4  # of SAM
    macs = cost.macs(cfg, res)
    weights, lse = cost.attention_bytes(cfg, res), cost.attention_bytes(cfg, res, flash=True)
    padded, windows, _ = cost.window_plan(bare, window, res)
    all_macs, all_weights = cost.macs(bare, res)["attention"], cost.attention_bytes(bare, res)
    mixed_macs = cost.windowed_attention_macs(bare, window, n_global, res)
    mixed_weights = cost.windowed_attention_bytes(bare, window, n_global, res)
    images = datum(*explorer.IMAGES[settings["images"]][1:]).value
    peak = datum(*explorer.MACHINES[settings["machine"]][1:]).value
    flops = cost.pretraining_flops(cfg, res, int(settings["epochs"]), images)
    times = lambda before, after: max(Fraction(before, after), Fraction(after, before))  # noqa: E731
    return {
        **{f"macs.{term}": count for term, count in macs.items()},
        **{
            f"share.{term}": Fraction(100 * macs[term], macs["total"])
            for term in ("patch", "linear", "attention", "head")
        },
        "flops": 2 * macs["total"],
        "parameters": cost.parameters(cfg),
        "tokens": cost.tokens(cfg, res),
        "crossover": cost.crossover_res(cfg),
        "weights.layer": weights // L,
        "weights.all": weights,
        "logSumExp.layer": lse // L,
        "logSumExp.all": lse,
        "logSumExp.less": times(weights, lse),
        "window.grid": res // cfg["P"],
        "window.padded": padded,
        "window.count": windows,
        "global.macs": all_macs,
        "global.weights": all_weights,
        "mixed.macs": mixed_macs,
        "mixed.weights": mixed_weights,
        "mixed.macs.less": times(all_macs, mixed_macs),
        "mixed.weights.less": times(all_weights, mixed_weights),
        "images": images,
        "exaflops": Fraction(flops, 10**18),
        "mfu": float(settings["mfu"]),
        "peak": peak,
        "days": cost.device_days(flops, peak * 1e12, float(settings["mfu"]) / 100),
    }


EXACT = {"flops", "parameters", "tokens", "crossover", "images", "mfu", "peak"}


def is_exact(name: str) -> bool:
    return name in EXACT or bool(re.fullmatch(r"(macs|weights|logSumExp|window|global|mixed)\.(?!less)\w+", name))


def agrees(shown: str, value: float | Fraction) -> bool:
    """Whether a text such as "17.56 G", "95.26%" or "329,500,000" shows a value, rounded where the text stops."""
    if shown == "the same":
        return value == 1
    if shown == "< 0.01%":
        return 0 < value < Fraction(5, 1000)
    match = re.fullmatch(r"([\d,]+)(?:\.(\d+))?(?: ?([kMGTPE]?)B?)?%?", shown)
    if not match:
        return False
    whole, decimals, prefix = match[1].replace(",", ""), match[2] or "", match[3] or ""
    half = Fraction(1, 2) * Fraction(10) ** (max(len(whole) - 4, 0) - len(decimals))  # of the last of four digits
    off = abs(Fraction(f"{whole}.{decimals or 0}") - Fraction(value) / PREFIXES[prefix])
    return off <= half * (1 + Fraction(1, 10**9))


def faults(shown: dict[str, list[str]], small: list[str], settings: dict[str, str]) -> list[str]:
    """What the page shows that is not what Python says. `small` are the roundings, each after its exact number."""
    wanted, found = expected(settings), []
    for name in sorted(wanted.keys() | shown.keys()):
        for text in shown.get(name, ["nothing"]):
            if name not in wanted or text == "nothing":
                good = False
            elif is_exact(name):
                good = Fraction(text.replace(",", "")) == Fraction(str(wanted[name]))
            else:
                good = agrees(text, wanted[name])
            if not good:
                found.append(f"{settings}: {name} is {wanted.get(name)}, the page shows {text}")
    found += [
        f"{settings}: {exact} is shown as {text}"
        for exact, text in small
        if not agrees(text, int(exact.replace(",", "")))
    ]
    return found


def test_the_comparison_can_fail():
    assert agrees("17.56 G", 17563828224) and not agrees("17.57 G", 17563828224)
    assert agrees("40.50", Fraction("40.5012")) and not agrees("40.50", Fraction("40.51"))
    assert agrees("0.01234", Fraction("0.012344")) and not agrees("0.01234", Fraction("0.012346"))
    assert agrees("4.07%", Fraction("4.0727")) and not agrees("4.08%", Fraction("4.0727"))
    assert agrees("< 0.01%", Fraction("0.004")) and not agrees("< 0.01%", Fraction(0))
    assert agrees("the same", 1) and not agrees("the same", Fraction(3, 2))
    settings = draw(random.Random(0))
    right = {name: [str(value)] for name, value in expected(settings).items() if is_exact(name)}
    assert all("nothing" in fault for fault in faults(right, [], settings))
    off_by_one = {"macs.total": [str(expected(settings)["macs.total"] + 1)]}
    assert len(faults(right | off_by_one, [("1,000", "2.000 k")], settings)) == len(faults(right, [], settings)) + 2


# --- the page ---------------------------------------------------------------------------------------------------

READ = """() => {
  const shown = {};
  for (const node of document.querySelectorAll(".explorer [data-value]")) (shown[node.dataset.value] ??= []).push(node.textContent);
  const small = [...document.querySelectorAll(".explorer td > small")]
    .filter((node) => !/patches/.test(node.textContent))
    .map((node) => [node.previousElementSibling.textContent, node.textContent]);
  return [shown, small];
}"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    text = "# Costs\n\n## Explore\n\n```{vit-explorer}\n```\n\n## After\n\nText.\n"
    return one_page(tmp_path_factory.mktemp("explorer"), text, html_title="Test")


def link(settings: dict[str, str]) -> str:
    return "#explorer?" + "&".join(f"{key}={value}" for key, value in settings.items())


def test_the_page_is_built_without_a_warning(built):
    assert built.warnings == ""
    assert "web/explorer.js" in built.html
    assert "web/explorer" not in (built.folder / "index.html").read_text(encoding="utf-8")


@pytest.mark.browser
def test_two_hundred_settings_agree_with_python(open_page):
    page, rng, found = open_page(), random.Random(200), []
    drawn = [draw(rng) for _ in range(SETTINGS)]
    for settings in drawn:
        page.evaluate("hash => { location.hash = hash; }", link(settings))
        title = rf"{re.escape(settings['model'])} at {int(settings['res']):,} pixels"
        page.wait_for_function(
            "title => document.querySelector('.explorer-title').textContent.endsWith(title)",
            arg=title.replace("\\", ""),
        )
        page.wait_for_function(
            "mfu => document.querySelector('[data-value=mfu]').textContent === mfu", arg=f"{float(settings['mfu']):g}"
        )
        shown, small = page.evaluate(READ)
        found += faults(shown, small, settings)
    assert found == []
    assert {s["model"] for s in drawn} == set(FAMILY) and {s["machine"] for s in drawn} == set(explorer.MACHINES)
    assert {int(s["res"]) for s in drawn} >= {14, 16, 2044, 2048}


@pytest.mark.browser
def test_each_control_changes_what_is_shown(open_page):
    """The same through the controls, from what the page begins with."""
    page = open_page()
    settings = {key: str(value) for key, value in explorer.START.items()} | {"cls": "yes", "registers": "0"}
    changes = [
        ("model", "H/14", lambda v: page.get_by_role("combobox", name="Model").select_option(v)),
        ("res", "518", lambda v: page.get_by_label("Image side in pixels").fill(v)),
        ("cls", "no", lambda v: page.get_by_label("Class token").uncheck()),
        ("registers", "4", lambda v: page.get_by_label("Registers").fill(v)),
        ("images", "jft-300m", lambda v: page.get_by_role("combobox", name="Images").select_option(v)),
        ("epochs", "14", lambda v: page.get_by_label("Epochs").fill(v)),
        ("machine", "tpu-v3-core", lambda v: page.get_by_label("Accelerator").select_option(v)),
        ("mfu", "32.1", lambda v: page.get_by_label("Utilization").fill(v)),
    ]
    assert faults(*page.evaluate(READ), settings) == []
    for key, value, act in changes:
        act(value)
        settings[key] = value
        assert faults(*page.evaluate(READ), settings) == [], key
    slider = page.get_by_role("slider", name="Image side")
    slider.press("ArrowRight")
    assert faults(*page.evaluate(READ), settings | {"res": "532"}) == []
    assert page.get_by_label("Image side in pixels").input_value() == "532"
    page.get_by_role("combobox", name="Model").select_option(
        "DINOv3-7B"
    )  # has a class token and registers of its own, other patches
    assert faults(*page.evaluate(READ), settings | {"model": "DINOv3-7B", "res": "528", "cls": "yes"}) == []
    page.wait_for_function("location.hash.includes('DINOv3-7B')")  # a moment after the last change
    assert page.locator(".explorer-said").inner_text().startswith("DINOv3-7B at 528 pixels: ")


@pytest.mark.browser
def test_a_link_brings_the_settings_back(open_page):
    settings = draw(random.Random(3))
    page = open_page(link(settings))
    again = open_page(page.get_by_role("link", name="Link to these settings").get_attribute("href"))
    assert again.evaluate(READ) == page.evaluate(READ)
    assert again.evaluate("document.querySelector('.explorer').getBoundingClientRect().top") < 200
    odd = open_page("#explorer?model=none&res=-3&registers=2.5&mfu=0&images=all")
    assert odd.locator(".explorer-title").inner_text() == "ViT-B/16 at 224 pixels"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("label", "typed", "sentence"),
    [
        ("Image side in pixels", "230", "230 pixels cannot be cut into patches of 16. Take 224 or 240."),
        ("Image side in pixels", "2050", "The image side is a whole number of pixels from 16 to 2,048."),
        ("Image side in pixels", "", "The image side is a whole number of pixels from 16 to 2,048."),
        ("Registers", "1.5", "Registers are a whole number from 0 to 16."),
        ("Epochs", "0", "Epochs are a whole number from 1 to 10,000."),
        ("Utilization", "101", "A utilization is above 0 and at most 100%."),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(open_page, label, typed, sentence):
    page = open_page()
    before = page.evaluate(READ)
    page.get_by_label(label).fill(typed)
    assert page.locator(".explorer-trouble").inner_text() == sentence
    assert page.get_by_label(label).get_attribute("aria-invalid") == "true"
    assert page.evaluate(READ) == before
    page.get_by_label(label).fill("16")
    assert page.locator(".explorer-trouble").inner_text() == ""


@pytest.mark.browser
@pytest.mark.parametrize("name", FAMILY)
def test_the_pictures_show_the_shares(open_page, name):
    cfg, res = FAMILY[name], 112
    page = open_page(f"#explorer?model={name}&res={res}")
    order = ("linear", "attention", "patch", "head")
    macs = cost.macs(cfg, res)
    widths = page.eval_on_selector_all(
        ".explorer-picture rect[data-term]", "parts => parts.map(part => [part.dataset.term, part.width.baseVal.value])"
    )
    total = sum(width for _, width in widths)
    assert [term for term, _ in widths] == list(order)
    assert [width / total for _, width in widths] == pytest.approx(
        [macs[term] / macs["total"] for term in order], abs=1e-6
    )

    areas = page.eval_on_selector_all(
        ".explorer-picture path[data-term]", "parts => parts.map(part => [part.dataset.term, part.getAttribute('d')])"
    )
    assert [term for term, _ in areas] == list(order)
    sides = range(cfg["P"], explorer.LARGEST + 1, cfg["P"])
    points = {term: [tuple(map(float, point.split(","))) for point in d.strip("MZ").split("L")] for term, d in areas}
    floor = points["linear"][-1][1]  # the height of no share at all
    height = floor - points["head"][0][1]
    assert all(len(each) == 2 * len(sides) for each in points.values())
    for i, side in enumerate(sides):
        at = cost.macs(cfg, side)
        shares = [(each[-1 - i][1] - each[i][1]) / height for each in points.values()]
        assert shares == pytest.approx([at[term] / at["total"] for term in order], abs=2e-4), side
    words = page.locator(".explorer-picture").last.get_attribute("aria-label")
    crossover = cost.crossover_res(cfg)
    assert (f"catches up with the linear layers at {crossover:,}." in words) == (crossover <= explorer.LARGEST)
    assert page.get_by_text(f"equal at {crossover:,}").count() == (crossover <= explorer.LARGEST)


@pytest.mark.browser
def test_without_a_script_the_family_is_in_a_table(open_page):
    page = open_page(java_script_enabled=False)
    rows = [row.locator("td").all_inner_texts() for row in page.locator(".explorer tbody tr").all()]
    assert [row[0] for row in rows] == list(FAMILY)
    assert rows[2] == ["B/16", "17.56", "0.66%", "95.26%", "4.07%", "0.00%", "1,088 pixels", "11.2 MB"]
    assert page.locator(".explorer select").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_and_fit_for_a_phone(open_page, axe, scheme):
    page = open_page("#explorer?model=ViT-22B&res=2044", color_scheme=scheme)
    page.get_by_label("Epochs").fill("0")
    page.wait_for_timeout(300)  # colors change in a transition
    assert violations(page, axe) == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(TOO_WIDE) == []
    pictures = page.eval_on_selector_all(
        ".explorer-picture", "all => all.map(each => each.viewBox.baseVal.width - each.clientWidth)"
    )
    assert [round(difference) for difference in pictures] == [0, 0], "drawn anew, so that the letters stay readable"


@pytest.mark.browser
def test_parts_differ_by_pattern(open_page):
    page = open_page()
    marks = page.eval_on_selector_all(
        ".explorer-patterns pattern",
        "all => all.map(each => [...each.children].slice(1).map(part => part.outerHTML).join())",
    )
    assert len(marks) == len(set(marks)) == 4


@pytest.mark.browser
def test_paper_gets_the_numbers_and_the_pictures(open_page):
    page = open_page()
    page.emulate_media(media="print")
    assert page.locator(".explorer-controls").first.is_hidden()
    assert page.locator(".explorer-title").is_visible() and page.locator(".explorer-picture").last.is_visible()
