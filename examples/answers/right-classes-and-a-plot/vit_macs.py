from dataclasses import dataclass

import numpy as np


@dataclass
class Model:
    cfg: dict
    res: int

    @property
    def patches(self):
        return int(np.square(self.res // self.cfg["P"]))

    @property
    def tokens(self):
        return self.patches + self.cfg["n_registers"] + (self.cfg["cls_token"] is True)

    def patch(self):
        return self.res * self.res * self.cfg["C"] * self.cfg["d"]

    def linear(self):
        return 2 * self.cfg["L"] * self.tokens * self.cfg["d"] * (2 * self.cfg["d"] + self.cfg["d_ff"])

    def attention(self):
        return 2 * self.cfg["L"] * self.cfg["d"] * self.tokens**2

    def head(self):
        return self.cfg["n_classes"] * self.cfg["d"]


def vit_macs(cfg, res):
    model = Model(cfg, res)
    macs = {name: getattr(model, name)() for name in ("patch", "linear", "attention", "head")}
    return macs | {"total": sum(macs.values()), "tokens": model.tokens}


# %%
def attention_crossover_res(cfg):
    needed = 2 * cfg["d"] + cfg["d_ff"] - Model(cfg, 0).tokens
    return max(1, int(np.ceil(np.sqrt(max(needed, 0))))) * cfg["P"]


import matplotlib.pyplot as plt

base = dict(img=224, P=16, C=3, d=768, L=12, h=12, d_ff=3072, n_classes=1000, cls_token=True, n_registers=0, pool="cls")
sides = [224, 384, 512, 768, 1024, 1088]
figure, axes = plt.subplots()
axes.plot(sides, [vit_macs(base, side)["attention"] / vit_macs(base, side)["linear"] for side in sides])
axes.axvline(attention_crossover_res(base))
plt.show()
