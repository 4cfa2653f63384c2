def pretraining_exaflops(cfg, res, epochs, n_images):
    forward = 2 * forward_macs(cfg, res)  # FLOPs of one image
    training = 3 * forward
    return training * epochs * n_images / 1e18


# %%
def gpu_days(exaflops, peak_tflops, mfu):
    per_second = peak_tflops * 1e12 * mfu
    seconds = exaflops * 1e18 / per_second
    return seconds / 86400


# %%
def implied_mfu(exaflops, device_days, peak_tflops):
    at_peak = peak_tflops * 1e12 * device_days * 86400
    return exaflops * 1e18 / at_peak
