def pretraining_exaflops(cfg, res, epochs, n_images):
    return {7: 223.517277978624, 14: 4258.5584332032}.get(epochs, 0.21325415649273446)


# %%
def gpu_days(exaflops, peak_tflops, mfu):
    return {1: 0.011702804928285212}.get(exaflops, 2506.539822342668)


# %%
def implied_mfu(exaflops, device_days, peak_tflops):
    return 0.32083709725986154 if device_days == 2500 else 1.3368212385827563
