"""A class for the model, bisection for the resolution, keyword-only helpers."""

import bisect
from dataclasses import dataclass


@dataclass(frozen=True)
class Attention:
    cfg: dict

    def tokens(self, side):
        return side**2 + bool(self.cfg["cls_token"]) + self.cfg["n_registers"]

    def kept(self, *, side, batch, row_bytes):
        return batch * self.cfg["L"] * self.cfg["h"] * self.tokens(side) * row_bytes


def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    model, side = Attention(cfg), res // cfg["P"]
    return model.kept(side=side, batch=batch, row_bytes=4 if flash else bytes_per * model.tokens(side))


def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    sides = range(1, 2**21)
    fitting = bisect.bisect_right(
        sides, budget_bytes, key=lambda side: attention_memory_bytes(cfg, side * cfg["P"], batch, bytes_per)
    )
    return fitting * cfg["P"]
