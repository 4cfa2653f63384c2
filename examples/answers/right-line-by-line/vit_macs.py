def vit_macs(cfg, res):
    d, d_ff, L = cfg["d"], cfg["d_ff"], cfg["L"]
    n_patches = (res // cfg["P"]) ** 2
    token = 1 if cfg["cls_token"] else 0
    T = n_patches + token + cfg["n_registers"]
    macs = {}
    macs["patch"] = n_patches * cfg["P"] ** 2 * cfg["C"] * d
    macs["linear"] = L * 4 * T * d * d  # q, k, v and the output projection
    macs["linear"] += L * 2 * T * d * d_ff  # both layers of the MLP
    macs["attention"] = L * T * T * d  # the scores, all heads together
    macs["attention"] += L * T * T * d  # the weights times the values
    macs["head"] = d * cfg["n_classes"]
    macs["total"] = macs["patch"] + macs["linear"] + macs["attention"] + macs["head"]
    return macs


# %%
def attention_crossover_res(cfg):
    prefix = (1 if cfg["cls_token"] else 0) + cfg["n_registers"]
    side = 1
    while side**2 + prefix < 2 * cfg["d"] + cfg["d_ff"]:
        side += 1
    return side * cfg["P"]
