"""The ledger: what a text claims, what holds, what is refused and with which sentence."""

from fractions import Fraction

import numpy as np
import pytest
from vit.arithmetic import evaluate
from vit.data import datum, published
from vit.ledger import ENTRIES, LedgerError, back, cite, declare
from vit.quantities import quantities

HOLDS = [
    ("86,567,656 parameters", 86_567_656),
    (r"$86{,}567{,}656$ parameters", 86_567_656),
    ("17.56 G MACs", 17_563_828_224),
    ("17.6 GMACs", 17_563_828_224),
    ("17.56 billion multiply-adds", 17_563_828_224),
    ("35.1 GFLOPs", 2 * 17_563_828_224),
    ("1.36 T", 1_362_743_328_768),
    ("86M", 85_798_656),
    ("6.7B", 6_716_000_000),
    ("303 million images", 303_000_000),
    ("4.1%", 0.0407273),
    (r"$4.1\%$", 0.0407273),
    ("0.93 MB", 931_416),
    ("113 kB", 113_472),
    ("16 GiB", 16 * 2**30),
    ("512 MiB", 2**29),
    ("0.537 GB per layer", 2**29),
    ("4,262 exaFLOPs", 4.262e21),
    ("61.5 TFLOP/s", 61.5e12),
    ("28 ms", 0.0281),
    ("2,500 core-days", 2500),
    ("17x", 17.47),
    ("17× smaller", 17.47),
    ("3.40 times", 292.3 / 85.9),
    ("about 170 million numbers", 170_459_648),
    ("about 18,000 classes", 18_291),
    ("about 1,086 pixels", 1085.998),
    ("within 0.15%", 0.0014),
    ("within 0.15%", -0.0014),
    ("less than $10^{-3}$", 4.7e-4),
    ("more than 100%", 1.0985),
    (r"$4.2\times10^{11}$ tokens", 417_837_000_000),
    ("4.2 × 10¹¹ tokens", 417_837_000_000),
    ("$10^{-6}$", 1e-6),
    ("1e-6", 1e-6),
    ("-0.75", -0.75),
    ("−0.75", -0.75),
    ("(32, 16, 577, 577)", (32, 16, 577, 577)),
    ("14 by 14", np.array([14, 14])),
    (r"$P = 16$, $d = 768$", (16, 768)),
    ("196 tokens", np.int64(196)),
    ("0.25", np.float32(0.25)),
    (r"$12\cdot768^2 + 13\cdot768 = 7{,}077{,}888 + 9{,}984 = 7{,}087{,}872$", 7_087_872),
    (r"$(16\cdot16\cdot3 + 1)\cdot768$", 590_592),
    (r"$\sqrt{4607}\cdot16 \approx 1{,}086$ pixels", 4607**0.5 * 16),
    (r"$\frac{577}{197} = 2.93$", 577 / 197),
    ("197 × 768 = 151,296 numbers", 151_296),
]


@pytest.mark.parametrize(("text", "value"), HOLDS, ids=[text for text, _ in HOLDS])
def test_holds(text, value):
    back(text, value)
    assert (ENTRIES[-1].kind, ENTRIES[-1].text) == ("computed", text)


FAILS = [
    ("86,567,656 parameters", 86_567_657, 'should read "86,567,657 parameters"'),
    ("17.65 G MACs", 17_563_828_224, 'should read "17.56 G MACs"'),
    ("17.5 G MACs", 17_563_828_224, 'should read "17.6 G MACs"'),
    ("17.56 M MACs", 17_563_828_224, "should read"),
    ("0.93 GB", 931_416, "should read"),
    ("16 GB", 16 * 2**30, 'should read "17 GB"'),
    ("4.2%", 0.0407, 'should read "4.1%"'),
    ("4.1%", 4.1, "should read"),
    ("110M", 109_482_240, 'should read "109M"'),
    ("about 120 million", 109_482_240, "should read"),
    ("under 4%", 0.041, "is more than"),
    ("more than 5%", 0.041, "is less than"),
    ("$10^{-6}$", 1e-5, "1e-05"),
    ("2.94 times", 2.93, 'should read "2.93 times"'),
    ("12 by 14", (14, 14), '"12" in "12 by 14"'),
    ("14 by 14", (14, 14, 14), "shows 2 numbers, but 3 values"),
    ("14 and 15", 14, "shows"),
    ("197·768 = 151,296", 151_297, "151,296"),
    ("197·767 = 151,296", 151_296, "is 151,099"),
    ("many", 3, "shows no number"),
    ("3 heads", True, "not a number"),
    ("3 heads", "3", "not a number"),
    ("3 heads", float("nan"), "not a number"),
    ("3 heads", None, "not a number"),
]


@pytest.mark.parametrize(("text", "value", "says"), FAILS, ids=[text for text, _, _ in FAILS])
def test_fails_and_says_why(text, value, says):
    recorded = len(ENTRIES)
    with pytest.raises(LedgerError) as refused:
        back(text, value)
    assert says in str(refused.value) and text.strip() in str(refused.value)
    assert len(ENTRIES) == recorded


