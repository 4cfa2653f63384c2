"""Hidden tests of attention_memory: what is kept with and without flash, factor by factor, and the largest resolution."""

from otter.test_files import test_case

from autograder import kit

OK_FORMAT = False
name = "attention_memory"


def tokens(cfg, side):
    return side * side + cfg["n_registers"] + (1 if cfg["cls_token"] else 0)


def kept(cfg, side, batch, bytes_per=2, flash=False):
    """Bytes of what each image, block, head and query row keeps."""
    rows = tokens(cfg, side)
    row = 4 if flash else rows * bytes_per
    return batch * cfg["L"] * cfg["h"] * rows * row


def largest(cfg, budget, batch, bytes_per):
    """The largest side in patches that fits, found by bisection."""
    low, high = 0, 1
    while kept(cfg, high, batch, bytes_per) <= budget:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if kept(cfg, middle, batch, bytes_per) <= budget:
            low = middle
        else:
            high = middle
    return low


KINDS = [
    ("a model with patches only", {"cls_token": False, "pool": "gap", "n_registers": 0}),
    ("a model with a class token and registers", {"cls_token": True, "pool": "cls"}),
    ("a model with a class token and no registers", {"cls_token": True, "pool": "cls", "n_registers": 0}),
    ("a model with registers and no class token", {"cls_token": False, "pool": "gap"}),
    ("a model with a class token that averages over the patches", {"cls_token": True, "pool": "gap"}),
]


def model(rng, fixed):
    """A model with more than one head and block, and its image's side in patches, which is not that of cfg["img"]."""
    cfg = kit.random_config(rng, **({"n_registers": rng.randint(3, 9)} | fixed))
    return cfg, rng.choice([n for n in range(4, 24) if n * cfg["P"] != cfg["img"]])


@test_case(name="materialized, one image", points=4, hidden=True)
def test_materialized(attention_memory_bytes):
    rng = kit.draws("materialized")
    for where, fixed in KINDS:
        cfg, side = model(rng, fixed)
        kit.expect_count(attention_memory_bytes, cfg, side * cfg["P"], 1, want=kept(cfg, side, 1), where=where)


@test_case(name="materialized, batch and format", points=3, hidden=True)
def test_batch_and_format(attention_memory_bytes):
    rng = kit.draws("batch and format")
    for where, fixed in KINDS:
        cfg, side = model(rng, fixed)
        batch, bytes_per = rng.choice([5, 7, 11, 13]), rng.choice([3, 4, 8])
        want = kept(cfg, side, batch, bytes_per)
        where = f"{where}, several images and numbers of other sizes"
        kit.expect_count(attention_memory_bytes, cfg, side * cfg["P"], batch, bytes_per, want=want, where=where)
    cfg, side = model(rng, {})
    given = {"cfg": cfg, "res": side * cfg["P"], "batch": 17, "bytes_per": 8, "flash": False}
    where = "several images, arguments given by name"
    kit.expect_count(attention_memory_bytes, **given, want=kept(cfg, side, 17, 8), where=where)


@test_case(name="flash", points=4, hidden=True)
def test_flash(attention_memory_bytes):
    rng = kit.draws("flash")
    for where, fixed in KINDS:
        cfg, side = model(rng, fixed)
        batch, bytes_per = rng.choice([5, 7, 11, 13]), rng.choice([1, 3, 8])
        given = {"bytes_per": bytes_per, "flash": True}
        want = kept(cfg, side, batch, **given)
        kit.expect_count(
            attention_memory_bytes, cfg, side * cfg["P"], batch, **given, want=want, where=f"{where}, flash"
        )
    cfg, side = model(rng, {})
    want = kept(cfg, side, 3, flash=True)
    kit.expect_count(
        attention_memory_bytes, cfg, side * cfg["P"], 3, flash=True, want=want, where="the usual format, flash"
    )


