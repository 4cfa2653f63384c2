import functools

from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import ndtr, softmax


def cut(img, P):
    windows = sliding_window_view(img, (P, P), axis=(1, 2))[:, ::P, ::P]  # (B, rows, columns, C, P, P)
    return np.einsum("brkcuv->brkuvc", windows).reshape(len(img), -1, P * P * img.shape[-1])


def normed(x, name, p):
    centred = x - x.mean(-1)[..., None]
    return p[name + "_g"] * centred * (np.square(centred).mean(-1)[..., None] + 1e-6) ** -0.5 + p[name + "_b"]


def attention(y, p, h):
    d = y.shape[-1]
    W, b = p["W_qkv"].reshape(d, 3, h, d // h), p["b_qkv"].reshape(3, 1, 1, h, d // h)
    q, k, v = np.einsum("btd,dnhc->nbthc", y, W) + b
    weights = softmax(np.einsum("bqhc,bkhc->bhqk", q, k) / (d // h) ** 0.5, axis=-1)
    return np.einsum("bqhc,hcd->bqd", np.einsum("bhqk,bkhc->bqhc", weights, v), p["W_o"].reshape(h, d // h, d)) + p["b_o"]


def after_block(x, p, h):
    x = x + attention(normed(x, "ln1", p), p, h)
    u = normed(x, "ln2", p) @ p["W_1"] + p["b_1"]
    return x + (u * ndtr(u)) @ p["W_2"] + p["b_2"]


def vit_forward(params, img, pool="cls"):
    patches = cut(img, params["P"]) @ params["W_E"] + params["b_E"]
    B, N, d = patches.shape
    patches = patches + params["pos"][-N:]
    front = [np.broadcast_to(params["reg"], (B, len(params["reg"]), d))]
    if pool == "cls":
        front.insert(0, np.broadcast_to(params["cls"] + params["pos"][0], (B, 1, d)))
    x = functools.reduce(
        lambda x, p: after_block(x, p, params["h"]), params["blocks"], np.concatenate([*front, patches], axis=1)
    )
    z = {"cls": lambda: x[:, 0], "gap": lambda: x[:, -N:].mean(1)}[pool]()
    return normed(z, "lnf", params) @ params["W_head"] + params["b_head"]
