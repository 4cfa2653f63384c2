def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    n_patches = (res // cfg["P"]) ** 2
    token = 1 if cfg["cls_token"] else 0
    T = n_patches + token + cfg["n_registers"]
    heads = batch * cfg["L"] * cfg["h"]
    if flash:
        return heads * T * 4
    return heads * T * T * bytes_per


# %%
from math import isqrt


def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    numbers = budget_bytes // (batch * cfg["L"] * cfg["h"] * bytes_per)
    T = isqrt(numbers)
    n_patches = T - int(cfg["cls_token"]) - cfg["n_registers"]
    if n_patches < 1:
        return 0
    return isqrt(n_patches) * cfg["P"]
