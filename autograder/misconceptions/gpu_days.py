"""What students get wrong about the compute, the duration and the utilization of a training run."""

from autograder.misconceptions import Misconception
from solutions.gpu_days import forward_macs
from solutions.gpu_days import gpu_days as right_days
from solutions.gpu_days import implied_mfu as right_mfu
from solutions.gpu_days import pretraining_exaflops as right_compute
from solutions.vit_param_count import vit_param_count


def compute(slug, sentence, wrong):
    """Compute that is `wrong(cfg, res, epochs, n_images)`."""

    def pretraining_exaflops(cfg, res, epochs, n_images):
        return wrong(cfg, res, epochs, n_images)

    return Misconception(slug, sentence, {"pretraining_exaflops": pretraining_exaflops})


def days(slug, sentence, wrong):
    """Device-days that are `wrong(exaflops, peak_tflops, mfu)`."""

    def gpu_days(exaflops, peak_tflops, mfu):
        return wrong(exaflops, peak_tflops, mfu)

    return Misconception(slug, sentence, {"gpu_days": gpu_days})


def utilization(slug, sentence, wrong):
    """A utilization that is `wrong(exaflops, device_days, peak_tflops)`."""

    def implied_mfu(exaflops, device_days, peak_tflops):
        return wrong(exaflops, device_days, peak_tflops)

    return Misconception(slug, sentence, {"implied_mfu": implied_mfu})


def scaled(factor):
    """The right compute, times a factor."""
    return lambda *run: factor * right_compute(*run)


