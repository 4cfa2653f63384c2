"""Exact-integer oracles for book/vit/cost.py: whole models whose numbers are known, and the formulas against each other."""

from fractions import Fraction
from itertools import product
from math import isclose

import numpy as np
import pytest
from vit import cost, model
from vit.data import published
from vit.family import FAMILY, OTHERS, config

B16 = config("B/16")


@pytest.mark.parametrize(
    ("name", "count"),
    {
        "Ti/16": 5_717_416,
        "S/16": 22_050_664,
        "B/16": 86_567_656,
        "B/32": 88_224_232,
        "L/16": 304_326_632,
        "L/32": 306_535_400,
        "H/14": 632_045_800,
        "SoViT-400m/14": 412_442_352,
        "g/14": 1_011_199_616,
        "G/14": 1_842_772_352,
        "tiny": 32_554,
    }.items(),
)
def test_parameters_of_whole_models(name, count):
    assert cost.parameters(config(name)) == count
    assert type(cost.parameters(config(name))) is int


def test_parameters_by_place():
    terms = {
        "patch": 590_592,
        "prefix": 768,
        "positions": 151_296,
        "blocks": 85_054_464,
        "norm": 1_536,
        "head": 769_000,
    }
    assert cost.parameter_terms(B16) == terms
    assert cost.block_parameters(B16) == 7_087_872
    assert cost.parameters(config("B/16", n_classes=0)) == 85_798_656
    assert cost.parameters(config("B/16", img=384)) == 86_859_496
    assert cost.parameters(config("B/16", head_hidden=True)) - cost.parameters(B16) == 590_592
    assert cost.parameters(config("SoViT-400m/14")) + cost.map_head_parameters(config("SoViT-400m/14")) == 427_680_704


def test_language_models():
    assert cost.gpt2_parameters() == 124_439_808
    assert cost.bert_parameters() == 109_482_240


def test_counts_that_papers_print_in_millions():
    for name in ("g/14", "G/14"):
        assert round(cost.parameters(config(name)) / 1e6) == published("zhai_table2")[name]["parameters"]
    V22B, V7B = config("ViT-22B"), config("DINOv3-7B")
    assert round(V22B["L"] * cost.block_matrices(V22B) / 1e6) == published("vit22b")["parameters"] == 21_743
    assert V7B["L"] * cost.block_matrices(V7B) == 6_710_886_400
    assert round(cost.parameters(V7B) / 1e6) == published("dinov3_7b")["parameters"]


@pytest.mark.parametrize(
    ("res", "terms"),
    {
        224: (115_605_504, 16_732_127_232, 715_327_488, 768_000, 17_563_828_224),
        384: (339_738_624, 49_007_296_512, 6_136_547_328, 768_000, 55_484_350_464),
        1024: (2_415_919_104, 347_977_285_632, 309_388_658_688, 768_000, 659_782_631_424),
    }.items(),
)
def test_multiply_adds_of_base(res, terms):
    assert tuple(cost.macs(B16, res).values()) == terms
    assert list(cost.macs(B16, res)) == ["patch", "linear", "attention", "head", "total"]


@pytest.mark.parametrize(
    ("name", "tokens", "total"),
    [
        ("Ti/16", 197, 1_253_683_200),
        ("S/16", 197, 4_598_882_304),
        ("L/16", 197, 61_554_712_576),
        ("H/14", 257, 167_295_109_120),
        ("SoViT-400m/14", 256, 109_484_310_528),
        ("g/14", 256, 265_963_044_864),
        ("G/14", 256, 481_823_686_656),
        ("ViT-22B", 256, 5_605_857_165_312),
        ("DINOv3-7B", 201, 1_362_743_328_768),
    ],
)
def test_multiply_adds_of_the_family(name, tokens, total):
    assert cost.tokens(config(name)) == tokens
    assert cost.macs(config(name))["total"] == total


