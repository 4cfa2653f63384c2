from fractions import Fraction
from math import prod


def pretraining_exaflops(cfg, res, epochs, n_images):
    FLOPS_PER_MAC, PASSES = 2, 3
    return float(prod([FLOPS_PER_MAC, PASSES, forward_macs(cfg, res), Fraction(epochs), Fraction(n_images)]) / 10**18)


# %%
DAY = 24 * 60 * 60


def device_seconds(exaflops, peak_tflops):
    return Fraction(exaflops) * 10**18 / (Fraction(peak_tflops) * 10**12)


def gpu_days(exaflops, peak_tflops, mfu):
    return float(device_seconds(exaflops, peak_tflops) / Fraction(mfu) / DAY)


# %%
def implied_mfu(exaflops, device_days, peak_tflops):
    return float(device_seconds(exaflops, peak_tflops) / (Fraction(device_days) * DAY))
