"""What a ViT costs: parameters, multiply-adds, training FLOPs and attention memory, as closed forms.

Counts are exact Python ints. A MAC is one multiplication and one addition, so two FLOPs. Bytes are bytes, FLOPs are
FLOPs and peaks are FLOP/s: no prefix is hidden in a function. `Config` is the dict that `family` describes.
"""

from math import isqrt

from .family import Config

SECONDS_PER_DAY = 86_400


# --- shapes ---------------------------------------------------------------------------------------------------------


def patches(cfg: Config, res: int | None = None) -> int:
    """N_p, the patches of a square image of side `res` pixels (cfg["img"] when not given).

    Raises ValueError when `res` is not a positive multiple of the patch size.
    """
    side, patch = cfg["img"] if res is None else res, cfg["P"]
    if side < patch or side % patch:
        near = max(side // patch, 1) * patch
        raise ValueError(f"{side} pixels cannot be cut into {patch}-pixel patches; take a multiple, such as {near}")
    return (side // patch) ** 2


def prefix(cfg: Config) -> int:
    """Tokens in front of the patches: the class token, if there is one, and the registers."""
    return int(cfg["cls_token"]) + cfg["n_registers"]


def tokens(cfg: Config, res: int | None = None) -> int:
    """T, the rows that every block reads: patches, class token and registers."""
    return patches(cfg, res) + prefix(cfg)


def padded_tokens(count: int, multiple: int = 128) -> int:
    """`count` rounded up to a multiple, as a TPU pads the token axis (Zhai et al., arXiv 2106.04560, section 3.2)."""
    return -(-count // multiple) * multiple


# --- parameters -----------------------------------------------------------------------------------------------------


def _mlp_matrices(cfg: Config) -> int:
    """How many d x d_ff matrices the MLP has: two, or three when it is a SwiGLU."""
    return 3 if cfg.get("mlp") == "swiglu" else 2


def block_matrices(cfg: Config) -> int:
    """Weights in the matrices of one block, biases and norms left out: 4d^2 + 2 d d_ff (3 d d_ff for a SwiGLU).

    This is also the MACs that the linear layers of one block spend on one token.
    """
    d, d_ff = cfg["d"], cfg["d_ff"]
    return 4 * d * d + _mlp_matrices(cfg) * d * d_ff


def block_parameters(cfg: Config) -> int:
    """Parameters of one block: its matrices, a bias for each of them, and two LayerNorms.

    4d^2 + 2 d d_ff + d_ff + 9d, which is 12d^2 + 13d when d_ff = 4d.
    """
    d, d_ff = cfg["d"], cfg["d_ff"]
    biases = 4 * d + (_mlp_matrices(cfg) - 1) * d_ff + d
    return block_matrices(cfg) + biases + 2 * 2 * d


def parameter_terms(cfg: Config) -> dict[str, int]:
    """Parameters by where they sit: patch, prefix, positions, blocks, norm, head.

    The head is a linear layer with a bias (none when n_classes is 0), after a tanh layer if cfg["head_hidden"].
    Attention pooling is left out, as the papers that use it leave it out: `map_head_parameters` counts it.
    """
    d, classes = cfg["d"], cfg["n_classes"]
    rows = 0 if cfg.get("positions") == "rope" else patches(cfg) + int(cfg["cls_token"])
    hidden = d * d + d if cfg.get("head_hidden") else 0
    return {
        "patch": (cfg["P"] ** 2 * cfg["C"] + 1) * d,
        "prefix": prefix(cfg) * d,
        "positions": rows * d,
        "blocks": cfg["L"] * block_parameters(cfg),
        "norm": 2 * d,
        "head": hidden + (d + 1) * classes,
    }


def parameters(cfg: Config) -> int:
    """N, the parameters of the whole model."""
    return sum(parameter_terms(cfg).values())


def map_head_parameters(cfg: Config) -> int:
    """Parameters of an attention-pooling (MAP) head: one learned query, attention, a LayerNorm and an MLP.

    Zhai et al., arXiv 2106.04560, section 3.2. With it SoViT-400m/14 has its paper's 428M.
    """
    d, d_ff = cfg["d"], cfg["d_ff"]
    query, norm = d, 2 * d
    return query + (4 * d * d + 4 * d) + norm + (2 * d * d_ff + d_ff + d)


def gpt2_parameters(vocabulary: int = 50_257, positions: int = 1_024, d: int = 768, L: int = 12) -> int:
    """Parameters of GPT-2 small: token table, position table, the same blocks, a final LayerNorm, a tied output."""
    return vocabulary * d + positions * d + L * (12 * d * d + 13 * d) + 2 * d


def bert_parameters(vocabulary: int = 30_522, positions: int = 512, d: int = 768, L: int = 12) -> int:
    """Parameters of BERT-base: three tables (tokens, positions, two segments), a LayerNorm, the blocks, the pooler."""
    return (vocabulary + positions + 2) * d + 2 * d + L * (12 * d * d + 13 * d) + (d * d + d)


# --- multiply-adds --------------------------------------------------------------------------------------------------


def macs(cfg: Config, res: int | None = None) -> dict[str, int]:
    """Multiply-adds of one forward pass over one image of side `res`: patch, linear, attention, head, total.

    Matrix products only: biases, LayerNorm, softmax, GELU and additions are left out. Every block attends globally;
    `windowed_attention_macs` counts windows.
    """
    d, L, T = cfg["d"], cfg["L"], tokens(cfg, res)
    terms = {
        "patch": patches(cfg, res) * cfg["P"] ** 2 * cfg["C"] * d,
        "linear": L * T * block_matrices(cfg),
        "attention": L * 2 * T * T * d,
        "head": (d * d if cfg.get("head_hidden") else 0) + d * cfg["n_classes"],
    }
    return terms | {"total": sum(terms.values())}


def crossover_tokens(cfg: Config) -> int:
    """Fewest tokens at which attention costs at least what the linear layers cost: 2d + d_ff for a standard MLP."""
    return -(-block_matrices(cfg) // (2 * cfg["d"]))


def crossover_res(cfg: Config) -> int:
    """Smallest multiple of P, in pixels, at which attention costs at least what the linear layers cost."""
    needed = crossover_tokens(cfg) - prefix(cfg)
    side = isqrt(needed - 1) + 1 if needed > 1 else 1
    return side * cfg["P"]


# --- training -------------------------------------------------------------------------------------------------------


def pretraining_flops(cfg: Config, res: int, epochs: float, n_images: float) -> float:
    """FLOPs of `epochs` passes over `n_images` images: six for every forward multiply-add.

    Two FLOPs make a MAC, and the backward pass costs twice the forward one. An int when all arguments are ints.
    """
    return 6 * macs(cfg, res)["total"] * epochs * n_images


def device_days(flops: float, peak: float, mfu: float) -> float:
    """Days that one device of `peak` FLOP/s needs for `flops` FLOPs at utilization `mfu` (a fraction).

    Raises ValueError for a utilization that is not above 0 and at most 1.
    """
    if not 0 < mfu <= 1:
        raise ValueError(f"a utilization is a fraction above 0 and at most 1, not {mfu}; write 40% as 0.4")
    return flops / (peak * mfu * SECONDS_PER_DAY)


def mfu(flops: float, days: float, peak: float) -> float:
    """Model FLOPs utilization of a run: `flops` FLOPs in `days` device-days on devices of `peak` FLOP/s."""
    return flops / (days * SECONDS_PER_DAY * peak)


def flops_per_token(weights: float, cfg: Config, res: int | None = None) -> float:
    """Training FLOPs of one token: 6N for N matrix weights, and 12 L T d for attention.

    The form of PaLM (arXiv 2204.02311, appendix B), from which published utilizations are computed.
    """
    return 6 * weights + 12 * cfg["L"] * tokens(cfg, res) * cfg["d"]


# --- attention memory -----------------------------------------------------------------------------------------------


def attention_bytes(
    cfg: Config, res: int | None = None, batch: int = 1, bytes_per: int = 2, flash: bool = False
) -> int:
    """Bytes of attention weights kept for the backward pass, over all heads, blocks and images.

    With `flash`, a kernel such as FlashAttention keeps one float32 log-sum-exp (4 bytes) per query row instead
    (Dao et al., arXiv 2205.14135, section 3.1). Inputs and outputs are stored either way and left out.
    """
    rows = batch * cfg["L"] * cfg["h"] * tokens(cfg, res)
    return rows * 4 if flash else rows * tokens(cfg, res) * bytes_per


def window_plan(cfg: Config, window: int, res: int | None = None) -> tuple[int, int, int]:
    """How windows tile the grid of patches: (side of the padded grid, windows, tokens in a window).

    The grid is padded up to a multiple of `window`, as in SAM and ViTDet (arXiv 2203.16527, section 3).
    """
    padded = padded_tokens(isqrt(patches(cfg, res)), window)
    return padded, (padded // window) ** 2, window * window


def windowed_attention_macs(cfg: Config, window: int, n_global: int, res: int | None = None) -> int:
    """Attention MACs of an encoder whose blocks attend inside windows, save `n_global` blocks that attend globally.

    Raises ValueError when the model has prefix tokens, which belong to no window, or fewer blocks than `n_global`.
    """
    _check_windows(cfg, n_global)
    _, windows, inside = window_plan(cfg, window, res)
    per_windowed = 2 * windows * inside**2 * cfg["d"]
    per_global = 2 * tokens(cfg, res) ** 2 * cfg["d"]
    return (cfg["L"] - n_global) * per_windowed + n_global * per_global


def windowed_attention_bytes(
    cfg: Config, window: int, n_global: int, res: int | None = None, batch: int = 1, bytes_per: int = 2
) -> int:
    """Bytes of attention weights kept by the same encoder. Raises ValueError as `windowed_attention_macs` does."""
    _check_windows(cfg, n_global)
    _, windows, inside = window_plan(cfg, window, res)
    pairs = (cfg["L"] - n_global) * windows * inside**2 + n_global * tokens(cfg, res) ** 2
    return batch * cfg["h"] * pairs * bytes_per


def _check_windows(cfg: Config, n_global: int) -> None:
    if prefix(cfg):
        raise ValueError("windows hold patches only; count a model with a class token or registers with `macs`")
    if not 0 <= n_global <= cfg["L"]:
        raise ValueError(f"{n_global} global blocks do not fit in a model of {cfg['L']} blocks")


# --- arithmetic intensity -------------------------------------------------------------------------------------------


def block_work(cfg: Config, res: int | None = None, batch: int = 1, bytes_per: int = 2) -> dict[str, tuple[int, int]]:
    """(FLOPs, bytes moved) of every operation in one block, each run alone: inputs are read once, outputs written once.

    Matrix products count two FLOPs per MAC. Of the rest, each number costs 7 FLOPs in a LayerNorm (mean, difference,
    square, mean, scale, gain, shift), 5 in a softmax (maximum, difference, exponential, sum, division), 5 in a GELU,
    and 1 in a shortcut's addition. For the standard MLP.
    """
    d, d_ff, h, T = cfg["d"], cfg["d_ff"], cfg["h"], tokens(cfg, res)
    rows, heads, d_k = batch * T, batch * h, d // h

    def product(count: int, m: int, k: int, n: int, shared: bool) -> tuple[int, int]:
        """`count` products of (m, k) and (k, n); a shared right-hand side (a weight) is read once."""
        right = k * n if shared else count * k * n
        return 2 * count * m * k * n, bytes_per * (count * m * k + right + count * m * n)

    def elementwise(numbers: int, flops_each: int, reads: int = 1) -> tuple[int, int]:
        return flops_each * numbers, bytes_per * numbers * (reads + 1)

    return {
        "LayerNorm": elementwise(rows * d, 7),
        "QKV projection": product(1, rows, d, 3 * d, shared=True),
        "scores": product(heads, T, d_k, T, shared=False),
        "softmax": elementwise(heads * T * T, 5),
        "weighted sum": product(heads, T, T, d_k, shared=False),
        "output projection": product(1, rows, d, d, shared=True),
        "shortcut": elementwise(rows * d, 1, reads=2),
        "MLP in": product(1, rows, d, d_ff, shared=True),
        "GELU": elementwise(rows * d_ff, 5),
        "MLP out": product(1, rows, d_ff, d, shared=True),
    }


def arithmetic_intensity(cfg: Config, res: int | None = None, batch: int = 1, bytes_per: int = 2) -> dict[str, float]:
    """FLOPs per byte of every operation in one block: the x axis of a roofline (`block_work` has both numbers)."""
    return {name: flops / moved for name, (flops, moved) in block_work(cfg, res, batch, bytes_per).items()}
