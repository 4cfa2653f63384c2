"""One image at a time, with matrices instead of batches; a loop over images is allowed."""

import numpy as np
from scipy.special import erf


def normalize(rows, gain, shift):
    mean = rows.mean(axis=-1, keepdims=True)
    return gain * ((rows - mean) / np.sqrt(((rows - mean) ** 2).sum(axis=-1, keepdims=True) / len(gain) + 1e-6)) + shift


def encode(params, image, pool):
    P, h = params["P"], params["h"]
    rows, cols = image.shape[0] // P, image.shape[1] // P
    patches = image.reshape(rows, P, cols, P, -1).transpose(0, 2, 1, 3, 4).reshape(rows * cols, -1)
    x = patches @ params["W_E"] + params["b_E"]
    if pool == "cls":
        x = np.vstack([params["cls"], x])
    x = x + params["pos"]
    start = 1 if pool == "cls" else 0
    x = np.vstack([x[:start], params["reg"], x[start:]])
    T, d = x.shape
    for b in params["blocks"]:
        q, k, v = (normalize(x, b["ln1_g"], b["ln1_b"]) @ b["W_qkv"] + b["b_qkv"]).T.reshape(3, h, d // h, T)
        s = q.transpose(0, 2, 1) @ k / np.sqrt(d // h)
        w = np.exp(s - s.max(axis=2, keepdims=True))
        w = w / w.sum(axis=2, keepdims=True)
        x = x + (v @ w.transpose(0, 2, 1)).reshape(d, T).T @ b["W_o"] + b["b_o"]
        u = normalize(x, b["ln2_g"], b["ln2_b"]) @ b["W_1"] + b["b_1"]
        x = x + (0.5 * u * (1 + erf(u / 2**0.5))) @ b["W_2"] + b["b_2"]
    return x[0] if pool == "cls" else x[len(params["reg"]) :].mean(axis=0)


def vit_forward(params, img, pool="cls"):
    z = np.array([encode(params, image, pool) for image in img])
    return normalize(z, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]
