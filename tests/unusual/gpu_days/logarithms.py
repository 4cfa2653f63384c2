"""Sums of logarithms, and an int where the result happens to be one."""

from math import exp, log, log10


def pretraining_exaflops(cfg, res, epochs, n_images):
    return 10 ** (log10(6) + log10(forward_macs(cfg, res)) + log10(epochs) + log10(n_images) - 18)  # noqa: F821


def gpu_days(exaflops, peak_tflops, mfu):
    return exp(log(exaflops) + 6 * log(10) - log(peak_tflops) - log(mfu) - log(86400))


def implied_mfu(exaflops, device_days, peak_tflops):
    share = (exaflops / device_days) * (1e6 / peak_tflops) / 86400
    return int(share) if share == int(share) else share
