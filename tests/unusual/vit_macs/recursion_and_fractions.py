"""Bisection by recursion for the crossover, exact rationals for the terms."""

from fractions import Fraction


def _tokens(cfg, res):
    return Fraction(res, cfg["P"]) ** 2 + sum(1 for _ in range(cfg["n_registers"])) + (1 if cfg["cls_token"] else 0)


def vit_macs(cfg, res):
    t, d = _tokens(cfg, res), Fraction(cfg["d"])
    parts = {
        "head": d * cfg["n_classes"],
        "attention": 2 * cfg["L"] * d * t**2,
        "linear": cfg["L"] * t * 2 * d * (2 * d + cfg["d_ff"]),
        "patch": Fraction(res) ** 2 * cfg["C"] * d,
    }
    parts["total"] = sum(parts.values())
    return {key: int(value) for key, value in parts.items()}


def attention_crossover_res(cfg):
    def enough(side):
        return _tokens(cfg, side * cfg["P"]) >= 2 * cfg["d"] + cfg["d_ff"]

    def search(low, high):
        if high - low == 1:
            return high
        middle = (low + high) // 2
        return search(low, middle) if enough(middle) else search(middle, high)

    high = 1
    while not enough(high):
        high *= 2
    return search(0, high) * cfg["P"]
