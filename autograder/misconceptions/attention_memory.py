"""What students get wrong about the memory of attention and the resolution that fits into a budget."""

from math import ceil, isqrt, sqrt

from autograder.misconceptions import Misconception
from solutions.attention_memory import attention_memory_bytes as right
from solutions.attention_memory import max_res_materialized as right_res


def tokens(cfg, res):
    return (res // cfg["P"]) ** 2 + int(cfg["cls_token"]) + cfg["n_registers"]


def memory(slug, sentence, wrong):
    """Bytes that are `wrong(kept, cfg, res, batch, bytes_per, flash)`, where `kept` is the right answer."""

    def attention_memory_bytes(cfg, res, batch, bytes_per=2, flash=False):
        return wrong(right(cfg, res, batch, bytes_per, flash), cfg, res, batch, bytes_per, flash)

    return Misconception(slug, sentence, {"attention_memory_bytes": attention_memory_bytes})


def memory_of_another(slug, sentence, cfg_of):
    """The right bytes of another model, `cfg_of(cfg)`."""
    return memory(slug, sentence, lambda kept, cfg, *rest: right(cfg | cfg_of(cfg), *rest))


def resolution(slug, sentence, wrong):
    """A resolution that is `wrong(cfg, budget_bytes, batch, bytes_per)`."""

    def max_res_materialized(cfg, budget_bytes, batch=1, bytes_per=2):
        return wrong(cfg, budget_bytes, batch, bytes_per)

    return Misconception(slug, sentence, {"max_res_materialized": max_res_materialized})


def numbers(cfg, budget_bytes, batch, bytes_per):
    """How many numbers one T x T matrix may have."""
    return budget_bytes // (batch * cfg["L"] * cfg["h"] * bytes_per)


MISCONCEPTIONS = [
    memory_of_another(
        "patches-for-tokens",
        "You used the number of patches where the number of tokens belongs: the class token and the registers attend and "
        "are attended to.",
        lambda cfg: {"cls_token": False, "n_registers": 0},
    ),
    memory_of_another(
        "registers-left-out",
        "You left the registers out of the token count: they attend and are attended to, like every other token.",
        lambda cfg: {"n_registers": 0},
    ),
    memory_of_another(
        "class-token-left-out",
        "You left the class token out of the token count: where there is one, it attends like every other token.",
        lambda cfg: {"cls_token": False},
    ),
    memory_of_another(
        "class-token-always",
        "You counted a class token in models that have none: it is there only if `cls_token` is true.",
        lambda cfg: {"cls_token": True},
    ),
    memory_of_another(
        "class-token-from-pool",
        "You took the class token to follow `pool`: it follows `cls_token` alone.",
        lambda cfg: {"cls_token": cfg["pool"] == "cls"},
    ),
    memory(
        "img-for-res",
        'You took the side of the image from `cfg["img"]`: the images of this call have side `res`.',
        lambda kept, cfg, res, *rest: right(cfg, cfg["img"], *rest),
    ),
    memory(
        "grid-not-squared",
        "You counted the patches along one side of the image: the grid has that many rows and that many columns.",
        lambda kept, cfg, res, *rest: right(
            cfg | {"n_registers": cfg["n_registers"] + res // cfg["P"] - 1}, cfg["P"], *rest
        ),
    ),
    memory(
        "one-head",
        "You counted one head: every head has its own weights, and its own log-sum-exp.",
        lambda kept, cfg, *rest: kept // cfg["h"],
    ),
    memory(
        "one-block",
        "You counted one block: training keeps what every block has, so L times as much.",
        lambda kept, cfg, *rest: kept // cfg["L"],
    ),
    memory(
        "one-image",
        "You counted one image: every image of the batch has its own weights, and its own log-sum-exps.",
        lambda kept, cfg, res, batch, *rest: kept // batch,
    ),
    memory(
        "numbers-for-bytes",
        "You counted numbers: each takes `bytes_per` bytes, and a log-sum-exp takes 4.",
        lambda kept, cfg, res, batch, bytes_per, flash: kept // (4 if flash else bytes_per),
    ),
    memory(
        "two-bytes-always",
        "You took 2 bytes for every weight: without flash a number takes `bytes_per` bytes.",
        lambda kept, cfg, res, batch, bytes_per, flash: right(cfg, res, batch, 2, flash),
    ),
    memory(
        "bits",
        "You counted bits: the answer is in bytes.",
        lambda kept, *rest: 8 * kept,
    ),
    memory(
        "scores-and-weights",
        "You counted the scores and the weights made from them: only the weights are kept.",
        lambda kept, cfg, res, batch, bytes_per, flash: kept if flash else 2 * kept,
    ),
    memory(
        "half-the-pairs",
        "You counted half of the pairs, as under a causal mask: a ViT has no mask, so every token has a weight for every "
        "token.",
        lambda kept, cfg, res, *rest: kept if rest[-1] else kept * (tokens(cfg, res) + 1) // (2 * tokens(cfg, res)),
    ),
    memory(
        "width-for-heads",
        "You counted a weight for each of the d columns: the columns of a head share one T × T matrix, so there are h.",
        lambda kept, cfg, res, batch, bytes_per, flash: kept if flash else kept // cfg["h"] * cfg["d"],
    ),
    memory(
        "flash-still-square",
        "With flash you still kept a number for every pair of tokens: a log-sum-exp belongs to a query row, so there is "
        "one for each token.",
        lambda kept, cfg, res, batch, bytes_per, flash: kept * tokens(cfg, res) if flash else kept,
    ),
    memory(
        "flash-in-the-weights-format",
        "You stored the log-sum-exp in `bytes_per` bytes: it is a float32, 4 bytes, whatever the format of the weights.",
        lambda kept, cfg, res, batch, bytes_per, flash: kept // 4 * bytes_per if flash else kept,
    ),
    memory(
        "flash-keeps-two",
        "With flash you kept two numbers for each query row, a maximum and a sum: their log-sum-exp is one number.",
        lambda kept, cfg, res, batch, bytes_per, flash: 2 * kept if flash else kept,
    ),
    memory(
        "flash-one-head",
        "With flash you counted one log-sum-exp for each token: every head has its own.",
        lambda kept, cfg, res, batch, bytes_per, flash: kept // cfg["h"] if flash else kept,
    ),
    memory(
        "flash-keeps-output",
        "With flash you added the output, T × d numbers: inputs and outputs are kept in both cases and left out of both.",
        lambda kept, cfg, res, batch, bytes_per, flash: (
            kept + batch * cfg["L"] * tokens(cfg, res) * cfg["d"] * bytes_per if flash else kept
        ),
    ),
    memory(
        "flash-keeps-nothing",
        "With flash you kept nothing: the backward pass needs one log-sum-exp for each query row.",
        lambda kept, cfg, res, batch, bytes_per, flash: 0 if flash else kept,
    ),
    memory(
        "flash-ignored",
        "You gave the materialized weights whatever `flash` says: with flash only the log-sum-exps are kept.",
        lambda kept, cfg, res, batch, bytes_per, flash: right(cfg, res, batch, bytes_per),
    ),
    memory(
        "float-division",
        "You divided with `/`, which makes the number of patches, and with it the count, a float: divide with `//`, "
        "which keeps an int exact at any size.",
        lambda kept, *rest: float(kept),
    ),
    resolution(
        "budget-not-met-exactly",
        "You asked for less than the budget: weights that take exactly the budget fit.",
        lambda cfg, budget, *rest: right_res(cfg, max(budget - 1, 0), *rest),
    ),
    resolution(
        "one-too-many",
        "You returned the first resolution that no longer fits: the answer is the one before it.",
        lambda cfg, *rest: right_res(cfg, *rest) + cfg["P"],
    ),
    resolution(
        "not-a-multiple",
        "Your resolution is the exact root in pixels: it has to be a multiple of P.",
        lambda cfg, *rest: isqrt(
            max(isqrt(numbers(cfg, *rest)) - int(cfg["cls_token"]) - cfg["n_registers"], 0) * cfg["P"] ** 2
        ),
    ),
    resolution(
        "grid-for-pixels",
        "You returned the number of patches along a side: the resolution is in pixels, P times as much.",
        lambda cfg, *rest: right_res(cfg, *rest) // cfg["P"],
    ),
    resolution(
        "one-patch-at-least",
        "You gave one patch where not even that fits: then the answer is 0.",
        lambda cfg, *rest: max(cfg["P"], right_res(cfg, *rest)),
    ),
    resolution(
        "root-rounded-up",
        "You rounded the side of the grid up: at that resolution the weights no longer fit.",
        lambda cfg, *rest: (
            ceil(sqrt(max(isqrt(numbers(cfg, *rest)) - int(cfg["cls_token"]) - cfg["n_registers"], 0))) * cfg["P"]
        ),
    ),
    resolution(
        "budget-for-patches",
        "Your resolution leaves no room for the class token and the registers: they are among the tokens.",
        lambda cfg, *rest: right_res(cfg | {"cls_token": False, "n_registers": 0}, *rest),
    ),
    resolution(
        "budget-without-registers",
        "Your resolution leaves no room for the registers: they are among the tokens.",
        lambda cfg, *rest: right_res(cfg | {"n_registers": 0}, *rest),
    ),
    resolution(
        "budget-without-class-token",
        "Your resolution leaves no room for the class token: where there is one, it is among the tokens.",
        lambda cfg, *rest: right_res(cfg | {"cls_token": False}, *rest),
    ),
    resolution(
        "budget-for-one-head",
        "Your resolution is for one head: the budget has to hold the weights of all of them.",
        lambda cfg, *rest: right_res(cfg | {"h": 1}, *rest),
    ),
    resolution(
        "budget-for-one-block",
        "Your resolution is for one block: the budget has to hold the weights of all of them.",
        lambda cfg, *rest: right_res(cfg | {"L": 1}, *rest),
    ),
    resolution(
        "budget-for-one-image",
        "Your resolution is for one image: the budget has to hold the weights of the whole batch.",
        lambda cfg, budget, batch, bytes_per: right_res(cfg, budget, 1, bytes_per),
    ),
    resolution(
        "budget-in-numbers",
        "You took the budget for a number of weights: each weight takes `bytes_per` bytes of it.",
        lambda cfg, budget, batch, bytes_per: right_res(cfg, budget, batch, 1),
    ),
    resolution(
        "budget-in-two-byte-numbers",
        "You took 2 bytes for every weight: a number takes `bytes_per` bytes of the budget.",
        lambda cfg, budget, batch, bytes_per: right_res(cfg, budget, batch, 2),
    ),
    resolution(
        "no-larger-than-img",
        'You stopped at `cfg["img"]`: the question is what fits, whatever the model was made for.',
        lambda cfg, *rest: min(cfg["img"], right_res(cfg, *rest)),
    ),
]
