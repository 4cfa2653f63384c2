"""book/vit/model.py against PyTorch's own layers and against the definition written with loops."""

import copy
from math import erf, exp, pi, sqrt

import numpy as np
import pytest
import torch
from scipy.special import ndtr
from torch.utils.flop_counter import FlopCounterMode
from vit import cost, model
from vit.family import config

RNG = np.random.default_rng(7)
IMAGES = RNG.standard_normal((2, 32, 32, 3))


def by_loops(params, image, pool):
    """Logits of one image, token by token and head by head, with nothing but Python's arithmetic on rows."""
    P, h = params["P"], params["h"]
    H, W, _ = image.shape

    def norm(row, gain, shift):
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        return np.array([g * (v - mean) / sqrt(variance + 1e-6) + s for v, g, s in zip(row, gain, shift, strict=True)])

    def attend(rows, block):
        d = rows.shape[1]
        mixed = np.zeros_like(rows)
        for j in range(h):
            columns = slice(j * d // h, (j + 1) * d // h)
            q, k, v = (
                np.array(
                    [row @ block["W_qkv"][:, n * d :][:, columns] + block["b_qkv"][n * d :][columns] for row in rows]
                )
                for n in range(3)
            )
            for t in range(len(rows)):
                weights = [exp(q[t] @ other / sqrt(d // h)) for other in k]
                mixed[t, columns] = sum(w * value for w, value in zip(weights, v, strict=True)) / sum(weights)
        return np.array([row @ block["W_o"] + block["b_o"] for row in mixed])

    def mlp(row, block):
        hidden = [x / 2 * (1 + erf(x / sqrt(2))) for x in row @ block["W_1"] + block["b_1"]]
        return np.array(hidden) @ block["W_2"] + block["b_2"]

    patches = [image[i : i + P, j : j + P].ravel() for i in range(0, H, P) for j in range(0, W, P)]
    rows = [patch @ params["W_E"] + params["b_E"] for patch in patches]
    rows = [params["cls"], *rows] if pool == "cls" else rows
    rows = [row + position for row, position in zip(rows, params["pos"], strict=True)]
    first = 1 if pool == "cls" else 0
    rows = np.array([*rows[:first], *params["reg"], *rows[first:]])
    for block in params["blocks"]:
        rows = rows + attend(np.array([norm(row, block["ln1_g"], block["ln1_b"]) for row in rows]), block)
        rows = rows + np.array([mlp(norm(row, block["ln2_g"], block["ln2_b"]), block) for row in rows])
    z = rows[0] if pool == "cls" else sum(rows[len(params["reg"]) :]) / len(patches)
    return norm(z, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]


@pytest.mark.parametrize("pool", ["cls", "gap"])
@pytest.mark.parametrize("registers", [0, 3])
def test_forward_is_the_definition(pool, registers):
    cfg = config("tiny", n_registers=registers, pool=pool, cls_token=pool == "cls")
    params = model.init(RNG, cfg, size=(16, 24))
    images = RNG.standard_normal((2, 16, 24, 3))
    want = [by_loops(params, image, pool) for image in images]
    np.testing.assert_allclose(model.forward(params, images, pool), want, rtol=1e-10, atol=1e-12)


def torch_block(block, h):
    """PyTorch's own encoder layer with our weights."""
    d, d_ff = block["W_1"].shape
    layer = torch.nn.TransformerEncoderLayer(
        d, h, d_ff, dropout=0, activation="gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    ).double()
    names = {
        "self_attn.in_proj_weight": block["W_qkv"].T,
        "self_attn.in_proj_bias": block["b_qkv"],
        "self_attn.out_proj.weight": block["W_o"].T,
        "self_attn.out_proj.bias": block["b_o"],
        "linear1.weight": block["W_1"].T,
        "linear1.bias": block["b_1"],
        "linear2.weight": block["W_2"].T,
        "linear2.bias": block["b_2"],
        "norm1.weight": block["ln1_g"],
        "norm1.bias": block["ln1_b"],
        "norm2.weight": block["ln2_g"],
        "norm2.bias": block["ln2_b"],
    }
    layer.load_state_dict({name: torch.tensor(value) for name, value in names.items()})
    return layer


def test_a_block_is_pytorchs_encoder_layer():
    params = model.init(RNG, config("tiny"))
    x = RNG.standard_normal((2, 17, 32))
    block = params["blocks"][0]
    ours = x + model.attention(model.layer_norm(x, block["ln1_g"], block["ln1_b"]), block, 4)[0]
    ours += model.mlp(model.layer_norm(ours, block["ln2_g"], block["ln2_b"]), block)
    theirs = torch_block(block, 4)(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_pytorchs_counter_agrees_with_the_formula():
    """35,127,656,448 FLOPs for ViT-B/16 at 224: the same products, on PyTorch's meta device."""
    d, T, h = 768, 197, 12

    def meta(*shape):
        return torch.empty(shape, device="meta")

    with FlopCounterMode(display=False) as counter:
        meta(196, d) @ meta(d, d)
        for _ in range(12):
            meta(T, d) @ meta(d, 3 * d)
            torch.bmm(meta(h, T, d // h), meta(h, d // h, T))
            torch.bmm(meta(h, T, T), meta(h, T, d // h))
            meta(T, d) @ meta(d, d)
            meta(T, d) @ meta(d, 4 * d)
            meta(T, 4 * d) @ meta(4 * d, d)
        meta(1, d) @ meta(d, 1000)
    assert counter.get_total_flops() == 35_127_656_448 == 2 * cost.macs(config("B/16"))["total"]


def test_functions_leave_their_arguments_alone_and_repeat():
    params = model.init(RNG, config("tiny", n_registers=2))
    before, images = copy.deepcopy(params), IMAGES.copy()
    first = model.forward(params, images)
    assert np.array_equal(first, model.forward(params, images))
    assert np.array_equal(images, IMAGES)
    for key, value in before.items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, params[key]), key
    for old, new in zip(before["blocks"], params["blocks"], strict=True):
        assert all(np.array_equal(old[key], new[key]) for key in old)
    x = RNG.standard_normal((2, 17, 32))
    kept = x.copy()
    for function in (model.gelu, model.gelu_tanh, model.softmax):
        function(x)
        assert np.array_equal(x, kept), function.__name__


def test_single_precision_stays_single_and_close():
    params = model.init(np.random.default_rng(1), config("tiny", n_registers=2))
    single = model.init(np.random.default_rng(1), config("tiny", n_registers=2), dtype=np.float32)
    logits, weights = model.forward(single, IMAGES.astype(np.float32), return_weights=True)
    assert logits.dtype == weights[0].dtype == np.float32
    np.testing.assert_allclose(logits, model.forward(params, IMAGES), atol=1e-4)


def test_attention_weights_are_returned_and_sum_to_one():
    logits, weights = model.forward(model.init(RNG, config("tiny")), IMAGES, return_weights=True)
    assert logits.shape == (2, 10)
    assert [w.shape for w in weights] == [(2, 4, 17, 17)] * 2
    np.testing.assert_allclose(np.array(weights).sum(-1), 1)


def test_a_causal_mask_makes_the_class_token_blind():
    params = model.init(RNG, config("tiny"))
    causal = np.tril(np.ones((17, 17), dtype=bool))
    logits, weights = model.forward(params, IMAGES, mask=causal, return_weights=True)
    assert np.array_equal(logits[0], logits[1])
    assert not np.triu(weights[0], 1).any()
    assert np.abs(np.diff(model.forward(params, IMAGES), axis=0)).max() > 0.01


def test_softmax_is_finite_for_large_scores():
    weights = model.softmax(np.array([[1000.0, 0.0], [-1000.0, -1000.0]]))
    assert np.array_equal(weights, [[1, 0], [0.5, 0.5]])


def test_gelu_forms():
    x = np.linspace(-8, 8, 100_001)
    assert model.gelu(np.array([0.0, 1.0]))[1] == pytest.approx(0.8413447460685429)
    difference = np.abs(model.gelu(x) - model.gelu_tanh(x))
    assert difference.max() == pytest.approx(4.73e-4, rel=0.01)
    assert sqrt(2 / pi) == pytest.approx(0.7978845608)


def test_bad_input_gets_one_clear_sentence():
    params = model.init(RNG, config("tiny"))
    with pytest.raises(ValueError, match="a 30 x 32 image cannot be cut into 8-pixel patches"):
        model.forward(params, np.zeros((1, 30, 32, 3)))
    with pytest.raises(ValueError, match="position table has 17 rows, but this image needs 33"):
        model.forward(params, np.zeros((1, 64, 32, 3)))
    with pytest.raises(ValueError, match="'mean'"):
        model.forward(params, IMAGES, pool="mean")
    with pytest.raises(ValueError, match="class token exactly when"):
        model.init(RNG, config("g/14"))


def test_single_precision_has_the_exact_gelu_too():
    x = np.linspace(-12, 12, 200_001).astype(np.float32)
    exact = x.astype(np.float64) * ndtr(x.astype(np.float64))
    assert model.gelu(x).dtype == np.float32
    assert np.abs(model.gelu(x) - exact).max() < 6e-7  # float32 near 6 is a grid of 4.8e-7
    assert np.abs(model.gelu(x[np.abs(x) < 1]) - exact[np.abs(x) < 1]).max() < 2e-7
    assert np.array_equal(model.gelu(np.float32([-1e9, 0, 1e9])), np.float32([0, 0, 1e9]))
