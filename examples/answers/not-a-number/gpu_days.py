def pretraining_exaflops(cfg, res, epochs, n_images):
    return float("nan")


# %%
def gpu_days(exaflops, peak_tflops, mfu):
    return float("nan")


# %%
def implied_mfu(exaflops, device_days, peak_tflops):
    return float("inf")
