"""The same Vision Transformer in PyTorch, with the weights of the NumPy one if you like.

Shapes and letters are those of `model`, with PyTorch's two habits: images are (B, C, H, W), and a linear layer stores
its matrix as (output, input). `load_numpy_params` and `to_numpy_params` carry parameters across, in both directions.
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .family import Config
from .model import Array, Params


class Block(nn.Module):
    """One pre-LN block, (B, T, d) -> (B, T, d).

    `mask` is (T, T), true where a row may read a column.
    """

    def __init__(self, d: int, h: int, d_ff: int, fused: bool = False) -> None:
        super().__init__()
        self.h, self.fused = h, fused
        self.ln1 = nn.LayerNorm(d, eps=1e-6)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ln2 = nn.LayerNorm(d, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(d, d_ff), nn.GELU(), nn.Linear(d_ff, d))

    def attention(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        B, T, d = y.shape
        qkv = self.qkv(y).view(B, T, 3, self.h, d // self.h)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each (B, h, T, d_k)
        if self.fused:
            heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = q @ k.transpose(-1, -2) / sqrt(d // self.h)
            if mask is not None:
                scores = scores.masked_fill(~mask, -torch.inf)
            heads = scores.softmax(dim=-1) @ v
        return self.out(heads.transpose(1, 2).reshape(B, T, d))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.ln1(x), mask)
        return x + self.mlp(self.ln2(x))


class ViT(nn.Module):
    """Images (B, C, H, W) -> logits (B, K)."""

    def __init__(self, cfg: Config, fused: bool = False) -> None:
        super().__init__()
        d, h, d_ff, P = cfg["d"], cfg["h"], cfg["d_ff"], cfg["P"]
        n_cls, n_patches = int(cfg["cls_token"]), (cfg["img"] // P) ** 2
        self.cfg = cfg
        self.patches = nn.Conv2d(cfg["C"], d, P, stride=P)
        self.cls = nn.Parameter(0.02 * torch.randn(n_cls, d))
        self.reg = nn.Parameter(0.02 * torch.randn(cfg["n_registers"], d))
        self.pos = nn.Parameter(0.02 * torch.randn(n_cls + n_patches, d))
        self.blocks = nn.ModuleList(Block(d, h, d_ff, fused) for _ in range(cfg["L"]))
        self.norm = nn.LayerNorm(d, eps=1e-6)
        self.head = nn.Linear(d, cfg["n_classes"])

    def forward(self, images: Tensor, mask: Tensor | None = None) -> Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)  # (B, N_p, d)
        n_cls = len(self.cls)
        first = torch.cat([self.cls + self.pos[:n_cls], self.reg]).expand(len(images), -1, -1)
        x = torch.cat([first, patches + self.pos[n_cls:]], dim=1)
        for block in self.blocks:
            x = block(x, mask)
        z = x[:, 0] if self.cfg["pool"] == "cls" else x[:, len(self.reg) :].mean(dim=1)
        return self.head(self.norm(z))


# --- the same numbers in both layouts -------------------------------------------------------------------------------

# PyTorch's names beside ours. A name that begins with W is a matrix, which a linear layer stores transposed.
_BLOCK = {
    "ln1.weight": "ln1_g",
    "ln1.bias": "ln1_b",
    "qkv.weight": "W_qkv",
    "qkv.bias": "b_qkv",
    "out.weight": "W_o",
    "out.bias": "b_o",
    "ln2.weight": "ln2_g",
    "ln2.bias": "ln2_b",
    "mlp.0.weight": "W_1",
    "mlp.0.bias": "b_1",
    "mlp.2.weight": "W_2",
    "mlp.2.bias": "b_2",
}
_ENDS = {
    "patches.bias": "b_E",
    "reg": "reg",
    "pos": "pos",
    "norm.weight": "lnf_g",
    "norm.bias": "lnf_b",
    "head.weight": "W_head",
    "head.bias": "b_head",
}


def kernel_from_matrix(W_E: Array, P: int) -> Array:
    """The patch matrix (P*P*C, d) as a convolution's kernel (d, C, P, P)."""
    return W_E.T.reshape(W_E.shape[1], P, P, -1).transpose(0, 3, 1, 2)


def matrix_from_kernel(kernel: Array) -> Array:
    """The inverse: a kernel (d, C, P, P) as the patch matrix (P*P*C, d)."""
    return kernel.transpose(2, 3, 1, 0).reshape(-1, len(kernel))


def _places(params: Params) -> Iterator[tuple[str, dict, str]]:
    """(PyTorch's name, the dict that holds our tensor, its key there) of every tensor that is the same in both."""
    for name, key in _ENDS.items():
        yield name, params, key
    for i, block in enumerate(params["blocks"]):
        for name, key in _BLOCK.items():
            yield f"blocks.{i}.{name}", block, key


def load_numpy_params(vit: ViT, params: Params) -> ViT:
    """Copy NumPy parameters into `vit`, which keeps its own number type, and return it.

    Raises ValueError when the heads differ, which no shape would show, and RuntimeError when a shape does.
    """
    if params["h"] != vit.cfg["h"]:
        raise ValueError(f"the parameters are for {params['h']} heads, but this model has {vit.cfg['h']}")
    W_E = params["W_E"]
    arrays = {"patches.weight": kernel_from_matrix(W_E, params["P"])}
    arrays["cls"] = params["cls"][None] if "cls" in params else np.zeros((0, W_E.shape[1]))
    for name, holder, key in _places(params):
        arrays[name] = holder[key].T if key.startswith("W_") else holder[key]
    vit.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})
    return vit


def to_numpy_params(vit: ViT) -> Params:
    """The parameters of `vit` as the dict that `model.forward` reads: copies, in vit's own number type."""
    return params_from_arrays({n: t.detach().cpu().numpy().copy() for n, t in vit.state_dict().items()}, vit.cfg["h"])


def params_from_arrays(arrays: dict[str, Array], h: int) -> Params:
    """The same from arrays under the names of a `ViT` with `h` heads. Raises KeyError for a name that is missing."""
    L = sum(name.endswith("qkv.weight") for name in arrays)
    kernel = arrays["patches.weight"]
    params: Params = {
        "P": kernel.shape[-1],
        "h": h,
        "W_E": matrix_from_kernel(kernel),
        "blocks": [{} for _ in range(L)],
    }
    if len(arrays["cls"]):
        params["cls"] = arrays["cls"][0]
    for name, holder, key in _places(params):
        holder[key] = arrays[name].T if key.startswith("W_") else arrays[name]
    return params
