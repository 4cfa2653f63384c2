"""The facts the book rests on (book/data/facts.json): each is recomputed with book/vit and told in its chapter."""

import json
import re
from functools import cache
from math import isclose, isqrt, log, sqrt

import numpy as np
import pytest
from vit import cost, model
from vit.chapters import BOOK, read
from vit.data import published
from vit.family import FAMILY, config
from vit.ledger import back
from vit.numbers import readable
from vit.quantities import quantities

FACTS = json.loads((BOOK / "data" / "facts.json").read_text(encoding="utf-8"))
TINY = config("tiny")


def table6(name: str, epochs: int) -> float:
    """ExaFLOPs of a run of the ViT paper's Table 6, with the head it was trained with."""
    cfg = config(name, n_classes=published("jft_classes")["JFT"], head_hidden=True)
    return cost.pretraining_flops(cfg, 224, epochs, published("vit_setup")["jft_images"]) / 1e18


def features(params: model.Params, images: model.Array) -> model.Array:
    """What the head reads: the logits of a head that is the identity."""
    d = len(params["b_E"])
    return model.forward(params | {"W_head": np.eye(d), "b_head": np.zeros(d)}, images)


def loss(params: model.Params, images: model.Array) -> float:
    """Cross-entropy of the first image, whose true class is 2."""
    return float(-np.log(model.softmax(model.forward(params, images))[0, 2]))


def head_gradient(params: model.Params, images: model.Array) -> model.Array:
    """The first column of z (p - e)^T, as the theorem says."""
    p = model.softmax(model.forward(params, images))[0]
    return features(params, images)[0] * (p - np.eye(len(p))[2])[0]


def head_slopes(params: model.Params, images: model.Array, step: float = 1e-5) -> model.Array:
    """The same column, measured: how the loss changes with each weight."""

    def moved(row: int, by: float) -> float:
        head = params["W_head"].copy()
        head[row, 0] += by
        return loss(params | {"W_head": head}, images)

    return np.array([(moved(row, step) - moved(row, -step)) / (2 * step) for row in range(len(params["W_head"]))])


def attention_without_transpose(y: model.Array, block: dict[str, model.Array], h: int) -> model.Array:
    """Attention with the heads joined by a reshape alone: right shapes, wrong numbers."""
    B, T, d = y.shape
    q, k, v = model.linear(y, block["W_qkv"], block["b_qkv"]).reshape(B, T, 3, h, d // h).transpose(2, 0, 3, 1, 4)
    heads = model.softmax(q @ k.swapaxes(-1, -2) / sqrt(d // h)) @ v
    return model.linear(heads.reshape(B, T, d), block["W_o"], block["b_o"])


NAMES = (
    {name: getattr(np, name) for name in ("array_equal", "diff", "eye", "outer", "zeros")}
    | {name: value for part in (cost, model) for name, value in vars(part).items() if callable(value)}
    | {function.__name__: function for function in (published, config, isclose, isqrt, log, sqrt, table6)}
    | {function.__name__: function for function in (head_gradient, head_slopes, attention_without_transpose)}
    | {
        "FAMILY": FAMILY,
        "B16": config("B/16"),
        "L14": config("L/14"),
        "SO400M": config("SoViT-400m/14"),
        "V22B": config("ViT-22B"),
        "V7B": config("DINOv3-7B"),
        "SAM": config("SAM-H/16"),
        "rng": np.random.default_rng(0),
        "tiny": model.init(np.random.default_rng(1), TINY),
        "other": model.init(np.random.default_rng(2), TINY),
        "images": np.random.default_rng(3).standard_normal((2, 32, 32, 3)),
        "noise": np.random.default_rng(4).standard_normal((2, 17, 32)),
        "numbered": np.arange(2 * 16 * 16 * 3).reshape(2, 16, 16, 3),
        "grid": np.linspace(-8, 8, 200_001),
        "causal": np.tril(np.ones((17, 17), dtype=bool)),
    }
)


@pytest.mark.parametrize("fact", [fact for fact in FACTS if "value" in fact or "holds" in fact], ids=lambda f: f["id"])
def test_fact_is_recomputed(fact):
    if "holds" in fact:
        assert eval(fact["holds"], dict(NAMES)), fact["what"]
    else:
        back(fact["shown"], eval(fact["value"], dict(NAMES)))


@cache
def chapter(name: str) -> tuple[str, set[tuple[str, int]]]:
    """A chapter's prose as one line, and its numbers as (digits, power of ten)."""
    path = BOOK / f"{name}.md"
    if not path.exists():
        pytest.skip(f"{path.name} is not written yet")
    text, _ = readable(read(path))
    plain = " ".join(re.sub(r"\\[,;:! ]|[$*]", "", text.replace("{,}", ",")).split())
    return plain, {(number.digits, number.exponent) for number in quantities(text)}


@pytest.mark.parametrize("fact", [fact for fact in FACTS if "printed" not in fact], ids=lambda f: f["id"])
def test_fact_is_told_in_its_chapter(fact):
    text, numbers = chapter(fact["chapter"])
    if "told" in fact:
        for phrase in fact["told"]:
            assert phrase in text, f"{fact['chapter']} does not say {phrase!r}: {fact['what']}"
    else:
        shown = {(number.digits, number.exponent) for number in quantities(fact["shown"])}
        assert shown <= numbers, f"{fact['chapter']} does not show {fact['shown']}: {fact['what']}"
