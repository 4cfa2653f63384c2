"""Live exercises: what a page says for its scripts to make of its code an editor that runs and checks it.

The code stays the block it is where scripts do not run. Python for the page (Pyodide's core, from npm) is published with
the book; NumPy and SciPy for it are on no package registry and come from `course_packages`, an address ending in a slash.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shutil
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from autograder.catalog import EXERCISES, ROOT, Exercise
from autograder.masters import Master, read
from course import npm


def version(master: Master) -> str:
    """What an answer answers: changes when the code the reader is given or begins with does."""
    return hashlib.sha256("\n".join([*master.given, *master.stub]).encode()).hexdigest()[:12]


def packages(exercise: Exercise, master: Master) -> list[str]:
    """Those of npm.PACKAGES that the given code, the stub or the cases of an exercise need."""
    imported = set()
    for node in ast.walk(ast.parse("\n".join([*master.given, *master.stub]))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.partition(".")[0])
    cases = ROOT / "exercises" / "cases" / f"{exercise.name}.json"
    if cases.exists() and '"dtype":' in cases.read_text(encoding="utf-8"):
        imported.add("numpy")
    return [name for name in npm.PACKAGES if name in imported]


def opening(exercise: Exercise, master: Master, address: str) -> str:
    """The tag that begins the live part of a page, with all that its script has to know."""
    data = {
        "exercise": exercise.name,
        "title": exercise.title,
        "functions": " ".join(exercise.functions),
        "stub": version(master),
        "packages": " ".join(packages(exercise, master)),
        "packages-at": address,
    }
    return '<div class="live"' + "".join(f' data-{key}="{escape(value)}"' for key, value in data.items()) + ">"


def progress() -> str:
    """Where the page that lists the exercises shows how far the reader is, as HTML."""
    listed = [{"name": name, "stub": version(read(exercise))} for name, exercise in EXERCISES.items()]
    return f'<div class="live-progress" data-exercises="{escape(json.dumps(listed))}"></div>'


def add_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    body = context.get("body", "")
    for mark, script in {'<div class="live"': "exercise", '<div class="live-progress"': "progress"}.items():
        if mark in body:
            app.add_js_file(f"web/{script}.js", loading_method="defer")
            app.add_css_file("web/live.css")


def publish_python(app: Sphinx, error: Exception | None) -> None:
    """Copy Python for the page beside the scripts, if a page has a use for it."""
    if not error and any("live" in metadata for metadata in app.env.metadata.values()):
        python = npm.python()
        shutil.copytree(python, Path(app.outdir) / "_static" / "web" / python.name, dirs_exist_ok=True)


def address(config: Config) -> str:
    """Where NumPy and SciPy come from: what the configuration names, or Pyodide's own address."""
    version = npm.python().name.removeprefix("pyodide-")
    return config.course_packages or f"https://cdn.jsdelivr.net/pyodide/v{version}/full/"


def setup(app: Sphinx) -> None:
    app.add_config_value("course_packages", "", "env", [str])
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", publish_python)