@test_case(name="large sizes", points=2, hidden=True)
def test_large_sizes(attention_memory_bytes):
    rng = kit.draws("large sizes")
    for bits in (31, 53, 63):
        cfg, _ = model(rng, {"L": rng.randint(40, 90)})
        side = 2 ** (bits // 4 + 1) + rng.randint(1, 9)
        batch = rng.randint(3, 900) * 2 + 1
        where = f"more than 2**{bits} bytes"
        kit.expect_count(attention_memory_bytes, cfg, side * cfg["P"], batch, want=kept(cfg, side, batch), where=where)
        want = kept(cfg, side, 2**bits + 1, flash=True)
        where = f"more than 2**{bits} images, flash"
        kit.expect_count(attention_memory_bytes, cfg, side * cfg["P"], 2**bits + 1, flash=True, want=want, where=where)


@test_case(name="largest resolution", points=3, hidden=True)
def test_largest_resolution(max_res_materialized):
    # Half-way between two grids, where a token more or less changes nothing; the next check asks for those.
    rng = kit.draws("largest resolution")
    for where, fixed in KINDS:
        cfg, _ = model(rng, fixed)
        side = rng.choice([n for n in range(24, 60) if n * cfg["P"] != cfg["img"]])
        budget = (kept(cfg, side, 1) + kept(cfg, side + 1, 1)) // 2
        kit.expect_count(max_res_materialized, cfg, budget, want=side * cfg["P"], where=where)
        batch, bytes_per = rng.choice([15, 19, 23]), rng.choice([12, 16])
        budget = (kept(cfg, side, batch, bytes_per) + kept(cfg, side + 1, batch, bytes_per)) // 2
        want = side * cfg["P"]
        place = f"{where}, several images and numbers of other sizes"
        kit.expect_count(max_res_materialized, cfg, budget, batch, bytes_per, want=want, where=place)
        place = f"{where}, arguments given by name"
        given = {"cfg": cfg, "budget_bytes": budget, "batch": batch, "bytes_per": bytes_per}
        kit.expect_count(max_res_materialized, **given, want=want, where=place)


@test_case(name="largest resolution at its edges", points=3, hidden=True)
def test_edges(max_res_materialized):
    rng = kit.draws("largest resolution at its edges")
    for where, fixed in KINDS:
        cfg, _ = model(rng, fixed)
        side = rng.randint(24, 60)
        # The budget of this many tokens more than the grid needs: what is left out shows by its size.
        for spare in sorted({0, 1, cfg["n_registers"]}):
            wider = cfg | {"n_registers": cfg["n_registers"] + spare}
            budget = kept(wider, side, 1)
            place = f"{where}, a budget met {f'with {spare} tokens to spare' if spare else 'exactly'}"
            kit.expect_count(max_res_materialized, cfg, budget, want=side * cfg["P"], where=place)
        for short in sorted({1, cfg["n_registers"] or 1, cfg["n_registers"] + 1}, reverse=True):
            fewer = cfg | {"n_registers": cfg["n_registers"] - short}
            want = largest(cfg, kept(fewer, side, 1), 1, 2) * cfg["P"]
            place = f"{where}, a budget short of what {short} tokens need"
            kit.expect_count(max_res_materialized, cfg, kept(fewer, side, 1), want=want, where=place)
        want = (side - 1) * cfg["P"]
        kit.expect_count(max_res_materialized, cfg, kept(cfg, side, 1) - 1, want=want, where=f"{where}, one byte short")


@test_case(name="small and large budgets", points=1, hidden=True)
def test_budgets(max_res_materialized):
    rng = kit.draws("small and large budgets")
    for where, fixed in KINDS:
        cfg, _ = model(rng, fixed)
        one = kept(cfg, 1, 1)
        kit.expect_count(max_res_materialized, cfg, one - 1, want=0, where=f"{where}, where not even one patch fits")
        kit.expect_count(max_res_materialized, cfg, 0, want=0, where=f"{where}, no budget at all")
        kit.expect_count(max_res_materialized, cfg, one, want=cfg["P"], where=f"{where}, where one patch just fits")
        for bits in (31, 53, 63):
            side = 2 ** (bits // 4) + rng.randint(1, 9)
            exact = kept(cfg, side, 2**20 + 1)
            place = f"{where}, a budget of more than 2**{bits} bytes"
            for budget, fits in ((exact, side), (exact - 1, side - 1)):
                kit.expect_count(max_res_materialized, cfg, budget, 2**20 + 1, want=fits * cfg["P"], where=place)
