"""NumPy with arbitrary-precision objects, cast at the end; more keys than asked for."""

import math

import numpy as np


def vit_macs(cfg, res):
    n = np.array([(res // cfg["P"]) ** 2], dtype=object)
    t = n + int(cfg["cls_token"]) + cfg["n_registers"]
    d = cfg["d"]
    patch = int((n * cfg["P"] ** 2 * cfg["C"] * d)[0])
    linear = int((cfg["L"] * t * (4 * d**2 + 2 * d * cfg["d_ff"]))[0])
    attention = int((cfg["L"] * 2 * t**2 * d)[0])
    head = int(np.prod(np.array([d, cfg["n_classes"]], dtype=object)))
    return {
        "tokens": int(t[0]),
        "patch": patch,
        "linear": linear,
        "attention": attention,
        "head": head,
        "total": patch + linear + attention + head,
        "flops": 2 * (patch + linear + attention + head),
    }


def attention_crossover_res(cfg):
    needed = 2 * cfg["d"] + cfg["d_ff"] - cfg["cls_token"] - cfg["n_registers"]
    return max(1, math.ceil(math.sqrt(max(0, needed)))) * cfg["P"]
