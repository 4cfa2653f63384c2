"""Every matrix product as a named tuple, summed by term."""

from collections import defaultdict
from typing import NamedTuple


class Product(NamedTuple):
    term: str
    m: int
    k: int
    n: int
    copies: int = 1

    @property
    def macs(self):
        return self.m * self.k * self.n * self.copies


def products(cfg, res):
    side = res // cfg["P"]
    T = side * side + cfg["cls_token"] + cfg["n_registers"]
    d, dk = cfg["d"], cfg["d"] // cfg["h"]
    yield Product("patch", side * side, cfg["P"] ** 2 * cfg["C"], d)
    for columns in (d, d, d, d):
        yield Product("linear", T, d, columns, cfg["L"])
    yield Product("linear", T, d, cfg["d_ff"], cfg["L"])
    yield Product("linear", T, cfg["d_ff"], d, cfg["L"])
    yield Product("attention", T, dk, T, cfg["L"] * cfg["h"])
    yield Product("attention", T, T, dk, cfg["L"] * cfg["h"])
    yield Product("head", 1, d, cfg["n_classes"])


def vit_macs(cfg, res):
    sums = defaultdict(int)
    for product in products(cfg, res):
        sums[product.term] += product.macs
        sums["total"] += product.macs
    return dict(sums)


def attention_crossover_res(cfg):
    res = cfg["P"]
    while vit_macs(cfg, res)["attention"] < vit_macs(cfg, res)["linear"]:
        res += cfg["P"]
    return res
