"""All heads folded into the batch axis, columns first, as older code does it."""

import numpy as np
from scipy import special

EPSILON = np.float64(1e-6)


def vit_forward(params, img, pool="cls"):
    b, height, width, c = img.shape
    p, h = params["P"], params["h"]
    rows, cols = height // p, width // p
    d = params["W_E"].shape[1]
    r = params["reg"].shape[0]
    patches = np.transpose(np.reshape(img, (b, rows, p, cols, p, c)), (0, 1, 3, 2, 4, 5))
    x = np.reshape(patches, (b * rows * cols, p * p * c)).dot(params["W_E"])
    x += params["b_E"]
    x = x.reshape(b, rows * cols, d)
    x = x + (params["pos"][1:] if pool == "cls" else params["pos"])
    x = np.concatenate((np.zeros((b, r, d)) + params["reg"], x), axis=1)
    if pool == "cls":
        x = np.concatenate((np.zeros((b, 1, d)) + params["cls"] + params["pos"][0], x), axis=1)
    t = x.shape[1]

    def layer_norm(x, g, s):
        mu = np.add.reduce(x, axis=-1, keepdims=True) / d
        sigma2 = np.add.reduce((x - mu) ** 2, axis=-1, keepdims=True, dtype=np.float64) / d
        return np.divide(x - mu, np.sqrt(sigma2 + EPSILON)) * g + s

    i = 0
    while i < len(params["blocks"]):
        w = params["blocks"][i]
        i += 1
        qkv = layer_norm(x, w["ln1_g"], w["ln1_b"]).reshape(b * t, d).dot(w["W_qkv"]) + w["b_qkv"]
        q, k, v = qkv.reshape(b, t, 3, h, d // h).transpose(2, 0, 3, 1, 4).reshape(3, b * h, t, d // h)
        score = np.matmul(q / np.sqrt(d // h), k.transpose(0, 2, 1))
        score = np.exp(score - np.amax(score, axis=2)[:, :, None])
        out = np.matmul(score, v) / score.sum(axis=2)[:, :, None]
        out = out.reshape(b, h, t, d // h).transpose(0, 2, 1, 3).reshape(b * t, d)
        x = x + (out.dot(w["W_o"]) + w["b_o"]).reshape(b, t, d)
        hidden = layer_norm(x, w["ln2_g"], w["ln2_b"]) @ w["W_1"] + w["b_1"]
        hidden = hidden * 0.5 * (1.0 + special.erf(hidden / np.sqrt(2.0)))
        x = x + hidden @ w["W_2"] + w["b_2"]

    if pool == "gap":
        x = x[:, r:].mean(axis=1, dtype=np.float64)
    elif pool == "cls":
        x = np.squeeze(x[:, :1], axis=1)
    return layer_norm(x, params["lnf_g"], params["lnf_b"]).dot(params["W_head"]) + params["b_head"]
