"""Hidden tests of vit_param_count: one check per term, by what the count gains when one key changes, then whole models."""

from math import prod

from otter.test_files import test_case

from autograder import kit

OK_FORMAT = False
name = "vit_param_count"


def count(cfg):
    """The parameters of `cfg`, by listing its tensors (copies, shape)."""
    d, d_ff, K = cfg["d"], cfg["d_ff"], cfg["n_classes"]
    side = cfg["img"] // cfg["P"]
    prefix = 1 if cfg["cls_token"] else 0
    block = [(d, 3 * d), (3 * d,), (d, d), (d,), (d, d_ff), (d_ff,), (d_ff, d), (d,), (d,), (d,), (d,), (d,)]
    tensors = [
        (1, (cfg["P"], cfg["P"], cfg["C"], d)),
        (1, (d,)),
        (prefix + cfg["n_registers"], (d,)),
        (1, (side * side + prefix, d)),
        *((cfg["L"], shape) for shape in block),
        (2, (d,)),
    ]
    if K:
        tensors += [(1, (d, K)), (1, (K,))]
    return sum(copies * prod(shape) for copies, shape in tensors)


def grows(f, cfg, where, rule, **changes):
    """Expects the right growth of the count when `changes` are made to `cfg`."""
    changed = cfg | changes
    kit.expect_growth(f, (cfg,), (changed,), want=count(changed) - count(cfg), where=where, rule=rule)


def whole(f, cfg, where):
    kit.expect_count(f, cfg, want=count(cfg), where=where, unit=vector(cfg))


def vector(cfg):
    return ("vector of width d", cfg["d"])


@test_case(name="head", points=2, hidden=True)
def test_head(vit_param_count):
    rng = kit.draws("head")
    rule = "a head is a matrix and a bias for each class, and nothing when n_classes is 0"
    for pool in ("cls", "gap"):
        cfg = kit.random_config(rng, pool=pool)
        grows(vit_param_count, cfg, "when classes are added", rule, n_classes=cfg["n_classes"] + rng.randint(3, 500))
        grows(vit_param_count, cfg, "when the head is taken off", rule, n_classes=0)


@test_case(name="blocks", points=2, hidden=True)
def test_blocks(vit_param_count):
    rng = kit.draws("blocks")
    rule = "each block has four attention projections and two MLP layers, all with biases, and two LayerNorms"
    for pool in ("cls", "gap"):
        cfg = kit.random_config(rng, pool=pool)
        grows(vit_param_count, cfg, "when blocks are added", rule, L=cfg["L"] + rng.randint(1, 6))


@test_case(name="mlp width", points=2, hidden=True)
def test_mlp_width(vit_param_count):
    rng = kit.draws("mlp width")
    rule = "each unit of d_ff has its weights in both MLP layers and one bias, in every block"
    for pool in ("cls", "gap"):
        cfg = kit.random_config(rng, pool=pool)
        grows(vit_param_count, cfg, "when d_ff changes and d does not", rule, d_ff=cfg["d_ff"] + rng.randint(1, 90))


@test_case(name="registers", points=2, hidden=True)
def test_registers(vit_param_count):
    rng = kit.draws("registers")
    rule = "each register is one vector of width d, without a row in the position table"
    for pool in ("cls", "gap"):
        cfg = kit.random_config(rng, pool=pool, n_registers=0)
        where = f"when registers are added to a model {'with' if pool == 'cls' else 'without'} a class token"
        grows(vit_param_count, cfg, where, rule, n_registers=rng.randint(5, 9))


@test_case(name="class token", points=2, hidden=True)
def test_class_token(vit_param_count):
    rng = kit.draws("class token")
    rule = "it is one vector of width d and has one row in the position table; `pool` adds nothing"
    for n_registers in (0, rng.randint(5, 9)):
        cfg = kit.random_config(rng, pool="gap", n_registers=n_registers)
        grows(vit_param_count, cfg, 'when a class token is added and pool stays "gap"', rule, cls_token=True)
        grows(
            vit_param_count, cfg, 'when a class token is added and pool becomes "cls"', rule, cls_token=True, pool="cls"
        )


@test_case(name="position table", points=1, hidden=True)
def test_position_table(vit_param_count):
    rng = kit.draws("position table")
    rule = "the position table has one row of width d for each patch of the square grid"
    for pool in ("cls", "gap"):
        cfg = kit.random_config(rng, pool=pool)
        larger = cfg["img"] + cfg["P"] * rng.randint(1, 12)
        grows(vit_param_count, cfg, "when the image gets larger", rule, img=larger)


@test_case(name="channels", points=1, hidden=True)
def test_channels(vit_param_count):
    rng = kit.draws("channels")
    rule = "a patch is flattened to P * P * C numbers, and each has a weight for every one of the d outputs"
    for pool in ("cls", "gap"):
        cfg = kit.random_config(rng, pool=pool)
        grows(vit_param_count, cfg, "when the image has more channels", rule, C=cfg["C"] + rng.randint(1, 7))


@test_case(name="whole models", points=2, hidden=True)
def test_whole_models(vit_param_count):
    rng = kit.draws("whole models")
    kinds = [
        ("a model with a class token and registers", {"cls_token": True, "pool": "cls"}),
        ("a model without a class token", {"cls_token": False, "pool": "gap"}),
        ("a model with a class token that averages over the patches", {"cls_token": True, "pool": "gap"}),
        ("a model without a head", {"cls_token": True, "pool": "cls", "n_classes": 0}),
        ("a model with neither class token nor head", {"cls_token": False, "pool": "gap", "n_classes": 0}),
    ]
    for where, fixed in kinds:
        whole(vit_param_count, kit.random_config(rng, **fixed), where)
    plain = kit.random_config(rng, C=3, n_registers=0)
    plain["d_ff"] = 4 * plain["d"]
    where = "an RGB model with d_ff = 4 d and no registers, passed as cfg=..."
    kit.expect_count(vit_param_count, cfg=plain, want=count(plain), where=where, unit=vector(plain))


@test_case(name="large models", points=1, hidden=True)
def test_large_models(vit_param_count):
    rng = kit.draws("large models")
    for bits in (31, 53, 63):
        d = 8 * rng.randint(2 ** (bits // 2 - 3), 2 ** (bits // 2 - 2))
        # Wide rather than deep: a loop over the blocks, or a recursion, is a right answer too.
        cfg = kit.random_config(rng, d=d, h=8, d_ff=4 * d + rng.randint(5, 999), L=rng.randint(40, 90))
        whole(vit_param_count, cfg, f"a model of more than 2**{bits} parameters")