def test_multiply_adds_without_the_class_token_are_what_swin_prints():
    for name, base, res in (("DeiT-S", "S/16", 224), ("DeiT-B", "B/16", 224), ("ViT-L/16@384", "L/16", 384)):
        total = cost.macs(config(base, cls_token=False, pool="gap"), res)["total"]
        assert round(total / 1e9, 1) == published("swin_table1")[name]["macs"]


def test_true_flops_are_what_zhai_prints():
    for name, res in product(("S/16", "B/16", "L/16", "g/14", "G/14"), (224, 384)):
        side = res // config(name)["P"] * config(name)["P"]  # 384 is no multiple of 14: they read 27 x 27 patches
        ours = 2 * cost.macs(config(name, n_classes=0), side)["total"] / 1e9
        assert isclose(ours, published("zhai_table2")[name][f"flops_{res}"], rel_tol=0.01)


@pytest.mark.parametrize(("name", "res"), {"Ti/16": 544, "S/16": 768, "B/16": 1088, "L/16": 1264, "H/14": 1232}.items())
def test_crossover(name, res):
    cfg = config(name)
    assert cost.crossover_res(cfg) == res
    before, at = cost.macs(cfg, res - cfg["P"]), cost.macs(cfg, res)
    assert before["attention"] < before["linear"] and at["attention"] >= at["linear"]


def test_crossover_counts_prefix_tokens_and_is_positive():
    assert cost.crossover_tokens(B16) == 4608
    assert cost.crossover_res(config("B/16", n_registers=5000)) == 16
    assert cost.crossover_res(config("B/16", n_registers=4607)) == 16
    exact = config("B/16", cls_token=False, pool="gap", d=8, d_ff=20)  # 36 tokens: 6 by 6 patches reach it exactly
    assert cost.crossover_res(exact) == 96


def test_training_compute_of_the_papers_table_6():
    """Five of six rows within 0.15%, B/32 2.3% high, and only with a JFT-sized head."""

    def errors(**head):
        for row, paper in published("vit_table6").items():
            name, epochs = row.split("@")
            flops = cost.pretraining_flops(config(name, **head), 224, int(epochs), 303_000_000)
            yield row, flops / (paper * 10**18) - 1

    jft = dict(errors(n_classes=18_291, head_hidden=True))
    assert sorted(row for row, error in jft.items() if abs(error) > 0.0015) == ["B/32@7"]
    assert round(100 * jft["B/32@7"], 1) == 2.3
    assert sum(abs(error) <= 0.0015 for _, error in errors(n_classes=1000)) == 3
    assert cost.pretraining_flops(config("B/16"), 224, 7, 303_000_000) == 6 * 17_563_828_224 * 7 * 303_000_000


def test_utilization_and_days_are_inverse():
    flops = 4262e18
    assert round(cost.mfu(flops, 2500, 61.5e12), 3) == 0.321
    assert round(cost.mfu(1567e18, 680, 61.5e12), 3) == 0.434
    assert isclose(cost.device_days(flops, 61.5e12, cost.mfu(flops, 2500, 61.5e12)), 2500)
    weights = 48 * cost.block_matrices(config("ViT-22B"))
    assert round(1150 * cost.flops_per_token(weights, config("ViT-22B")) / 275e12, 3) == 0.549


@pytest.mark.parametrize("mfu", [0, -0.1, 40])
def test_a_utilization_is_a_fraction(mfu):
    with pytest.raises(ValueError, match="a fraction above 0"):
        cost.device_days(1e18, 1e12, mfu)


def test_attention_memory():
    SAM = config("SAM-H/16")
    assert cost.attention_bytes(B16) == 12 * 931_416
    assert cost.attention_bytes(B16, flash=True) == 113_472
    assert cost.attention_bytes(B16, flash=True, bytes_per=8) == 113_472
    assert cost.attention_bytes(SAM) == 16 * 2**30
    assert cost.attention_bytes(SAM, 224, batch=3, bytes_per=4) == 4 * 3 * 32 * 16 * 196**2