def test_cite():
    cite("292.3 images per second", "deit_table5", "DeiT-B")
    cite("about 290 images per second", "deit_table5", "DeiT-B")
    cite("17.5 G MACs", "swin_table1", "DeiT-B", "macs")
    cite("86M", "vit_table1", "Base")
    cite("90.3%", "sovit_table1", "So400m@518", "top1")
    cite("275 TFLOP/s", "tpu", "v4_chip")
    assert "DeiT" in ENTRIES[-5].backing or "2012.12877" in ENTRIES[-5].backing
    with pytest.raises(LedgerError, match="should read"):
        cite("293 images per second", "deit_table5", "DeiT-B")
    with pytest.raises(LedgerError, match="is in token/second, but deit_table5 gives DeiT-B in image/second"):
        cite("292.3 tokens per second", "deit_table5", "DeiT-B")
    with pytest.raises(KeyError, match="no data set is called 'deit_table6'"):
        cite("292.3", "deit_table6", "DeiT-B")
    with pytest.raises(KeyError, match="has no row 'DeiT-L'"):
        cite("292.3", "deit_table5", "DeiT-L")
    with pytest.raises(KeyError, match="needs a column"):
        cite("17.5", "swin_table1", "DeiT-B")


def test_declare_is_for_small_counts_only():
    declare("3 colors", "red, green, blue")
    assert ENTRIES[-1].kind == "declared"
    for text in ("224 pixels", "4.1", "5%", "100 classes", "-1"):
        with pytest.raises(LedgerError, match="cannot be declared"):
            declare(text, "no reason")


def test_an_entry_knows_its_line():
    back("3", 3)
    assert ENTRIES[-1].file == __file__ and ENTRIES[-1].line == test_an_entry_knows_its_line.__code__.co_firstlineno + 1


READS = {
    "1,150 tokens per second per core": [("1150", 1, "token/second/core")],
    "61.5 TFLOP/s": [("61.5", 10**12, "FLOP/second")],
    "224-pixel images": [("224", 1, "pixel")],
    "**86,567,656** parameters": [("86567656", 1, "parameter")],
    "two matrices of 768 by 3,072": [("768", 1, ""), ("3072", 1, "")],
    "16 × 16 pixels": [("16", 1, ""), ("16", 1, "pixel")],
    "ends with 12.": [("12", 1, "")],
    "| 17.56 G | 4.1% |": [("17.56", 10**9, ""), ("4.1", Fraction(1, 100), "")],
    "float32, W_1, v3, V100 and conv2d": [],
    "$x^2$, $W_{12}$, $x^{(0)}$, $10^{18}$ FLOPs": [("1", 1, "FLOP")],
    "one paragraph of 12\n\ntokens": [("12", 1, "")],
    "12\ntokens": [("12", 1, "token")],
    "GPUs: 8 GPU-days": [("8", 1, "GPU-day")],
}


@pytest.mark.parametrize("text", READS)
def test_reads_numbers_with_their_units(text):
    assert [(found.digits, found.scale, found.unit) for found in quantities(text)] == READS[text]


@pytest.mark.parametrize(
    ("formula", "formal"),
    {
        "$4d^2 + 13d$": [True, True],
        r"$12\,L\,d^2$": [True],
        r"$6\times\text{MACs}$": [True],
        "$T = N_p + 1$": [True],
        "$d = 2$": [False],
        "$d = 768$": [False],
        "$197$": [False],
        "$0.5d$": [False],
        r"$197\cdot768$": [False, False],
    }.items(),
)
def test_coefficients_are_form_and_values_are_claims(formula, formal):
    assert [found.formal for found in quantities(formula)] == formal


def covers(backed: str, shown: str) -> bool:
    (entry,), (number,) = quantities(backed), quantities(shown)
    return entry.covers(number)


def test_an_entry_covers_the_same_number_and_unit_only():
    assert covers("86,567,656 parameters", "86,567,656 parameters")
    assert covers("86,567,656 parameters", "| 86,567,656 |")
    assert covers("86,567,656 parameters", r"$86{,}567{,}656$")
    assert not covers("86,567,656 parameters", "86,567,656 tokens")
    assert not covers("86,567,656", "86,567,656 tokens")
    assert not covers("17.56 G MACs", "17.56 T MACs")
    assert not covers("17.56 G MACs", "17.6 G MACs")
    assert not covers("3.4 times", "3.40 times")
    assert not covers("4%", "4")
    assert not covers("0.93 MB", "0.93 MiB")
    assert not covers("292 images", "292 images per second")
    assert covers("5%", "about 5%")
    assert not covers("about 5%", "5%")
    assert not covers("within 5%", "5%")


@pytest.mark.parametrize(
    ("text", "value"),
    {
        r"12\cdot768^2 + 13\cdot768": 7_087_872,
        "(2 + 3) × 4": 20,
        r"\frac{1}{3}": Fraction(1, 3),
        "-(2^{3})": -8,
        "7{,}087{,}872": 7_087_872,
        r"\sqrt{16}": 4,
        "import os": None,
        "1/0": None,
        "d + 1": None,
        "": None,
        "__import__('os')": None,
    }.items(),
)
def test_arithmetic(text, value):
    assert evaluate(text) == value


def test_every_datum_has_a_unit_a_source_and_a_word_on_how_sure():
    from vit.data import _datasets

    for name, body in _datasets().items():
        assert {"what", "source", "sure", "rows"} <= set(body), name
        assert body["sure"].split(":")[0] in ("certain", "likely", "unconfirmed"), name
        for key, row in published(name).items():
            for column in row if isinstance(row, dict) else [None]:
                figure = datum(name, key, column)
                assert isinstance(figure.value, int | float | str) and isinstance(figure.unit, str), (name, key)
