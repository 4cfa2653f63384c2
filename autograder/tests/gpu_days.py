"""Hidden tests of gpu_days: compute of a run, device-days, and the utilization that a run implies."""

from fractions import Fraction

from otter.test_files import test_case

from autograder import kit

OK_FORMAT = False
name = "gpu_days"

DAY = 24 * 60 * 60


def flops(cfg, res, epochs, n_images):
    """The FLOPs of a training run: two for each multiply-add, in a forward pass and two backward ones, exactly."""
    side, d = res // cfg["P"], cfg["d"]
    tokens = side * side + cfg["n_registers"] + (1 if cfg["cls_token"] else 0)
    weights = cfg["L"] * (d * 3 * d + d * d + d * cfg["d_ff"] + cfg["d_ff"] * d)
    scores = cfg["L"] * cfg["h"] * 2 * tokens * tokens * (d // cfg["h"])
    ends = side * side * cfg["P"] * cfg["P"] * cfg["C"] * d + d * cfg["n_classes"]
    forward = 2 * (tokens * weights + scores + ends)
    return (forward + 2 * forward) * Fraction(epochs) * Fraction(n_images)


def model(rng, **fixed):
    """A model and a resolution that is not that of cfg["img"]."""
    cfg = kit.random_config(rng, **fixed)
    return cfg, cfg["P"] * rng.choice([n for n in range(4, 24) if n * cfg["P"] != cfg["img"]])


def expect_compute(f, cfg, res, epochs, n_images, where):
    want = float(flops(cfg, res, epochs, n_images) / 10**18)
    kit.expect_rate(f, cfg, res, epochs, n_images, want=want, where=where)


@test_case(name="pretraining compute", points=4, hidden=True)
def test_compute(pretraining_exaflops):
    rng = kit.draws("pretraining compute")
    kinds = [
        ("a model with a class token and registers", {"cls_token": True, "pool": "cls"}),
        ("a model with registers and no class token", {"cls_token": False, "pool": "gap"}),
        ("a model with patches only", {"cls_token": False, "pool": "gap", "n_registers": 0}),
        ("a model without a head", {"cls_token": True, "pool": "cls", "n_classes": 0}),
    ]
    for where, fixed in kinds:
        cfg, res = model(rng, **fixed)
        expect_compute(pretraining_exaflops, cfg, res, rng.randint(3, 90), rng.randint(10**5, 10**9), where)
    cfg, res = model(rng)
    given = {"cfg": cfg, "res": res, "epochs": rng.randint(3, 90), "n_images": rng.randint(10**5, 10**9)}
    want = float(flops(**given) / 10**18)
    kit.expect_rate(pretraining_exaflops, **given, want=want, where="arguments given by name")


@test_case(name="fractional epochs", points=1, hidden=True)
def test_fractional_epochs(pretraining_exaflops):
    rng = kit.draws("fractional epochs")
    for epochs in (rng.randint(1, 9) / 16, rng.randint(1, 30) + rng.randint(5, 11) / 16):
        cfg, res = model(rng)
        expect_compute(
            pretraining_exaflops, cfg, res, epochs, rng.randint(10**5, 10**9), "a fractional number of epochs"
        )


@test_case(name="numbers of images", points=1, hidden=True)
def test_numbers_of_images(pretraining_exaflops):
    rng = kit.draws("numbers of images")
    for n_images, where in (
        (float(rng.randint(10**5, 10**9)), "n_images given as a float"),
        (rng.randint(3, 99), "a handful of images"),
        (rng.randint(2**70, 2**72), "more than 2**63 images"),
    ):
        cfg, res = model(rng)
        expect_compute(pretraining_exaflops, cfg, res, rng.randint(3, 90), n_images, where)


@test_case(name="device-days", points=4, hidden=True)
def test_device_days(gpu_days):
    rng = kit.draws("device-days")
    for where, mfu in (
        ("a utilization below a half", rng.uniform(0.06, 0.45)),
        ("a utilization above a half", rng.uniform(0.55, 0.95)),
        ("a utilization of 1", 1),
    ):
        exaflops, peak = rng.uniform(50, 9000), rng.uniform(20, 2000)
        want = float(Fraction(exaflops) * 10**6 / (Fraction(peak) * Fraction(mfu) * DAY))
        kit.expect_rate(gpu_days, exaflops, peak, mfu, want=want, where=where)
    exaflops, peak, mfu = rng.randint(50, 9000), rng.randint(20, 2000), rng.uniform(0.06, 0.45)
    want = float(exaflops * 10**6 / (peak * Fraction(mfu) * DAY))
    given = {"exaflops": exaflops, "peak_tflops": peak, "mfu": mfu}
    kit.expect_rate(gpu_days, **given, want=want, where="ints, given by name")
    small = exaflops / 10**6
    want = float(Fraction(small) * 10**6 / (peak * Fraction(mfu) * DAY))
    kit.expect_rate(gpu_days, small, peak, mfu, want=want, where="a run of a fraction of a day")


def run(rng, mfu):
    """A run of that utilization: its exaFLOPs, device-days and peak."""
    days, peak = rng.uniform(3, 9000), rng.uniform(20, 2000)
    return mfu * days * DAY * peak / 10**6, days, peak


def utilization(exaflops, device_days, peak_tflops):
    return float(Fraction(exaflops) * 10**6 / (Fraction(device_days) * DAY * Fraction(peak_tflops)))


@test_case(name="implied utilization", points=4, hidden=True)
def test_implied_utilization(implied_mfu):
    rng = kit.draws("implied utilization")
    for where, mfu in (
        ("a utilization below a half", rng.uniform(0.06, 0.45)),
        ("a utilization above a half", rng.uniform(0.55, 0.95)),
        ("a very low utilization", rng.uniform(0.0001, 0.001)),
    ):
        asked = run(rng, mfu)
        kit.expect_rate(implied_mfu, *asked, want=utilization(*asked), where=where)
    days, peak = rng.randint(400, 4000), rng.randint(20, 2000)
    given = {"exaflops": max(1, days * peak // 29), "device_days": days, "peak_tflops": peak}
    kit.expect_rate(implied_mfu, **given, want=utilization(**given), where="ints, given by name")


@test_case(name="utilization above 1", points=1, hidden=True)
def test_above_one(implied_mfu):
    rng = kit.draws("utilization above 1")
    for mfu in (rng.uniform(1.05, 2), rng.uniform(3, 40)):
        asked = run(rng, mfu)
        where = "figures that cannot all be true, so that it exceeds 1"
        kit.expect_rate(implied_mfu, *asked, want=utilization(*asked), where=where)
