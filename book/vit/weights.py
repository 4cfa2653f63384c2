"""Read the weights of a ViT that timm, torchvision or Hugging Face made, as the `params` dict that `model.forward` reads.

    params = load("model.safetensors", h=12)             # a file, or a state dict: neither says how many heads there are
    params = load(timm.create_model("vit_base_patch16_224", pretrained=True))
    logits = model.forward(params, images, pool="cls" if "cls" in params else "gap")

What differs from our model in a tensor is refused by name: LayerScale, SwiGLU, RoPE and others. What differs in a
constant shows in a live model alone, and is refused there: epsilon, the GELU's form, the pooling. Two things are
rewritten, because they compute the same: positions given to registers are added to them, and a class token that is
not read, beside a mean that is, becomes a register.

Layouts: timm 1.0 (timm/models/vision_transformer.py), torchvision 0.28 (torchvision/models/vision_transformer.py, and
its older files), transformers 5 (models/vit/modeling_vit.py, and the older names that its files keep).
"""

import re
from collections.abc import Mapping
from math import isqrt
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from .model import Array, Params, gelu
from .torch_model import params_from_arrays

# For each library, its names beside those of `torch_model.ViT`; * stands for the number of the block. A name without
# ".weight" or ".bias" means both.
TIMM = {
    "cls_token": "cls",
    "reg_token": "reg",
    "pos_embed": "pos",
    "patch_embed.proj": "patches",
    "blocks.*.norm1": "blocks.*.ln1",
    "blocks.*.attn.qkv": "blocks.*.qkv",
    "blocks.*.attn.proj": "blocks.*.out",
    "blocks.*.norm2": "blocks.*.ln2",
    "blocks.*.mlp.fc1": "blocks.*.mlp.0",
    "blocks.*.mlp.fc2": "blocks.*.mlp.2",
    "norm": "norm",  # before the class token is read
    "fc_norm": "norm",  # after the mean
    "head": "head",
}
TORCHVISION = {
    "class_token": "cls",
    "encoder.pos_embedding": "pos",
    "conv_proj": "patches",
    "encoder.layers.encoder_layer_*.ln_1": "blocks.*.ln1",
    "encoder.layers.encoder_layer_*.self_attention.in_proj": "blocks.*.qkv",
    "encoder.layers.encoder_layer_*.self_attention.out_proj": "blocks.*.out",
    "encoder.layers.encoder_layer_*.ln_2": "blocks.*.ln2",
    "encoder.layers.encoder_layer_*.mlp.0": "blocks.*.mlp.0",
    "encoder.layers.encoder_layer_*.mlp.3": "blocks.*.mlp.2",
    "encoder.layers.encoder_layer_*.mlp.linear_1": "blocks.*.mlp.0",
    "encoder.layers.encoder_layer_*.mlp.linear_2": "blocks.*.mlp.2",
    "encoder.ln": "norm",
    "heads.head": "head",
}
HUGGING_FACE = {
    "embeddings.cls_token": "cls",
    "embeddings.position_embeddings": "pos",
    "embeddings.patch_embeddings.projection": "patches",
    "layers.*.layernorm_before": "blocks.*.ln1",
    "layers.*.attention.q_proj": "blocks.*.q",
    "layers.*.attention.k_proj": "blocks.*.k",
    "layers.*.attention.v_proj": "blocks.*.v",
    "layers.*.attention.o_proj": "blocks.*.out",
    "layers.*.layernorm_after": "blocks.*.ln2",
    "layers.*.mlp.fc1": "blocks.*.mlp.0",
    "layers.*.mlp.fc2": "blocks.*.mlp.2",
    "layernorm": "norm",
    "classifier": "head",
}
OLD_HUGGING_FACE = {
    "encoder.layer.*.layernorm_before": "blocks.*.ln1",
    "encoder.layer.*.attention.attention.query": "blocks.*.q",
    "encoder.layer.*.attention.attention.key": "blocks.*.k",
    "encoder.layer.*.attention.attention.value": "blocks.*.v",
    "encoder.layer.*.attention.output.dense": "blocks.*.out",
    "encoder.layer.*.layernorm_after": "blocks.*.ln2",
    "encoder.layer.*.intermediate.dense": "blocks.*.mlp.0",
    "encoder.layer.*.output.dense": "blocks.*.mlp.2",
}
LAYOUTS = {  # by a tensor that only this library's models have
    "patch_embed.proj.weight": TIMM,
    "conv_proj.weight": TORCHVISION,
    "embeddings.patch_embeddings.projection.weight": HUGGING_FACE | OLD_HUGGING_FACE,
}

