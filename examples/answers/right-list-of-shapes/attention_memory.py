import math


def kept(cfg, res, flash):
    """The shape of what is kept for one image, with the bytes of a number, or None for `bytes_per`."""
    T = (res // cfg["P"]) ** 2 + cfg["cls_token"] + cfg["n_registers"]
    return ((cfg["L"], cfg["h"], T), 4) if flash else ((cfg["L"], cfg["h"], T, T), None)


def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    shape, size = kept(cfg, res, flash)
    return math.prod((batch, *shape, size or bytes_per))


# %%
import bisect


def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    sides = range(1, 10**6)
    size = lambda side: attention_memory_bytes(cfg, side * cfg["P"], batch, bytes_per)
    return bisect.bisect_right(sides, budget_bytes, key=size) * cfg["P"]
