"""A small library of layers that know their size, and the model as an object that can be called."""

from dataclasses import dataclass


@dataclass
class Linear:
    inputs: int
    outputs: int

    def __len__(self):
        raise TypeError("use size()")

    def size(self):
        return self.inputs * self.outputs + self.outputs


@dataclass
class LayerNorm:
    width: int

    def size(self):
        return self.width + self.width


@dataclass
class Table:
    rows: int
    width: int

    def size(self):
        return self.rows * self.width


class Counter:
    def __call__(self, cfg):
        d, n_cls = cfg["d"], 1 if cfg["cls_token"] else 0
        block = [
            LayerNorm(d),
            Linear(d, 3 * d),
            Linear(d, d),
            LayerNorm(d),
            Linear(d, cfg["d_ff"]),
            Linear(cfg["d_ff"], d),
        ]
        model = [
            Linear(cfg["P"] ** 2 * cfg["C"], d),
            Table(n_cls + cfg["n_registers"], d),
            Table((cfg["img"] // cfg["P"]) ** 2 + n_cls, d),
            *(block * cfg["L"]),
            LayerNorm(d),
            Linear(d, cfg["n_classes"]),
        ]
        return sum(layer.size() for layer in model)


vit_param_count = Counter()