# What our model does not have, and how its tensors are called.
FOREIGN = {
    "LayerScale": r"\.ls[12]?\.|gamma_[12]|layer_scale|lambda[12]",
    "a SwiGLU MLP": r"w12\.|\.w[123]\.|fc1_[gx]\.|gate_proj|weights_in",
    "rotary positions (RoPE)": r"rope|rotary|freqs|periods",
    "QK-norm": r"[qk]_norm",
    "attention pooling": r"attn_pool|head\.probe",
    "relative positions": r"rel_pos|relative_position",
    "a distillation token": r"dist_token|head_dist|distillation",
    "a LayerNorm before the blocks": r"norm_pre|pre_layer?norm",
    "a tanh layer before the head": r"pooler|pre_logits",
    "a convolutional network before the patches": r"patch_embed\.backbone|conv_stem",
    "biases for queries and values alone": r"[qv]_bias",
}


def load(
    source: str | Path | nn.Module | Mapping[str, Tensor], h: int | None = None, n_patches: int | None = None
) -> Params:
    """Our parameters from a .safetensors file, a live model or its state dict; float64 stays, all else becomes float32.

    A live model says how many heads it has; otherwise pass `h`. `n_patches` is needed only when the length of the position
    table fits two readings. Raises ValueError, with one sentence, for everything that `model.forward` would compute
    differently.
    """
    if isinstance(source, nn.Module):
        h = h or _heads(source)
        n_patches = n_patches or getattr(getattr(source, "patch_embed", None), "num_patches", None)
        state = source.state_dict()
    else:
        state = _read(Path(source)) if isinstance(source, str | Path) else source
    if h is None:
        raise ValueError(
            "these weights do not say how many heads their model has: pass h, which is d / 64 in most ViTs"
        )
    arrays = _renamed({name: _array(tensor) for name, tensor in state.items()})
    _place(arrays, any(name.endswith("fc_norm.weight") for name in state), n_patches)
    d = arrays["cls"].shape[1]
    arrays.setdefault("head.weight", np.zeros((0, d), arrays["pos"].dtype))  # no head: no classes
    arrays.setdefault("head.bias", np.zeros(0, arrays["pos"].dtype))
    if d % h:
        raise ValueError(f"{h} heads do not divide the width {d}")
    try:
        _join(arrays)
        params = params_from_arrays(arrays, h)
    except KeyError as missing:
        raise ValueError(f"these weights have no {missing.args[0]!r}, in the names of vit.torch_model.ViT") from None
    if any(block["W_1"].shape[1] == 2 * block["W_2"].shape[0] for block in params["blocks"]):
        raise _refusal("a SwiGLU MLP", "the first matrix of an MLP is twice as wide as the second")
    if isinstance(source, nn.Module):
        _check_constants(source)
    return params


def _read(path: Path) -> dict[str, Tensor]:
    if path.suffix != ".safetensors":
        raise ValueError(
            f"{path.name} is not a .safetensors file; a pickled file can run code when it is read, so read it yourself"
            " with torch.load(path, weights_only=True) and pass what that returns"
        )
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path.name} cannot be read as safetensors: {error}") from None


def _array(tensor: Tensor) -> Array:
    return tensor.detach().cpu().to(torch.float64 if tensor.dtype == torch.float64 else torch.float32).numpy().copy()


def _refusal(feature: str, where: str) -> ValueError:
    return ValueError(f"these weights need {feature}, which our model does not have: {where}")


def _renamed(arrays: dict[str, Array]) -> dict[str, Array]:
    """The arrays under the names of `torch_model.ViT`."""
    plain = {re.sub(r"^(vit|model|module)\.", "", name).replace("in_proj_", "in_proj."): name for name in arrays}
    layout = next((names for marker, names in LAYOUTS.items() if marker in plain), {})
    ours, unknown = {}, []
    for name, original in plain.items():
        tensor, _, kind = name.rpartition(".") if name.endswith((".weight", ".bias")) else (name, "", "")
        number = re.search(r"(?<=[._])\d+(?=\.)", tensor)
        pattern = tensor[: number.start()] + "*" + tensor[number.end() :] if number else tensor
        if pattern not in layout:
            unknown.append(original)
            continue
        renamed = layout[pattern].replace("*", number.group() if number else "*")
        ours[f"{renamed}.{kind}" if kind else renamed] = arrays[original]
    for feature, names in FOREIGN.items():
        if found := next((name for name in unknown if re.search(names, name)), None):
            raise _refusal(feature, found)
    if not layout:
        raise ValueError("this is no ViT of timm, torchvision or Hugging Face: none of their patch embeddings is in it")
    if unknown:
        raise ValueError(f"no part of our model corresponds to the tensor {unknown[0]}")
    return ours


