def norm(x, gain, shift):
    mean = x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-6) * gain + shift


def attend(x, block, h):
    B, T, d = x.shape
    dk = d // h
    q, k, v = np.split(x @ block["W_qkv"] + block["b_qkv"], 3, axis=-1)
    q = q.reshape(B, T, h, dk).transpose(0, 2, 1, 3)
    k = k.reshape(B, T, h, dk).transpose(0, 2, 1, 3)
    v = v.reshape(B, T, h, dk).transpose(0, 2, 1, 3)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(dk)
    scores = scores - scores.max(-1, keepdims=True)
    weights = np.exp(scores)
    weights = weights / weights.sum(-1, keepdims=True)
    heads = (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, d)
    return heads @ block["W_o"] + block["b_o"]


def mlp(x, block):
    u = x @ block["W_1"] + block["b_1"]
    u = 0.5 * u * (1 + erf(u / np.sqrt(2)))
    return u @ block["W_2"] + block["b_2"]


def vit_forward(params, img, pool="cls"):
    B, H, W, C = img.shape
    P = params["P"]
    x = img.reshape(B, H // P, P, W // P, P, C)
    x = x.transpose(0, 1, 3, 2, 4, 5)
    x = x.reshape(B, -1, P * P * C)
    x = x @ params["W_E"] + params["b_E"]
    first = 0
    if pool == "cls":
        first = 1
        cls = np.tile(params["cls"], (B, 1, 1))
        x = np.concatenate([cls, x], axis=1)
    x = x + params["pos"]
    reg = np.tile(params["reg"], (B, 1, 1))
    x = np.concatenate([x[:, :first], reg, x[:, first:]], axis=1)
    for block in params["blocks"]:
        x = x + attend(norm(x, block["ln1_g"], block["ln1_b"]), block, params["h"])
        x = x + mlp(norm(x, block["ln2_g"], block["ln2_b"]), block)
    if pool == "cls":
        z = x[:, 0]
    else:
        z = x[:, reg.shape[1] :].mean(1)
    z = norm(z, params["lnf_g"], params["lnf_b"])
    return z @ params["W_head"] + params["b_head"]
