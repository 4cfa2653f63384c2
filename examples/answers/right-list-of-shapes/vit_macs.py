import math


def products(cfg, res):
    """Every matrix product as (term, how often, rows, inner, columns)."""
    d, d_ff, h, L = cfg["d"], cfg["d_ff"], cfg["h"], cfg["L"]
    N = (res // cfg["P"]) ** 2
    T = N + cfg["cls_token"] + cfg["n_registers"]
    yield "patch", 1, N, cfg["C"] * cfg["P"] * cfg["P"], d
    yield "linear", L, T, d, 3 * d
    yield from (("linear", L, T, m, n) for m, n in [(d, d), (d, d_ff), (d_ff, d)])
    yield from [("attention", L * h, T, d // h, T), ("attention", L * h, T, T, d // h)]
    yield "head", 1, 1, d, cfg["n_classes"]


def vit_macs(cfg, res):
    table = list(products(cfg, res))
    terms = ("patch", "linear", "attention", "head")
    macs = {term: sum(math.prod(sizes) for name, *sizes in table if name == term) for term in terms}
    return {**macs, "total": sum(macs.values())}


# %%
import itertools


def attention_crossover_res(cfg):
    def caught_up(res):
        macs = vit_macs(cfg, res)
        return macs["attention"] >= macs["linear"]

    return next(res for res in itertools.count(cfg["P"], cfg["P"]) if caught_up(res))
