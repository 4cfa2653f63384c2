def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    n_patches = (res // cfg["P"]) ** 2
    token = 1 if cfg["cls_token"] else 0
    T = n_patches + token + cfg["n_registers"]
    heads = batch * cfg["L"] * cfg["h"]
    if flash:
        return heads * T * 4
    return heads * T * T * bytes_per


# %%
def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    res = 0
    while attention_memory_bytes(cfg, res + cfg["P"], batch, bytes_per) <= budget_bytes:
        res += cfg["P"]
    return res
