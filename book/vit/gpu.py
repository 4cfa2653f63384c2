"""Measure Vision Transformers on this machine's CUDA card: `python -m vit.gpu`, from book/, or `make gpu`.

Writes book/data/gpu/<card>.json, which chapter 10 shows (`measured` reads it). Two ways are compared, both in bfloat16:
"eager" multiplies out the scores, one operation after the other; "compiled" runs torch.compile on every block, with
PyTorch's fused attention. Before anything is timed, its logits are compared with those of the same weights in float64.
A time is the median of several runs between two events of the device, after warming up.

Where there is no card it says so, writes nothing, and exits with 0.
"""

import argparse
import gc
import json
import platform
import re
import statistics
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import cost
from .data import DATA, published
from .family import Config, config
from .torch_model import ViT

WARM_UP = 5  # calls before the first measured one
TOLERANCE = 0.1  # of the logits' standard deviation: bfloat16 keeps about three digits, and rounds in every layer


@dataclass(frozen=True)
class Plan:
    """What is measured: by default in a few minutes on one card."""

    models: tuple[str, ...] = ("Ti/16", "S/16", "B/16", "L/16", "H/14")
    sides: tuple[int, ...] = (224, 384, 512, 768, 1024)  # pixels, rounded to a multiple of the patch
    trained: tuple[str, ...] = ("B/16", "L/16", "H/14")  # at the first side
    remembered: str = "B/16"  # the model whose memory is measured, at every side
    tokens: int = 50_000  # in one batch, about: enough to fill a card
    remembered_tokens: int = 10_000
    repeats: int = 20
    compiler: str = "inductor"
    peak: float | None = None  # FLOP/s of the card in bfloat16, when it is not in book/data/hardware.json


# --- pieces ---------------------------------------------------------------------------------------------------------


def resized(name: str, side: int) -> Config:
    """The model at the multiple of its patch that is closest to `side` pixels."""
    P = config(name)["P"]
    return config(name, img=round(side / P) * P)


