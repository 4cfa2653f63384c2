from dataclasses import dataclass


@dataclass(frozen=True)
class Attention:
    cfg: dict
    batch: int
    bytes_per: int

    def tokens(self, side):
        return side**2 + bool(self.cfg["cls_token"]) + self.cfg["n_registers"]

    def rows(self, side):
        return self.batch * self.cfg["L"] * self.cfg["h"] * self.tokens(side)

    def materialized(self, side):
        return self.rows(side) * self.tokens(side) * self.bytes_per

    def recomputed(self, side):
        return self.rows(side) * 4


def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    attention = Attention(cfg, batch, bytes_per)
    return (attention.recomputed if flash else attention.materialized)(res // cfg["P"])


# %%
def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    attention = Attention(cfg, batch, bytes_per)
    step = 1
    while attention.materialized(2 * step) <= budget_bytes:
        step *= 2
    side = 0
    while step:
        if attention.materialized(side + step) <= budget_bytes:
            side += step
        step //= 2
    return side * cfg["P"]
