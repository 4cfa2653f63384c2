"""Hidden tests of vit_forward: one check for each convention, on models in which the others cannot be seen."""

from math import sqrt

import numpy as np
from otter.test_files import test_case
from scipy.special import ndtr  # the standard normal distribution function

from autograder import kit

OK_FORMAT = False
name = "vit_forward"

# --- the definition, patch by patch and head by head ------------------------------------------------------------


def normed(rows, gain, shift):
    mean, spread = rows.mean(-1)[..., None], rows.var(-1)[..., None]
    return (rows - mean) / (spread + 1e-6) ** 0.5 * gain + shift


def attended(rows, block, h):
    d = rows.shape[-1]
    heads = []
    for head in np.split(np.arange(d), h):
        q, k, v = (rows @ block["W_qkv"][:, n * d + head] + block["b_qkv"][n * d + head] for n in range(3))
        scores = np.einsum("bqc, bkc -> bqk", q, k) / sqrt(len(head))
        weights = np.exp(scores - scores.max(2)[..., None])
        heads.append(weights @ v / weights.sum(2)[..., None])
    return np.dstack(heads) @ block["W_o"] + block["b_o"]


def logits(params, img, pool):
    B, height, width, _ = img.shape
    P = params["P"]
    corners = [(i, j) for i in range(0, height, P) for j in range(0, width, P)]
    pixels = np.stack([img[:, i : i + P, j : j + P].reshape(B, -1) for i, j in corners], axis=1).astype(np.float64)
    patches = pixels @ params["W_E"] + params["b_E"] + params["pos"][-len(corners) :]
    first = [params["cls"] + params["pos"][0]] if pool == "cls" else []
    rows = np.array([np.vstack([*first, params["reg"], image]) for image in patches])
    for block in params["blocks"]:
        rows = rows + attended(normed(rows, block["ln1_g"], block["ln1_b"]), block, params["h"])
        hidden = normed(rows, block["ln2_g"], block["ln2_b"]) @ block["W_1"] + block["b_1"]
        rows = rows + hidden * ndtr(hidden) @ block["W_2"] + block["b_2"]
    read = rows[:, 0] if pool == "cls" else rows[:, -len(corners) :].mean(1)
    return normed(read, params["lnf_g"], params["lnf_b"]) @ params["W_head"] + params["b_head"]


# --- models in which little can be seen -------------------------------------------------------------------------

LOUD = 1e4  # a stream so large that epsilon vanishes beside its variance
FAR = 20  # hidden units so far from zero that every GELU gives zero or the unit itself


def model(rng, grid=(2, 2), *on, pool="cls", R=0, P=1, C=3, d=12, h=1, L=1, d_ff=10, K=3, size=LOUD):
    """Random parameters for a grid of patches, in which only the parts named in `on` do anything.

    "positions" fills the position table. "attention" alone weighs all tokens alike, "scores" too lets it choose. "mlp"
    alone has no hidden unit near zero, "gelu" too has. "norms" gives every LayerNorm a gain and a shift, "biases" every
    linear layer a bias. `size` is that of the stream, and of what blocks add to it.
    """

    def normal(*shape, times=1.0, part=None):
        return rng.standard_normal(shape) * times if part in (None, *on) else np.zeros(shape)

    def gain(varied):
        return 1 + rng.uniform(-0.5, 0.5, d) * varied

    norms = "norms" in on
    # Where attention and MLP add nothing, no gain before them may be felt.
    block_norms = norms or not {"attention", "mlp"} & {*on}

    def block():
        choosing = normal(d, 2 * d, times=d**-0.5, part="scores")
        units = normal(d, d_ff)
        away = FAR * (-1) ** np.arange(d_ff)
        gelu = "gelu" in on
        return {
            "ln1_g": gain(block_norms),
            "ln1_b": normal(d, part="norms"),
            "W_qkv": np.hstack([choosing, normal(d, d, times=d**-0.5, part="attention")]),
            "b_qkv": normal(3 * d, part="biases"),
            "W_o": normal(d, d, times=size * d**-0.5, part="attention"),
            "b_o": normal(d, times=size, part="biases"),
            "ln2_g": gain(block_norms),
            "ln2_b": normal(d, part="norms"),
            "W_1": units / np.linalg.norm(units, axis=0),
            "b_1": normal(d_ff) if gelu else normal(d_ff, part="biases") + away,
            "W_2": normal(d_ff, d, times=size * d_ff**-0.5 / (1 if gelu else FAR), part="mlp"),
            "b_2": normal(d, times=size, part="biases"),
        }

    n_cls = 1 if pool == "cls" else 0
    params = {
        "P": P,
        "h": h,
        "W_E": normal(P * P * C, d, times=size / (P * C**0.5)),
        "b_E": normal(d, times=size, part="biases"),
        "reg": normal(R, d, times=size),
        "pos": normal(n_cls + grid[0] * grid[1], d, times=size, part="positions"),
        "blocks": [block() for _ in range(L)],
        "lnf_g": gain(norms),
        "lnf_b": normal(d, part="norms"),
        "W_head": normal(d, K, times=d**-0.5),
        "b_head": normal(K, part="biases"),
    }
    return params | ({"cls": normal(d, times=size)} if n_cls else {})


