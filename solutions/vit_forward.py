# ---
# jupyter:
#   course:
#     title: A ViT forward pass with registers and either pooling
#     functions: [vit_forward]
#     points: 30
#     minutes: 60
#     difficulty: interview
#     chapter: 04_numpy
#     order: 1
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
# Write `vit_forward(params, img, pool="cls")`: the logits of a Vision Transformer for a batch of images. The blocks are
# those of the chapter. Two things are more general here: the sequence may hold registers, and the head reads either the
# class token's row or the mean of the patch rows.
#
# `img` has the shape `(B, H, W, C)`, channels last, and the result has the shape `(B, K)`. `params` is a dict.
#
# | key | shape | meaning |
# |---|---|---|
# | `P`, `h` | ints | side of a patch, number of heads; $d_k = d / h$ |
# | `W_E`, `b_E` | `(P*P*C, d)`, `(d,)` | patch embedding |
# | `cls` | `(d,)` | class token, there only with `pool="cls"` |
# | `reg` | `(R, d)` | registers, with zero rows if there are none |
# | `pos` | `(1 + N_p, d)` or `(N_p, d)` | positions of the $N_p$ patches, after one for the class token if there is one |
# | `blocks` | list of $L$ dicts | the blocks, in order |
# | `lnf_g`, `lnf_b` | `(d,)` each | final LayerNorm: gain and shift |
# | `W_head`, `b_head` | `(d, K)`, `(K,)` | head |
#
# Each block is a dict as well.
#
# | key | shape | meaning |
# |---|---|---|
# | `ln1_g`, `ln1_b` | `(d,)` each | LayerNorm before attention |
# | `W_qkv`, `b_qkv` | `(d, 3*d)`, `(3*d,)` | queries, keys and values, in this order, $d$ columns each |
# | `W_o`, `b_o` | `(d, d)`, `(d,)` | output projection |
# | `ln2_g`, `ln2_b` | `(d,)` each | LayerNorm before the MLP |
# | `W_1`, `b_1` | `(d, d_ff)`, `(d_ff,)` | first layer of the MLP |
# | `W_2`, `b_2` | `(d_ff, d)`, `(d,)` | second layer of the MLP |
#
# What happens to an image:
#
# - **Patches.** They are in raster order: from left to right, one row of patches below the other. Inside a patch the pixels
#   are in raster order too, and the channels of a pixel stay together: pixel $(u, v)$, channel $c$ becomes number
#   $(uP + v)\,C + c$. $H$ and $W$ are multiples of $P$ and often differ.
# - **Sequence.** First the class token (if there is one) and the patches get their positions. Then the registers come in
#   between, right after the class token, and get none.
# - **Blocks.** They are pre-LN: attention reads the LayerNorm of the stream and its result is added to the stream, then the
#   same with the MLP.
# - **LayerNorm.** It works on each token by itself, with the population variance, and $\epsilon = 10^{-6}$ is added to the
#   variance, under the root.
# - **Attention.** Head $j$ takes the columns `j*d_k:(j+1)*d_k` of the queries, of the keys and of the values, and its result
#   goes to the same columns. Scores are divided by $\sqrt{d_k}$. There is no mask: every token reads every token. The
#   softmax must stay finite for scores of several hundred, of either sign.
# - **MLP.** Its GELU is the exact one, $x\,\Phi(x)$. Any way to compute it is fine; `erf` is imported below.
# - **Pooling.** With `pool="cls"` the final LayerNorm gets row 0. With `pool="gap"` it gets the mean of the patch rows,
#   without the registers: average first, then normalize. The head reads what it returns.
#
# What else holds:
#
# - `B`, `L`, `P`, `C` and `h` are 1 or more, `R` is 0 or more, `d_ff` is any width. The result has the shape `(B, K)` also
#   for one image.
# - Parameters are float64, images are float64 or float32. Compute in float64: results are compared within $10^{-7}$ of
#   their size (and $10^{-9}$ absolute), on tokens of small variance too, so $\epsilon$, the kind of variance and the exact
#   GELU can be seen. A token whose mean is more than 1,000 times its spread does not occur.
# - The order of the registers among themselves, and whether they stand before or after the patches, cannot be seen in the
#   logits and is not graded.
# - **No loops over tokens or heads**, for 3 of the 30 points. The Python operations that your own code executes are counted,
#   and their number must not grow with the number of heads or of tokens. Loops over blocks, over images, over the pixels
#   inside a patch and over queries, keys and values are fine. A loop over heads, tokens or places of patches is not, and a
#   comprehension, `np.vectorize` or `np.apply_along_axis` is a loop as well. A wrong answer does not earn these points.
#
# Keep the names of the parameters: arguments come by position and by name. Leave `params` and `img` as they were; a second
# call must give the same result. A call may take 5 seconds. Helper functions, classes, extra cells and any module of the
# standard library, NumPy or SciPy are welcome.

