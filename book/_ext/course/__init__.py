"""The course's own Sphinx extension: formulas, predictions, exercises, and what the pages load."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1]))  # the figures' numbers come from the book's own library, vit

from course import accessible, cells, exercise, explorer, formulas, interactive, lean, live, npm, prediction, tracer  # noqa: E402


def add_what_pages_share(app: Sphinx) -> None:
    """Offer this extension's files and the npm packages' files to every page, and tell the templates the term."""
    packages = Path(app.outdir).parent / ".web"
    katex = npm.install() / "katex" / "dist"
    fonts = packages / "katex" / "fonts"
    fonts.mkdir(parents=True, exist_ok=True)
    shutil.copy(katex / "katex.min.css", packages / "katex")
    for font in (katex / "fonts").glob("*.woff2"):
        shutil.copy(font, fonts)
    app.config.html_static_path += [str(HERE / "static"), str(packages), str(npm.bundles())]
    app.add_css_file("course.css")
    app.add_js_file("page.js", loading_method="defer")
    app.config.html_context["course_term"] = app.config.course_term


def assets(config: Config) -> str:
    """Names the present content of all that pages load; when it changes, every page is written again."""
    files = sorted(path for path in (HERE / "static").rglob("*") if path.is_file())
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest() + npm.bundles().name


def forget_a_build_that_warned(app: Sphinx, error: Exception | None) -> None:
    """Have the next build read every page again: an unchanged page that warned would else pass in silence."""
    if error or app._warncount:
        Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, object]:
    app.add_config_value("course_term", "", "html", [str])
    app.add_config_value("course_solutions", True, "env", [bool])
    app.add_config_value("course_assets", assets, "html", [str])
    app.config["templates_path"].insert(0, str(HERE / "templates"))  # before the theme's
    app.connect("builder-inited", add_what_pages_share)
    app.connect("build-finished", forget_a_build_that_warned, priority=900)
    for part in (formulas, prediction, exercise, live, cells, interactive, tracer, explorer, accessible, lean):
        part.setup(app)
    return {"version": "1", "env_version": 6, "parallel_read_safe": True, "parallel_write_safe": False}
