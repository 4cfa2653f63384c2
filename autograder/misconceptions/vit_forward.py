"""What students get wrong in the forward pass of a ViT: what fails silently, with the right shape and wrong logits."""

from autograder.misconceptions import edited


def wrong(slug, sentence, *edits):
    return edited("vit_forward", slug, sentence, *edits)


MERGED = "np.concatenate([tokens[:, :n_cls], reg, tokens[:, n_cls:]], axis=1)"
POOLED = 'x[:, 0] if n_cls else x[:, len(params["reg"]) :].mean(1)'
LOGITS = 'return layer_norm(z, params["lnf_g"], params["lnf_b"])'
ATTENDED = 'x = x + attention(layer_norm(x, block["ln1_g"], block["ln1_b"]), block)'
TRANSFORMED = 'x = x + mlp(layer_norm(x, block["ln2_g"], block["ln2_b"]), block)'

MISCONCEPTIONS = [
    # patches
    wrong(
        "channels-first-in-a-patch",
        "You flattened a patch channel by channel: the pixels come first, and the channels of a pixel stay together.",
        ("transpose(0, 1, 3, 2, 4, 5)", "transpose(0, 1, 3, 5, 2, 4)"),
    ),
    wrong(
        "pixels-by-column",
        "You read the pixels of a patch column by column: they go row by row.",
        ("transpose(0, 1, 3, 2, 4, 5)", "transpose(0, 1, 3, 4, 2, 5)"),
    ),
    wrong(
        "patches-by-column",
        "You numbered the patches from top to bottom: they go from left to right, one row of patches below the other.",
        ("transpose(0, 1, 3, 2, 4, 5)", "transpose(0, 3, 1, 2, 4, 5)"),
    ),
    wrong(
        "patches-never-cut",
        "You reshaped the image straight into patches: consecutive pixels of a row belong to different patches, so the "
        "axes of the grid have to be moved in between.",
        (".transpose(0, 1, 3, 2, 4, 5)", ""),
    ),
    wrong(
        "patch-bias-left-out",
        "You left out the bias of the patch embedding.",
        (' + params["b_E"]', ""),
    ),
    # sequence
    wrong(
        "registers-with-positions",
        "You added the position table after the registers were in the sequence, so some of them got a position that "
        "belongs to a patch: add it first, then insert the registers.",
        ('tokens = tokens + params["pos"]', 'pos = params["pos"]'),
        (MERGED, f"{MERGED}\n    x[:, : len(pos)] += pos"),
    ),
    wrong(
        "registers-share-the-first-position",
        "You gave the registers the first row of the position table: they have no position.",
        ('np.broadcast_to(params["reg"], (B', 'np.broadcast_to(params["reg"] + params["pos"][0], (B'),
    ),
    wrong(
        "registers-in-front",
        "You put the registers before the class token and read row 0, which is a register then: the class token stands "
        "first.",
        (MERGED, "np.concatenate([reg, tokens], axis=1)"),
    ),
    wrong(
        "registers-left-out",
        "You left the registers out of the sequence: nothing is read from them, but every token attends to them.",
        (MERGED, "tokens"),
        (POOLED, "x[:, 0] if n_cls else x.mean(1)"),
    ),
    wrong(
        "no-positions",
        "You left out the position table: add it to the class token and the patches.",
        ('tokens = tokens + params["pos"]', "tokens = tokens + 0"),
    ),
    wrong(
        "class-token-without-position",
        "You added positions to the patches only: row 0 of the table belongs to the class token.",
        ('tokens = tokens + params["pos"]', 'tokens[:, n_cls:] += params["pos"][n_cls:]'),
    ),
    wrong(
        "positions-shifted",
        "You gave the first patch the row of the class token, and every other patch the row of the one before it: with a "
        "class token the rows of the patches begin at 1.",
        (
            'tokens = tokens + params["pos"]',
            'tokens = tokens + np.concatenate([params["pos"][:n_cls], params["pos"][: tokens.shape[1] - n_cls]])',
        ),
    ),
    # pooling
    wrong(
        "registers-averaged",
        "You averaged over the registers as well: the mean is over the patch rows only.",
        (POOLED, "x[:, 0] if n_cls else x.mean(1)"),
    ),
    wrong(
        "norm-before-mean",
        "You normalized every row and averaged afterwards: the mean of the patch rows comes first, and the final "
        "LayerNorm sees one vector.",
        (POOLED, f'layer_norm(x, params["lnf_g"], params["lnf_b"])\n    z = {POOLED.replace("x[", "z[")}'),
        (LOGITS, "return z"),
    ),
    wrong(
        "row-0-always",
        "You read row 0 whatever `pool` says: without a class token that is a register or a patch.",
        (POOLED, "x[:, 0]"),
    ),
    wrong(
        "mean-always",
        'You averaged over the patches whatever `pool` says: with "cls" the head reads row 0.',
        (POOLED, 'x[:, n_cls + len(params["reg"]) :].mean(1)'),
    ),
    wrong(
        "one-image-flattened",
        "You lost the batch axis when there is only one image: the result has a row for each image, also for one.",
        ("layer_norm(z, ", "layer_norm(z[0] if B == 1 else z, "),
    ),
    wrong(
        "probabilities",
        "You returned probabilities: the logits are asked for, without a softmax.",
        (LOGITS, LOGITS.replace("return ", "return softmax(")),
        ('params["W_head"] + params["b_head"]', 'params["W_head"] + params["b_head"])'),
    ),
    # LayerNorm
    wrong(
        "sample-variance",
        "You divided the squares by d - 1: LayerNorm takes the population variance, divided by d.",
        ("(centered**2).mean(-1, keepdims=True)", "x.var(-1, ddof=1, keepdims=True)"),
    ),
    wrong(
        "epsilon-of-pytorch",
        "You used an epsilon of 1e-5, PyTorch's default: a ViT has 1e-6.",
        ("variance + 1e-6", "variance + 1e-5"),
    ),
    wrong(
        "epsilon-outside-the-root",
        "You added epsilon to the standard deviation: it is added to the variance, under the root.",
        ("np.sqrt(variance + 1e-6)", "(np.sqrt(variance) + 1e-6)"),
    ),
    wrong(
        "no-epsilon",
        "You left out epsilon: 1e-6 is added to the variance.",
        ("variance + 1e-6", "variance"),
    ),
    wrong(
        "gain-and-shift-left-out",
        "You normalized without the gain and the shift: each LayerNorm has its own.",
        ("return gain * centered / np.sqrt(variance + 1e-6) + shift", "return centered / np.sqrt(variance + 1e-6)"),
    ),
    wrong(
        "norm-over-all-tokens",
        "You normalized over all tokens of an image together: each token is normalized by itself, over its d numbers.",
        (
            "centered = x - x.mean(-1, keepdims=True)",
            "axes = tuple(range(1, x.ndim))\n        centered = x - x.mean(axes, keepdims=True)",
        ),
        ("(centered**2).mean(-1, keepdims=True)", "(centered**2).mean(axes, keepdims=True)"),
    ),
    wrong(
        "one-norm-in-a-block",
        "You used the first LayerNorm of a block twice: the MLP has one of its own.",
        ('layer_norm(x, block["ln2_g"], block["ln2_b"])', 'layer_norm(x, block["ln1_g"], block["ln1_b"])'),
    ),
    wrong(
        "no-final-norm",
        "You left out the final LayerNorm: the head reads the normalized vector.",
        (LOGITS, "return z"),
    ),
    # attention
    wrong(
        "causal-mask",
        "You masked the tokens that come later, as in a language model: a ViT has no mask, and with one the class token "
        "never sees a patch.",
        (
            "softmax(q @ k.swapaxes(-1, -2) / np.sqrt(d // h))",
            "softmax(np.where(np.tri(T, dtype=bool), q @ k.swapaxes(-1, -2) / np.sqrt(d // h), -1e300))",
        ),
    ),
    wrong(
        "scores-not-scaled",
        "You did not scale the scores: divide them by the root of d_k.",
        ("q @ k.swapaxes(-1, -2) / np.sqrt(d // h)", "q @ k.swapaxes(-1, -2)"),
    ),
    wrong(
        "scaled-by-full-width",
        "You divided the scores by the root of d: queries and keys of a head have d_k = d / h columns, so divide by the "
        "root of that.",
        ("/ np.sqrt(d // h)", "/ np.sqrt(d)"),
    ),
    wrong(
        "scaled-without-root",
        "You divided the scores by d_k: divide by its root.",
        ("/ np.sqrt(d // h)", "/ (d // h)"),
    ),
    wrong(
        "softmax-over-queries",
        "You took the softmax over the queries: for each query the weights of all keys sum to one.",
        ("scores.max(-1, keepdims=True)", "scores.max(-2, keepdims=True)"),
        ("weights / weights.sum(-1, keepdims=True)", "weights / weights.sum(-2, keepdims=True)"),
    ),
    wrong(
        "softmax-overflows",
        "Your softmax raises e to the scores as they are, which overflows at about 709 and vanishes far below zero: "
        "subtract the largest score of each row first.",
        (
            "weights = np.exp(scores - scores.max(-1, keepdims=True))\n        return weights / weights.sum(-1, keepdims=True)",
            'with np.errstate(all="ignore"):\n            weights = np.exp(scores)\n            return weights / weights.sum(-1, keepdims=True)',
        ),
    ),
    wrong(
        "softmax-with-one-maximum",
        "You subtracted the largest score of all rows: a row that lies far below it vanishes, so each row needs its own.",
        (
            "weights = np.exp(scores - scores.max(-1, keepdims=True))\n        return weights / weights.sum(-1, keepdims=True)",
            'with np.errstate(all="ignore"):\n            weights = np.exp(scores - scores.max())\n            return weights / weights.sum(-1, keepdims=True)',
        ),
    ),
    wrong(
        "queries-and-keys-swapped",
        "You took the first d columns for the keys: the queries come first, then the keys, then the values.",
        ("q, k, v = qkv", "k, q, v = qkv"),
    ),
    wrong(
        "heads-before-kinds",
        "You split the columns into heads first and into queries, keys and values inside each: the first d columns are the "
        "queries of all heads.",
        (
            "reshape(B, T, 3, h, d // h).transpose(2, 0, 3, 1, 4)",
            "reshape(B, T, h, 3, d // h).transpose(3, 0, 2, 1, 4)",
        ),
    ),
    wrong(
        "heads-interleaved",
        "You dealt the columns out to the heads in turn: head j takes d_k columns that lie next to each other.",
        (
            "reshape(B, T, 3, h, d // h).transpose(2, 0, 3, 1, 4)",
            "reshape(B, T, 3, d // h, h).transpose(2, 0, 4, 1, 3)",
        ),
    ),
    wrong(
        "heads-split-without-moving",
        "You reshaped the columns straight into heads, tokens and columns: that mixes tokens, so split the columns first "
        "and move the head axis afterwards.",
        (
            "qkv.reshape(B, T, 3, h, d // h).transpose(2, 0, 3, 1, 4)",
            "(part.reshape(B, h, T, d // h) for part in np.split(qkv, 3, axis=-1))",
        ),
    ),
    wrong(
        "heads-joined-without-moving",
        "You reshaped the heads straight back into rows: the head axis has to go behind the token axis first.",
        ("(weights @ v).swapaxes(1, 2).reshape(B, T, d)", "(weights @ v).reshape(B, T, d)"),
    ),
    wrong(
        "no-output-projection",
        "You left out the output projection: the joined heads go through W_o and b_o.",
        ('return heads @ block["W_o"] + block["b_o"]', "return heads"),
    ),
    # MLP and blocks
    wrong(
        "tanh-gelu",
        "You used the tanh form of the GELU, which GPT-2 has: a ViT has the exact one, x times the normal distribution "
        "function.",
        (
            "u * (1 + erf(u / np.sqrt(2))) / 2",
            "u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3))) / 2",
        ),
    ),
    wrong(
        "sigmoid-gelu",
        "You used the sigmoid form of the GELU: a ViT has the exact one, x times the normal distribution function.",
        ("u * (1 + erf(u / np.sqrt(2))) / 2", "u / (1 + np.exp(-1.702 * u))"),
    ),
    wrong(
        "erf-of-the-input",
        "You gave erf the input itself: the normal distribution function has erf of the input divided by the root of 2.",
        ("erf(u / np.sqrt(2))", "erf(u)"),
    ),
    wrong(
        "relu",
        "You used a ReLU between the two layers of the MLP: a ViT has the exact GELU.",
        ("u * (1 + erf(u / np.sqrt(2))) / 2", "np.maximum(u, 0)"),
    ),
    wrong(
        "post-norm",
        "You normalized after each addition, as the first Transformers did: a ViT normalizes what attention and MLP read "
        "and leaves the stream itself alone.",
        (ATTENDED, 'x = layer_norm(x + attention(x, block), block["ln1_g"], block["ln1_b"])'),
        (TRANSFORMED, 'x = layer_norm(x + mlp(x, block), block["ln2_g"], block["ln2_b"])'),
    ),
    wrong(
        "no-norm-in-blocks",
        "You left out the LayerNorms of the blocks: attention and MLP read the stream through one each.",
        (ATTENDED, "x = x + attention(x, block)"),
        (TRANSFORMED, "x = x + mlp(x, block)"),
    ),
    wrong(
        "no-residual",
        "You replaced the stream by what attention and MLP return: their results are added to it.",
        (ATTENDED, ATTENDED.replace("x + ", "")),
        (TRANSFORMED, TRANSFORMED.replace("x + ", "")),
    ),
    wrong(
        "residual-of-the-norm",
        "You added to the normalized tokens: attention and MLP read those, and their results are added to the stream as it "
        "was.",
        (ATTENDED, 'x = layer_norm(x, block["ln1_g"], block["ln1_b"])\n        x = x + attention(x, block)'),
        (TRANSFORMED, 'x = layer_norm(x, block["ln2_g"], block["ln2_b"])\n        x = x + mlp(x, block)'),
    ),
    wrong(
        "parallel-layers",
        "You let the MLP read the stream from before attention: it reads what attention has already been added to.",
        (ATTENDED, ATTENDED.replace("x = ", "before = x\n        x = ")),
        (TRANSFORMED, TRANSFORMED.replace("layer_norm(x", "layer_norm(before")),
    ),
    wrong(
        "first-block-only",
        "You ran every block with the parameters of the first: each has its own.",
        (
            'for block in params["blocks"]:',
            'for block in params["blocks"][:1] * len(params["blocks"]):',
        ),
    ),
    wrong(
        "one-block",
        "You ran one block: the sequence goes through all of them.",
        ('for block in params["blocks"]:', 'for block in params["blocks"][:1]:'),
    ),
    wrong(
        "float32",
        "You kept tokens in the type of the image, which is float32 here: seven digits are left of them, so compute in "
        "float64.",
        ('tokens = tokens + params["pos"]', 'tokens = tokens.astype(img.dtype) + params["pos"]'),
    ),
]