def batch_for(cfg: Config, tokens: int) -> int:
    """The largest power of two of images with at most `tokens` tokens, and at least 1."""
    return 1 << max(tokens // cost.tokens(cfg), 1).bit_length() - 1


def known_peak(card: str) -> float | None:
    """Dense bfloat16 FLOP/s of a card by the name CUDA gives it, or None for a card that is not in hardware.json."""
    peaks = published("gpu_peaks")
    names = [name for name in peaks if re.search(rf"\b{name}\b", card)]
    return peaks[max(names, key=len)] * 1e12 if names else None


def seconds(step: Callable[[], object], device: torch.device, repeats: int) -> list[float]:
    """How long each of `repeats` calls took, after warming up: by the device's own events on CUDA."""
    for _ in range(WARM_UP):
        step()
    if device.type != "cuda":
        clock = [perf_counter()]
        for _ in range(repeats):
            step()
            clock.append(perf_counter())
        return [after - before for before, after in pairwise(clock)]
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    torch.cuda.synchronize(device)
    for start, end in events:
        start.record()
        step()
        end.record()
    torch.cuda.synchronize(device)
    return [start.elapsed_time(end) / 1000 for start, end in events]


def kept_bytes(vit: ViT, images: Tensor) -> int:
    """Bytes that a forward pass leaves in memory for the backward pass, parameters left out.

    Adds up the storages that autograd saves, each once, so it works on any device and sees no allocator's rounding.
    """
    parameters = {parameter.untyped_storage().data_ptr() for parameter in vit.parameters()}
    storages: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = vit(images)  # as long as it lives, no storage is used twice
    del logits
    return sum(storages.values())


def fitting(batch: int, measure: Callable[[int], dict]) -> dict | None:
    """`measure(batch)`, with half of the batch as often as the card runs out of memory; None when one image is too many."""
    while batch:
        try:
            return measure(batch)
        except torch.OutOfMemoryError:
            batch //= 2
        gc.collect()
        torch.cuda.empty_cache()
    return None


def spread(times: list[float]) -> dict[str, float]:
    return {"seconds": statistics.median(times), "fastest": min(times), "slowest": max(times)}


class Bench:
    """One card and one plan; every method measures one thing and returns what goes into the record."""

    def __init__(self, plan: Plan, device: torch.device) -> None:
        self.plan, self.device = plan, device
        self.card = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "CPU"
        self.peak = plan.peak or known_peak(self.card)

    def vit(self, cfg: Config, way: str, dtype: torch.dtype, seed: int = 0) -> ViT:
        """A model with weights that depend on `seed` alone, ready to run in one of the two ways."""
        torch.manual_seed(seed)
        vit = ViT(cfg, fused=way == "compiled").to(self.device, dtype)
        if way == "compiled":
            torch._dynamo.reset()  # past a number of shapes it would give up compiling, without a word
            for block in vit.blocks:
                block.compile(fullgraph=True, dynamic=False, backend=self.plan.compiler)
        return vit

    def images(self, cfg: Config, batch: int, dtype: torch.dtype) -> Tensor:
        generator = torch.Generator().manual_seed(1)
        images = torch.randn(batch, cfg["C"], cfg["img"], cfg["img"], generator=generator, dtype=torch.float64)
        return images.to(self.device, dtype)

    def error(self, cfg: Config, way: str) -> float:
        """Largest error of a logit in bfloat16, in standard deviations of the float64 logits."""
        with torch.no_grad():
            right = self.vit(cfg, "eager", torch.float64)(self.images(cfg, 2, torch.float64))
            ours = self.vit(cfg, way, torch.bfloat16)(self.images(cfg, 2, torch.bfloat16))
        return ((ours.double() - right).abs().max() / right.std()).item()

    def errors(self) -> list[dict]:
        """The error of every model in both ways. Raises ArithmeticError for one that is too large to be rounding."""
        rows = []
        for name in self.plan.models:
            for way in ("eager", "compiled"):
                error = self.error(resized(name, self.plan.sides[0]), way)
                if not error < TOLERANCE:
                    raise ArithmeticError(
                        f"{name}, {way}: logits are off by {error:.2g} of their spread; nothing was timed"
                    )
                rows.append({"model": name, "way": way, "error": error})
        return rows

    def throughput(self, name: str, side: int, way: str) -> dict | None:
        """Images per second of inference, and the share of the card's peak that they are."""
        cfg = resized(name, side)
        vit = self.vit(cfg, way, torch.bfloat16).eval()

        def measure(batch: int) -> dict:
            images = self.images(cfg, batch, torch.bfloat16)
            with torch.inference_mode():
                times = seconds(lambda: vit(images), self.device, self.plan.repeats)
            return self.row(cfg, name, batch, times, flops_per_image=2 * cost.macs(cfg)["total"]) | {"way": way}

        return fitting(batch_for(cfg, self.plan.tokens), measure)

    def training(self, name: str) -> dict | None:
        """A whole training step with AdamW: weights in float32, products in bfloat16, blocks compiled."""
        cfg = resized(name, self.plan.sides[0])
        vit = self.vit(cfg, "compiled", torch.float32)
        optimizer = torch.optim.AdamW(vit.parameters(), fused=self.device.type == "cuda")

        def measure(batch: int) -> dict:
            images = self.images(cfg, batch, torch.float32)
            labels = torch.arange(batch, device=self.device) % cfg["n_classes"]

            def step() -> None:
                optimizer.zero_grad()
                with torch.autocast(self.device.type, torch.bfloat16):
                    loss = F.cross_entropy(vit(images), labels)
                loss.backward()
                optimizer.step()

            times = seconds(step, self.device, self.plan.repeats)
            return self.row(cfg, name, batch, times, flops_per_image=cost.pretraining_flops(cfg, cfg["img"], 1, 1))

        return fitting(batch_for(cfg, self.plan.tokens), measure)

    def row(self, cfg: Config, name: str, batch: int, times: list[float], flops_per_image: float) -> dict:
        row = {"model": name, "side": cfg["img"], "batch": batch} | spread(times)
        row["images_per_second"] = batch / row["seconds"]
        row["mfu"] = row["images_per_second"] * flops_per_image / self.peak if self.peak else None
        return row

    def memory(self, side: int) -> dict | None:
        """Bytes kept after a forward pass and at the peak of a whole step, with scores stored and with a fused kernel.

        Beside them stands what `cost.attention_bytes` says of the attention weights alone.
        """
        cfg = resized(self.plan.remembered, side)

        def measure(batch: int) -> dict:
            row = {"model": self.plan.remembered, "side": cfg["img"], "batch": batch}
            for kind, fused in (("stored", False), ("flash", True)):
                torch.manual_seed(0)
                vit = ViT(cfg, fused=fused).to(self.device, torch.bfloat16)
                images = self.images(cfg, batch, torch.bfloat16)
                on_cuda = self.device.type == "cuda"
                with sdpa_kernel(SDPBackend.FLASH_ATTENTION) if fused and on_cuda else nullcontext():
                    row[f"{kind}_kept"] = kept_bytes(vit, images)
                    row[f"{kind}_peak"] = self.peak_bytes(vit, images) if on_cuda else None
                row[f"{kind}_counted"] = cost.attention_bytes(cfg, None, batch, 2, flash=fused)
            return row

        return fitting(batch_for(cfg, self.plan.remembered_tokens), measure)

    def peak_bytes(self, vit: nn.Module, images: Tensor) -> int:
        """The most that a forward and a backward pass hold at once, over what was there before."""
        vit.zero_grad()
        torch.cuda.synchronize(self.device)
        before = torch.cuda.memory_allocated(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        vit(images).sum().backward()
        torch.cuda.synchronize(self.device)
        return torch.cuda.max_memory_allocated(self.device) - before

    def record(self) -> dict:
        """Everything, in the form that `measured.read` checks."""
        plan = self.plan
        record = {
            "schema": 1,
            "card": self.card,
            "date": date.today().isoformat(),
            "versions": {
                "Python": platform.python_version(),
                "PyTorch": torch.__version__,
                "CUDA": torch.version.cuda,
                "cuDNN": torch.backends.cudnn.version(),
            },
            "memory_bytes": torch.cuda.get_device_properties(self.device).total_memory
            if self.device.type == "cuda"
            else None,
            "peak": self.peak,
            "repeats": plan.repeats,
            "errors": self.errors(),
        }
        ways = ("eager", "compiled")
        record["throughput"] = _present(
            self.throughput(name, side, way) for name in plan.models for side in plan.sides for way in ways
        )
        record["training"] = _present(self.training(name) for name in plan.trained)
        record["memory"] = _present(self.memory(side) for side in plan.sides)
        return record


def _present(rows) -> list[dict]:
    """The rows that fitted on the card, told as they come."""
    kept = []
    for row in rows:
        if row:
            kept.append(row)
            print(
                ", ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in row.items()
                )
            )
    return kept


# --- the command ----------------------------------------------------------------------------------------------------


def write(record: dict, folder: Path) -> Path:
    """Write the record to <card>.json in `folder`, in place of an older one of the same card."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"[^a-z0-9]+", "-", record["card"].lower()).strip("-") + ".json")
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def arguments(words: list[str]) -> tuple[Plan, Path]:
    """The plan and the folder that the command line asks for. Exits with 2 for words that make no sense."""
    usual = Plan()
    parser = argparse.ArgumentParser(
        prog="python -m vit.gpu", description="Measure Vision Transformers on a CUDA card."
    )
    parser.add_argument("--models", nargs="+", default=usual.models, choices=usual.models)
    parser.add_argument("--sides", nargs="+", type=int, default=usual.sides, help="image sides in pixels")
    parser.add_argument("--repeats", type=int, default=usual.repeats, help="timed runs of each case")
    parser.add_argument(
        "--peak", type=float, help="the card's dense bfloat16 TFLOP/s, when the course does not know it"
    )
    parser.add_argument("--out", type=Path, default=DATA / "gpu", help="folder for the record")
    asked = parser.parse_args(words)
    if asked.repeats < 1 or min(asked.sides) < 16 or (asked.peak is not None and asked.peak <= 0):
        parser.error("repeats and peak must be positive, and sides at least 16 pixels")
    models = tuple(asked.models)
    plan = Plan(
        models=models,
        sides=tuple(asked.sides),
        trained=tuple(name for name in usual.trained if name in models),
        remembered=usual.remembered if usual.remembered in models else models[0],
        repeats=asked.repeats,
        peak=asked.peak and asked.peak * 1e12,
    )
    return plan, asked.out


def main(words: list[str]) -> int:
    """Measure and write, or say that there is nothing to measure on."""
    plan, folder = arguments(words)
    if not torch.cuda.is_available():
        print("No CUDA device here: nothing was measured, and nothing was written.")
        return 0
    print(f"Written to {write(Bench(plan, torch.device('cuda')).record(), folder)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
