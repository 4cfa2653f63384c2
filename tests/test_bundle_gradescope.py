"""In a container like Gradescope's our jail grades, and otter does where no jail works, to the same score."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder import gradescope
from autograder.bundle import _for_gradescope, make_bundles
from autograder.catalog import EXERCISES, ROOT

EXERCISE = "vit_param_count"
CLASS = ROOT / "examples" / "class"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    paths = make_bundles(tmp_path_factory.mktemp("bundles"))
    return next(path for path in paths if path.stem == EXERCISE)


@pytest.fixture
def container(bundle: Path, tmp_path: Path) -> Path:
    """The folders of a Gradescope container with the bundle unpacked, and a `mamba` that activates what is here."""
    root = tmp_path / "autograder"
    for name in ("source", "submission", "results", "bin"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(root / "source")
    for name in ("run_autograder", "run_otter.py"):
        script = root / "source" / name
        script.write_text(script.read_text().replace("/autograder", str(root)))
    (root / "bin" / "mamba").write_text("#!/bin/sh\n")
    (root / "bin" / "mamba").chmod(0o755)
    (root / "submission_metadata.json").write_text("{}")
    return root


def run(root: Path, student: str) -> tuple[dict, str]:
    """What run_autograder writes and says for a student of the example class."""
    shutil.copy(CLASS / student / f"{EXERCISE}.ipynb", root / "submission" / "my homework.ipynb")
    path = f"{root / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", root / "source" / "run_autograder"]
    done = subprocess.run(
        command, cwd=root, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True
    )
    return json.loads((root / "results" / "results.json").read_text()), done.stdout


@pytest.mark.jail
def test_the_jail_grades_where_it_can(container: Path) -> None:
    results, said = run(container, "wrong-registers-have-positions")
    assert results["extra_data"]["engine"] in ("bwrap", "landlock")
    assert results["score"] == 10
    assert sum(test["score"] for test in results["tests"]) == 10
    assert {test["name"] for test in results["tests"] if test["status"] == "failed"} >= {"registers"}
    assert "Graded in a jail" in said


@pytest.mark.slow
def test_otter_grades_where_no_jail_works_and_it_is_said(container: Path) -> None:
    doctor = container / "source" / "grader" / "autograder" / "doctor.py"
    doctor.write_text(doctor.read_text() + "\n\ndef best_engine() -> None:\n    return None\n")
    results, said = run(container, "wrong-registers-have-positions")
    assert "extra_data" not in results
    assert results["tests"][0]["score"] == 10
    assert "No jail works in this container" in said
    assert "could read or change them" in said


@pytest.mark.jail
def test_no_submission_leads_from_the_jail_to_otter(container: Path) -> None:
    """One that takes the jail down with it, out of memory for example, stays ungraded: otter would run it beside the tests."""
    engine = container / "source" / "grader" / "autograder" / "engine.py"
    fault = "\n\ndef grade(task, jail, engine):\n    raise JailBroken('killed from outside')\n"
    engine.write_text(engine.read_text() + fault)
    with pytest.raises(FileNotFoundError, match=r"results\.json"):
        run(container, "wrong-registers-have-positions")


@pytest.mark.jail
def test_a_file_that_is_no_notebook_is_told_so(container: Path) -> None:
    results, _ = run(container, "corrupt-file")
    assert results["score"] == 0
    assert "not a Jupyter notebook" in results["output"]


def test_which_notebook_is_graded(tmp_path: Path) -> None:
    assert "there are 0" in gradescope.task_for(EXERCISE, tmp_path).refused
    (tmp_path / "anything.ipynb").write_bytes(b"one")
    assert gradescope.task_for(EXERCISE, tmp_path).data == b"one"
    (tmp_path / "more.ipynb").write_bytes(b"two")
    assert "there are 2" in gradescope.task_for(EXERCISE, tmp_path).refused
    (tmp_path / f"{EXERCISE}.ipynb").write_bytes(b"three")
    assert gradescope.task_for(EXERCISE, tmp_path).data == b"three"
    (tmp_path / f"{EXERCISE}.ipynb").unlink()
    (tmp_path / f"{EXERCISE}.ipynb").symlink_to("/etc/hostname")
    assert "link" in gradescope.task_for(EXERCISE, tmp_path).refused


def test_another_script_of_otters_is_noticed() -> None:
    with pytest.raises(ValueError, match="no longer ends in a call of run_otter"):
        _for_gradescope("#!/bin/bash\nexec otter\n", EXERCISES[EXERCISE])


def test_the_grader_holds_what_this_exercise_needs_and_no_other_tests(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        names = {name.removeprefix("grader/") for name in archive.namelist() if name.startswith("grader/")}
    assert {"autograder/engine.py", "autograder/jail/worker.py", "exercises/checks.py"} <= names
    assert {name for name in names if "/tests/" in name} == {f"autograder/tests/{EXERCISE}.py"}