def tokens(cfg, res):
    return (res // cfg["P"]) ** 2 + int(cfg["cls_token"]) + cfg["n_registers"]


def of_another(cfg_of):
    """The right compute of another model, `cfg_of(cfg)`."""
    return lambda cfg, *run: right_compute(cfg | cfg_of(cfg), *run)


MISCONCEPTIONS = [
    compute(
        "forward-macs-only",
        "You counted the multiply-adds of the forward pass: a multiply-add is two FLOPs, and training costs three forward "
        "passes.",
        scaled(1 / 6),
    ),
    compute(
        "forward-only",
        "You counted the forward pass: the backward pass costs twice as much again.",
        scaled(2 / 6),
    ),
    compute(
        "macs-for-flops",
        "You counted three passes in multiply-adds: each multiply-add is two FLOPs.",
        scaled(3 / 6),
    ),
    compute(
        "backward-like-forward",
        "You gave the backward pass the cost of the forward pass: it has two products, one for each input, where the "
        "forward pass has one.",
        scaled(4 / 6),
    ),
    compute(
        "recomputed-forward",
        "You counted a second forward pass, as with recomputed activations: the rule here is three forward passes, not "
        "four.",
        scaled(8 / 6),
    ),
    compute(
        "doubled-twice",
        "You doubled twice: multiply-adds are turned into FLOPs once, so an image costs six FLOPs for each of them.",
        scaled(2),
    ),
    compute(
        "petaflops",
        "Your answer is in petaFLOPs, units of 10¹⁵: an exaFLOP is 10¹⁸ FLOPs.",
        scaled(1000),
    ),
    compute(
        "plain-flops",
        "Your answer is in FLOPs: an exaFLOP is 10¹⁸ of them.",
        scaled(1e18),
    ),
    compute(
        "power-of-two",
        "You took exa for 2⁶⁰: here it is 10¹⁸.",
        scaled(1e18 / 2**60),
    ),
    compute(
        "one-epoch",
        "You counted one pass over the images: the run makes `epochs` of them.",
        lambda cfg, res, epochs, n_images: right_compute(cfg, res, 1, n_images),
    ),
    compute(
        "one-image",
        "You counted one image in each epoch: an epoch sees all `n_images` of them.",
        lambda cfg, res, epochs, n_images: right_compute(cfg, res, epochs, 1),
    ),
    compute(
        "whole-epochs",
        "You cut `epochs` to a whole number: it may be fractional.",
        lambda cfg, res, epochs, n_images: right_compute(cfg, res, int(epochs), n_images),
    ),
    compute(
        "six-n-per-image",
        "You used six FLOPs for each parameter and image: the rule 6 N D counts tokens, and an image has many.",
        lambda cfg, res, epochs, n_images: 6 * vit_param_count(cfg) * epochs * n_images / 1e18,
    ),
    compute(
        "img-for-res",
        'You took the side of the image from `cfg["img"]`: the run is at resolution `res`.',
        lambda cfg, res, *run: right_compute(cfg, cfg["img"], *run),
    ),
    compute(
        "head-left-out",
        "You left the head out: `forward_macs` includes it, and the run computes it too.",
        of_another(lambda cfg: {"n_classes": 0}),
    ),
    compute(
        "attention-left-out",
        "You counted the products with weights alone: attention's own two products belong to the compute.",
        lambda cfg, res, epochs, n_images: (
            6 * (forward_macs(cfg, res) - 2 * cfg["L"] * cfg["d"] * tokens(cfg, res) ** 2) * epochs * n_images / 1e18
        ),
    ),
    compute(
        "patches-for-tokens",
        "You counted patches where tokens belong: the class token and the registers go through every block too.",
        of_another(lambda cfg: {"cls_token": False, "n_registers": 0}),
    ),
    days(
        "utilization-ignored",
        "You let the devices run at their peak: at the utilization `mfu` they do that fraction of it.",
        lambda exaflops, peak, mfu: right_days(exaflops, peak, 1),
    ),
    days(
        "utilization-multiplied",
        "You multiplied the time by the utilization: a device that does less in a second needs more time.",
        lambda exaflops, peak, mfu: right_days(exaflops, peak, 1) * mfu,
    ),
    days(
        "utilization-in-percent",
        "You took `mfu` for a percentage: it is a fraction, more than 0 and at most 1.",
        lambda exaflops, peak, mfu: 100 * right_days(exaflops, peak, mfu),
    ),
    days(
        "device-hours",
        "Your answer is in device-hours: a day has 86,400 seconds.",
        lambda *run: 24 * right_days(*run),
    ),
    days(
        "device-seconds",
        "Your answer is in device-seconds: a day has 86,400 of them.",
        lambda *run: 86400 * right_days(*run),
    ),
    days(
        "peak-in-petaflops",
        "You took the peak for petaFLOP/s: it is given in units of 10¹² operations per second.",
        lambda *run: right_days(*run) / 1000,
    ),
    days(
        "peak-in-gigaflops",
        "You took the peak for gigaFLOP/s: it is given in units of 10¹² operations per second.",
        lambda *run: right_days(*run) * 1000,
    ),
    days(
        "whole-days",
        "You rounded to whole days: return the quotient as it is.",
        lambda *run: float(round(right_days(*run))),
    ),
    utilization(
        "utilization-inverted",
        "You divided what was available by what was needed: utilization is the work needed over the work possible.",
        lambda *run: 1 / right_mfu(*run),
    ),
    utilization(
        "utilization-clipped",
        "You cut the utilization off at 1: above 1 it says that some figure is wrong, so it has to be seen.",
        lambda *run: min(1.0, right_mfu(*run)),
    ),
    utilization(
        "percent-returned",
        "You returned a percentage: return the fraction.",
        lambda *run: 100 * right_mfu(*run),
    ),
    utilization(
        "days-as-hours",
        "You counted 3,600 seconds for a day: it has 86,400.",
        lambda *run: 24 * right_mfu(*run),
    ),
    utilization(
        "days-as-seconds",
        "You took the device-days for seconds: a day has 86,400 of them.",
        lambda *run: 86400 * right_mfu(*run),
    ),
    utilization(
        "sparse-peak",
        "You halved the peak, or counted the work twice: take `exaflops` and `peak_tflops` as they are given.",
        lambda *run: 2 * right_mfu(*run),
    ),
    utilization(
        "utilization-rounded",
        "You rounded the utilization: return the quotient as it is.",
        lambda *run: round(right_mfu(*run), 3),
    ),
]
