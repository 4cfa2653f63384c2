"""How fast the NumPy forward pass is beside PyTorch's: `python -m vit.bench`, from book/, or `make bench`.

ViT-B/16 at 224 pixels, a batch of 8, float32, the same weights and the same number of threads in both, one after the
other in turn so that a busy machine slows both. The aim is a ratio of at most 1.2.
"""

import os
import subprocess
import sys
from statistics import median
from time import perf_counter

import numpy as np
import torch

from . import model
from .family import config
from .torch_model import ViT, load_numpy_params

BATCH, ROUNDS = 8, 5


def rounds() -> list[tuple[float, float]]:
    """Seconds of one pass in NumPy and in PyTorch, for each round. Raises AssertionError when they disagree."""
    cfg, rng = config("B/16"), np.random.default_rng(0)
    params = model.init(rng, cfg, dtype=np.float32)
    images = rng.standard_normal((BATCH, cfg["img"], cfg["img"], cfg["C"])).astype(np.float32)
    vit, channels_first = load_numpy_params(ViT(cfg), params), torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
    times = []
    with torch.inference_mode():
        np.testing.assert_allclose(model.forward(params, images), vit(channels_first).numpy(), rtol=0, atol=1e-3)
        for _ in range(ROUNDS):
            start = perf_counter()
            model.forward(params, images)
            between = perf_counter()
            vit(channels_first)
            times.append((between - start, perf_counter() - between))
    return times


def report(threads: int, times: list[tuple[float, float]]) -> str:
    """One line: medians, and the ratio of the medians and of the fastest rounds."""
    ours, theirs = zip(*times, strict=True)
    return (
        f"ViT-B/16 at 224, batch {BATCH}, float32, {threads} thread{'s' if threads > 1 else ''}: "
        f"NumPy {median(ours):.2f} s, PyTorch {median(theirs):.2f} s, "
        f"ratio {median(ours) / median(theirs):.2f} (of the fastest: {min(ours) / min(theirs):.2f})"
    )


def main(words: list[str]) -> int:
    """With a number of threads, measure here. Without one, measure with one thread and with all, each in a new process."""
    if words:
        torch.set_num_threads(int(words[0]))
        print(report(int(words[0]), rounds()))
        return 0
    for threads in sorted({1, os.cpu_count()}):
        fixed = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
        subprocess.run([sys.executable, "-m", "vit.bench", str(threads)], env=os.environ | fixed, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