def _join(arrays: dict[str, Array]) -> None:
    """Put separate queries, keys and values side by side, in this order."""
    for name in [name for name in arrays if re.search(r"\.q\.(weight|bias)$", name)]:
        start, kind = name.rsplit(".q.", 1)
        parts = [arrays.pop(f"{start}.{letter}.{kind}") for letter in "qkv"]
        arrays[f"{start}.qkv.{kind}"] = np.concatenate(parts)


def _place(arrays: dict[str, Array], averaged: bool, n_patches: int | None) -> None:
    """Bring class token, registers and position table into our form: a row for the class token, none for registers.

    With `averaged` the head reads the mean of the patches.
    """
    if "pos" not in arrays:
        raise ValueError(
            "these weights have no position table: positions are rotary (RoPE) or relative there; ours are added"
        )
    pos = arrays["pos"][0]
    nothing = pos[:0]
    cls, reg = (arrays[name][0] if name in arrays else nothing for name in ("cls", "reg"))
    if not averaged and not len(cls):
        raise ValueError("these weights normalize before the mean (norm, no fc_norm, no class token); ours do after it")
    before = len(pos) - _patches(len(pos), len(cls) + len(reg), n_patches)
    if before:
        own, to_registers, pos = pos[: len(cls)], pos[len(cls) : before], pos[before:]
        reg = reg + to_registers
    else:
        own = np.zeros_like(cls)
    if averaged:
        cls, own, reg = nothing, nothing, np.concatenate([cls + own, reg])
    arrays |= {"cls": cls, "reg": reg, "pos": np.concatenate([own, pos])}


def _patches(rows: int, prefix: int, n_patches: int | None) -> int:
    """N_p, when `rows` positions are either for the patches or for them and all `prefix` tokens."""
    readings = {rows, rows - prefix}
    if n_patches is None:
        readings = {n for n in readings if n > 0 and isqrt(n) ** 2 == n}
    elif n_patches in readings:
        return n_patches
    if len(readings) != 1 or n_patches is not None:
        raise ValueError(
            f"the {rows} rows of the position table can be for {rows} or {rows - prefix} patches"
            + (f", not for {n_patches}" if n_patches else ": pass n_patches")
        )
    return readings.pop()


# --- what a live model tells ----------------------------------------------------------------------------------------


def _heads(live: nn.Module) -> int | None:
    """The number of heads: of Hugging Face's configuration, or of the first module that has one."""
    found = [getattr(getattr(live, "config", None), "num_attention_heads", None)]
    found += [getattr(module, "num_heads", None) for module in live.modules()]
    return next((heads for heads in found if isinstance(heads, int)), None)


def _check_constants(live: nn.Module) -> None:
    """Raises ValueError when a constant, which no tensor shows, differs from ours."""
    for module in live.modules():
        if isinstance(module, nn.LayerNorm) and module.eps != 1e-6:
            raise ValueError(
                f"a LayerNorm of this model adds {module.eps:g} where ours add 1e-06; pass its state_dict() to take the"
                " weights all the same"
            )
    if getattr(live, "rope", None) is not None:
        raise _refusal("rotary positions (RoPE)", "the module rope")
    pool = getattr(live, "global_pool", "token")
    if pool not in ("token", "avg") or getattr(live, "pool_include_prefix", False):
        raise ValueError(f"this model pools with {pool!r}; ours read the class token, or the mean of the patches alone")
    for name, module in live.named_modules():
        if re.search(r"mlp\.(act|1|activation_fn)$", name):
            x = torch.linspace(-4, 4, 101, dtype=torch.float64)
            if np.abs(module(x).numpy() - gelu(x.numpy())).max() > 1e-9:
                raise ValueError(f"the activation {name} of this model is not the exact GELU")
