"""The benchmark of the grader measures what it says, finds scores that differ, and its record is what the page shows."""

import json
import socket
from pathlib import Path

import jupytext
import pytest
from grading import needs_jail
from IPython.display import Markdown
from vit import data

from autograder.catalog import EXERCISES, ROOT
from benchmarks import classes, graders, grading, machine

MACHINE = dict.fromkeys(("cpu", "kernel", "python", "bubblewrap", *machine.PACKAGES), "x")
CLASS = {"jobs": 2, "seconds": 10.0, "parent_mib": 30.0}


def test_a_class_repeats_the_example_class_and_one_notebook_in_twenty_loops(tmp_path):
    like = classes.complete()
    assert {"right-line-by-line", "untouched-stub", "wrong-loop-over-heads"} <= set(like)
    folder = classes.hand_in(tmp_path / "class", 2 * len(like) + 2, like, grading.LOOP_EVERY)
    notebooks = sorted(folder.glob("*/*.ipynb"))
    assert len(notebooks) == len(EXERCISES) * (2 * len(like) + 2)
    loop = (classes.EXAMPLES / "endless-loop" / "vit_param_count.ipynb").read_bytes()
    looping = [path.parent.name for path in notebooks if path.read_bytes() == loop]
    assert looping == [f"s{number:05}" for number in range(0, 2 * len(like) + 2, 4)]


@needs_jail
@pytest.mark.usefixtures("jail_works")
def test_a_run_is_timed_and_its_memory_seen_and_differing_scores_are_found(tmp_path, monkeypatch):
    kind = graders.Grader("a kind grader", True, lambda key: key, lambda key: float(EXERCISES[key[1]].points))
    monkeypatch.setattr(graders, "others", lambda keys, folder: [kind])
    part = grading.compare(("wrong-macs-and-flops-mixed-up",), 2, tmp_path)
    *ours, other = part["rows"]
    assert [row["notebooks"] for row in ours] == [2 * len(EXERCISES)] * len(ours)
    assert all(row["seconds"] > 0 for row in [*ours, other])
    assert sorted(line.split("'")[3] for line in part["differ"]) == ["gpu_days", "vit_macs"]

    run = classes.grade(tmp_path / "autograder grade --jobs 1" / "class", tmp_path / "again", 1)
    assert run.notebooks == 2 * len(EXERCISES)
    assert 10 < run.parent_mib < 1000


def test_a_run_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match=r"ended with 2: .*nothing-here"):
        classes.grade(tmp_path / "nothing-here", tmp_path / "out", 1)


def test_the_machine_is_described_without_a_name_or_a_path():
    described = machine.describe()
    assert described["cores"] >= 1 and described["memory_gib"] > 0
    text = json.dumps(described)
    assert socket.gethostname() not in text and str(Path.home()) not in text
    assert not any(str(value).startswith("/") for value in described.values())


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Every part measured at once, with figures made up for the test, and a record in a folder of its own."""
    rows = [{"grader": "autograder grade --jobs 2", "notebooks": 10, "seconds": 0.02}]
    rows.append({"grader": "nbgrader autograde", "notebooks": 5, "seconds": 5.0})
    sizes = [CLASS | {"notebooks": notebooks} for notebooks in (100, 1_000, 5_000, 10_000)]
    monkeypatch.setattr(grading, "ROOT", tmp_path)
    monkeypatch.setattr(grading, "RECORD", tmp_path / "bench" / "grading.json")
    monkeypatch.setattr(machine, "describe", lambda: MACHINE | {"cores": 2, "memory_gib": 4.0, "load_before": 0.0})
    monkeypatch.setattr(grading, "compare", lambda *plan: {"rows": rows, "differ": []})
    monkeypatch.setattr(grading, "grow", lambda *plan: sizes)
    monkeypatch.setattr(grading, "grade_class", lambda *plan: CLASS | {"notebooks": 1_000, "looping": 50})
    return grading.RECORD


def page(folder: Path, monkeypatch) -> str:
    """What the page for instructors shows of the record in `folder`."""
    monkeypatch.setattr(data, "DATA", folder)
    cells = jupytext.read(ROOT / "book" / "instructors.md").cells
    code = next(cell.source for cell in cells if cell.cell_type == "code")
    names = {}
    exec(code.replace("\nMarkdown(", "\nshown = Markdown("), names)
    assert isinstance(names["shown"], Markdown)
    return names["shown"].data


@pytest.mark.parametrize("words", [["--quick"], ["loops"], ["--students", "100"]])
def test_part_of_a_run_is_not_written_down_and_the_page_says_that_nothing_was_measured(measured, monkeypatch, words):
    assert grading.main(words) == 0
    assert not measured.exists()
    assert "Nothing has been measured" in page(measured.parent.parent, monkeypatch)


def test_a_whole_run_is_written_down_and_the_page_shows_it(measured, monkeypatch, capsys):
    assert grading.main([]) == 0
    assert "250.0" in capsys.readouterr().out
    shown = page(measured.parent.parent, monkeypatch)
    assert "| `nbgrader autograde` | 5 | 5.000 | 250.0 |" in shown
    assert "| 1,000 | 50 | 10 | 100.0 |" in shown
    assert "100,000 students with five notebooks each take 0.3 hours" in shown


def test_scores_that_differ_are_an_error(measured, monkeypatch, capsys):
    monkeypatch.setattr(grading, "compare", lambda *plan: {"rows": [], "differ": ["ada, vit_macs: 3 and 4"]})
    assert grading.main(["graders"]) == 1
    assert "Scores differ:\nada, vit_macs: 3 and 4" in capsys.readouterr().out
