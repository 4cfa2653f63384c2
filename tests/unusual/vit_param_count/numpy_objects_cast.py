"""NumPy with Python's own ints inside, a dot product of sizes and multiplicities, cast at the end."""

import numpy as np


def vit_param_count(cfg):
    d, d_ff, n_cls = cfg["d"], cfg["d_ff"], int(cfg["cls_token"])
    sizes = np.array([d, d * d, d * d_ff, d_ff, cfg["n_classes"], d * cfg["n_classes"]], dtype=object)
    grid = int(np.int64(cfg["img"]) // np.int64(cfg["P"]))
    vectors = cfg["P"] ** 2 * cfg["C"] + 1 + 2 * n_cls + cfg["n_registers"] + grid**2 + 9 * cfg["L"] + 2
    copies = np.array([vectors, 4 * cfg["L"], 2 * cfg["L"], cfg["L"], 1, 1], dtype=object)
    return int(sizes @ copies)
