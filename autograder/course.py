"""A ready nbgrader course: sources with their hidden cells, released notebooks, a configuration and a gradebook."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from .catalog import EXERCISES, ROOT, Exercise
from .masters import CODE_STUB
from .release import source_notebook

CONFIG = f'''\
# Written by `autograder course`. Run nbgrader's commands in this folder, in the environment of the course: the hidden
# cells import its package.
c = get_config()

c.CourseDirectory.course_id = "vit"
c.ClearSolutions.code_stub = {{"python": "{CODE_STUB}"}}

# A cell with hidden tests stops each call after 5 s by itself, so it may take longer than nbgrader's 30 s.
c.Execute.timeout = 120

# A student who deleted a graded cell gets it back, and the points that the rest earns.
c.OverwriteCells.add_missing_cells = True
'''


class CourseError(ValueError):
    """The course cannot be made there; the text says why and what to do."""


def open_course(directory: Path) -> NbGraderAPI:
    """nbgrader's own interface to the course in `directory`, under the course's configuration.

    Raises CourseError when there is no course.
    """
    if not (directory / "nbgrader_config.py").exists():
        raise CourseError(f"{directory} is no nbgrader course: make one with `autograder course {directory}`")
    config: Config = PyFileConfigLoader("nbgrader_config.py", path=str(directory)).load_config()
    config.CourseDirectory.root = str(directory.resolve())
    return NbGraderAPI(CourseDirectory(config=config), config=config)


@contextlib.contextmanager
def _own_commands() -> Iterator[None]:
    """Puts the commands of this Python's environment first: nbgrader calls `alembic` by name for a new gradebook."""
    path = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    try:
        yield
    finally:
        os.environ["PATH"] = path


def _write_source(exercise: Exercise, folder: Path) -> None:
    """The notebook and what a student needs beside it; nbgrader copies all of it to the release."""
    (folder / "cases").mkdir(parents=True, exist_ok=True)
    nbformat.write(source_notebook(exercise), folder / f"{exercise.name}.ipynb")
    shutil.copy(ROOT / "exercises" / "checks.py", folder)
    shutil.copy(ROOT / "exercises" / "cases" / f"{exercise.name}.json", folder / "cases")


def make_course(directory: Path) -> Path:
    """Makes the course in `directory`, or brings the one there up to date; returns the path of its configuration.

    Raises CourseError when `directory` holds something else, or nbgrader refuses an exercise.
    """
    config = directory / "nbgrader_config.py"
    if directory.exists() and not directory.is_dir():
        raise CourseError(f"{directory} is a file: give the name of a new folder")
    if directory.exists() and any(directory.iterdir()) and not config.exists():
        raise CourseError(f"{directory} is not empty and no nbgrader course: give a new folder")
    directory.mkdir(parents=True, exist_ok=True)
    if not config.exists():
        config.write_text(CONFIG, "utf-8")
    course = open_course(directory)
    for exercise in EXERCISES.values():
        _write_source(exercise, directory / "source" / exercise.name)
        with _own_commands():
            outcome = course.generate_assignment(exercise.name)
        if not outcome["success"]:
            raise CourseError(f"nbgrader could not release {exercise.name}:\n{outcome['log']}")
    return config
