"""What `python -m vit.gpu` measured on GPUs, read from book/data/gpu/ and drawn for chapter 10.

A record is the dict that `gpu.Bench.record` returns. The folder is empty until someone with a card has run it.
"""

import json
from pathlib import Path

from matplotlib.figure import Figure

from . import cost
from .data import DATA, published
from .family import config
from .figures import figure, style

Record = dict[str, object]

# What each part of a record must hold in every row.
PARTS = {
    "errors": {"model", "way", "error"},
    "throughput": {"model", "side", "batch", "way", "seconds", "fastest", "slowest", "images_per_second", "mfu"},
    "training": {"model", "side", "batch", "seconds", "fastest", "slowest", "images_per_second", "mfu"},
    "memory": {"model", "side", "batch"}
    | {f"{kind}_{what}" for kind in ("stored", "flash") for what in ("kept", "peak", "counted")},
}
HEAD = {"schema", "card", "date", "versions", "memory_bytes", "peak", "repeats"}

DEIT = {"DeiT-Ti": ("Ti/16", 224), "DeiT-S": ("S/16", 224), "DeiT-B": ("B/16", 224), "DeiT-B@384": ("B/16", 384)}


def read(path: Path) -> Record:
    """One record. Raises ValueError that names the file and what it lacks."""
    record = json.loads(path.read_text(encoding="utf-8"))
    missing = sorted((HEAD | set(PARTS)) - set(record))
    missing += [
        f"{part}.{key}" for part, keys in PARTS.items() for row in record.get(part, []) for key in keys - set(row)
    ]
    if missing or record["schema"] != 1:
        raise ValueError(f"{path.name} is no record of vit.gpu: it has no {', '.join(missing) or 'schema 1'}")
    return record


def records(folder: Path = DATA / "gpu") -> list[Record]:
    """All records, by card. None when nothing was measured yet."""
    return [read(path) for path in sorted(folder.glob("*.json"))]


def summary(record: Record) -> str:
    """The card, the versions, and every time, as text."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items() if version)
    worst = max(row["error"] for row in record["errors"])
    lines = [
        f"{record['card']}, {record['date']}",
        versions,
        f"bfloat16 against float64: logits off by at most {worst:.1%} of their spread",
        "",
        f"{'model':7s}{'pixels':>7s}{'batch':>7s} {'way':10s}{'ms':>9s}{'images/s':>10s}{'MFU':>7s}",
    ]
    rows = record["throughput"] + [row | {"way": "training"} for row in record["training"]]
    for row in rows:
        mfu = "" if row["mfu"] is None else f"{row['mfu']:.1%}"
        lines.append(
            f"{row['model']:7s}{row['side']:7,}{row['batch']:7,} {row['way']:10s}{1000 * row['seconds']:9.2f}"
            f"{row['images_per_second']:10,.1f}{mfu:>7s}"
        )
    lines += ["", f"{'stored less fused attention':28s}{'measured':>13s}{'counted':>13s}{'off by':>8s}"]
    for row in record["memory"]:
        measured, counted = (row[f"stored_{what}"] - row[f"flash_{what}"] for what in ("kept", "counted"))
        name = f"{row['model']} at {row['side']:,}, batch {row['batch']}"
        lines.append(f"{name:28s}{measured / 1e6:10,.1f} MB{counted / 1e6:10,.1f} MB{measured / counted - 1:8.2%}")
    return "\n".join(lines)


def speed(record: Record) -> Figure:
    """Images per second against the side, and the share of the peak: one line for each model, a marker for each way."""
    models = list(dict.fromkeys(row["model"] for row in record["throughput"]))
    fig, (images, shares) = figure(2, 1, size=(6.4, 7.6), sharex=True)
    for index, model in enumerate(models):
        for way, filled in (("eager", "none"), ("compiled", "full")):
            rows = [row for row in record["throughput"] if (row["model"], row["way"]) == (model, way)]
            look = style(index) | {"fillstyle": filled, "alpha": 1 if filled == "full" else 0.6}
            label = model if way == "compiled" else None
            sides = [row["side"] for row in rows]
            images.loglog(sides, [row["images_per_second"] for row in rows], label=label, **look)
            if record["peak"]:
                shares.plot(sides, [100 * row["mfu"] for row in rows], **look)
    images.set(title=f"{record['card']}: filled is compiled, open is eager", ylabel="images per second")
    images.legend()
    shares.set(xlabel="image side in pixels", ylabel="percent of the card's peak")
    sides = sorted({row["side"] for row in record["throughput"] if row["model"] == models[0]})
    shares.set_xticks(sides, [f"{side:,}" for side in sides])
    shares.minorticks_off()
    return fig


def memory(record: Record) -> Figure:
    """Bytes against the side: kept and at the peak, with scores stored and fused, and the counted attention weights."""
    rows = record["memory"]
    fig, ax = figure(size=(6.4, 4.4))
    lines = {"stored_peak": "peak, scores stored", "stored_kept": "kept, scores stored"}
    lines |= {"stored_counted": "counted: attention weights", "flash_peak": "peak, fused", "flash_kept": "kept, fused"}
    for index, (key, label) in enumerate(lines.items()):
        if all(row[key] is not None for row in rows):
            ax.loglog(
                [row["side"] for row in rows], [row[key] / row["batch"] for row in rows], label=label, **style(index)
            )
    ax.set(xlabel="image side in pixels", ylabel="bytes per image", title=f"{rows[0]['model']} on {record['card']}")
    ax.set_xticks([row["side"] for row in rows], [f"{row['side']:,}" for row in rows])
    ax.minorticks_off()
    ax.legend()
    return fig


def ratios(record: Record) -> Figure:
    """Speed relative to DeiT-B, as the DeiT paper measured it on a V100, on this card, and as the multiply-adds have it."""
    paper = published("deit_table5")
    here = {
        (row["model"], row["side"]): row["images_per_second"] for row in record["throughput"] if row["way"] == "eager"
    }
    names = [name for name, case in DEIT.items() if case in here] if ("B/16", 224) in here else []
    macs = {name: cost.macs(config(model), side)["total"] for name, (model, side) in DEIT.items()}
    fig, ax = figure(size=(6.4, 3.2))
    lines = {
        "multiply-adds alone": [macs["DeiT-B"] / macs[name] for name in names],
        "DeiT paper, V100": [paper[name] / paper["DeiT-B"] for name in names],
        f"here, {record['card']}": [here[DEIT[name]] / here["B/16", 224] for name in names],
    }
    for index, (label, values) in enumerate(lines.items()):
        ax.plot(values, names, label=label, **style(index) | {"linestyle": "none"})
    ax.set(xscale="log", xlabel="images per second, relative to DeiT-B")
    ax.legend()
    return fig
