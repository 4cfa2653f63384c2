"""One zip per exercise for Gradescope and for `otter run`, made by `otter generate`.

otter finds the hidden tests in it, and all that they need. Gradescope first runs our own grader, which lies beside
them in `grader/`, and calls otter only where no jail works in the container.
"""

import json
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from otter.generate import main as otter_generate
from otter.utils import chdir

from .catalog import EXERCISES, ROOT, Exercise
from .gradescope import NOT_GRADED

# What a student's code may import, then what the grader needs beside otter.
PACKAGES = ("numpy", "scipy", "pyseccomp", "landlock", "PyYAML")
JAIL_SETUP = b"""
# for the jail; where they cannot be had, otter grades alone
apt-get install -y bubblewrap libseccomp2 || true
"""

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
    (folder / "requirements.txt").write_text("\n".join(requirements(PACKAGES)) + "\n")
    with zipfile.ZipFile(folder / GRADER, "w") as archive:
        archive.write(ROOT / "exercises" / "checks.py", "checks.py")
        for path in (ROOT / "autograder" / "__init__.py", ROOT / "autograder" / "kit.py", exercise.test_file):
            archive.write(path, path.relative_to(ROOT))
    shutil.copy(ROOT / "exercises" / "checks.py", folder)
    (folder / "cases").mkdir()
    shutil.copy(ROOT / "exercises" / "cases" / f"{exercise.name}.json", folder / "cases")
    return [GRADER, "checks.py", "cases"]


def _own_grader(exercise: Exercise) -> list[Path]:
    """The files of this repository that grade `exercise` in a jail."""
    package = ROOT / "autograder"
    files = [path for path in package.rglob("*.py") if path.parent.name not in ("tests", "misconceptions")]
    files += [exercise.test_file, package / "misconceptions" / "__init__.py"]
    files += [package / "misconceptions" / f"{exercise.name}.py", ROOT / "exercises" / "checks.py"]
    return sorted([*files, *(ROOT / "solutions").glob("*.py")])


def _for_gradescope(script: str, exercise: Exercise) -> str:
    """otter's run_autograder with our grader in front: otter's own last line runs only if ours finds no jail.

    Raises ValueError when otter writes another script than the one this is made for.
    """
    *before, last = script.rstrip().splitlines()
    if not re.fullmatch(r"python \S+/source/run_otter\.py", last):
        raise ValueError(f"otter's run_autograder no longer ends in a call of run_otter.py, but in {last!r}")
    source = last.removeprefix("python ").removesuffix("/run_otter.py")
    ours = f"(cd {source}/grader && python -m autograder.gradescope {exercise.name} {source.removesuffix('/source')})"
    # Without results Gradescope says that the autograder failed; only where no jail works is it otter's turn.
    return "\n".join([*before, f"{ours} || [ $? -ne {NOT_GRADED} ] || {last}", ""])


def _finish(made: Path, exercise: Exercise, bundle: Path) -> None:
    """Writes `bundle` from what otter made, with our grader in it and called first."""
    with zipfile.ZipFile(made) as otters, zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in otters.namelist():
            data = otters.read(name)
            if name == "run_autograder":
                data = _for_gradescope(data.decode(), exercise).encode()
            if name == "setup.sh":
                data += JAIL_SETUP
            archive.writestr(name, data)
        for path in _own_grader(exercise):
            archive.write(path, Path("grader") / path.relative_to(ROOT))


def make_bundles(directory: Path) -> list[Path]:
    """Writes `<exercise>.zip` for every exercise in `directory` and returns the paths."""
    directory.mkdir(parents=True, exist_ok=True)
    bundles = []
    for exercise in EXERCISES.values():
        with tempfile.TemporaryDirectory() as scratch:
            files = _lay_out(exercise, Path(scratch))
            with chdir(scratch):
                otter_generate(
                    output_path="made.zip",
                    files=files,
                    python_version=f"{sys.version_info.major}.{sys.version_info.minor}",
                    no_environment=True,
                )
            bundles.append(directory / f"{exercise.name}.zip")
            _finish(Path(scratch, "made.zip"), exercise, bundles[-1])
    return bundles
