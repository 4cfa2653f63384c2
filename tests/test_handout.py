"""The students' zip holds all that a student needs, and nothing else."""

import subprocess
import sys
import zipfile

from autograder import handout
from autograder.catalog import EXERCISES


def test_it_holds_what_is_released(tmp_path):
    with zipfile.ZipFile(handout.write_zip(tmp_path / "exercises.zip")) as archive:
        names = set(archive.namelist())
    released = {path for path in handout.FOLDER.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert names == {f"exercises/{path.relative_to(handout.FOLDER).as_posix()}" for path in released}


def test_it_is_the_same_each_time(tmp_path):
    first, second = (handout.write_zip(tmp_path / name).read_bytes() for name in ("first.zip", "second.zip"))
    assert first == second


def test_the_checks_run_where_it_is_unpacked(tmp_path):
    with zipfile.ZipFile(handout.write_zip(tmp_path / "exercises.zip")) as archive:
        archive.extractall(tmp_path)
    code = (
        f"from checks import check_rows; print([r.ok for f in {list(EXERCISES)} for r in check_rows({{f: None}}).rows])"
    )
    code = code.replace(str(list(EXERCISES)), str([e.functions[0] for e in EXERCISES.values()]))
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "exercises", capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "True" not in ran.stdout and "False" in ran.stdout
