# ---
# jupyter:
#   course:
#     title: Multiply-adds by term, and the crossover resolution
#     functions: [vit_macs, attention_crossover_res]
#     points: 20
#     minutes: 30
#     difficulty: core
#     chapter: 06_multiply_adds
#     order: 3
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
# Write `vit_macs(cfg, res)`: the multiply-adds (MACs) of one forward pass over one square image of side `res`, term by
# term. It returns a dict with five keys, all Python ints.
#
# | key | what it counts |
# |---|---|
# | `"patch"` | the patch embedding |
# | `"linear"` | the four attention projections and the two MLP layers, in all blocks |
# | `"attention"` | queries times keys, and attention weights times values, in all blocks |
# | `"head"` | the classifier |
# | `"total"` | the sum of the four |
#
# Then write `attention_crossover_res(cfg)`: the smallest positive multiple of `P` at which a model of this shape spends
# at least as many multiply-adds on `"attention"` as on `"linear"`.
#
# `cfg` is the dict of the parameter count, with the keys `img`, `P`, `C`, `d`, `L`, `h`, `d_ff`, `n_classes`,
# `cls_token`, `n_registers` and `pool`. The rules:
#
# - One multiply-add is one multiplication and one addition. Count multiply-adds, not FLOPs.
# - Only matrix products count. LayerNorms, biases, softmax, GELU and additions do not.
# - The image has side `res`, a positive multiple of `P`. `cfg["img"]` is there too and usually differs: do not use it.
# - $T$ counts every token that attends: the patches, the class token if `cls_token` is true, and the registers.
# - The class token and the registers are learned vectors. They do not go through the patch embedding.
# - The head reads one vector, whatever `pool` says. With `n_classes = 0` it costs nothing.
# - `d_ff` is any width, and `h` divides `d`.
# - The crossover uses the same $T$. If the class token and the registers alone are enough, the answer is `P`.
#
# Counts must be exact at any size, also beyond $2^{63}$, so return Python ints: not floats that happen to be whole, not
# NumPy integers. Further keys in the dict are ignored. Leave `cfg` as it was. A call may take 5 seconds. Helper functions,
# extra cells and any module of the standard library, NumPy or SciPy are welcome.

# %% tags=["setup", "active-ipynb"]
# # written by `autograder release`

