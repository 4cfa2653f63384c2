import numpy as np


class Run:
    """A run in plain operations and seconds."""

    def __init__(self, flops):
        self.flops = np.float64(flops)

    def seconds(self, peak, mfu=1.0):
        return self.flops / (np.float64(peak) * mfu)


def pretraining_exaflops(cfg, res, epochs, n_images):
    forward_and_backward = (1 + 2) * 2 * forward_macs(cfg, res)
    return Run(float(forward_and_backward) * epochs * n_images).flops / 1e18


# %%
SECONDS_IN_A_DAY = np.float64(60 * 60 * 24)


def gpu_days(exaflops, peak_tflops, mfu):
    return Run(exaflops * 1e18).seconds(peak_tflops * 1e12, mfu) / SECONDS_IN_A_DAY


# %%
def implied_mfu(exaflops, device_days, peak_tflops):
    return gpu_days(exaflops, peak_tflops, 1) / device_days
