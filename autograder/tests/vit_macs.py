"""Hidden tests of vit_macs: each term by itself, totals, sizes no machine integer holds, and the crossover."""

from otter.test_files import test_case

from autograder import kit

OK_FORMAT = False
name = "vit_macs"


def products(cfg, res):
    """The matrix products of one forward pass: term -> list of (how often, rows, inner, columns)."""
    side, d, heads = res // cfg["P"], cfg["d"], cfg["h"]
    tokens = side * side + cfg["n_registers"] + (1 if cfg["cls_token"] else 0)
    each_block, each_head = cfg["L"], cfg["L"] * heads
    return {
        "patch": [(1, side * side, cfg["P"] * cfg["P"] * cfg["C"], d)],
        "linear": [
            (each_block, tokens, d, 3 * d),
            (each_block, tokens, d, d),
            (each_block, tokens, d, cfg["d_ff"]),
            (each_block, tokens, cfg["d_ff"], d),
        ],
        "attention": [
            (each_head, tokens, d // heads, tokens),
            (each_head, tokens, tokens, d // heads),
        ],
        "head": [(1, 1, d, cfg["n_classes"])],
    }


def macs(cfg, res):
    """The multiply-adds of each term, and their total."""
    terms = {term: sum(n * a * b * c for n, a, b, c in listed) for term, listed in products(cfg, res).items()}
    return terms | {"total": sum(terms.values())}


def crossover(cfg):
    """The first multiple of P at which attention costs at least what the linear layers cost."""
    needed = 2 * cfg["d"] + cfg["d_ff"] - cfg["n_registers"] - (1 if cfg["cls_token"] else 0)
    side = 1
    while side * side < needed:
        side += 1
    return side * cfg["P"]


def resolution(rng, cfg):
    """A resolution that is not cfg["img"]."""
    return cfg["P"] * rng.choice([n for n in range(2, 24) if n * cfg["P"] != cfg["img"]])


KINDS = [
    ("a model with patches only", {"cls_token": False, "pool": "gap", "n_registers": 0}),
    ("a model with a class token and registers", {"cls_token": True, "pool": "cls"}),
    ("a model with a class token and no registers", {"cls_token": True, "pool": "cls", "n_registers": 0}),
    ("a model with registers and no class token", {"cls_token": False, "pool": "gap"}),
    ("a model with a class token that averages over the patches", {"cls_token": True, "pool": "gap"}),
]


def expect_term(vit_macs, term):
    rng = kit.draws(term)
    for where, fixed in KINDS:
        cfg = kit.random_config(rng, **fixed)
        res = resolution(rng, cfg)
        kit.expect_counts(vit_macs, cfg, res, want={term: macs(cfg, res)[term]}, where=where)
    cfg = kit.random_config(rng)
    res = resolution(rng, cfg)
    where = "arguments given by name"
    kit.expect_counts(vit_macs, cfg=cfg, res=res, want={term: macs(cfg, res)[term]}, where=where)


@test_case(name="patch embedding", points=2, hidden=True)
def test_patch_embedding(vit_macs):
    expect_term(vit_macs, "patch")


@test_case(name="linear layers", points=4, hidden=True)
def test_linear_layers(vit_macs):
    expect_term(vit_macs, "linear")


@test_case(name="attention", points=4, hidden=True)
def test_attention(vit_macs):
    expect_term(vit_macs, "attention")


@test_case(name="head", points=2, hidden=True)
def test_head(vit_macs):
    expect_term(vit_macs, "head")
    rng = kit.draws("no head")
    for pool in ("cls", "gap"):
        cfg = kit.random_config(rng, pool=pool, n_classes=0)
        kit.expect_counts(vit_macs, cfg, resolution(rng, cfg), want={"head": 0}, where="a model without a head")


@test_case(name="total", points=2, hidden=True)
def test_total(vit_macs):
    expect_term(vit_macs, "total")


@test_case(name="large models", points=1, hidden=True)
def test_large_models(vit_macs):
    rng = kit.draws("large models")
    for bits in (31, 53, 63):
        # 2 T**2 d alone exceeds 2**bits, with T about d.
        side = 2 ** (bits // 6 + 1) + rng.randint(1, 9)
        d = 2 * (side * side + rng.randint(1, 99))
        cfg = kit.random_config(rng, d=d, h=2, d_ff=3 * d + rng.randint(1, 99), L=rng.randint(40, 90))
        res = side * cfg["P"]
        kit.expect_counts(
            vit_macs, cfg, res, want=macs(cfg, res), where=f"a model of more than 2**{bits} multiply-adds"
        )


def with_crossover(rng, patches, fixed):
    """A model in which attention and the linear layers cost the same at exactly `patches` patches."""
    cfg = kit.random_config(rng, h=2, **({"n_registers": rng.randint(3, 9)} | fixed))
    tokens = patches + cfg["n_registers"] + (1 if cfg["cls_token"] else 0)
    d = 2 * rng.randint(tokens // 24, tokens // 20)  # so narrow that d_ff is far from 4 d
    return cfg | {"d": d, "d_ff": tokens - 2 * d}


@test_case(name="crossover", points=3, hidden=True)
def test_crossover(attention_crossover_res):
    # Half-way between two grids, where a token more or less changes nothing; the next check asks for those.
    rng = kit.draws("crossover")
    for where, fixed in KINDS:
        for _ in range(2):
            side = rng.randint(24, 60)
            cfg = with_crossover(rng, side * side - side, fixed)
            kit.expect_count(attention_crossover_res, cfg, want=crossover(cfg), where=where)
    cfg = with_crossover(rng, 160 * 160 - 160, {})
    kit.expect_count(attention_crossover_res, cfg=cfg, want=crossover(cfg), where="a wide model, given by name")


@test_case(name="crossover at its edges", points=2, hidden=True)
def test_crossover_edges(attention_crossover_res):
    rng = kit.draws("crossover at its edges")
    for where, fixed in KINDS:
        side = rng.randint(24, 60)
        meets = with_crossover(rng, side * side, fixed)
        for spare in sorted({0, 1, meets["n_registers"]}, reverse=True):  # so that what is left out shows by its size
            cfg = meets | {"d_ff": meets["d_ff"] - spare}
            place = f"{where} that meets the condition {f'with {spare} to spare' if spare else 'exactly'}"
            kit.expect_count(attention_crossover_res, cfg, want=crossover(cfg), where=place)
        cfg = meets | {"d_ff": meets["d_ff"] + 1}
        place = f"{where} that misses the condition by one token"
        kit.expect_count(attention_crossover_res, cfg, want=crossover(cfg), where=place)
    cfg = kit.random_config(rng, d=8, h=2, d_ff=rng.randint(9, 30), n_registers=rng.randint(50, 99))
    where = "a model whose registers alone are enough"
    kit.expect_count(attention_crossover_res, cfg, want=cfg["P"], where=where)
