"""Every number in the prose of every chapter is backed, and the check that says so can fail."""

from textwrap import dedent

import pytest
from vit import numbers
from vit.chapters import Directive, chapters, parse
from vit.numbers import claims, examine, examine_all, main, report

PATHS = chapters()
CELL = """
```{code-cell} ipython3
:tags: [remove-cell]
from vit.ledger import back, cite, declare
%s
```
"""


@pytest.fixture(scope="module")
def examined():
    """The ledger of every chapter, each run in a process of its own."""
    return {chapter.path.stem: chapter for chapter in examine_all(PATHS)}


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.stem for path in PATHS])
def test_every_number_is_backed(examined, name):
    chapter = examined[name]
    assert chapter.numbers, "a chapter without numbers is a chapter that was not read"
    assert not chapter.faults, "\n".join(chapter.faults)
    assert not chapter.unbacked, "\n".join(f"{name}.md:{number.line}: {number.shown}" for number in chapter.unbacked)


@pytest.mark.slow
def test_few_numbers_are_only_declared(examined):
    everything = [number for chapter in examined.values() for number in chapter.numbers]
    declared = [number for number in everything if number.entry and number.entry.kind == "declared"]
    assert len(declared) < 0.15 * len(everything)


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """Write a chapter and examine it here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numbers, "BOOK", tmp_path)

    def written(prose: str, *ledger: str):
        path = tmp_path / "99_trial.md"
        path.write_text("---\nkernelspec: {name: python3}\n---\n\n" + dedent(prose) + CELL % "\n".join(ledger))
        return examine(path)

    return written


def test_a_backed_number_passes(chapter):
    good = chapter("It has 86,567,656 parameters.", 'back("86,567,656 parameters", 86_567_656)')
    assert not good.unbacked and not good.faults
    assert "1 numbers, 1 backed: 100.0%" in report([good])


def test_an_unbacked_number_is_found_with_its_line(chapter):
    (number,) = chapter("It has\n86,567,656 parameters.").unbacked
    assert (number.shown, number.line) == ("86,567,656 parameters", 6)


def test_a_wrong_digit_in_the_prose_is_unbacked(chapter):
    bad = chapter("It has 86,567,657 parameters.", 'back("86,567,656 parameters", 86_567_656)')
    assert [number.shown for number in bad.unbacked] == ["86,567,657 parameters"]
    assert "backs no number" in bad.faults[0]


def test_a_wrong_unit_in_the_prose_is_unbacked(chapter):
    for prose in ("It has 17.56 T MACs.", "It has 17.56 G parameters.", "It has 17.56%."):
        assert chapter(prose, 'back("17.56 G MACs", 17_563_828_224)').unbacked, prose


def test_a_wrong_value_is_a_fault(chapter):
    bad = chapter("It has 17.65 G MACs.", 'back("17.65 G MACs", 17_563_828_224)')
    assert 'should read "17.56 G MACs"' in bad.faults[0] and "99_trial.md:9" in bad.faults[0]
    assert bad.unbacked


def test_one_bad_entry_does_not_hide_the_next(chapter):
    bad = chapter("3 heads, 4 blocks.", 'back("3 heads", 4)', 'back("4 blocks", 5)')
    assert len(bad.faults) == 2


def test_a_failing_cell_is_a_fault(chapter):
    assert "fails with ZeroDivisionError" in chapter("Words.", "1 / 0").faults[0]


def shown(markdown: str) -> list[str]:
    return [number for _, number, _ in claims(parse(dedent(markdown).splitlines(), 1))]


def test_formulas_tables_captions_titles_and_answers_are_read():
    assert shown("$T = 197$ and\n\n$$\nx = 198\n$$\n") == ["197", "198"]
    assert shown("```{math}\n:label: eq-7\nx = 199\n```\n") == ["199"]
    assert shown("| a | 200 |\n|:--|--:|\n| b | 201 MB |\n") == ["200", "201 MB"]
    assert shown("```{figure} a12.png\n:alt: A grid of 14 patches\nThe 15 heads\n```\n") == ["14 patches", "15 heads"]
    assert shown("```{code-cell} python\n:mystnb:\n:  image:\n:    alt: '16 bars'\nx = 5\n```\n") == ["16"]
    assert shown("```{code-cell} python\n---\nmystnb:\n  figure:\n    caption: '17 tokens'\n---\nx = 5\n```\n") == [
        "17 tokens"
    ]
    assert shown(
        "````{prediction} What of 18 layers?\n:answer: 86567656\n:unit: MACs\n:tolerance: 5%\n\n```{note}\n19 px\n```\n````\n"
    ) == [
        "18 layers",
        "86567656 MACs",
        "19 px",
    ]
    assert shown("```{prf:theorem} A sum of 20\n:label: t-3\n21 tokens\n```\n") == ["20", "21 tokens"]
    assert shown("```text\nX (B, 197, 768)\n```\n") == ["197", "768"]
    assert shown("The shape is `(2, 16, 192)`, by `cfg[3]`.") == ["2", "16", "192"]


def test_code_labels_addresses_and_names_are_not_read():
    for markdown in (
        "```python\nx = 5\n```\n",
        "```{code-cell} python\n:tags: [remove-cell]\nx = 5\n```\n",
        "{cite}`touvron2021` and {eq}`eq-12` and {doc}`05_parameters` and [text](page12.html) and <https://a.b/12>",
        "(label-12)=\n% 12 tokens\n<!-- 12 tokens -->\n",
        "In 2021, see Table 6, Equations 1 to 4, Section 4.1, Appendix B.1.1, row 0 and step 2.",
        "ViT-B/16, GPT-2, L/14, ImageNet-21k, JFT-300M, DINOv3, TPU v3, a V100, SigLIP 2, SoViT-400m/14, 2-D, float32",
        "1. first\n2. second\n",
        "$4d^2 + 2d\\,d_{\\text{ff}}$, $W_1$, $N_p + 1$, twelve blocks",
    ):
        assert shown(markdown) == [], markdown


def test_a_fence_left_open_is_named():
    with pytest.raises(ValueError, match="opened in line 3 never closes"):
        parse(["a", "", "```{note}", "b"], 1)


def test_fences_nest():
    outer, after = parse(["````{note} A", "```python", "x", "```", "````", "end"], 1)
    assert isinstance(outer, Directive) and outer.argument == "A"
    assert [type(part).__name__ for part in parse(outer.body, outer.body_line)] == ["Directive"]
    assert after.lines == ["end"] and after.line == 6


def test_the_command_knows_its_chapters(capsys):
    assert main(["98_nothing"]) == 2
    assert "no chapter 98_nothing" in capsys.readouterr().err


@pytest.mark.parametrize(("shown", "status"), [("3 heads", 0), ("4 heads", 1)])
def test_the_command_ends_with_1_when_a_number_is_not_backed(tmp_path, monkeypatch, capsys, shown, status):
    path = tmp_path / "98_trial.md"
    path.write_text(f"It has {shown}.\n" + CELL % 'back("3 heads", 3)', encoding="utf-8")
    monkeypatch.setattr(numbers, "chapters", lambda: [path])
    assert main([]) == status
    printed = capsys.readouterr().out
    assert ("NOT BACKED" in printed, "backs no number" in printed) == (status == 1, status == 1)
