"""Exact rationals inside, floats at the end; the multiply-adds derived again."""

from fractions import Fraction


def _macs(cfg, res):
    n = (res // cfg["P"]) ** 2
    t = n + int(cfg["cls_token"]) + cfg["n_registers"]
    per_block = 4 * t * cfg["d"] ** 2 + 2 * t * cfg["d"] * cfg["d_ff"] + 2 * t * t * cfg["d"]
    return n * cfg["P"] ** 2 * cfg["C"] * cfg["d"] + cfg["L"] * per_block + cfg["n_classes"] * cfg["d"]


def pretraining_exaflops(cfg, res, epochs, n_images):
    return float(6 * _macs(cfg, res) * Fraction(epochs) * Fraction(n_images) / 10**18)


def gpu_days(exaflops, peak_tflops, mfu):
    return float(Fraction(exaflops) * 10**6 / Fraction(peak_tflops) / Fraction(mfu) / 86_400)


def implied_mfu(exaflops, device_days, peak_tflops):
    return float(Fraction(exaflops) * 10**6 / (Fraction(device_days) * 86_400 * Fraction(peak_tflops)))
