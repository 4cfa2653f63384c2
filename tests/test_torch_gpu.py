"""book/vit/gpu.py and measured.py on the CPU: the same code on a tiny case, in a temporary folder.

What only a card can show (its times, its memory) is not tested; everything around it is.
"""

import json
from time import sleep

import pytest
import torch
from vit import cost, gpu, measured
from vit.data import DATA
from vit.family import config
from vit.torch_model import ViT

CPU = torch.device("cpu")
PLAN = gpu.Plan(
    models=("Ti/16",), sides=(32, 48), trained=("Ti/16",), remembered="Ti/16", tokens=20, remembered_tokens=10,
    repeats=2, compiler="eager", peak=1e12,
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the record of the tiny case."""
    folder = tmp_path_factory.mktemp("gpu")
    gpu.write(gpu.Bench(PLAN, CPU).record(), folder)
    return folder


def test_without_a_card_it_says_so_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main(["--out", str(tmp_path / "gpu")]) == 0
    assert capsys.readouterr().out == "No CUDA device here: nothing was measured, and nothing was written.\n"
    assert not (tmp_path / "gpu").exists()


def test_arguments():
    plan, folder = gpu.arguments([])
    assert plan == gpu.Plan() and folder == DATA / "gpu"
    plan, _ = gpu.arguments(["--models", "L/16", "Ti/16", "--sides", "224", "--peak", "312"])
    assert (plan.models, plan.sides, plan.trained) == (("L/16", "Ti/16"), (224,), ("L/16",))
    assert (plan.remembered, plan.peak) == ("L/16", 312e12)
    for wrong in (["--repeats", "0"], ["--sides", "8"], ["--peak", "-1"], ["--models", "XL/16"]):
        with pytest.raises(SystemExit, match="2"):
            gpu.arguments(wrong)


def test_the_record_is_complete_and_can_be_read(folder):
    (record,) = measured.records(folder)
    assert [row["side"] for row in record["throughput"]] == [32, 32, 48, 48]
    assert {row["way"] for row in record["throughput"]} == {"eager", "compiled"}
    for row in record["throughput"] + record["training"]:
        cfg, passes = config("Ti/16", img=row["side"]), 6 if row in record["training"] else 2
        assert row["fastest"] <= row["seconds"] <= row["slowest"]
        assert row["images_per_second"] == pytest.approx(row["batch"] / row["seconds"])
        assert row["mfu"] == pytest.approx(row["images_per_second"] * passes * cost.macs(cfg)["total"] / 1e12)
    assert all(0 < row["error"] < gpu.TOLERANCE for row in record["errors"])


def test_memory_is_what_the_formula_says(folder):
    """Between storing the scores and not, autograd keeps exactly the attention weights less the log-sum-exps."""
    (record,) = measured.records(folder)
    for row in record["memory"]:
        assert row["stored_kept"] - row["flash_kept"] == row["stored_counted"] - row["flash_counted"] > 0


def test_kept_bytes_of_a_known_graph():
    cfg = config("tiny")
    images = torch.zeros(2, 3, 32, 32)
    stored, flash = (gpu.kept_bytes(ViT(cfg, fused), images) for fused in (False, True))
    assert stored - flash == cost.attention_bytes(cfg, None, 2, 4) - cost.attention_bytes(cfg, None, 2, 4, flash=True)


def test_wrong_answers_are_not_timed(monkeypatch):
    monkeypatch.setattr(gpu, "TOLERANCE", 1e-4)
    with pytest.raises(ArithmeticError, match=r"Ti/16, eager: logits are off .* nothing was timed"):
        gpu.Bench(PLAN, CPU).record()


def test_batches_and_sides():
    assert gpu.resized("H/14", 1024)["img"] == 1022
    assert [gpu.batch_for(config("B/16"), tokens) for tokens in (10, 197, 393, 394, 50_000)] == [1, 1, 1, 2, 128]


def test_half_the_batch_when_memory_runs_out(monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)

    def needs(limit: int):
        def measure(batch: int) -> dict:
            if batch > limit:
                raise torch.OutOfMemoryError
            return {"batch": batch}

        return measure

    assert gpu.fitting(8, needs(3)) == {"batch": 2}
    assert gpu.fitting(8, needs(0)) is None


def test_peaks_are_found_by_the_names_that_cuda_gives():
    known = {
        "NVIDIA A100-SXM4-80GB": 312e12,
        "NVIDIA H100 80GB HBM3": 989e12,
        "NVIDIA H100 PCIe": 756e12,
        "NVIDIA L40S": 362e12,
        "NVIDIA L4": 121e12,
        "NVIDIA L40": None,
        "Some Card": None,
    }
    assert {card: gpu.known_peak(card) for card in known} == known


def test_time_is_measured_after_warming_up():
    calls = []

    def step() -> None:
        calls.append(1)
        sleep(0.2 if len(calls) <= gpu.WARM_UP else 0.001)

    times = gpu.seconds(step, CPU, 3)
    assert len(times) == 3 and len(calls) == 3 + gpu.WARM_UP
    assert all(time >= 0.001 for time in times)


def test_the_pages_tables_and_plots(folder):
    (record,) = measured.records(folder)
    text = measured.summary(record)
    assert record["date"] in text and f"PyTorch {torch.__version__}" in text and "0.00%" in text
    images, shares = measured.speed(record).axes
    assert len(images.lines) == 2 and len(shares.lines) == 2
    (ax,) = measured.memory(record).axes
    assert ax.lines[0].get_label() == "kept, scores stored", "a CPU has no peak to show"
    record["throughput"] += [
        row | {"side": 224, "model": name} for row in record["throughput"] for name in ("B/16", "Ti/16")
    ]
    record["peak"] = None
    assert not measured.speed(record).axes[1].lines
    (ax,) = measured.ratios(record).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["DeiT-Ti", "DeiT-B"]


def test_a_file_that_is_no_record_is_named(folder, tmp_path):
    (record,) = measured.records(folder)
    del record["peak"], record["memory"][0]["flash_kept"]
    (tmp_path / "card.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"card.json is no record of vit.gpu: it has no peak, memory.flash_kept"):
        measured.records(tmp_path)
    assert measured.records(tmp_path / "nothing") == []
