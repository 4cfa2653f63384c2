"""Every product an einsum over named axes, and the normal distribution function from SciPy."""

import numpy as np
from scipy.special import ndtr


def vit_forward(params, img, pool="cls"):
    P, h = params["P"], params["h"]
    B, H, W, C = img.shape
    d = params["b_E"].size
    pixels = img.reshape(B, H // P, P, W // P, P, C)
    weights = params["W_E"].reshape(P, P, C, d)
    x = np.einsum("biujvc,uvcd->bijd", pixels, weights).reshape(B, -1, d) + params["b_E"]
    x = x + params["pos"][-x.shape[1] :]
    reg = np.tile(params["reg"], (B, 1, 1))
    if pool == "cls":
        first = np.tile(params["cls"] + params["pos"][0], (B, 1, 1))
        x = np.hstack([first, reg, x])
    else:
        x = np.hstack([reg, x])

    def ln(x, g, b):
        mean = np.einsum("...d->...", x)[..., None] / d
        var = np.einsum("...d,...d->...", x - mean, x - mean)[..., None] / d
        return (x - mean) * (var + 1e-6) ** -0.5 * g + b

    for blk in params["blocks"]:
        y = ln(x, blk["ln1_g"], blk["ln1_b"])
        wq, wk, wv = blk["W_qkv"].reshape(d, 3, h, -1).swapaxes(0, 1)
        bq, bk, bv = blk["b_qkv"].reshape(3, h, -1)
        q = np.einsum("btd,dhk->bthk", y, wq) + bq
        k = np.einsum("btd,dhk->bthk", y, wk) + bk
        v = np.einsum("btd,dhk->bthk", y, wv) + bv
        s = np.einsum("bqhk,bshk->bhqs", q, k) * q.shape[-1] ** -0.5
        a = np.exp(s - np.max(s, axis=3, keepdims=True))
        a = np.einsum("bhqs,bhq->bhqs", a, 1 / np.einsum("bhqs->bhq", a))
        wo = blk["W_o"].reshape(h, -1, d)
        x = x + np.einsum("bhqs,bshk,hkd->bqd", a, v, wo) + blk["b_o"]
        u = np.einsum("btd,df->btf", ln(x, blk["ln2_g"], blk["ln2_b"]), blk["W_1"]) + blk["b_1"]
        x = x + np.einsum("btf,fd->btd", u * ndtr(u), blk["W_2"]) + blk["b_2"]
    z = x[:, 0, :] if pool == "cls" else np.einsum("btd->bd", x[:, params["reg"].shape[0] :]) / (H // P * (W // P))
    return np.einsum("bd,dk->bk", ln(z, params["lnf_g"], params["lnf_b"]), params["W_head"]) + params["b_head"]
