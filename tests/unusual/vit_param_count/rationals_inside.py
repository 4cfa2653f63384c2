"""Divides exactly, with fractions, and makes an int of the result at the end."""

from fractions import Fraction


def vit_param_count(cfg):
    n_patches = Fraction(cfg["img"], cfg["P"]) ** 2
    d, ratio = Fraction(cfg["d"]), Fraction(cfg["d_ff"], cfg["d"])
    block = (4 + 2 * ratio) * d**2 + (9 + ratio) * d
    ends = (cfg["P"] ** 2 * cfg["C"] + 3 + n_patches + cfg["n_registers"] + 2 * int(cfg["cls_token"])) * d
    return int(cfg["L"] * block + ends + (d + 1) * cfg["n_classes"])
