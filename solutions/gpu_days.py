# ---
# jupyter:
#   course:
#     title: Pretraining compute, device-days, and the utilization a paper implies
#     functions: [pretraining_exaflops, gpu_days, implied_mfu]
#     points: 15
#     minutes: 20
#     difficulty: interview
#     chapter: 07_training_compute
#     order: 4
#   jupytext:
#     notebook_metadata_filter: course
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] tags=["statement"]
# What does a training run cost, and what does a published run say about the machine it ran on? Three functions
# answer that, and you write them.
#
# `pretraining_exaflops(cfg, res, epochs, n_images)` is the compute of `epochs` passes over `n_images` images at resolution
# `res`, in exaFLOPs, units of $10^{18}$ floating-point operations.
#
# `gpu_days(exaflops, peak_tflops, mfu)` is the number of device-days that a run of `exaflops` takes on devices with a peak of
# `peak_tflops`, in units of $10^{12}$ operations per second, at the utilization `mfu`.
#
# `implied_mfu(exaflops, device_days, peak_tflops)` is the utilization of a run of `exaflops` that took `device_days`
# on such devices.
#
# The rules:
#
# - FLOPs are true floating-point operations, and one multiply-add (MAC) is two of them.
# - Training costs three forward passes for each image seen: the forward pass itself, and a backward pass of twice its
#   cost.
# - The notebook gives you `forward_macs(cfg, res)`, the multiply-adds of one image in one forward pass, head included.
#   Calling it or deriving it again are both fine. The image has side `res`, whatever `cfg["img"]` says.
# - `epochs` may be fractional, and `n_images` an int or a float.
# - `mfu` is a fraction, more than 0 and at most 1. It is the work that the model needs, divided by the work that the
#   devices could have done at their peak in the same time.
# - A day has 86,400 seconds.
# - `implied_mfu` may come out above 1, and must then be returned as it is: that is how a wrong assumption shows itself.
#
# `cfg` is the dict of the parameter count, with the keys `img`, `P`, `C`, `d`, `L`, `h`, `d_ff`, `n_classes`,
# `cls_token`, `n_registers` and `pool`. Leave it as it was. Return floats, neither rounded nor clipped, within $10^{-9}$ of
# the true value, relative. A call may take 5 seconds. Helper functions, extra cells and any module of the standard
# library, NumPy or SciPy are welcome.

# %% tags=["setup", "active-ipynb"]
# # written by `autograder release`


