"""What students get wrong when they count the multiply-adds of a ViT and look for the crossover."""

import math

from autograder.misconceptions import Misconception
from solutions.vit_macs import attention_crossover_res as right_crossover
from solutions.vit_macs import vit_macs as right

TERMS = ("patch", "linear", "attention", "head")


def patches(cfg, res):
    return (res // cfg["P"]) ** 2


def terms(slug, sentence, changed):
    """Right terms, but for those that `changed(cfg, res, macs)` gives; the total is their sum."""

    def vit_macs(cfg, res):
        macs = right(cfg, res)
        macs |= changed(cfg, res, macs)
        return macs | {"total": sum(macs[term] for term in TERMS)}

    return Misconception(slug, sentence, {"vit_macs": vit_macs})


def another(slug, sentence, cfg_of):
    """The right terms of another model, `cfg_of(cfg)`."""
    return Misconception(slug, sentence, {"vit_macs": lambda cfg, res: right(cfg | cfg_of(cfg), res)})


def crossover_of_another(slug, sentence, cfg_of):
    """The right crossover of another model, `cfg_of(cfg)`."""
    return Misconception(slug, sentence, {"attention_crossover_res": lambda cfg: right_crossover(cfg | cfg_of(cfg))})


def crossover(slug, sentence, side_of):
    """A crossover at `side_of(needed)` patches a side, where `needed` patches make the two terms equal."""

    def attention_crossover_res(cfg):
        needed = 2 * cfg["d"] + cfg["d_ff"] - int(cfg["cls_token"]) - cfg["n_registers"]
        return side_of(max(needed, 0)) * cfg["P"]

    return Misconception(slug, sentence, {"attention_crossover_res": attention_crossover_res})


def up(n):
    """The smallest whole number whose square is at least n."""
    return math.isqrt(n - 1) + 1 if n > 0 else 0


def tokens(cfg, res):
    return patches(cfg, res) + int(cfg["cls_token"]) + cfg["n_registers"]


def one_row(cfg, res):
    """The terms of an image that is one patch high."""
    n, prefix = res // cfg["P"], int(cfg["cls_token"]) + cfg["n_registers"]
    per_token = right(cfg | {"cls_token": False, "n_registers": 0}, cfg["P"])
    macs = {
        "patch": n * per_token["patch"],
        "linear": (n + prefix) * per_token["linear"],
        "attention": (n + prefix) ** 2 * per_token["attention"],
        "head": per_token["head"],
    }
    return macs | {"total": sum(macs.values())}


MISCONCEPTIONS = [
    terms(
        "flops",
        "You counted FLOPs, two for every multiply-add: one multiplication and one addition together are one MAC.",
        lambda cfg, res, macs: {term: 2 * macs[term] for term in TERMS},
    ),
    another(
        "patches-for-tokens",
        "You used the number of patches where the number of tokens belongs: the class token and the registers go through "
        "every block too.",
        lambda cfg: {"cls_token": False, "n_registers": 0},
    ),
    another(
        "registers-left-out",
        "You left the registers out of the token count: they attend and are attended to, like every other token.",
        lambda cfg: {"n_registers": 0},
    ),
    another(
        "class-token-always",
        "You counted a class token in models that have none: it is there only if `cls_token` is true.",
        lambda cfg: {"cls_token": True},
    ),
    another(
        "class-token-left-out",
        "You left the class token out of the token count: where there is one, it goes through every block.",
        lambda cfg: {"cls_token": False},
    ),
    another(
        "class-token-from-pool",
        "You took the class token to follow `pool`: it follows `cls_token` alone.",
        lambda cfg: {"cls_token": cfg["pool"] == "cls"},
    ),
    another(
        "mlp-width-assumed",
        "You took the MLP to be 4 d wide: its width is `d_ff`, which is often something else.",
        lambda cfg: {"d_ff": 4 * cfg["d"]},
    ),
    terms(
        "prefix-embedded",
        "You sent every token through the patch embedding: the class token and the registers are learned vectors of "
        "width d already, so only the patches are embedded.",
        lambda cfg, res, macs: {"patch": tokens(cfg, res) * cfg["P"] ** 2 * cfg["C"] * cfg["d"]},
    ),
    terms(
        "rgb-assumed",
        "You took every image to have 3 channels: a patch holds P² numbers for each of the C channels in the config.",
        lambda cfg, res, macs: {"patch": patches(cfg, res) * cfg["P"] ** 2 * 3 * cfg["d"]},
    ),
    terms(
        "channels-left-out",
        "You counted a patch as P² numbers: it holds P² numbers for each of its C channels.",
        lambda cfg, res, macs: {"patch": macs["patch"] // cfg["C"]},
    ),
    Misconception(
        "img-for-res",
        'You took the side of the image from `cfg["img"]`: the image of this call has side `res`.',
        {"vit_macs": lambda cfg, res: right(cfg, cfg["img"])},
    ),
    Misconception(
        "grid-not-squared",
        "You counted the patches along one side of the image: the grid has that many rows and that many columns.",
        {"vit_macs": one_row},
    ),
    terms(
        "one-attention-product",
        "You counted one of attention's two products: the T × T scores have to be computed, and the weights made from "
        "them have to be applied to the values.",
        lambda cfg, res, macs: {"attention": macs["attention"] // 2},
    ),
    terms(
        "full-width-per-head",
        "You gave each head the full width d: a head works on d / h columns, so all heads together cost what one of full "
        "width would.",
        lambda cfg, res, macs: {"attention": macs["attention"] * cfg["h"]},
    ),
    terms(
        "one-head",
        "You counted attention for one head of width d / h: there are h of them.",
        lambda cfg, res, macs: {"attention": macs["attention"] // cfg["h"]},
    ),
    terms(
        "attention-linear-in-tokens",
        "You let attention grow with the number of tokens: every token meets every token, so its cost grows with the "
        "square.",
        lambda cfg, res, macs: {"attention": 2 * cfg["L"] * tokens(cfg, res) * cfg["d"]},
    ),
    terms(
        "softmax-counted",
        "You added the softmax: only matrix products count here.",
        lambda cfg, res, macs: {"attention": macs["attention"] + cfg["L"] * cfg["h"] * tokens(cfg, res) ** 2},
    ),
    terms(
        "output-projection-left-out",
        "You counted three attention projections in a block: after the heads are joined there is a fourth, the output "
        "projection.",
        lambda cfg, res, macs: {"linear": macs["linear"] - cfg["L"] * tokens(cfg, res) * cfg["d"] ** 2},
    ),
    terms(
        "one-mlp-layer",
        "You counted one layer of the MLP: it goes from d to d_ff and back to d.",
        lambda cfg, res, macs: {"linear": macs["linear"] - cfg["L"] * tokens(cfg, res) * cfg["d"] * cfg["d_ff"]},
    ),
    terms(
        "mlp-left-out",
        "You counted the four attention projections as the linear layers: the two layers of the MLP belong to them too.",
        lambda cfg, res, macs: {"linear": macs["linear"] - 2 * cfg["L"] * tokens(cfg, res) * cfg["d"] * cfg["d_ff"]},
    ),
    terms(
        "one-block",
        "You counted one block: the linear layers and attention are there once in each of the L blocks.",
        lambda cfg, res, macs: {term: macs[term] // cfg["L"] for term in ("linear", "attention")},
    ),
    terms(
        "biases-counted",
        "You added the biases: adding a bias is no multiply-add, and only matrix products count.",
        lambda cfg, res, macs: {
            "patch": macs["patch"] + patches(cfg, res) * cfg["d"],
            "linear": macs["linear"] + cfg["L"] * tokens(cfg, res) * (5 * cfg["d"] + cfg["d_ff"]),
            "head": macs["head"] + cfg["n_classes"],
        },
    ),
    terms(
        "head-bias-counted",
        "You added the bias of the head: adding a bias is no multiply-add.",
        lambda cfg, res, macs: {"head": macs["head"] + cfg["n_classes"]},
    ),
    terms(
        "head-reads-every-token",
        "You let the head read every token: it reads one vector, the class token's or the mean of the patches.",
        lambda cfg, res, macs: {"head": macs["head"] * tokens(cfg, res)},
    ),
    terms(
        "hidden-layer-in-head",
        "You counted a hidden layer of d by d in the head: here the head is one linear layer.",
        lambda cfg, res, macs: {"head": macs["head"] + (cfg["d"] ** 2 if cfg["n_classes"] else 0)},
    ),
    Misconception(
        "total-of-the-blocks",
        "Your total holds the blocks alone: the patch embedding and the head belong to it.",
        {
            "vit_macs": lambda cfg, res: (
                right(cfg, res) | {"total": right(cfg, res)["linear"] + right(cfg, res)["attention"]}
            )
        },
    ),
    Misconception(
        "float-division",
        "You divided with `/`, which makes the number of patches, and with it the counts, a float: divide with `//`, "
        "which keeps an int exact at any size.",
        {
            "vit_macs": lambda cfg, res: {
                term: value if term == "head" else float(value) for term, value in right(cfg, res).items()
            }
        },
    ),
    crossover_of_another(
        "six-times-width",
        "You used the crossover of a standard MLP, T = 6 d: that holds for d_ff = 4 d only, and in general d_ff itself "
        "decides.",
        lambda cfg: {"d_ff": 4 * cfg["d"]},
    ),
    crossover_of_another(
        "crossover-in-patches",
        "Your crossover asks for enough patches: the class token and the registers count towards the tokens needed.",
        lambda cfg: {"cls_token": False, "n_registers": 0},
    ),
    crossover_of_another(
        "crossover-without-registers",
        "Your crossover leaves the registers out: they count towards the tokens that are needed.",
        lambda cfg: {"n_registers": 0},
    ),
    crossover_of_another(
        "crossover-without-class-token",
        "Your crossover leaves the class token out: where there is one, it counts towards the tokens that are needed.",
        lambda cfg: {"cls_token": False},
    ),
    crossover_of_another(
        "crossover-with-class-token",
        "Your crossover counts a class token in models that have none: it is there only if `cls_token` is true.",
        lambda cfg: {"cls_token": True},
    ),
    crossover(
        "more-than",
        "You stopped where attention costs more than the linear layers: the question is where it costs at least as much.",
        lambda needed: math.isqrt(needed) + 1,
    ),
    crossover(
        "rounded-down",
        "You rounded the side of the grid down: at that resolution attention is still the cheaper of the two.",
        lambda needed: max(1, math.isqrt(needed)),
    ),
    crossover(
        "no-image-left",
        "You answered 0 where the registers alone are enough: the resolution is a positive multiple of P, so the answer "
        "is P.",
        lambda needed: up(needed),
    ),
    Misconception(
        "grid-for-pixels",
        "You returned the number of patches along a side: the resolution is in pixels, P times as much.",
        {"attention_crossover_res": lambda cfg: right_crossover(cfg) // cfg["P"]},
    ),
    Misconception(
        "tokens-for-pixels",
        "You returned the number of tokens at the crossover: the question is for the side of the image in pixels.",
        {"attention_crossover_res": lambda cfg: 2 * cfg["d"] + cfg["d_ff"]},
    ),
    Misconception(
        "not-a-multiple",
        "Your crossover is the exact root, rounded up to a whole pixel: it has to be a multiple of P.",
        {
            "attention_crossover_res": lambda cfg: up(
                max(1, 2 * cfg["d"] + cfg["d_ff"] - int(cfg["cls_token"]) - cfg["n_registers"]) * cfg["P"] ** 2
            )
        },
    ),
]