def generator(check):
    return np.random.default_rng(kit.draws(check).getrandbits(64))


def images(rng, params, grid, B=2):
    """A batch for the model, of `grid` patches."""
    P = params["P"]
    return rng.standard_normal((B, grid[0] * P, grid[1] * P, len(params["W_E"]) // P**2))


def expect(vit_forward, rng, grid, *on, where, rule, pool="cls", B=2, **sizes):
    params = model(rng, grid, *on, pool=pool, **sizes)
    img = images(rng, params, grid, B)
    kit.expect_array(vit_forward, params, img, pool, want=logits(params, img, pool), where=where, rule=rule)


# --- the checks -------------------------------------------------------------------------------------------------


@test_case(name="pixels of a patch", points=2, hidden=True)
def test_pixels_of_a_patch(vit_forward):
    rng = generator("pixels of a patch")
    for P, C in ((3, 1), (2, 5)):
        expect(
            vit_forward,
            rng,
            (1, 1),
            pool="gap",
            P=P,
            C=C,
            where=f"images of one patch with {C} channel{'s' * (C > 1)}",
            rule="the pixels of a patch go row by row, and the channels of a pixel stay together",
        )


@test_case(name="order of the patches", points=2, hidden=True)
def test_order_of_the_patches(vit_forward):
    rng = generator("order of the patches")
    params = model(rng, (2, 3), "positions", "attention", P=2)
    params["W_E"][:] = params["W_E"][0]  # a patch counts by the sum of its pixels, whatever their order
    img = images(rng, params, (2, 3))
    kit.expect_array(
        vit_forward,
        params,
        img,
        want=logits(params, img, "cls"),
        where="images that are not square",
        rule="patches are numbered from left to right, one row below the other, and each has its own position",
    )


@test_case(name="class token and positions", points=2, hidden=True)
def test_class_token_and_positions(vit_forward):
    rng = generator("class token and positions")
    expect(
        vit_forward,
        rng,
        (2, 2),
        "positions",
        where="blocks that add nothing",
        rule="row 0 is the class token plus row 0 of the position table, and the final LayerNorm reads it",
    )
    expect(
        vit_forward,
        rng,
        (2, 2),
        "positions",
        "attention",
        where="attention that weighs all tokens alike",
        rule="row 0 of the position table belongs to the class token, and the others to the patches",
    )


@test_case(name="registers", points=2, hidden=True)
def test_registers(vit_forward):
    rng = generator("registers")
    for pool, grid, R in (("cls", (2, 2), 6), ("gap", (1, 1), 3)):
        expect(
            vit_forward,
            rng,
            grid,
            "positions",
            "attention",
            pool=pool,
            R=R,
            where=f'registers, with pool="{pool}"',
            rule="registers have no position, come after the class token, and every token attends to them",
        )


@test_case(name="mean over the patches", points=2, hidden=True)
def test_mean_over_the_patches(vit_forward):
    expect(
        vit_forward,
        generator("mean over the patches"),
        (2, 2),
        pool="gap",
        where='no registers, with pool="gap"',
        rule="the patch rows are averaged first, and the final LayerNorm reads their mean",
    )


@test_case(name="mean without the registers", points=2, hidden=True)
def test_mean_without_the_registers(vit_forward):
    expect(
        vit_forward,
        generator("mean without the registers"),
        (1, 1),
        pool="gap",
        R=3,
        where='registers and one patch, with pool="gap"',
        rule="the head reads the mean of the patch rows, and no register",
    )


@test_case(name="LayerNorm", points=2, hidden=True)
def test_layer_norm(vit_forward):
    rng = generator("LayerNorm")
    expect(
        vit_forward,
        rng,
        (2, 2),
        "norms",
        where="blocks that add nothing",
        rule="the final LayerNorm divides by the root of the population variance, then applies its gain and its shift",
    )
    expect(
        vit_forward,
        rng,
        (1, 1),
        "norms",
        "attention",
        "mlp",
        pool="gap",
        where='a single token, with pool="gap"',
        rule="attention and MLP read the stream through a LayerNorm each, with its own gain and shift, and add to it",
    )


@test_case(name="tokens of small variance", points=1, hidden=True)
def test_tokens_of_small_variance(vit_forward):
    rng = generator("tokens of small variance")
    rule = "the square root is taken of the variance plus 1e-6"
    expect(vit_forward, rng, (2, 2), size=1e-3, where="a class token of small variance", rule=rule)
    expect(
        vit_forward,
        rng,
        (1, 1),
        "attention",
        "mlp",
        pool="gap",
        size=1e-3,
        where='a single token of small variance, with pool="gap"',
        rule=rule,
    )


@test_case(name="heads", points=2, hidden=True)
def test_heads(vit_forward):
    expect(
        vit_forward,
        generator("heads"),
        (2, 2),
        "attention",
        h=3,
        where="heads that weigh all tokens alike",
        rule="head j reads columns j*d_k to (j+1)*d_k of the values and writes the same columns",
    )


@test_case(name="scores", points=2, hidden=True)
def test_scores(vit_forward):
    expect(
        vit_forward,
        generator("scores"),
        (2, 2),
        "attention",
        "scores",
        h=3,
        where="heads that choose between tokens",
        rule="queries times keys, divided by the root of d_k, and a softmax over the keys of each query, unmasked",
    )


@test_case(name="scores of several hundred", points=1, hidden=True)
def test_scores_of_several_hundred(vit_forward):
    # One column a head, so that scores need no scaling; beside the large number they differ by what a softmax must see.
    rng = generator("scores of several hundred")
    d = 6
    for signs, where in (((1, 1), "scores of about 800"), ((1, -1), "scores of about 800 and of about -800")):
        params = model(rng, (2, 2), "attention", "scores", d=d, h=d)
        block = params["blocks"][0]
        queries, keys = np.resize(signs, d) * 800**0.5, np.full(d, 800**0.5)
        block["b_qkv"] = np.concatenate([queries, keys, np.zeros(d)])
        block["W_qkv"][:, : 2 * d] /= 20
        img = images(rng, params, (2, 2))
        kit.expect_array(
            vit_forward,
            params,
            img,
            want=logits(params, img, "cls"),
            where=where,
            rule="a softmax does not change when the largest score of the row is subtracted first",
        )


@test_case(name="MLP", points=2, hidden=True)
def test_mlp(vit_forward):
    expect(
        vit_forward,
        generator("MLP"),
        (2, 2),
        "mlp",
        "gelu",
        where="attention that adds nothing",
        rule="between its two layers the MLP has the exact GELU, x times the normal distribution function of x",
    )


@test_case(name="biases", points=1, hidden=True)
def test_biases(vit_forward):
    expect(
        vit_forward,
        generator("biases"),
        (2, 2),
        "attention",
        "mlp",
        "biases",
        where="biases everywhere",
        rule="every linear layer adds its bias: patch embedding, projections, MLP and head",
    )


@test_case(name="one image", points=1, hidden=True)
def test_one_image(vit_forward):
    rng = generator("one image")
    for pool, P in (("cls", 2), ("gap", 1)):
        expect(
            vit_forward,
            rng,
            (1, 1),
            pool=pool,
            P=P,
            B=1,
            where=f'a batch of one image, with pool="{pool}"',
            rule="the result has a row for each image",
        )


@test_case(name="float32 images", points=1, hidden=True)
def test_float32_images(vit_forward):
    # A bright image whose brightness the position takes away again: what float32 rounds off on the way is left over.
    rng = generator("float32 images")
    params = model(rng, (1, 1), pool="gap")
    img = (images(rng, params, (1, 1)) + 1000).astype(np.float32)
    params["pos"] = -1000 * params["W_E"].sum(0, keepdims=True)
    kit.expect_array(
        vit_forward,
        params,
        img,
        "gap",
        want=logits(params, img, "gap"),
        where="a float32 image",
        rule="a float32 image is computed with in float64",
    )


@test_case(name="whole models", points=2, hidden=True)
def test_whole_models(vit_forward):
    rng = generator("whole models")
    parts = ("positions", "attention", "scores", "mlp", "gelu", "norms", "biases")
    for pool, R, grid in (("cls", 4, (2, 3)), ("gap", 2, (3, 2))):
        params = model(rng, grid, *parts, pool=pool, R=R, P=2, C=4, h=3, L=2, size=1)
        img = images(rng, params, grid, B=3)
        kit.expect_array(
            vit_forward,
            params=params,
            img=img,
            pool=pool,
            want=logits(params, img, pool),
            where=f'a model of two blocks and {R} registers, with pool="{pool}"',
            rule="everything together",
        )


@test_case(name="no loops over heads or tokens", points=3, hidden=True)
def test_no_loops(vit_forward):
    rng = generator("no loops over heads or tokens")
    for what, pool, h, grid in (("heads", "cls", 8, (2, 2)), ("patches", "gap", 2, (7, 7))):
        few = loop_question(vit_forward, rng, pool, 2, (2, 2))
        many = loop_question(vit_forward, rng, pool, h, grid)
        kit.expect_no_more_operations(vit_forward, few, many, where=f"when there are more {what}")


def loop_question(vit_forward, rng, pool, h, grid):
    """The arguments of a call whose operations will be counted, after it was answered right."""
    params = model(rng, grid, "attention", "mlp", pool=pool, d=16, h=h)
    img = images(rng, params, grid)
    kit.expect_array(
        vit_forward,
        params,
        img,
        pool,
        want=logits(params, img, pool),
        where=f"{h} heads and {grid[0] * grid[1]} patches",
        rule="only a right answer can earn the points for having no loops",
    )
    return {"params": params, "img": img, "pool": pool}
