"""One zip per exercise for Gradescope and for `otter run`: hidden tests and all they need, made by `otter generate`."""

import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from otter.generate import main as otter_generate
from otter.utils import chdir

from .catalog import EXERCISES, ROOT, Exercise

# What a student's code may import, and what the jail needs beside it.
STUDENT_PACKAGES = ("numpy", "scipy")

# All tests are hidden ones, and what they say is written for students: show it, and no summary of public tests.
OTTER_CONFIG = {"show_hidden": True, "force_public_test_summary": False}

# The grader travels as one file: otter puts a file over what a student handed in under its name, but not a folder.
GRADER = "grader.zip"
TEST = """\
# otter quotes a line of this file when a test fails, so the tests themselves are elsewhere.
import sys

sys.path.insert(0, "{grader}")
from autograder.tests.{exercise} import *

OK_FORMAT = False
"""


def requirements(packages: tuple[str, ...]) -> list[str]:
    """The lines of requirements.txt that pin `packages`, without their comments.

    Raises ValueError for a package that is not pinned there.
    """
    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines()]
    pins = {line.split("==")[0].lower(): line for line in lines if "==" in line}
    missing = [package for package in packages if package.lower() not in pins]
    if missing:
        raise ValueError(f"requirements.txt does not pin {', '.join(missing)}")
    return [pins[package.lower()] for package in packages]


def _lay_out(exercise: Exercise, folder: Path) -> list[str]:
    """Writes in `folder` what `otter generate` takes, and returns the names of the support files."""
    (folder / "tests").mkdir()
    (folder / "tests" / f"{exercise.name}.py").write_text(TEST.format(grader=GRADER, exercise=exercise.name))
    (folder / "otter_config.json").write_text(json.dumps(OTTER_CONFIG))
    (folder / "requirements.txt").write_text("\n".join(requirements(STUDENT_PACKAGES)) + "\n")
    with zipfile.ZipFile(folder / GRADER, "w") as archive:
        archive.write(ROOT / "exercises" / "checks.py", "checks.py")
        for path in (ROOT / "autograder" / "__init__.py", ROOT / "autograder" / "kit.py", exercise.test_file):
            archive.write(path, path.relative_to(ROOT))
    shutil.copy(ROOT / "exercises" / "checks.py", folder)
    (folder / "cases").mkdir()
    shutil.copy(ROOT / "exercises" / "cases" / f"{exercise.name}.json", folder / "cases")
    return [GRADER, "checks.py", "cases"]


def make_bundles(directory: Path) -> list[Path]:
    """Writes `<exercise>.zip` for every exercise in `directory` and returns the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    bundles = []
    for exercise in EXERCISES.values():
        with tempfile.TemporaryDirectory() as scratch:
            files = _lay_out(exercise, Path(scratch))
            with chdir(scratch):
                otter_generate(
                    output_path="bundle.zip",
                    files=files,
                    python_version=f"{sys.version_info.major}.{sys.version_info.minor}",
                    no_environment=True,
                )
            bundles.append(Path(shutil.copy(Path(scratch) / "bundle.zip", directory / f"{exercise.name}.zip")))
    return bundles
