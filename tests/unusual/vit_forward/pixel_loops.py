"""Patches from strided slices, a loop over the pixels inside a patch; queries, keys and values in a loop of three."""

import numpy as np
from scipy.special import erf


def vit_forward(params, img, pool="cls"):
    P, h = params["P"], params["h"]
    B, C = img.shape[0], img.shape[3]
    d = len(params["b_E"])
    x = params["b_E"]
    for u in range(P):
        for v in range(P):
            at = (u * P + v) * C
            x = x + img[:, u::P, v::P] @ params["W_E"][at : at + C]
    x = x.reshape(B, -1, d)
    N = x.shape[1]
    extra = 1 if pool == "cls" else 0

    # The registers at the end of the sequence: the logits cannot tell.
    T = extra + N + len(params["reg"])
    stream = np.empty((B, T, d))
    stream[:, extra : extra + N] = x + params["pos"][extra:]
    stream[:, extra + N :] = params["reg"]
    if extra:
        stream[:, 0] = params["cls"] + params["pos"][0]

    def ln(a, g, b, eps=1e-6):
        m = a.mean(axis=-1, keepdims=True)
        return (a - m) / np.sqrt((a * a).mean(axis=-1, keepdims=True) - m * m + eps) * g + b

    for block in params["blocks"]:
        y = ln(stream, block["ln1_g"], block["ln1_b"])
        parts = []
        for n in range(3):
            part = y @ block["W_qkv"][:, n * d : (n + 1) * d] + block["b_qkv"][n * d : (n + 1) * d]
            parts.append(part.reshape(B, T, h, d // h).swapaxes(1, 2))
        q, k, v = parts
        a = q @ k.swapaxes(2, 3) / np.sqrt(d // h)
        a -= np.log(np.exp(a - a.max(-1, keepdims=True)).sum(-1, keepdims=True)) + a.max(-1, keepdims=True)
        stream += (np.exp(a) @ v).swapaxes(1, 2).reshape(B, T, d) @ block["W_o"] + block["b_o"]
        u = ln(stream, block["ln2_g"], block["ln2_b"]) @ block["W_1"] + block["b_1"]
        stream += (u * (erf(u * np.sqrt(0.5)) + 1) * 0.5) @ block["W_2"] + block["b_2"]

    z = stream[:, 0] if pool == "cls" else stream[:, :N].sum(1) / N
    return ln(z, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]
