# ---
# jupyter:
#   course:
#     title: Attention memory, materialized and recomputed
#     functions: [attention_memory_bytes, max_res_materialized]
#     points: 20
#     minutes: 25
#     difficulty: core
#     chapter: 08_attention_memory
#     order: 5
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
# During training, attention has to keep something for the backward pass. Write
# `attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False)`: how many bytes that is, for a batch of square images
# of side `res`.
#
# - With `flash=False` the attention weights are materialized: every head of every block keeps its $T \times T$ matrix of
#   weights, for every image of the batch, at `bytes_per` bytes a number.
# - With `flash=True` a kernel in the manner of FlashAttention keeps one float32 log-sum-exp, 4 bytes whatever `bytes_per`
#   says, for each query row of each head of each block, for every image of the batch. It computes the weights again when
#   it needs them.
# - What both ways keep, inputs and outputs, does not count.
#
# Then write `max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2)`: the largest resolution, a multiple of `P`,
# whose materialized weights fit into the budget.
#
# - Weights that take exactly the budget fit.
# - If not even an image of one patch fits, the answer is 0.
#
# `cfg` is the dict of the parameter count, with the keys `img`, `P`, `C`, `d`, `L`, `h`, `d_ff`, `n_classes`,
# `cls_token`, `n_registers` and `pool`. $T$ counts the patches, the class token if `cls_token` is true, and the registers.
# `res` is a positive multiple of `P`; `cfg["img"]` is there too and usually differs: do not use it. `batch` and
# `bytes_per` are positive ints, `flash` is a bool, and `budget_bytes` is an int, 0 or more.
#
# All results are counts, exact at any size, also beyond $2^{63}$, so return Python ints: not floats that happen to be
# whole, not NumPy integers. Leave `cfg` as it was. A call may take 5 seconds. Helper functions, extra cells and any module
# of the standard library, NumPy or SciPy are welcome.

# %% tags=["setup", "active-ipynb"]
# # written by `autograder release`

