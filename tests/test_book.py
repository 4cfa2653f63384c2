"""The built book as files: it asks nothing of other hosts, and its links resolve."""

import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT, documents

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course import npm

STATIC = ROOT / "book" / "_ext" / "course" / "static"


class Links(html.parser.HTMLParser):
    """Collects what a page names: its ids, where its links go, and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.ids |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        loads = tag in ("script", "img", "iframe", "source", "audio", "video") and given.get("src")
        styles = (
            tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload", "modulepreload") and given["href"]
        )
        self.loads += [address for address in (loads, styles) if address]


@pytest.fixture(scope="module")
def parsed(site: Path) -> dict[Path, Links]:
    return {
        path: Links(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }


def test_every_page_of_the_toc_is_built(site):
    assert [name for name in documents() if not (site / f"{name}.html").exists()] == []


def test_pages_load_only_files_of_the_site(parsed, site):
    for path, page in parsed.items():
        for address in page.loads:
            parts = urlsplit(address)
            assert not parts.netloc, f"{path.relative_to(site)} loads {address}"
            assert parts.scheme == "data" or (path.parent / unquote(parts.path)).exists(), (
                f"{path.relative_to(site)}: {address}"
            )


def test_style_sheets_load_only_files_of_the_site(site):
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\(\s*[\"']?([^\"')]+)", sheet.read_text(encoding="utf-8")):
            assert not urlsplit(address).netloc, f"{sheet.relative_to(site)} loads {address}"


def test_internal_links_resolve(parsed, site):
    broken = []
    for path, page in parsed.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = parsed[target].ids if target in parsed else {""}
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_no_formula_is_left_as_text(site):
    for name in documents():
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        text = re.sub(
            r"<annotation.*?</annotation>|<pre.*?</pre>|<code.*?</code>|<script.*?</script>", "", text, flags=re.S
        )
        assert not re.search(r"\\begin\{|\\frac|\\mathbb|\$\$", text), name


SAID = {
    ("86.6M", "parameters"): 86.6e6,
    ("86,567,656", "parameters"): 86567656,
    ("86.6 million params", "parameters"): 86.6e6,
    ("86.6", "million parameters"): 86.6,
    ("about 35.1 GFLOPs", "FLOPs"): 35.1e9,
    ("3.5 x 10^10 FLOPs", "GFLOPs"): 35,
    ("537 MB", "GB"): 0.537,
    ("16 GiB", "GiB"): 16,
    ("14%", "%"): 14,
    ("1 234 567", ""): 1234567,
    ("-.5e1", ""): -5,
    ("twelve", ""): None,
    ("12 bananas", "tokens"): None,
    ("17.5 GMACs", "GFLOPs"): None,
}


def judge(calls: list[list]) -> list[dict]:
    """What prediction.js answers to calls of its functions, run by node."""
    script = f"const p = require({json.dumps(str(STATIC / 'prediction.js'))});"
    script += f"console.log(JSON.stringify({json.dumps(calls)}.map(([name, ...given]) => p[name](...given))))"
    return json.loads(subprocess.run([npm.NODE, "-e", script], check=True, capture_output=True, text=True).stdout)


def test_a_typed_number_is_read_with_its_unit():
    read = judge([["readNumber", typed, unit] for typed, unit in SAID])
    for (typed, unit), want, answer in zip(SAID, SAID.values(), read, strict=True):
        assert ("error" in answer) if want is None else answer["value"] == pytest.approx(want), (typed, unit, answer)


def test_a_prediction_hears_how_far_off_it_is():
    answers = judge(
        [
            ["judgeNumber", 86e6, 86567656, 0.05],
            ["judgeNumber", 43e6, 86567656, 0.05],
            ["judgeNumber", 100e6, 86567656, 0.05],
            ["judgeShape", [32, 16, 577, 577], [32, 16, 577, 577], []],
            ["judgeShape", [32, 16, 576, 577], [32, 16, 577, 577], ["B", "h", "T", "T"]],
            ["judgeShape", [16, 32, 577, 577], [32, 16, 577, 577], []],
            ["judgeShape", [577, 577], [32, 16, 577, 577], []],
        ]
    )
    assert [answer["right"] for answer in answers] == [True, False, False, True, False, False, False]
    for answer, words in zip(
        answers,
        ["0.66% off", "low, by a factor of 2", "high, by 16%", "every axis", "3 (T)", "order", "4 axes"],
        strict=True,
    ):
        assert words in answer["words"], answer
    assert judge([["readShape", "32x16 x 577, 577"], ["readShape", "(2, n)"]]) == [
        {"value": [32, 16, 577, 577]},
        {"error": "Type whole numbers with commas, for example (32, 197, 768)."},
    ]
