"""What students get wrong when they count the parameters of a ViT."""

import functools

from autograder.misconceptions import edited

mistake = functools.partial(edited, "vit_param_count")

MISCONCEPTIONS = [
    mistake(
        "rule-of-thumb",
        "You returned the rule of thumb 12 L d², which counts the blocks' weight matrices when d_ff = 4 d and nothing "
        "else: add the biases, the LayerNorms and the parts outside the blocks.",
        (
            "return patch_embedding + prefix + positions + blocks + final_norm + head",
            'return 12 * cfg["L"] * d * d',
        ),
    ),
    mistake(
        "float-division",
        "You divided with `/`, which makes the number of patches, and with it the whole count, a float: divide with "
        "`//`, which keeps an int exact at any size.",
        ('cfg["img"] // P', 'cfg["img"] / P'),
    ),
    mistake(
        "grid-not-squared",
        "You counted the patches along one side of the image: the grid has as many rows as columns.",
        ('(cfg["img"] // P) ** 2', 'cfg["img"] // P'),
    ),
    mistake(
        "patch-bias-left-out",
        "You left out the bias of the patch embedding: one more vector of width d.",
        ("P * P * C * d + d", "P * P * C * d"),
    ),
    mistake(
        "rgb-assumed",
        "You took every image to have 3 channels: a patch holds P² numbers for each of the C channels.",
        ("= P * P * C * d", "= P * P * 3 * d"),
    ),
    mistake(
        "channels-left-out",
        "You counted a patch as P² numbers: it holds P² numbers for each of its C channels.",
        ("= P * P * C * d", "= P * P * d"),
    ),
    mistake(
        "class-token-counted-once",
        "You counted the class token once: it is a learned vector, and it has a row in the position table as well.",
        ("positions = (n_patches + n_cls) * d", "positions = n_patches * d"),
    ),
    mistake(
        "class-token-always",
        "You counted a class token in models that have none: it is there only if `cls_token` is true.",
        ('n_cls = int(cfg["cls_token"])', "n_cls = 1"),
    ),
    mistake(
        "class-token-from-pool",
        "You took the class token to follow `pool`: it follows `cls_token` alone, and a model that averages over its "
        "patches can have one too.",
        ('n_cls = int(cfg["cls_token"])', 'n_cls = int(cfg["pool"] == "cls")'),
    ),
    mistake(
        "extra-position-row",
        "You gave the position table of every model one row more than it has patches: that row belongs to the class "
        "token, and goes when `cls_token` is false.",
        ("positions = (n_patches + n_cls) * d", "positions = (n_patches + 1) * d"),
    ),
    mistake(
        "registers-left-out",
        "You left the registers out: each is a learned vector of width d.",
        ('prefix = (n_cls + cfg["n_registers"]) * d', "prefix = n_cls * d"),
    ),
    mistake(
        "registers-have-positions",
        "You gave the registers rows in the position table: only patches and the class token have a position.",
        ("positions = (n_patches + n_cls)", 'positions = (n_patches + n_cls + cfg["n_registers"])'),
    ),
    mistake(
        "output-projection-left-out",
        "You counted three attention projections in a block: after the heads are joined there is a fourth, the output "
        "projection, with a bias.",
        ("attention = 4 * (d * d + d)", "attention = 3 * (d * d + d)"),
    ),
    mistake(
        "attention-biases-left-out",
        "You left out the biases of attention: each block has one of width d for queries, keys, values and output.",
        ("attention = 4 * (d * d + d)", "attention = 4 * d * d"),
    ),
    mistake(
        "projections-per-head",
        "You gave every head projections of full width d: the heads share the d columns, so h does not change the "
        "count.",
        ("attention = 4 * (d * d + d)", 'attention = (3 * cfg["h"] + 1) * d * d + 4 * d'),
    ),
    mistake(
        "mlp-width-assumed",
        "You took the MLP to be 4 d wide: its width is `d_ff`, which is often something else.",
        ('cfg["d"], cfg["d_ff"], cfg["n_classes"]', 'cfg["d"], 4 * cfg["d"], cfg["n_classes"]'),
    ),
    mistake(
        "mlp-biases-left-out",
        "You left out the biases of the MLP: each block has d_ff of them in its first layer and d in its second.",
        ("mlp = d * d_ff + d_ff + d_ff * d + d", "mlp = d * d_ff + d_ff * d"),
    ),
    mistake(
        "norm-shift-left-out",
        "You gave each LayerNorm a gain only: it has a shift of width d too.",
        ("norms = 2 * (d + d)", "norms = 2 * d"),
        ("final_norm = d + d", "final_norm = d"),
    ),
    mistake(
        "one-norm-per-block",
        "You counted one LayerNorm in a block: there are two, one before attention and one before the MLP.",
        ("norms = 2 * (d + d)", "norms = d + d"),
    ),
    mistake(
        "final-norm-left-out",
        "You left out the final LayerNorm: its gain and its shift are there in every model.",
        ("final_norm = d + d", "final_norm = 0"),
    ),
    mistake(
        "final-norm-follows-pool",
        "You took the final LayerNorm away where the patches are averaged: it is there whatever the pooling.",
        ("final_norm = d + d", 'final_norm = 2 * d if cfg["pool"] == "cls" else 0'),
    ),
    mistake(
        "head-bias-left-out",
        "You left out the biases of the head: there is one for each class.",
        ("head = d * K + K", "head = d * K"),
    ),
    mistake(
        "head-always-there",
        "You counted a head for one class where n_classes is 0: then there is no head at all.",
        ("head = d * K + K", "head = (d + 1) * max(K, 1)"),
    ),
    mistake(
        "hidden-layer-in-head",
        "You counted a hidden layer of d by d in the head: here the head is one linear layer.",
        ("head = d * K + K", "head = d * K + K + (d * d + d if K else 0)"),
    ),
]
