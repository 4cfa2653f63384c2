def vit_macs(cfg, res):
    N = (res // cfg["P"]) ** 2
    T = N + int(cfg["cls_token"]) + cfg["n_registers"]
    d, L = cfg["d"], cfg["L"]
    patch = N * cfg["P"] ** 2 * cfg["C"] * d
    linear = L * T * (4 * d * d + 2 * d * cfg["d_ff"])
    attention = L * 2 * T * T * d
    head = d * cfg["n_classes"]
    return dict(patch=patch, linear=linear, attention=attention, head=head, total=patch + linear + attention + head)


# %%
def attention_crossover_res(cfg):
    # 2 T^2 d >= T (4 d^2 + 2 d d_ff)   ->   T >= 2 d + d_ff
    T = 2 * cfg["d"] + cfg["d_ff"]
    # TODO: from T to res
