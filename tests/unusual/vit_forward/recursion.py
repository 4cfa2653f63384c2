"""Blocks by recursion, everything else small pure functions, and the result through a decorator."""

import functools

import numpy as np
from scipy.special import log_ndtr, logsumexp


def float64(function):
    @functools.wraps(function)
    def wrapper(params, img, pool="cls"):
        return function(params, np.asarray(img, dtype=np.float64), pool)

    return wrapper


def norm(x, g, b):
    x = x - np.mean(x, axis=-1)[..., np.newaxis]
    return g * x / np.sqrt(np.mean(np.square(x), axis=-1)[..., np.newaxis] + 1e-6) + b


def attend(y, p, h):
    *batch, T, d = y.shape
    to_heads = lambda a: np.swapaxes(a.reshape(*batch, T, h, d // h), -2, -3)  # noqa: E731
    q, k, v = (to_heads(a) for a in np.array_split(y @ p["W_qkv"] + p["b_qkv"], 3, axis=-1))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(d / h)
    mixed = np.exp(scores - logsumexp(scores, axis=-1, keepdims=True)) @ v
    return np.swapaxes(mixed, -2, -3).reshape(*batch, T, d) @ p["W_o"] + p["b_o"]


def mlp(y, p):
    u = y @ p["W_1"] + p["b_1"]
    return u * np.exp(log_ndtr(u)) @ p["W_2"] + p["b_2"]


def run(x, blocks, h):
    if not blocks:
        return x
    p, *rest = blocks
    x = x + attend(norm(x, p["ln1_g"], p["ln1_b"]), p, h)
    x = x + mlp(norm(x, p["ln2_g"], p["ln2_b"]), p)
    return run(x, rest, h)


@float64
def vit_forward(params, img, pool="cls"):
    P = params["P"]
    B, H, W, C = img.shape
    i, j = np.divmod(np.arange((H // P) * (W // P)), W // P)
    u, v = np.divmod(np.arange(P * P), P)
    patches = img[:, P * i[:, None] + u, P * j[:, None] + v].reshape(B, -1, P * P * C)  # by index, no reshaping of axes
    patches = patches @ params["W_E"] + params["b_E"]
    match pool:
        case "cls":
            table = np.insert(params["pos"], [1] * len(params["reg"]), 0, axis=0)
            front = np.vstack([params["cls"], params["reg"]])
        case "gap":
            table = np.insert(params["pos"], [0] * len(params["reg"]), 0, axis=0)
            front = params["reg"]
    x = np.concatenate([np.broadcast_to(front, (B, *front.shape)), patches], 1) + table
    x = run(x, params["blocks"], params["h"])
    z = x[:, 0] if pool == "cls" else np.mean(x[:, len(front) :], axis=1)
    return norm(z, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]
