def vit_param_count(cfg):
    d, d_ff, K = cfg["d"], cfg["d_ff"], cfg["n_classes"]
    n_patches = (cfg["img"] // cfg["P"]) ** 2
    token = 1 if cfg["cls_token"] else 0
    total = cfg["P"] ** 2 * cfg["C"] * d + d
    total += token * d + cfg["n_registers"] * d
    total += (n_patches + token) * d
    total += cfg["L"] * (4 * d * d + 2 * d * d_ff + d_ff + 9 * d)
    total += 2 * d
    if K:
        total += d * K + K
    return total
