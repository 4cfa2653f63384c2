"""The ViT family: every model of the course as a plain config dict.

A config has the keys

    img, P, C           image side and patch side in pixels, channels
    d, L, h, d_ff       width, blocks, heads, MLP width
    n_classes           classes of the linear head, 0 for no head
    cls_token           bool: a class token stands in front of the patches
    n_registers         extra tokens that attend and are attended to, and have no position
    pool                "cls", "gap", or "map" (a learned query attends over the outputs)

and, only where a model needs them,

    mlp="swiglu"        a gated MLP with three d x d_ff matrices instead of two
    positions="rope"    rotary positions, so no position table
    head_hidden=True    a tanh layer of d x d before the linear head, as in the ViT paper's pretraining

Sources: Ti, S, B, L and H from DeiT (arXiv 2012.12877, Table 1) and ViT (arXiv 2010.11929, Table 1); g and G from
Zhai et al. (arXiv 2106.04560, Table 2); SoViT from Alabdulmohsin et al. (arXiv 2305.13035, section 4.1); ViT-22B from
Dehghani et al. (arXiv 2302.05442, Table 1); DINOv3 from Siméoni et al. (arXiv 2508.10104, Table 2); SAM from
Kirillov et al. (arXiv 2304.02643, appendix A).
"""

Config = dict[str, int | bool | str]


def _config(P: int, d: int, L: int, h: int, d_ff: int, **changes: int | bool | str) -> Config:
    """A config with the usual ends: 224-pixel color images, a class token that is read, a 1,000-class head."""
    usual = {"img": 224, "P": P, "C": 3, "d": d, "L": L, "h": h, "d_ff": d_ff}
    ends = {"n_classes": 1000, "cls_token": True, "n_registers": 0, "pool": "cls"}
    return usual | ends | changes


_NO_CLASS_TOKEN = {"n_classes": 0, "cls_token": False, "pool": "map"}

# In the order of the chapter's table. The last five are counted without a head, as their papers count them.
FAMILY: dict[str, Config] = {
    "Ti/16": _config(16, 192, 12, 3, 768),
    "S/16": _config(16, 384, 12, 6, 1536),
    "B/16": _config(16, 768, 12, 12, 3072),
    "L/16": _config(16, 1024, 24, 16, 4096),
    "H/14": _config(14, 1280, 32, 16, 5120),
    "SoViT-400m/14": _config(14, 1152, 27, 16, 4304, **_NO_CLASS_TOKEN),
    "g/14": _config(14, 1408, 40, 16, 6144, **_NO_CLASS_TOKEN),
    "G/14": _config(14, 1664, 48, 16, 8192, **_NO_CLASS_TOKEN),
    "ViT-22B": _config(14, 6144, 48, 48, 24576, **_NO_CLASS_TOKEN),
    "DINOv3-7B": _config(16, 4096, 40, 32, 8192, n_classes=0, n_registers=4, mlp="swiglu", positions="rope"),
}

# The same blocks with another patch size, and the two models that only one chapter uses.
OTHERS: dict[str, Config] = {
    "B/32": FAMILY["B/16"] | {"P": 32},
    "L/32": FAMILY["L/16"] | {"P": 32},
    "L/14": FAMILY["L/16"] | {"P": 14},
    "SAM-H/16": _config(16, 1280, 32, 16, 5120, img=1024, n_classes=0, cls_token=False, pool="gap"),
    "tiny": _config(8, 32, 2, 4, 128, img=32, n_classes=10),
}


def config(name: str, **changes: int | bool | str) -> Config:
    """A fresh config of the named model, with the changed keys replaced: `config("B/16", img=384, n_classes=0)`.

    Raises KeyError for a name that is not in the family and for a key that no config has.
    """
    models = FAMILY | OTHERS
    if name not in models:
        raise KeyError(f"no model is called {name!r}; there are {', '.join(models)}")
    known = {*FAMILY["B/16"], "mlp", "positions", "head_hidden"}
    if unknown := sorted(set(changes) - known):
        raise KeyError(f"no config has the key {unknown[0]!r}; the keys are {', '.join(sorted(known))}")
    return models[name] | changes