# %% tags=["given"]
def forward_macs(cfg, res):
    """Given: the multiply-adds of one forward pass over one image of side `res`, head included."""
    d = cfg["d"]
    n_patches = (res // cfg["P"]) ** 2
    T = n_patches + int(cfg["cls_token"]) + cfg["n_registers"]
    embedding = n_patches * cfg["P"] ** 2 * cfg["C"] * d
    block = T * (4 * d * d + 2 * d * cfg["d_ff"]) + 2 * T * T * d
    return embedding + cfg["L"] * block + d * cfg["n_classes"]


# %% tags=["stub"] nbgrader={"grade_id": "pretraining_exaflops", "solution": true, "grade": false}
def pretraining_exaflops(cfg, res, epochs, n_images):
    """The compute of `epochs` passes over `n_images` images of side `res`, in units of 10**18 FLOPs."""
    ### BEGIN SOLUTION
    flops_per_image = 6 * forward_macs(cfg, res)
    return flops_per_image * epochs * n_images / 1e18
    ### END SOLUTION
    raise NotImplementedError("pretraining_exaflops: from multiply-adds to the FLOPs of a whole run")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_pretraining_exaflops", "solution": false, "grade": true}
# check(pretraining_exaflops)


# %% tags=["stub"] nbgrader={"grade_id": "gpu_days", "solution": true, "grade": false}
def gpu_days(exaflops, peak_tflops, mfu):
    """The device-days of a run of `exaflops` on devices of `peak_tflops` at the utilization `mfu`."""
    ### BEGIN SOLUTION
    seconds = exaflops * 1e18 / (peak_tflops * 1e12 * mfu)
    return seconds / 86400
    ### END SOLUTION
    raise NotImplementedError("gpu_days: from compute to device-days")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_gpu_days", "solution": false, "grade": true}
# check(gpu_days)


# %% tags=["stub"] nbgrader={"grade_id": "implied_mfu", "solution": true, "grade": false}
def implied_mfu(exaflops, device_days, peak_tflops):
    """The utilization of a run of `exaflops` that took `device_days` on devices of `peak_tflops`."""
    ### BEGIN SOLUTION
    available = device_days * 86400 * peak_tflops * 1e12
    return exaflops * 1e18 / available
    ### END SOLUTION
    raise NotImplementedError("implied_mfu: from device-days to utilization")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_implied_mfu", "solution": false, "grade": true}
# check(implied_mfu)

# %% tags=["hidden", "active-ipynb"] nbgrader={"grade_id": "grade_gpu_days", "solution": false, "grade": true}
# # Leave this cell as it is: the hidden tests run here when the notebook is graded.
# ### BEGIN HIDDEN TESTS
# from autograder.nbgrader_cell import grade
#
# grade("gpu_days", globals())
# ### END HIDDEN TESTS

# %% [markdown] tags=["hint"]
# ### My exaFLOPs are 2, 3 or 6 times too small
# Two factors stand between the multiply-adds of a forward pass and the FLOPs of training. One turns multiply-adds into
# FLOPs. The other counts the passes: the backward pass has two matrix products for each one of the forward pass.

# %% [markdown] tags=["hint"]
# ### I am off by some power of ten
# Write every quantity in plain operations and seconds before you combine them: an exaFLOP is $10^{18}$ operations, a
# teraFLOP/s is $10^{12}$ operations per second. Convert to exaFLOPs or days in the last step.

# %% [markdown] tags=["hint"]
# ### My device-days shrink when the utilization drops
# A device that works at half of its peak needs twice the time. Ask how many operations it does in one second at this
# utilization, and divide the work by that.

# %% [markdown] tags=["hint"]
# ### My utilization is above 1
# That can be right. If the peak is taken for half of a chip, or the compute counted twice, the result says so by exceeding
# 1, so it must not be cut off. On the visible cases, check that you divided what was needed by what was available, and not
# the other way round.

# %% [markdown] tags=["solution"]
# **Compute.** One image in one forward pass takes `forward_macs` multiply-adds, so twice as many FLOPs. The backward pass
# computes, for each product $\mathbf{Y} = \mathbf{X}\mathbf{W}$, one product for the gradient of $\mathbf{X}$ and one for
# that of $\mathbf{W}$, both of the same size. So training takes three times the forward pass, and an image seen costs
# $2 \cdot 3 = 6$ FLOPs for each forward multiply-add. A run sees $\text{epochs} \cdot n_{\text{images}}$ images:
#
# $$\frac{6 \cdot \text{MACs} \cdot \text{epochs} \cdot n_{\text{images}}}{10^{18}} .$$
#
# **Days.** A device of peak $p$ at utilization $u$ does $pu$ useful operations a second. The work divided by that is a
# number of device-seconds, and 86,400 of them are a device-day. Two devices take half the time and the same device-days.
#
# **Utilization.** The same three quantities, solved for $u$: the work that was needed, divided by the work that
# `device_days` at the peak would have allowed. So `gpu_days(exaflops, peak, implied_mfu(exaflops, days, peak))` gives `days`
# back, which is worth a check of your own.

# %% tags=["cases"]
B16 = {
    "img": 224,
    "P": 16,
    "C": 3,
    "d": 768,
    "L": 12,
    "h": 12,
    "d_ff": 3072,
    "n_classes": 1000,
    "cls_token": True,
    "n_registers": 0,
    "pool": "cls",
}
H14 = B16 | {"P": 14, "d": 1280, "L": 32, "h": 16, "d_ff": 5120, "n_classes": 18291}
CASES = [
    {
        "name": "ViT-B/16 at 224 pixels, 7 epochs of 303 million images",
        "call": "pretraining_exaflops",
        "args": [B16, 224, 7, 303_000_000],
    },
    {
        "name": "ViT-H/14 at 224 pixels, 14 epochs of the same",
        "call": "pretraining_exaflops",
        "args": [H14, 224, 14, 303e6],
    },
    {
        "name": "ViT-B/16 at 384 pixels, half an epoch of 1,281,167 images",
        "call": "pretraining_exaflops",
        "args": [B16, 384, 0.5, 1_281_167],
    },
    {"name": "4,262 exaFLOPs at 61.5 teraFLOP/s and 32%", "call": "gpu_days", "args": [4262, 61.5, 0.32]},
    {"name": "1 exaFLOP at 989 teraFLOP/s and 100%", "call": "gpu_days", "args": [1, 989, 1]},
    {"name": "4,262 exaFLOPs in 2,500 days at 61.5 teraFLOP/s", "call": "implied_mfu", "args": [4262, 2500, 61.5]},
    {"name": "a run that took too few days to be true", "call": "implied_mfu", "args": [4262, 600, 61.5]},
]
