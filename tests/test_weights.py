"""book/vit/weights.py against the logits that timm, torchvision and Hugging Face computed, and what it must refuse.

tests/libraries/ holds tiny models of the three libraries with random weights and what they answered; make.py there
wrote them.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from vit import cost, model, weights

HERE = Path(__file__).parent / "libraries"
OUTPUTS = json.loads((HERE / "outputs.json").read_text())
IMAGES = np.array(OUTPUTS["images"])


def state(name: str) -> dict[str, torch.Tensor]:
    return load_file(HERE / f"{name}.safetensors")


def answer(params) -> np.ndarray:
    return model.forward(params, IMAGES, "cls" if "cls" in params else "gap")


@pytest.mark.parametrize("name", OUTPUTS["models"])
def test_a_librarys_weights_give_the_librarys_logits(name):
    params = weights.load(HERE / f"{name}.safetensors", h=2)
    if name == "timm_no_head":  # the library then answers with the features
        assert params["W_head"].shape == (8, 0)
        params |= {"W_head": np.eye(8), "b_head": np.zeros(8)}
    assert params["pos"].dtype == np.float64
    np.testing.assert_allclose(answer(params), OUTPUTS["models"][name]["logits"], rtol=0, atol=1e-12)


def test_every_tensor_matters():
    """The comparison above would see any tensor that is lost: changing one changes the logits."""
    right = answer(weights.load(state("timm_cls_registers"), h=2))
    for name, tensor in state("timm_cls_registers").items():
        changed = state("timm_cls_registers") | {name: tensor + torch.rand_like(tensor)}
        moved = np.abs(answer(weights.load(changed, h=2)) - right).max()
        assert moved > 1e-4, name


def test_half_precision_and_older_torchvision_names():
    old = {
        name.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): t
        for name, t in state("torchvision").items()
    }
    params = weights.load({name: tensor.bfloat16() for name, tensor in old.items()}, h=2)
    assert {params[key].dtype for key in ("pos", "W_E", "W_head")} == {np.dtype(np.float32)}
    assert params["blocks"][0]["W_1"].shape == (8, 12)


def test_what_our_model_does_not_have_is_refused_by_name():
    plain = state("timm_cls")
    extra = {
        "LayerScale": "blocks.0.ls1.gamma",
        "SwiGLU": "blocks.0.mlp.w12.weight",
        "RoPE": "rope.periods",
        "QK-norm": "blocks.1.attn.q_norm.weight",
        "attention pooling": "attn_pool.latent",
        "relative positions": "blocks.0.attn.relative_position_bias_table",
        "distillation token": "dist_token",
        "LayerNorm before the blocks": "norm_pre.weight",
        "convolutional network": "patch_embed.backbone.stem.conv.weight",
        "queries and values alone": "blocks.0.attn.q_bias",
        "the tensor something.else": "something.else",
    }
    for feature, name in extra.items():
        with pytest.raises(ValueError, match=feature):
            weights.load(plain | {name: torch.zeros(8)}, h=2)
    with pytest.raises(ValueError, match="tanh layer before the head"):
        weights.load(state("hugging_face") | {"vit.pooler.dense.weight": torch.zeros(8, 8)}, h=2)


def test_what_only_a_shape_or_an_absence_shows_is_refused():
    plain = state("timm_cls")
    gated = {
        f"blocks.{i}.mlp.fc1.{kind}": torch.cat([plain[f"blocks.{i}.mlp.fc1.{kind}"]] * 2)
        for i in (0, 1)
        for kind in ("weight", "bias")
    }
    with pytest.raises(ValueError, match="SwiGLU"):
        weights.load(plain | gated, h=2)
    with pytest.raises(ValueError, match=r"no position table.*RoPE"):
        weights.load({name: tensor for name, tensor in plain.items() if name != "pos_embed"}, h=2)
    with pytest.raises(ValueError, match=r"no 'blocks.1.qkv.bias'"):
        weights.load({name: tensor for name, tensor in plain.items() if name != "blocks.1.attn.qkv.bias"}, h=2)
    with pytest.raises(ValueError, match="before the mean"):
        weights.load({name.replace("fc_norm", "norm"): tensor for name, tensor in state("timm_gap").items()}, h=2)
    with pytest.raises(ValueError, match="no ViT of timm, torchvision or Hugging Face"):
        weights.load({"conv1.weight": torch.zeros(8)}, h=2)


def test_heads_and_patches_that_no_tensor_tells():
    plain = state("timm_cls")
    with pytest.raises(ValueError, match="pass h"):
        weights.load(plain)
    with pytest.raises(ValueError, match="3 heads do not divide the width 8"):
        weights.load(plain, h=3)
    # 16 rows beside a class token and 6 registers: 16 patches, or 9 and a row for each of the others
    double = {"pos_embed": torch.zeros(1, 16, 8), "reg_token": torch.zeros(1, 6, 8)}
    with pytest.raises(ValueError, match="16 rows of the position table can be for 16 or 9 patches: pass n_patches"):
        weights.load(plain | double, h=2)
    assert weights.load(plain | double, h=2, n_patches=9)["pos"].shape == (10, 8)
    assert weights.load(plain | double, h=2, n_patches=16)["pos"].shape == (17, 8)
    with pytest.raises(ValueError, match="not for 12"):
        weights.load(plain, h=2, n_patches=12)


def test_files_that_cannot_be_read_get_one_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"model.pth is not a .safetensors file"):
        weights.load(tmp_path / "model.pth", h=2)
    (tmp_path / "broken.safetensors").write_bytes(b"not this")
    with pytest.raises(ValueError, match=r"broken.safetensors cannot be read as safetensors"):
        weights.load(tmp_path / "broken.safetensors", h=2)


class Live(nn.Module):
    """What `load` looks at in a live model of timm: its tensors, heads, epsilon, activation and pooling."""

    def __init__(self, eps: float = 1e-6, act: nn.Module | None = None, **attributes: object) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8, eps=eps)
        self.mlp = nn.ModuleDict({"act": act or nn.GELU()})
        self.attention = nn.Identity()
        self.attention.num_heads = 2
        self.patch_embed = SimpleNamespace(num_patches=9)
        for name, value in attributes.items():
            setattr(self, name, value)

    def state_dict(self, *arguments, **named):
        return state("timm_cls")


def test_a_live_model_tells_its_heads():
    params = weights.load(Live())
    assert params["h"] == 2
    np.testing.assert_allclose(answer(params), OUTPUTS["models"]["timm_cls"]["logits"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("live", "sentence"),
    [
        (Live(eps=1e-12), "adds 1e-12 where ours add 1e-06"),
        (Live(act=nn.GELU(approximate="tanh")), "activation mlp.act of this model is not the exact GELU"),
        (Live(act=nn.ReLU()), "not the exact GELU"),
        (Live(global_pool="map"), "pools with 'map'"),
        (Live(rope=nn.Identity()), "RoPE"),
    ],
)
def test_a_live_models_constants_are_checked(live, sentence):
    with pytest.raises(ValueError, match=sentence):
        weights.load(live)


@pytest.mark.parametrize(
    ("name", "more"),  # than our formula, in vectors of d: the last column of the chapter's table
    [
        ("timm_cls", 0),
        ("timm_cls_registers_without_positions", -1),
        ("timm_cls_registers", 3),
        ("timm_gap", 0),
        ("timm_gap_registers", 0),
        ("torchvision", 0),
        ("hugging_face", 0),
    ],
)
def test_parameters_of_the_libraries_and_of_the_formula(name, more):
    params = weights.load(state(name), h=2)
    sizes = {"img": 12, "P": 4, "C": 3, "d": 8, "L": 2, "h": 2, "d_ff": 12, "n_classes": 5}
    ends = {
        "cls_token": "cls" in params,
        "n_registers": len(params["reg"]),
        "pool": "cls" if "cls" in params else "gap",
    }
    counted = cost.parameters(sizes | ends)
    assert model.count(params) == counted
    assert sum(tensor.numel() for tensor in state(name).values()) - counted == more * 8
