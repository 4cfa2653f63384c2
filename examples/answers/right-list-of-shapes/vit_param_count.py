import math


def shapes(cfg):
    d, wide = cfg["d"], cfg["d_ff"]
    yield (cfg["P"], cfg["P"], cfg["C"], d)
    yield (d,)
    prefix = int(cfg["cls_token"])
    yield ((cfg["img"] // cfg["P"]) ** 2 + prefix, d)
    yield (prefix + cfg["n_registers"], d)
    for _ in range(cfg["L"]):
        yield from [(d, 3, d), (3, d), (d, d), (d,), (d, wide), (wide,), (wide, d), (d,), (2, d), (2, d)]
    yield (2, d)
    if cfg["n_classes"] > 0:
        yield (d, cfg["n_classes"])
        yield (cfg["n_classes"],)


def vit_param_count(cfg):
    return sum(math.prod(shape) for shape in shapes(cfg))
