"""NumPy floats all the way, and one function in terms of another."""

import numpy as np

SECONDS_PER_DAY = np.float64(60) * 60 * 24
FLOPS_PER_MAC = np.float64(2)
PASSES = np.float64(3)


def pretraining_exaflops(cfg, res, epochs, n_images):
    return np.multiply.reduce([FLOPS_PER_MAC, PASSES, float(forward_macs(cfg, res)), epochs, float(n_images)]) / 1e18  # noqa: F821


def gpu_days(exaflops, peak_tflops, mfu):
    return np.float64(exaflops) * 1e18 / (SECONDS_PER_DAY * peak_tflops * 1e12 * mfu)


def implied_mfu(exaflops, device_days, peak_tflops):
    return gpu_days(exaflops, peak_tflops, 1.0) / device_days
