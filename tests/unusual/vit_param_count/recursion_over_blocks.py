"""Counts a model as its last block and the model without it."""


def vit_param_count(cfg):
    d = cfg["d"]
    if cfg["L"] > 0:
        rest = dict(cfg, L=cfg["L"] - 1)
        return d * (4 * d + 2 * cfg["d_ff"] + 9) + cfg["d_ff"] + vit_param_count(rest)
    side, odd = divmod(cfg["img"], cfg["P"])
    assert odd == 0
    vectors = cfg["P"] ** 2 * cfg["C"] + 1 + 2 * cfg["cls_token"] + cfg["n_registers"] + side**2 + 2
    return vectors * d + (d + 1) * cfg["n_classes"]
