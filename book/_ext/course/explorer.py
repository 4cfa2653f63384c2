"""The `vit-explorer` directive: what every model of the family costs, at any resolution.

    ```{vit-explorer}
    ```

The page gets what vit/cost.py says of each model for an image of one patch, and from that its script computes the rest:
patches are a multiple of one patch, linear layers of one token, attention of one pair of tokens. Without JavaScript the
figure is a table of the ten models at 224 pixels.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from vit import cost
from vit.data import dataset, datum
from vit.family import FAMILY, Config

from course.interactive import Interactive

LARGEST = 2048  # pixels
BARE = {"cls_token": False, "n_registers": 0}

# Name on the page, data set, its row: the peaks, the sets of images and SAM's windows are the published ones.
MACHINES = {
    "h100": ("NVIDIA H100", "h100", "peak"),
    "v100": ("NVIDIA V100", "v100", "peak"),
    "tpu-v4": ("TPU v4, one chip", "tpu", "v4_chip"),
    "tpu-v3": ("TPU v3, one chip", "tpu", "v3_chip"),
    "tpu-v3-core": ("TPU v3, one core", "tpu", "v3_core"),
}
IMAGES = {
    "imagenet-1k": ("ImageNet-1k", "imagenet1k", "images"),
    "imagenet-21k": ("ImageNet-21k", "vit_setup", "i21k_images"),
    "jft-300m": ("JFT-300M", "vit_setup", "jft_images"),
}
WINDOW, GLOBAL = (datum("sam_h", row).value for row in ("window", "global_blocks"))
START = {"model": "B/16", "res": 224, "images": "imagenet-1k", "epochs": 300, "machine": "h100", "mfu": 40}


def model(cfg: Config) -> dict[str, Any]:
    """What a model costs by the patch, the token, the pair of tokens and once, from an image of a single patch."""
    one = cfg | BARE | {"img": cfg["P"]}
    terms = cost.parameter_terms(one)
    with_register = cost.parameter_terms(one | {"n_registers": 1})
    return {
        "P": cfg["P"],
        "L": cfg["L"],
        "cls": cfg["cls_token"],
        "registers": cfg["n_registers"],
        "classes": cfg["n_classes"],
        "macs": {name: count for name, count in cost.macs(one).items() if name != "total"},
        "parameters": {
            "position": terms["positions"],
            "prefix": with_register["prefix"],
            "rest": sum(terms.values()) - terms["positions"],
        },
        "crossover": cost.crossover_tokens(one),
        "weights": cost.attention_bytes(one),  # of all blocks, in bfloat16
        "logSumExp": cost.attention_bytes(one, flash=True),
    }


def data() -> dict[str, Any]:
    """All that the script needs."""
    machines = {
        key: {
            "title": title,
            "peak": datum(name, row).value,
            "what": dataset(name)["what"],
            "source": datum(name, row).source,
        }
        for key, (title, name, row) in MACHINES.items()
    }
    images = {key: {"title": title, "images": datum(name, row).value} for key, (title, name, row) in IMAGES.items()}
    return {
        "models": {name: model(cfg) for name, cfg in FAMILY.items()},
        "machines": machines,
        "images": images,
        "window": WINDOW,
        "global": GLOBAL,
        "largest": LARGEST,
        "start": START,
    }


class VitExplorer(Interactive):
    def run(self) -> list[nodes.Node]:
        heads = ["model", "GMACs", "patch", "linear", "attention", "head", "crossover", "attention weights kept"]
        caption = (
            f"The family at {START['res']} pixels: multiply-adds and their shares, the side at which attention costs as much "
            "as the linear layers, and the bytes of attention weights that training keeps for one image, in bfloat16."
        )
        rows = [[[self.text(cell)] for cell in cells] for cells in map(summary, FAMILY)]
        return self.figure("explorer", data(), self.text(caption, "explorer-caption"), self.table(heads, rows))


def summary(name: str) -> list[str]:
    """One row of the table."""
    cfg = FAMILY[name]
    macs = cost.macs(cfg, START["res"])
    shares = [f"{macs[term] / macs['total']:.2%}" for term in ("patch", "linear", "attention", "head")]
    kept = cost.attention_bytes(cfg, START["res"]) / 1e6
    return [name, f"{macs['total'] / 1e9:,.2f}", *shares, f"{cost.crossover_res(cfg):,} pixels", f"{kept:,.1f} MB"]


def setup(app: Sphinx) -> None:
    app.add_directive("vit-explorer", VitExplorer)
