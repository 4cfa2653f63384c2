"""Patches as a sliding window with a stride, the GELU from scipy.stats, softmax from scipy.special."""

import numpy as np
from scipy.special import softmax
from scipy.stats import norm


def cut(img, P):
    windows = np.lib.stride_tricks.sliding_window_view(img, (P, P), axis=(1, 2))[:, ::P, ::P]  # (B, i, j, C, P, P)
    windows = np.moveaxis(windows, 3, -1)
    return windows.reshape(len(img), -1, windows.shape[-1] * P * P)


def layer_norm(x, g, b):
    return g * (x - np.mean(x, -1, keepdims=True)) / np.sqrt(np.var(x, -1, keepdims=True) + 1e-6) + b


def vit_forward(params, img, pool="cls"):
    x = cut(img, params["P"]) @ params["W_E"] + params["b_E"]
    B, N, d = x.shape
    R, h = len(params["reg"]), params["h"]
    if pool == "cls":
        x = np.concatenate([np.full((B, 1, d), params["cls"]), x], axis=1) + params["pos"]
        x = np.insert(x, [1] * R, params["reg"], axis=1)
    else:
        x = np.insert(x + params["pos"], [0] * R, params["reg"], axis=1)
    for p in params["blocks"]:
        y = layer_norm(x, p["ln1_g"], p["ln1_b"]) @ p["W_qkv"] + p["b_qkv"]
        y = np.stack(np.split(y, 3, axis=-1)).reshape(3, B, -1, h, d // h)
        q, k, v = np.moveaxis(y, 3, 2)
        a = softmax(np.matmul(q, np.moveaxis(k, -1, -2)) / (d / h) ** 0.5, axis=-1)
        x = x + np.moveaxis(a @ v, 1, 2).reshape(x.shape) @ p["W_o"] + p["b_o"]
        u = layer_norm(x, p["ln2_g"], p["ln2_b"]) @ p["W_1"] + p["b_1"]
        x = x + u * norm.cdf(u) @ p["W_2"] + p["b_2"]
    z = x[:, 0] if pool == "cls" else np.average(x[:, -N:], axis=1)
    return layer_norm(z, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]
