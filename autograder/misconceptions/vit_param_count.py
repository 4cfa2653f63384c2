"""What students get wrong when they count the parameters of a ViT."""

from autograder.misconceptions import Misconception
from solutions.vit_param_count import vit_param_count as right

FUNCTION = "vit_param_count"


def off_by(slug, sentence, error):
    """A count that is off by `error(cfg)`."""
    return Misconception(slug, sentence, {FUNCTION: lambda cfg: right(cfg) + error(cfg)})


def instead(slug, sentence, cfg_of):
    """A right count of another model, `cfg_of(cfg)`."""
    return Misconception(slug, sentence, {FUNCTION: lambda cfg: right(cfg | cfg_of(cfg))})


def patches(cfg):
    return (cfg["img"] // cfg["P"]) ** 2


MISCONCEPTIONS = [
    Misconception(
        "rule-of-thumb",
        "You returned the rule of thumb 12 L d², which counts the blocks' weight matrices when d_ff = 4 d and nothing "
        "else: add the biases, the LayerNorms and the parts outside the blocks.",
        {FUNCTION: lambda cfg: 12 * cfg["L"] * cfg["d"] ** 2},
    ),
    Misconception(
        "float-division",
        "You divided with `/`, which makes the number of patches, and with it the whole count, a float: divide with "
        "`//`, which keeps an int exact at any size.",
        {FUNCTION: lambda cfg: right(cfg) + cfg["d"] * ((cfg["img"] / cfg["P"]) ** 2 - patches(cfg))},
    ),
    off_by(
        "patch-bias-left-out",
        "You left out the bias of the patch embedding: one more vector of width d.",
        lambda cfg: -cfg["d"],
    ),
    instead(
        "rgb-assumed",
        "You took every image to have 3 channels: a patch holds P² numbers for each of the C channels in the config.",
        lambda cfg: {"C": 3},
    ),
    off_by(
        "channels-left-out",
        "You counted a patch as P² numbers: it holds P² numbers for each of its C channels.",
        lambda cfg: -(cfg["P"] ** 2) * (cfg["C"] - 1) * cfg["d"],
    ),
    off_by(
        "grid-not-squared",
        "You counted the patches along one side of the image: the grid has that many rows and that many columns.",
        lambda cfg: (cfg["img"] // cfg["P"] - patches(cfg)) * cfg["d"],
    ),
    off_by(
        "class-token-counted-once",
        "You counted the class token once: it is a learned vector, and it has a row in the position table as well.",
        lambda cfg: -cfg["d"] if cfg["cls_token"] else 0,
    ),
    instead(
        "class-token-always",
        "You counted a class token in models that have none: it is there only if `cls_token` is true.",
        lambda cfg: {"cls_token": True},
    ),
    instead(
        "class-token-from-pool",
        "You took the class token to follow `pool`: it follows `cls_token` alone, and a model that averages over its "
        "patches can have one too.",
        lambda cfg: {"cls_token": cfg["pool"] == "cls"},
    ),
    off_by(
        "extra-position-row",
        "You gave the position table one row more than there are patches in every model: that row belongs to the class "
        "token, and goes when `cls_token` is false.",
        lambda cfg: 0 if cfg["cls_token"] else cfg["d"],
    ),
    instead(
        "registers-left-out",
        "You left the registers out: each is a learned vector of width d.",
        lambda cfg: {"n_registers": 0},
    ),
    off_by(
        "registers-have-positions",
        "You gave the registers rows in the position table: only patches and the class token have a position.",
        lambda cfg: cfg["n_registers"] * cfg["d"],
    ),
    instead(
        "mlp-width-assumed",
        "You took the MLP to be 4 d wide: its width is `d_ff`, which is often something else.",
        lambda cfg: {"d_ff": 4 * cfg["d"]},
    ),
    off_by(
        "mlp-biases-left-out",
        "You left out the biases of the MLP: each block has d_ff of them in its first layer and d in its second.",
        lambda cfg: -cfg["L"] * (cfg["d_ff"] + cfg["d"]),
    ),
    off_by(
        "attention-biases-left-out",
        "You left out the biases of attention: each block has one of width d for queries, keys, values and output.",
        lambda cfg: -4 * cfg["L"] * cfg["d"],
    ),
    off_by(
        "output-projection-left-out",
        "You counted three attention projections in a block: after the heads are joined there is a fourth, the output "
        "projection, with a bias.",
        lambda cfg: -cfg["L"] * (cfg["d"] ** 2 + cfg["d"]),
    ),
    off_by(
        "projections-per-head",
        "You gave every head projections of full width d: the heads share the d columns, so h does not change the count.",
        lambda cfg: 3 * (cfg["h"] - 1) * cfg["L"] * cfg["d"] ** 2,
    ),
    off_by(
        "norm-shift-left-out",
        "You gave each LayerNorm a gain only: it has a shift of width d too.",
        lambda cfg: -(2 * cfg["L"] + 1) * cfg["d"],
    ),
    off_by(
        "one-norm-per-block",
        "You counted one LayerNorm in a block: there are two, one before attention and one before the MLP.",
        lambda cfg: -2 * cfg["L"] * cfg["d"],
    ),
    off_by(
        "final-norm-left-out",
        "You left out the final LayerNorm: its gain and its shift are there in every model.",
        lambda cfg: -2 * cfg["d"],
    ),
    off_by(
        "final-norm-follows-pool",
        "You took the final LayerNorm away where the patches are averaged: it is there whatever the pooling.",
        lambda cfg: 0 if cfg["pool"] == "cls" else -2 * cfg["d"],
    ),
    off_by(
        "head-bias-left-out",
        "You left out the biases of the head: there is one for each class.",
        lambda cfg: -cfg["n_classes"],
    ),
    off_by(
        "head-always-there",
        "You counted a head for one class where n_classes is 0: then there is no head at all.",
        lambda cfg: 0 if cfg["n_classes"] else cfg["d"] + 1,
    ),
    off_by(
        "hidden-layer-in-head",
        "You counted a hidden layer of d by d in the head: here the head is one linear layer.",
        lambda cfg: (cfg["d"] ** 2 + cfg["d"]) if cfg["n_classes"] else 0,
    ),
]
