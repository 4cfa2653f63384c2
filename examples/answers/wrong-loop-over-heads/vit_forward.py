def layer_norm(x, g, b):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6) * g + b


def attention(x, p, h):
    d = x.shape[-1]
    dk = d // h
    qkv = x @ p["W_qkv"] + p["b_qkv"]
    heads = []
    for j in range(h):
        q = qkv[:, :, j * dk : (j + 1) * dk]
        k = qkv[:, :, d + j * dk : d + (j + 1) * dk]
        v = qkv[:, :, 2 * d + j * dk : 2 * d + (j + 1) * dk]
        s = q @ k.transpose(0, 2, 1) / np.sqrt(dk)
        a = np.exp(s - s.max(-1, keepdims=True))
        heads.append(a / a.sum(-1, keepdims=True) @ v)
    return np.concatenate(heads, axis=-1) @ p["W_o"] + p["b_o"]


def mlp(x, p):
    u = x @ p["W_1"] + p["b_1"]
    return u * (1 + erf(u / np.sqrt(2))) / 2 @ p["W_2"] + p["b_2"]


def vit_forward(params, img, pool="cls"):
    B, H, W, C = img.shape
    P, d, R = params["P"], params["W_E"].shape[1], len(params["reg"])
    n = 1 if pool == "cls" else 0
    grid = img.reshape(B, H // P, P, W // P, P, C).swapaxes(2, 3)
    patches = grid.reshape(B, -1, P * P * C) @ params["W_E"] + params["b_E"]
    x = np.zeros((B, n + R + patches.shape[1], d))
    if n:
        x[:, 0] = params["cls"] + params["pos"][0]
    x[:, n : n + R] = params["reg"]
    x[:, n + R :] = patches + params["pos"][n:]
    for p in params["blocks"]:
        x = x + attention(layer_norm(x, p["ln1_g"], p["ln1_b"]), p, params["h"])
        x = x + mlp(layer_norm(x, p["ln2_g"], p["ln2_b"]), p)
    z = x[:, 0] if n else x[:, R:].mean(1)
    return layer_norm(z, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]
