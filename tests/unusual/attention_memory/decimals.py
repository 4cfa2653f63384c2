"""Arbitrary-precision decimals inside, a lambda for one function, ints at the end."""

from decimal import Decimal, localcontext

import numpy as np


def _sides(cfg):
    return Decimal(int(cfg["cls_token"]) + cfg["n_registers"])


def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    with localcontext() as context:
        context.prec = 200
        t = (Decimal(res) / Decimal(cfg["P"])) ** 2 + _sides(cfg)
        row = Decimal(4) if flash else t * bytes_per
        return int(np.array([batch, cfg["L"], cfg["h"], t, row], dtype=object).prod())


def _floor_root(x):
    with localcontext() as context:
        context.prec = 200
        return int(Decimal(x).sqrt().to_integral_value(rounding="ROUND_FLOOR"))


max_res_materialized = lambda cfg, budget_bytes, batch=1, bytes_per=2: (  # noqa: E731
    cfg["P"]
    * _floor_root(
        max(
            0,
            _floor_root(budget_bytes // (bytes_per * batch * cfg["L"] * cfg["h"]))
            - (cfg["n_registers"] + int(cfg["cls_token"])),
        )
    )
)
