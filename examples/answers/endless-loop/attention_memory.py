def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    T = (res // cfg["P"]) ** 2 + int(cfg["cls_token"]) + cfg["n_registers"]
    rows = batch * cfg["L"] * cfg["h"] * T
    return rows * 4 if flash else rows * T * bytes_per


# %%
def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    res = cfg["P"]
    while attention_memory_bytes(cfg, res, batch, bytes_per) != budget_bytes:
        res += cfg["P"]
    return res