# %% tags=["stub"] nbgrader={"grade_id": "vit_macs", "solution": true, "grade": false}
def vit_macs(cfg, res):
    """The multiply-adds of one forward pass over one image of side `res`, by term.

    Returns a dict of Python ints: patch, linear, attention, head, total.
    """
    ### BEGIN SOLUTION
    d, L = cfg["d"], cfg["L"]
    n_patches = (res // cfg["P"]) ** 2
    T = n_patches + int(cfg["cls_token"]) + cfg["n_registers"]

    macs = {
        "patch": n_patches * cfg["P"] ** 2 * cfg["C"] * d,
        "linear": L * T * (4 * d * d + 2 * d * cfg["d_ff"]),
        "attention": L * 2 * T * T * d,
        "head": d * cfg["n_classes"],
    }
    return macs | {"total": sum(macs.values())}
    ### END SOLUTION
    raise NotImplementedError("vit_macs: count the multiply-adds of each term")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_vit_macs", "solution": false, "grade": true}
# check(vit_macs)


# %% tags=["stub"] nbgrader={"grade_id": "attention_crossover_res", "solution": true, "grade": false}
def attention_crossover_res(cfg):
    """The smallest positive multiple of P at which attention costs at least what the linear layers cost."""
    ### BEGIN SOLUTION
    from math import isqrt

    prefix = int(cfg["cls_token"]) + cfg["n_registers"]
    n_patches = 2 * cfg["d"] + cfg["d_ff"] - prefix  # with as many, the two terms are equal
    side = isqrt(max(n_patches, 1) - 1) + 1  # the smallest whole number whose square is at least that
    return side * cfg["P"]
    ### END SOLUTION
    raise NotImplementedError("attention_crossover_res: find the first resolution at which attention catches up")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_attention_crossover_res", "solution": false, "grade": true}
# check(attention_crossover_res)

# %% tags=["hidden", "active-ipynb"] nbgrader={"grade_id": "grade_vit_macs", "solution": false, "grade": true}
# # Leave this cell as it is: the hidden tests run here when the notebook is graded.
# ### BEGIN HIDDEN TESTS
# from autograder.nbgrader_cell import grade
#
# grade("vit_macs", globals())
# ### END HIDDEN TESTS

# %% [markdown] tags=["hint"]
# ### I do not know where to start
# An $m \times k$ matrix times a $k \times n$ matrix is $m\,n$ dot products of length $k$, so it costs $mkn$ multiply-adds.
# Write down every matrix product of the model with its three sizes. In a block there are six with a weight matrix, and two
# more in each head that have none.

# %% [markdown] tags=["hint"]
# ### All my numbers are twice or half of what is expected
# Twice: you counted FLOPs, with the multiplication and the addition separate. Half, in `"attention"` only: each head does
# two products with a $T \times T$ matrix, one that makes it and one that uses it.

# %% [markdown] tags=["hint"]
# ### Some models are right and others are off by a little
# Ask of each term how many rows its matrix has. The patch embedding sees the patches and nothing else. The blocks see every
# token: the patches, the class token where there is one, and the registers. The head sees one row.

# %% [markdown] tags=["hint"]
# ### My crossover is one patch off
# Three ways lead there: stopping at "more than" where "at least" is asked for, rounding a square root the wrong way, and
# forgetting that the class token and the registers are part of $T$ as well. Trying the multiples of `P` one after another
# avoids the square root.

# %% [markdown] tags=["solution"]
# Each term is a list of matrix products, and each product of sizes $m \times k$ and $k \times n$ costs $mkn$.
#
# **Patch embedding.** The $N_p = (\text{res}/P)^2$ patches are rows of $P^2C$ numbers, times a $P^2C \times d$ matrix:
# $N_pP^2Cd$. The prefix tokens are vectors of width $d$ already, so they are not embedded.
#
# **Linear layers.** All $T$ tokens go through them. Queries, keys, values and output take $T \cdot d \cdot d$ each, and the
# two MLP layers $T \cdot d \cdot d_{\text{ff}}$ each. In $L$ blocks that is $LT(4d^2 + 2\,d\,d_{\text{ff}})$.
#
# **Attention.** A head of width $d_k = d/h$ multiplies a $T \times d_k$ matrix by a $d_k \times T$ one to get the scores, and
# a $T \times T$ matrix by a $T \times d_k$ one to apply the weights: $2T^2d_k$. There are $h$ heads and $hd_k = d$, so a block
# costs $2T^2d$ whatever the number of heads.
#
# **Head.** One vector of width $d$ times a $d \times K$ matrix: $dK$, which is 0 when $K$ is.
#
# **Crossover.** Attention grows with $T^2$ and the linear layers with $T$, so once attention is ahead it stays ahead.
# Dividing $2T^2d \ge T(4d^2 + 2\,d\,d_{\text{ff}})$ by $2Td$ leaves $T \ge 2d + d_{\text{ff}}$. Take off the
# class token and the registers, and the grid needs at least $n = 2d + d_{\text{ff}} - n_{\text{cls}} - R$ patches. Its side is
# $\lceil\sqrt{n}\,\rceil$, and at least 1. `isqrt` rounds down and stays exact where a float would not;
# `isqrt(n - 1) + 1` rounds up. Trying side 1, 2, 3 and so on is as good an answer. For ViT-B/16 the condition is
# $T \ge$ 4,608, the grid is 68 by 68 patches, and the resolution is 1,088 pixels.

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
    "C": 5,
    "d": 12,
    "L": 2,
    "h": 3,
    "d_ff": 40,
    "n_classes": 7,
    "cls_token": True,
    "n_registers": 4,
    "pool": "cls",
}
GAP = {"cls_token": False, "pool": "gap"}
CASES = [
    {"name": "ViT-B/16 at 224 pixels", "call": "vit_macs", "args": [B16, 224]},
    {"name": "ViT-B/16 at 384 pixels, with img still 224", "call": "vit_macs", "args": [B16, 384]},
    {"name": "a tiny model with 4 registers and 5 channels at 24 pixels", "call": "vit_macs", "args": [TINY, 24]},
    {"name": "the tiny model without a class token, at 24 pixels", "call": "vit_macs", "args": [TINY | GAP, 24]},
    {"name": "the tiny model without a head, at 40 pixels", "call": "vit_macs", "args": [TINY | {"n_classes": 0}, 40]},
    {"name": "ViT-B/16", "call": "attention_crossover_res", "args": [B16]},
    {"name": "the tiny model, with its registers", "call": "attention_crossover_res", "args": [TINY]},
    {
        "name": "a tiny model that meets the condition exactly",
        "call": "attention_crossover_res",
        "args": [TINY | GAP | {"n_registers": 0}],
    },
    {
        "name": "the tiny model with 80 registers",
        "call": "attention_crossover_res",
        "args": [TINY | {"n_registers": 80}],
    },
]
