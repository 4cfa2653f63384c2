%matplotlib inline
import matplotlib.pyplot as plt
import numpy as np
from dataclasses import dataclass


@dataclass
class Linear:
    inside: int
    outside: int

    def __len__(self):
        return self.inside * self.outside + self.outside


class Block:
    def __init__(self, d, d_ff):
        self.layers = [Linear(d, d)] * 4 + [Linear(d, d_ff), Linear(d_ff, d)]
        self.norms = 4 * d

    def count(self):
        return self.norms + sum(l.inside * l.outside + l.outside for l in self.layers)


def vit_param_count(cfg):
    d, K = cfg["d"], cfg["n_classes"]
    grid = np.array([cfg["img"] // cfg["P"]] * 2)
    rows = int(np.prod(grid)) + bool(cfg["cls_token"])
    embed = cfg["P"] ** 2 * cfg["C"] * d + d + (cfg["n_registers"] + bool(cfg["cls_token"])) * d
    return embed + rows * d + cfg["L"] * Block(d, cfg["d_ff"]).count() + 2 * d + (d + 1) * K


base = dict(img=224, P=16, C=3, L=12, h=12, n_classes=1000, cls_token=True, n_registers=0, pool="cls")
widths = [192, 384, 768, 1024]
figure, axes = plt.subplots()
axes.plot(widths, [vit_param_count(base | {"d": d, "d_ff": 4 * d}) for d in widths])
plt.show()
