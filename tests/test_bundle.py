"""`autograder bundle` makes zips that carry all they need and show a student no line of a hidden test."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from autograder.bundle import GRADER, make_bundles, requirements
from autograder.catalog import EXERCISES


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    paths = make_bundles(tmp_path_factory.mktemp("bundles") / "new")
    return {path.stem: path for path in paths}


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_there_is_one_for_every_exercise(bundles: dict[str, Path]) -> None:
    assert list(bundles) == list(EXERCISES)


def test_the_environment_is_pinned_as_the_courses(bundles: dict[str, Path]) -> None:
    for path in bundles.values():
        *_, last = yaml.safe_load(members(path)["environment.yml"])["dependencies"]
        pip = last["pip"]
        assert requirements(("numpy", "scipy"))[0] in pip
        assert any(line.startswith("otter-grader") for line in pip)


def test_a_package_that_is_not_pinned_is_said() -> None:
    with pytest.raises(ValueError, match="does not pin nonesuch"):
        requirements(("numpy", "nonesuch"))


def test_what_otter_copies_beside_the_notebook_holds_no_test_in_the_clear(bundles: dict[str, Path]) -> None:
    for name, path in bundles.items():
        files = members(path)
        assert {f for f in files if f.startswith("tests/")} == {f"tests/{name}.py"}
        copied = {f: files[f] for f in files if f.startswith("files/")}
        assert set(copied) == {"files/checks.py", f"files/cases/{name}.json", f"files/{GRADER}"}
        # otter quotes the line of the test file at the number where a test failed: nothing there is a test's.
        hidden = {line for line in EXERCISES[name].test_file.read_text("utf-8").splitlines() if len(line) > 25}
        assert not hidden & set(files[f"tests/{name}.py"].decode().splitlines())


RUN = """
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("exercises", "solutions"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from otter.test_files import ExceptionTestFile
tests = ExceptionTestFile.from_file("tests/{name}.py")
import autograder.kit
tests.run({{}})
print(json.dumps({{"kit": autograder.kit.__file__, "checks": autograder.kit.checks.__name__, "possible": tests.possible,
                   "score": tests.score, "name": tests.name,
                   "messages": [result.message for result in tests.test_case_results]}}))
"""


@pytest.mark.parametrize("name", ["vit_param_count", "vit_forward"])  # one of pure Python, one of arrays
def test_it_runs_where_the_course_is_not_installed(bundles: dict[str, Path], tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(bundles[name]) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "files").rename(tmp_path / "submission")
    (tmp_path / "tests").rename(tmp_path / "submission" / "tests")
    command = [sys.executable, "-c", RUN.format(name=name)]
    done = subprocess.run(command, cwd=tmp_path / "submission", capture_output=True, text=True, check=True)
    said = json.loads(done.stdout.splitlines()[-1])
    assert GRADER in said["kit"]
    assert said["checks"] == "checks"
    assert (said["name"], said["score"], said["possible"]) == (name, 0, EXERCISES[name].points)
    assert all("The notebook defines no" in message for message in said["messages"])


def test_the_grader_travels_as_one_file_so_that_no_submission_replaces_part_of_it(bundles: dict[str, Path]) -> None:
    for name, path in bundles.items():
        with zipfile.ZipFile(io.BytesIO(members(path)[f"files/{GRADER}"])) as grader:
            want = {"autograder/__init__.py", "autograder/kit.py", f"autograder/tests/{name}.py", "checks.py"}
            assert set(grader.namelist()) == want
