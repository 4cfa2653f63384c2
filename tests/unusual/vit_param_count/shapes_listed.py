"""Lists every tensor of the model, block by block, and adds up the sizes."""

from math import prod


def tensors(cfg):
    d, d_ff, K = cfg["d"], cfg["d_ff"], cfg["n_classes"]
    yield (cfg["P"] * cfg["P"] * cfg["C"], d)
    yield (d,)
    if cfg["cls_token"]:
        yield (d,)
    for _ in range(cfg["n_registers"]):
        yield (d,)
    yield ((cfg["img"] // cfg["P"]) ** 2 + (1 if cfg["cls_token"] else 0), d)
    for _ in range(cfg["L"]):
        yield from [(d, d), (d,)] * 4
        yield from [(d, d_ff), (d_ff,), (d_ff, d), (d,)]
        yield from [(d,), (d,)] * 2
    yield from [(d,), (d,)]
    if K:
        yield from [(d, K), (K,)]


def vit_param_count(cfg):
    return sum(prod(shape) for shape in tensors(cfg))
