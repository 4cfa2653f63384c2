"""Counting up, block by block and resolution by resolution."""

from itertools import count


def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    patches_per_side = res // cfg["P"]
    tokens = patches_per_side * patches_per_side
    if cfg["cls_token"]:
        tokens += 1
    tokens += cfg["n_registers"]
    total = 0
    for _block in range(cfg["L"]):
        total += cfg["h"] * (tokens * 4 if flash else tokens * tokens * bytes_per)
    return total * batch


def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    one_block = cfg | {"L": 1}
    best = 0
    for res in count(cfg["P"], cfg["P"]):
        if cfg["L"] * attention_memory_bytes(one_block, res, batch, bytes_per) > budget_bytes:
            return best
        best = res
