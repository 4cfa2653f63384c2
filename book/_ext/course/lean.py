"""Keeps the first load of a page small: one style sheet, the icons in use, no script that holds up the text.

Themes and extensions bring a dozen style sheets, a font of two thousand icons of which a few are shown, and scripts that
a browser has to run before it shows anything. Here the sheets become one (esbuild), the icons in use get a small font
that goes before the large one, and the scripts wait for the text. Each page also says in its head what it is about.
"""

from __future__ import annotations

import re
import textwrap
from html import escape
from itertools import compress
from pathlib import Path
from typing import Any

from docutils import nodes
from fontTools import subset
from sphinx.application import Sphinx
from sphinx.builders.html._assets import _JavaScript

from course import npm

SHEET = "book.css"
THEME = ("styles/theme.css", "styles/pydata-sphinx-theme.css")  # what a theme's own templates would name
OURS = ("katex/katex.min.css", "web/*.css")  # what only some pages register
COPY_LATE = ("myst_nb", "sphinx_exercise", "sphinx_proof")
LATE = "pygments.css"  # which the theme writes when all pages are done
# The icons of the templates; those of admonitions are found in the theme. Any other still comes from the large font.
ICONS = [
    "angle-left",
    "angle-right",
    "arrow-up",
    "bars",
    "chevron-down",
    "circle-half-stroke",
    "list",
    "magnifying-glass",
    "moon",
    "sun",
]


def make_sheet(app: Sphinx, registered: list[str]) -> list[str]:
    """Write the one style sheet of the site; returns the sheets that are in it."""
    static = Path(app.outdir) / "_static"
    # These copy their sheets when all pages are done, which in a first build is too late to make one of them.
    for listener in app.events.listeners["build-finished"]:
        if listener.handler.__module__.partition(".")[0] in COPY_LATE:
            listener.handler(app, None)
    ours = [path.relative_to(static).as_posix() for pattern in OURS for path in sorted(static.glob(pattern))]
    sheets = [name for name in dict.fromkeys([*THEME, *registered, *ours]) if (static / name).exists() and name != LATE]
    npm.run("sheet.mjs", static, SHEET, *sheets)
    if (static / THEME[1]).exists():
        with (static / SHEET).open("a", encoding="utf-8") as file:
            file.write(small_font(static))
    return sheets


def small_font(static: Path) -> str:
    """Write a font of the icons in use, and return the rule that puts it before the large one for just these."""
    css = (static / THEME[1]).read_text(encoding="utf-8")
    codes = {ord(icon) for icon in re.findall(r'--pst-icon-[\w-]+: ?"(.)"', css)}
    for name in ICONS:
        codes |= {int(code, 16) for code in re.findall(rf'\.fa-{name}:before[^{{]*{{content:"\\(\w+)"', css)}
    options = subset.Options(flavor="woff", layout_features=[], hinting=False, name_IDs=[])
    font = subset.load_font(static / "vendor" / "fontawesome" / "webfonts" / "fa-solid-900.ttf", options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=codes)
    subsetter.subset(font)
    subset.save_font(font, static / "icons.woff", options)
    ranges = ",".join(f"U+{code:x}" for code in sorted(codes))
    return (
        '@font-face{font-family:"Font Awesome 6 Free";font-weight:900;font-display:block;'
        f'src:url(icons.woff) format("woff");unicode-range:{ranges}}}'
    )


def slim(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    """Give the page the one style sheet, and let its scripts wait until the text is there."""
    names = [str(entry.filename).removeprefix("_static/") for entry in context["css_files"]]
    if not hasattr(app.builder, "course_sheets"):
        app.builder.course_sheets = make_sheet(app, names)
    others = [name not in app.builder.course_sheets for name in names]
    context["css_files"] = list(compress(context["css_files"], others))
    app.add_css_file(SHEET, priority=0)
    context["css_files"].append(app.builder._css_files[-1])
    if pagename != "search":  # its own scripts do not wait, and build on the others
        context["script_files"] = [waiting(script) for script in context["script_files"]]


def waiting(script: _JavaScript) -> _JavaScript:
    """The same script, run when the text is there. Inline ones wait if they build on another: modules always do."""
    attributes = dict(script.attributes)
    if script.filename:
        attributes["defer"] = "defer"
    elif "DOCUMENTATION_OPTIONS" in attributes["body"]:
        attributes["type"] = "module"
    return _JavaScript(script.filename, priority=script.priority, **attributes)


def describe(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    """Add the first sentences of the page as its description, for search engines and link previews."""
    title = app.env.titles[pagename].astext() if doctree else pagename
    first = next(doctree.findall(nodes.paragraph), None) if doctree else None
    words = f"{title}: {first.astext() if first else app.config.html_title}"
    text = escape(textwrap.shorten(words, 160, placeholder=" …"))
    context["metatags"] = context.get("metatags", "") + f'\n<meta name="description" content="{text}" />'


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", slim, priority=900)
    app.connect("html-page-context", describe)