# %% tags=["setup", "active-ipynb"]
# # written by `autograder release`

# %% tags=["given"]
import numpy as np
from scipy.special import erf


def make_vit_params(rng, H, W, R=0, pool="cls", P=4, C=3, d=12, h=3, L=2, d_ff=40, K=5):
    """Random parameters for H x W images, to try things out with: `rng` is a NumPy Generator.

    No bias is 0 and no gain is 1, so that a parameter that is left out or misplaced changes the logits.
    """
    n_cls = 1 if pool == "cls" else 0
    n_patches = (H // P) * (W // P)

    def matrix(d_in, d_out):
        return rng.standard_normal((d_in, d_out)) / np.sqrt(d_in)

    def near(value, *shape):
        return value + rng.standard_normal(shape) / 4

    def block():
        return {
            "ln1_g": near(1, d),
            "ln1_b": near(0, d),
            "W_qkv": matrix(d, 3 * d),
            "b_qkv": near(0, 3 * d),
            "W_o": matrix(d, d),
            "b_o": near(0, d),
            "ln2_g": near(1, d),
            "ln2_b": near(0, d),
            "W_1": matrix(d, d_ff),
            "b_1": near(0, d_ff),
            "W_2": matrix(d_ff, d),
            "b_2": near(0, d),
        }

    params = {
        "P": P,
        "h": h,
        "W_E": matrix(P * P * C, d),
        "b_E": near(0, d),
        "reg": near(0, R, d),
        "pos": near(0, n_cls + n_patches, d),
        "blocks": [block() for _ in range(L)],
        "lnf_g": near(1, d),
        "lnf_b": near(0, d),
        "W_head": matrix(d, K),
        "b_head": near(0, K),
    }
    return params | {"cls": near(0, d)} if n_cls else params


# %% tags=["stub"] nbgrader={"grade_id": "vit_forward", "solution": true, "grade": false}
def vit_forward(params, img, pool="cls"):
    """Images (B, H, W, C) -> logits (B, K). `pool` is "cls" or "gap"."""
    ### BEGIN SOLUTION
    B, H, W, C = img.shape
    P, h = params["P"], params["h"]

    def layer_norm(x, gain, shift):
        centered = x - x.mean(-1, keepdims=True)
        variance = (centered**2).mean(-1, keepdims=True)
        return gain * centered / np.sqrt(variance + 1e-6) + shift

    def softmax(scores):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    def attention(y, block):
        B, T, d = y.shape
        qkv = y @ block["W_qkv"] + block["b_qkv"]
        q, k, v = qkv.reshape(B, T, 3, h, d // h).transpose(2, 0, 3, 1, 4)  # (B, h, T, d_k) each
        weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(d // h))
        heads = (weights @ v).swapaxes(1, 2).reshape(B, T, d)
        return heads @ block["W_o"] + block["b_o"]

    def mlp(y, block):
        u = y @ block["W_1"] + block["b_1"]
        gelu = u * (1 + erf(u / np.sqrt(2))) / 2
        return gelu @ block["W_2"] + block["b_2"]

    rows, columns = H // P, W // P
    grid = img.reshape(B, rows, P, columns, P, C).transpose(0, 1, 3, 2, 4, 5)
    tokens = grid.reshape(B, rows * columns, P * P * C) @ params["W_E"] + params["b_E"]
    n_cls = int(pool == "cls")
    if n_cls:
        cls = np.broadcast_to(params["cls"], (B, 1, len(params["cls"])))
        tokens = np.concatenate([cls, tokens], axis=1)
    tokens = tokens + params["pos"]
    reg = np.broadcast_to(params["reg"], (B, *params["reg"].shape))
    x = np.concatenate([tokens[:, :n_cls], reg, tokens[:, n_cls:]], axis=1)

    for block in params["blocks"]:
        x = x + attention(layer_norm(x, block["ln1_g"], block["ln1_b"]), block)
        x = x + mlp(layer_norm(x, block["ln2_g"], block["ln2_b"]), block)

    z = x[:, 0] if n_cls else x[:, len(params["reg"]) :].mean(1)
    return layer_norm(z, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]
    ### END SOLUTION
    raise NotImplementedError("vit_forward: compute the logits of the images")


# %% tags=["check", "active-ipynb"] nbgrader={"grade_id": "check_vit_forward", "solution": false, "grade": true}
# check(vit_forward)

# %% tags=["hidden", "active-ipynb"] nbgrader={"grade_id": "grade_vit_forward", "solution": false, "grade": true}
# # Leave this cell as it is: the hidden tests run here when the notebook is graded.
# ### BEGIN HIDDEN TESTS
# from autograder.nbgrader_cell import grade
#
# grade("vit_forward", globals())
# ### END HIDDEN TESTS

# %% [markdown] tags=["hint"]
# ### I do not know where to start
# Write the pieces first, each as a function of its own that works on the last axis or the last two: LayerNorm, softmax,
# GELU, attention, MLP. Then write the forward pass as five steps: cut and embed the patches, build the sequence, run the
# blocks, pool, read the head. Put the shape beside every line, and print it where you are not sure.

# %% [markdown] tags=["hint"]
# ### I need a loop over the heads
# A matrix product in NumPy works on the last two axes and takes all axes before them along. So give the head an axis of its
# own and move it before the token axis: from `(B, T, h, d_k)` to `(B, h, T, d_k)`. Splitting $d$ columns into `(h, d_k)` is
# a `reshape`; moving an axis is a `transpose` and never a `reshape`. On the way back do the same two steps in reverse.

# %% [markdown] tags=["hint"]
# ### I need a loop over the patches
# An image is already a grid of patches: `reshape` splits $H$ into (rows of patches, rows inside a patch) and $W$ likewise.
# That gives six axes. Move the two that count patches to the front and the two that count pixels behind them, and the last
# `reshape` does the rest. Try it on an image whose pixels hold their own number.

# %% [markdown] tags=["hint"]
# ### Square images are right and others are wrong
# Either rows and columns of the grid are mixed up, or its side is taken from the number of patches by a square root. The
# grid has $H / P$ rows and $W / P$ columns, and the number of the column changes fastest.

# %% [markdown] tags=["hint"]
# ### It goes wrong as soon as there are registers
# Ask three questions. Do the registers come in after the positions were added, or did some of them get one? Does the class
# token still stand in row 0? With `pool="gap"`, does the mean start behind the last register?

# %% [markdown] tags=["hint"]
# ### `pool="gap"` is wrong and `pool="cls"` is right
# There is no class token then: `params` has no `cls`, and row 0 of `pos` belongs to the first patch. The mean is taken over
# the patch rows before the final LayerNorm, which sees one vector for each image.

# %% [markdown] tags=["hint"]
# ### I am off in the fourth to the seventh digit
# Three things are that small. The tanh form of the GELU is off by some $10^{-4}$. An $\epsilon$ of $10^{-5}$, PyTorch's
# default, or one that is added outside of the root, shows most on tokens of small variance. Arithmetic in float32 is good
# for seven digits at best, and an array made in the type of the image is enough to lose the others.

# %% [markdown] tags=["hint"]
# ### I get NaN or infinity
# `np.exp` overflows beyond 709. The softmax of a row does not change when a number is subtracted from all its scores, so
# subtract the row's own maximum. A maximum over more than the row is not enough: another row can lie a thousand lower.

# %% [markdown] tags=["hint"]
# ### The first call is right and the second is not, or the check says that arguments were changed
# `+=` on an array that came out of `params`, or on a slice of one, changes it for good. Write `x = x + …`, or copy first.

# %% [markdown] tags=["solution"]
# **Patches.** Split both sides of the image: $(B, H/P, P, W/P, P, C)$. The axes are image, row of the grid, row inside the
# patch, column of the grid, column inside the patch, channel. The patch is wanted as the last three of (row inside, column
# inside, channel), and the grid before them as (row, column), so one `transpose` swaps the third axis with the fourth.
# The final `reshape` to $(B, N_p, P^2C)$ then counts columns fastest in the grid as in the patch. Nothing here knows whether
# the image is square or how many channels it has.
#
# **Sequence.** The class token stands before the patches when the position table is added, because it has row 0 of that
# table, and the registers do not, because they have none. Then they are put in between. The order of these two steps is the
# whole difference between registers with and without positions.
#
# **Heads.** One product makes queries, keys and values, $(B, T, 3d)$. Splitting the columns as $(3, h, d_k)$ respects their
# order: first the three kinds, then the heads of each, then the columns of a head. Moving the axes gives three arrays
# $(B, h, T, d_k)$, and the matrix products take $B$ and $h$ along. The results come back as $(B, h, T, d_k)$. A `reshape`
# from there to $(B, T, d)$ would fit and scramble everything, because a row would collect numbers of one head from several
# tokens, so the head axis goes back behind the token axis first.
#
# **What has to be exact.** LayerNorm divides by the square root of variance plus $\epsilon$; `mean` of the squares is the
# population variance. Subtracting the maximum of each row keeps the softmax finite and changes nothing. $\Phi(x)$ is
# $(1 + \operatorname{erf}(x / \sqrt 2)) / 2$. The parameters are float64, so the first product lifts a float32 image to
# float64 by itself.
#
# **Pooling.** LayerNorm and averaging do not commute, and here the average comes first. The registers stand before the
# patches, so the patch rows begin at row $R$ when there is no class token.

# %% tags=["cases"]
_rng = np.random.default_rng(27)


def _case(name, B, H, W, C=3, pool="cls", **sizes):
    """A case of two decimals, which keeps the file short."""
    params = make_vit_params(_rng, H, W, pool=pool, P=2, C=C, d=6, h=2, d_ff=8, K=3, **sizes)
    for tensors in (params, *params["blocks"]):
        tensors |= {key: value.round(2) for key, value in tensors.items() if isinstance(value, np.ndarray)}
    img = _rng.standard_normal((B, H, W, C)).round(2)
    return {"name": name, "call": "vit_forward", "args": [params, img], "kwargs": {"pool": pool}}


def _quiet(case):
    """With tokens of a spread near the root of epsilon."""
    params = case["args"][0]
    params |= {key: (params[key] / 1000).round(5) for key in ("W_E", "b_E", "cls", "pos")}
    return case


def _large(case, sign):
    """With scores of some 800 in the first head, and in the second of as much with `sign`."""
    bias = np.array([20.0, 20, 24])
    case["args"][0]["blocks"][0]["b_qkv"] = np.concatenate([bias, sign * bias, bias, bias, np.zeros(6)])
    return case


def _bright(case):
    """With a bright float32 image, whose brightness the positions take away again."""
    params, img = case["args"]
    params["pos"] = -1000 * params["W_E"].sum(0, keepdims=True).round(2)
    case["args"][1] = (img * 8).round().astype(np.float32) / 8 + 1000
    return case


CASES = [
    _case("two square images, a class token and no registers", 2, 4, 4, L=1),
    _case("an image that is not square, with two channels", 1, 4, 6, C=2, L=1),
    _case("three registers and two blocks", 2, 4, 4, R=3, L=2),
    _case('pool="gap" without registers', 2, 2, 6, pool="gap", L=1),
    _case('pool="gap" with two registers', 2, 4, 4, R=2, pool="gap", L=1),
    _quiet(_case("a class token and patches of small variance", 2, 4, 4, L=1)),
    _large(_case("scores of about 800", 2, 4, 4, L=1), 1),
    _large(_case("scores of about 800 and of about -800", 2, 4, 4, L=1), -1),
    _bright(_case("a float32 image", 1, 2, 2, pool="gap", L=1)),
]
CASES[0]["kwargs"] = {}  # "cls" is the default
