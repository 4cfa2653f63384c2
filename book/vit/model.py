"""A Vision Transformer in NumPy: every function is one line of the definition.

Shapes use the field's letters: B images, H x W pixels, C channels, P patch side, N patches, T tokens, d width,
h heads, d_k = d / h, K classes. Weights are stored (input, output) and tokens are rows. The arithmetic stays in the
type of the parameters and the image: float32 in, float32 out. Functions never change their arguments; inside, buffers
that nobody else holds are reused.

The definition is Dosovitskiy et al., arXiv 2010.11929, equations 1 to 4, with a patch bias, registers
(Darcet et al., arXiv 2309.16588) and both poolings.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .family import Config

Array = NDArray[np.floating]
Params = dict[str, int | Array | list[dict[str, Array]]]


def patchify(img: Array, P: int) -> Array:
    """(B, H, W, C) -> (B, N, P*P*C): patches in raster order, pixels of a patch row by row, channels last.

    Raises ValueError when a side is not a multiple of P.
    """
    B, H, W, C = img.shape
    if H % P or W % P:
        raise ValueError(f"a {H} x {W} image cannot be cut into {P}-pixel patches; crop or resize it to multiples")
    cells = img.reshape(B, H // P, P, W // P, P, C).swapaxes(2, 3)
    return cells.reshape(B, (H // P) * (W // P), P * P * C)


def linear(x: Array, W: Array, b: Array) -> Array:
    """(..., d_in) -> (..., d_out): x W + b, as one matrix product over all rows."""
    y = x.reshape(-1, x.shape[-1]) @ W
    y += b
    return y.reshape(*x.shape[:-1], W.shape[1])


def layer_norm(x: Array, gain: Array, shift: Array, eps: float = 1e-6) -> Array:
    """(..., d) -> (..., d): each row to mean zero and (population) variance one, then gain and shift."""
    y = x - x.mean(-1, keepdims=True)
    variance = np.vecdot(y, y)[..., None] / x.shape[-1]
    y /= np.sqrt(variance + eps)
    y *= gain
    y += shift
    return y


# Phi(x) = (1 + tanh(x p(x^2))) / 2 for some function p. The tanh GELU stops its series after two terms; with these
# seven, fitted for the smallest largest error of x Phi(x), what is missing is 7e-8, less than float32 can show.
_P = (0.7978845, 0.03633391, -3.295476e-5, -5.527794e-5, 3.973113e-6, -1.336469e-7, 1.809363e-9)
_CHUNK = 2**16  # numbers that stay in a core's cache while they are worked on


def normal_cdf(x: Array) -> Array:
    """Phi(x), the standard normal distribution function, to the rounding of x's type.

    SciPy's is right for every type, but visits the numbers one by one; for float32 it was half the time of a forward
    pass, so float32 has a form in NumPy's vectorized operations.
    """
    if x.dtype != np.float32:
        return ndtr(x)
    cdf = np.empty(x.shape, np.float32)
    flat, out = x.reshape(-1), cdf.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        part, y = flat[start : start + _CHUNK], out[start : start + _CHUNK]
        square = np.minimum(part * part, np.float32(36))  # further out Phi is 0 or 1 in float32
        y[:] = _P[-1]
        for coefficient in _P[-2::-1]:
            y *= square
            y += coefficient
        y *= part
        np.tanh(y, out=y)
        y += 1
        y *= 0.5
    return cdf


def gelu(x: Array) -> Array:
    """x Phi(x), with Phi the standard normal distribution function: the exact GELU."""
    y = normal_cdf(x)
    y *= x
    return y


def gelu_tanh(x: Array) -> Array:
    """The tanh approximation of the GELU (Hendrycks and Gimpel, arXiv 1606.08415, section 2)."""
    return 0.5 * x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(s: Array, out: Array | None = None) -> Array:
    """Softmax of each row, finite for any finite scores. `out` may be `s` itself."""
    weights = np.subtract(s, s.max(-1, keepdims=True), out=out)
    np.exp(weights, out=weights)
    weights /= weights.sum(-1, keepdims=True)
    return weights


def attention(y: Array, block: dict[str, Array], h: int, mask: NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
    """Multi-head attention: (B, T, d) -> the output (B, T, d) and the attention weights (B, h, T, T).

    `mask` is (T, T), true where a row may read a column; without one, every token reads every token.
    """
    B, T, d = y.shape
    qkv = linear(y, block["W_qkv"], block["b_qkv"]).reshape(B, T, 3, h, d // h)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)  # each (B, h, T, d_k), and none is copied
    q *= 1 / sqrt(d // h)
    scores = q @ k.swapaxes(-1, -2)
    if mask is not None:
        np.copyto(scores, -np.inf, where=~mask)
    weights = softmax(scores, out=scores)
    heads = (weights @ v).swapaxes(1, 2).reshape(B, T, d)  # side by side, as W_o reads them
    return linear(heads, block["W_o"], block["b_o"]), weights


def mlp(y: Array, block: dict[str, Array]) -> Array:
    """(B, T, d) -> (B, T, d): two linear layers with a GELU between them, each token on its own."""
    return linear(gelu(linear(y, block["W_1"], block["b_1"])), block["W_2"], block["b_2"])


def embed(params: Params, img: Array, pool: str = "cls") -> Array:
    """(B, H, W, C) -> (B, T, d): the class token if `pool` is "cls", the registers, then the patches.

    Positions go to the class token and the patches; registers have none.
    """
    patches = linear(patchify(img, params["P"]), params["W_E"], params["b_E"])
    n_cls = 1 if pool == "cls" else 0
    if len(params["pos"]) != n_cls + patches.shape[1]:
        raise ValueError(
            f"the position table has {len(params['pos'])} rows, but this image needs {n_cls + patches.shape[1]}"
            f' with pool="{pool}"'
        )
    patches += params["pos"][n_cls:]
    first = [params["cls"] + params["pos"][:1]] if n_cls else []
    before = np.concatenate([*first, params["reg"]])
    return np.concatenate([np.broadcast_to(before, (len(img), *before.shape)), patches], axis=1)


def forward(
    params: Params,
    img: Array,
    pool: str = "cls",
    mask: NDArray[np.bool_] | None = None,
    return_weights: bool = False,
) -> Array | tuple[Array, list[Array]]:
    """(B, H, W, C) -> logits (B, K), and with `return_weights` also every block's attention weights (B, h, T, T).

    `pool` is "cls" (read row 0) or "gap" (read the mean of the patch rows, registers left out). Raises ValueError for
    another pooling, for an image that cannot be cut into patches and for a position table of the wrong length.
    """
    if pool not in ("cls", "gap"):
        raise ValueError(f'pool is "cls" or "gap", not {pool!r}')
    x = embed(params, img, pool)
    kept = []
    for block in params["blocks"]:
        out, weights = attention(layer_norm(x, block["ln1_g"], block["ln1_b"]), block, params["h"], mask)
        x += out
        x += mlp(layer_norm(x, block["ln2_g"], block["ln2_b"]), block)
        if return_weights:
            kept.append(weights)
    z = x[:, 0] if pool == "cls" else x[:, len(params["reg"]) :].mean(1)
    logits = linear(layer_norm(z, params["lnf_g"], params["lnf_b"]), params["W_head"], params["b_head"])
    return (logits, kept) if return_weights else logits


def init(rng: np.random.Generator, cfg: Config, size: tuple[int, int] | None = None, dtype: type = float) -> Params:
    """Random parameters for `cfg`, in the layout that `forward` reads; `size` is (H, W) when the image is not square.

    Matrices are normal with variance 1 / d_in, so that signals neither die nor grow. Everything else is random
    too (biases and tokens small, gains near one), so that a mistake in any tensor can be seen. Raises ValueError for a
    pooling that `forward` does not do, and for a class token that is not read or missing.
    """
    if cfg["pool"] not in ("cls", "gap") or cfg["cls_token"] != (cfg["pool"] == "cls"):
        raise ValueError('this model has a class token exactly when pool is "cls", and none when it is "gap"')
    d, d_ff, P, classes = cfg["d"], cfg["d_ff"], cfg["P"], cfg["n_classes"]
    H, W = size or (cfg["img"], cfg["img"])
    n_cls = int(cfg["cls_token"])

    def matrix(d_in: int, d_out: int) -> Array:
        return (rng.standard_normal((d_in, d_out)) / sqrt(d_in)).astype(dtype)

    def small(*shape: int) -> Array:
        return (0.02 * rng.standard_normal(shape)).astype(dtype)

    def block() -> dict[str, Array]:
        return {
            "ln1_g": 1 + small(d),
            "ln1_b": small(d),
            "W_qkv": matrix(d, 3 * d),
            "b_qkv": small(3 * d),
            "W_o": matrix(d, d),
            "b_o": small(d),
            "ln2_g": 1 + small(d),
            "ln2_b": small(d),
            "W_1": matrix(d, d_ff),
            "b_1": small(d_ff),
            "W_2": matrix(d_ff, d),
            "b_2": small(d),
        }

    params: Params = {
        "P": P,
        "h": cfg["h"],
        "W_E": matrix(P * P * cfg["C"], d),
        "b_E": small(d),
        "reg": small(cfg["n_registers"], d),
        "pos": small(n_cls + (H // P) * (W // P), d),
        "blocks": [block() for _ in range(cfg["L"])],
        "lnf_g": 1 + small(d),
        "lnf_b": small(d),
        "W_head": matrix(d, classes),
        "b_head": small(classes),
    }
    return params | ({"cls": small(d)} if n_cls else {})


def count(params: Params) -> int:
    """The numbers held by a parameter dict: what `cost.parameters` says without looking."""
    tensors = [value for value in params.values() if isinstance(value, np.ndarray)]
    tensors += [tensor for block in params["blocks"] for tensor in block.values()]
    return sum(tensor.size for tensor in tensors)