# %% tags=["stub"] nbgrader={"grade_id": "attention_memory_bytes", "solution": true, "grade": false}
def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
    """The bytes that attention keeps for the backward pass, in all blocks and for the whole batch, as a Python int."""
    ### BEGIN SOLUTION
    T = (res // cfg["P"]) ** 2 + int(cfg["cls_token"]) + cfg["n_registers"]
    query_rows = batch * cfg["L"] * cfg["h"] * T
    if flash:
        return query_rows * 4
    return query_rows * T * bytes_per
    ### END SOLUTION
    raise NotImplementedError("attention_memory_bytes: count what is kept, with and without flash")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_attention_memory_bytes", "solution": false, "grade": true}
# check(attention_memory_bytes)


# %% tags=["stub"] nbgrader={"grade_id": "max_res_materialized", "solution": true, "grade": false}
def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
    """The largest multiple of P whose materialized attention weights fit into `budget_bytes`; 0 if none does."""
    ### BEGIN SOLUTION
    from math import isqrt

    numbers = budget_bytes // (batch * cfg["L"] * cfg["h"] * bytes_per)  # in one T x T matrix
    n_patches = isqrt(numbers) - int(cfg["cls_token"]) - cfg["n_registers"]
    return isqrt(max(n_patches, 0)) * cfg["P"]
    ### END SOLUTION
    raise NotImplementedError("max_res_materialized: find the largest resolution that fits")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_max_res_materialized", "solution": false, "grade": true}
# check(max_res_materialized)

# %% tags=["hidden", "active-ipynb"] nbgrader={"grade_id": "grade_attention_memory", "solution": false, "grade": true}
# # Leave this cell as it is: the hidden tests run here when the notebook is graded.
# ### BEGIN HIDDEN TESTS
# from autograder.nbgrader_cell import grade
#
# grade("attention_memory", globals())
# ### END HIDDEN TESTS

# %% [markdown] tags=["hint"]
# ### I do not know where to start
# Begin with one head of one block and one image, and ask how many numbers it keeps: one for every pair of tokens. Then ask
# what multiplies that: heads, blocks, images, bytes. With flash the question is the same, and the answer is one number for
# every token.

# %% [markdown] tags=["hint"]
# ### I am off by a factor that is the same in every case
# Divide what is expected by what you have. A factor equal to `L`, `h`, `batch` or `bytes_per` names what you left out. A
# factor that is $T$ means that you counted rows where pairs belong, or pairs where rows belong.

# %% [markdown] tags=["hint"]
# ### I am right without flash and wrong with it
# A log-sum-exp is a float32, whatever the format of the weights. It is one number for each query row, and a query row
# belongs to a token, a head, a block and an image. `d` has no part in it.

# %% [markdown] tags=["hint"]
# ### My largest resolution is one patch too large or too small
# Put your answer, and your answer plus `P`, into `attention_memory_bytes`: the first must fit and the second must not. A
# budget that is met exactly fits. A square root taken in floats can round up past the true one; `math.isqrt` does not, and
# neither does trying one resolution after another.

# %% [markdown] tags=["solution"]
# **What is kept.** An image of side `res` has $T = (\text{res}/P)^2 + n_{\text{cls}} + R$ tokens. Each is a query row in each
# head of each block, so a batch has $\text{batch} \cdot L \cdot h \cdot T$ query rows. Materialized, a row keeps its $T$
# weights at `bytes_per` bytes. With flash it keeps one number of 4 bytes. The first grows with $T^2$, the second with $T$,
# and that is the whole difference.
#
# SAM's image encoder at 1,024 pixels shows the scale: 64 by 64 patches and 16 heads give $16 \cdot 4096^2$ weights in one
# block of global attention, half a gigabyte in 2-byte numbers, where the log-sum-exp would take a quarter of a megabyte.
#
# **The largest resolution.** Undo the formula step by step, rounding down each time. The budget allows
# $\lfloor \text{budget} / (\text{batch} \cdot L \cdot h \cdot \text{bytes}) \rfloor$ numbers in a matrix. Its side $T$ is at
# most the whole square root of that. Take off the class token and the registers, and the grid's side is at most the whole
# square root of what is left. If nothing is left, the answer is 0. Rounding down at each step is right because every
# quantity is a whole number: $T^2 \le x$ holds exactly when $T \le \lfloor\sqrt{x}\,\rfloor$.
#
# A loop over the multiples of `P` that stops before the first one that does not fit is as right, and short enough: memory
# grows with the fourth power of the side, so even a budget of $2^{70}$ bytes is reached within some tens of thousands of
# steps.

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
TINY = {
    "img": 64,
    "P": 8,
    "C": 3,
    "d": 12,
    "L": 5,
    "h": 3,
    "d_ff": 40,
    "n_classes": 7,
    "cls_token": True,
    "n_registers": 4,
    "pool": "cls",
}
GAP = {"cls_token": False, "pool": "gap"}
# One 14 x 14 matrix for each of 15 heads at 2 bytes: a grid of 3 x 3 with 5 prefix tokens.
EXACT = 14 * 14 * 15 * 2
CASES = [
    {"name": "ViT-B/16 at 224 pixels, one image", "call": "attention_memory_bytes", "args": [B16, 224, 1]},
    {
        "name": "ViT-B/16 at 1,024 pixels, 8 images, 4 bytes a number",
        "call": "attention_memory_bytes",
        "args": [B16, 1024, 8],
        "kwargs": {"bytes_per": 4},
    },
    {
        "name": "the same with flash",
        "call": "attention_memory_bytes",
        "args": [B16, 1024, 8],
        "kwargs": {"flash": True},
    },
    {
        "name": "a tiny model with 4 registers at 24 pixels, 3 images",
        "call": "attention_memory_bytes",
        "args": [TINY, 24, 3],
    },
    {
        "name": "the tiny model without a class token, with flash",
        "call": "attention_memory_bytes",
        "args": [TINY | GAP, 24, 3],
        "kwargs": {"bytes_per": 1, "flash": True},
    },
    {"name": "ViT-B/16 in a budget of 10**9 bytes", "call": "max_res_materialized", "args": [B16, 10**9]},
    {
        "name": "ViT-B/16 in the same budget, 32 images",
        "call": "max_res_materialized",
        "args": [B16, 10**9],
        "kwargs": {"batch": 32},
    },
    {"name": "the tiny model, a budget that it meets exactly", "call": "max_res_materialized", "args": [TINY, EXACT]},
    {"name": "the tiny model, one byte less", "call": "max_res_materialized", "args": [TINY, EXACT - 1]},
    {"name": "the tiny model, 100 bytes", "call": "max_res_materialized", "args": [TINY, 100]},
]