def test_windows_of_sam():
    SAM = config("SAM-H/16")
    assert cost.window_plan(SAM, 14) == (70, 25, 196)
    assert cost.windowed_attention_macs(SAM, 14, 4) == 240_640_163_840
    assert cost.windowed_attention_macs(SAM, 14, 32) == cost.macs(SAM)["attention"] == 1_374_389_534_720
    assert cost.windowed_attention_bytes(SAM, 14, 0) == 32 * 30_732_800
    assert cost.windowed_attention_bytes(SAM, 14, 32) == cost.attention_bytes(SAM)
    with pytest.raises(ValueError, match="class token"):
        cost.windowed_attention_macs(B16, 14, 4)
    with pytest.raises(ValueError, match="33 global blocks"):
        cost.windowed_attention_macs(SAM, 14, 33)


def test_block_work_is_the_formula():
    """The matrix products of one block, doubled, are the block's multiply-adds."""
    for name, batch in (("B/16", 1), ("L/16", 8), ("SoViT-400m/14", 2)):
        cfg = config(name)
        work = cost.block_work(cfg, batch=batch)
        products = ("QKV projection", "scores", "weighted sum", "output projection", "MLP in", "MLP out")
        terms = cost.macs(cfg)
        assert sum(work[key][0] for key in products) * cfg["L"] == 2 * batch * (terms["linear"] + terms["attention"])
    assert cost.arithmetic_intensity(B16)["LayerNorm"] == 7 / 4
    assert cost.arithmetic_intensity(B16)["softmax"] == 5 / 4
    flops, moved = 2 * 197 * 768 * 2304, 2 * (197 * 768 + 768 * 2304 + 197 * 2304)
    assert cost.block_work(B16)["QKV projection"] == (flops, moved)


@pytest.mark.parametrize("res", [0, -16, 8, 100, 225])
def test_an_image_must_be_cut_into_whole_patches(res):
    with pytest.raises(ValueError, match="16-pixel patches; take a multiple"):
        cost.macs(B16, res)


def test_counts_stay_exact_beyond_64_bits():
    huge = config("B/16", d=2**20, d_ff=2**22, L=10**6)
    assert cost.parameter_terms(huge)["blocks"] == 10**6 * (12 * 2**40 + 13 * 2**20)
    assert cost.macs(huge, 16 * 2**12)["attention"] == 2 * 10**6 * (2**24 + 1) ** 2 * 2**20
    assert isinstance(cost.pretraining_flops(B16, 224, 7, 303_000_000), int)
    assert Fraction(cost.pretraining_flops(B16, 224, 0.5, 2)) == 6 * 17_563_828_224


def test_the_formula_counts_the_arrays_of_random_models():
    rng = np.random.default_rng(0)
    for _ in range(30):
        h = int(rng.integers(1, 4))
        P = int(rng.integers(1, 5))
        pool = str(rng.choice(["cls", "gap"]))
        cfg = config(
            "tiny",
            P=P,
            img=P * int(rng.integers(1, 6)),
            C=int(rng.integers(1, 5)),
            h=h,
            d=h * int(rng.integers(1, 8)),
            d_ff=int(rng.integers(1, 40)),
            L=int(rng.integers(1, 4)),
            n_classes=int(rng.integers(0, 9)),
            n_registers=int(rng.integers(0, 5)),
            pool=pool,
            cls_token=pool == "cls",
        )
        params = model.init(rng, cfg)
        no_head = (cfg["n_classes"] == 0) * params["b_head"].size
        assert model.count(params) - no_head == cost.parameters(cfg)


def test_family_names_and_keys():
    assert list(FAMILY) == [
        "Ti/16",
        "S/16",
        "B/16",
        "L/16",
        "H/14",
        "SoViT-400m/14",
        "g/14",
        "G/14",
        "ViT-22B",
        "DINOv3-7B",
    ]
    assert all(cfg["d"] % cfg["h"] == 0 for cfg in (FAMILY | OTHERS).values())
    assert config("B/16", img=384)["img"] == 384 and FAMILY["B/16"]["img"] == 224
    with pytest.raises(KeyError, match="no model is called 'XL/16'"):
        config("XL/16")
    with pytest.raises(KeyError, match="'depth'"):
        config("B/16", depth=12)
