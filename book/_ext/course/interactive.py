"""Figures that the reader plays with: what they show without a script, their data, and the script of each.

A figure is a `<div class="tracer">` (or `explorer`) around what is shown where no script runs, and its data as JSON. Its
script, `web/tracer.js`, is loaded by the pages that hold it and by no other.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

BOOK = Path(__file__).resolve().parents[2]

NAMES = ("tracer", "explorer")


class interactive(nodes.General, nodes.Element):
    """A figure by its `name`, with `data` for its script; the children are shown where no script runs."""


class Interactive(SphinxDirective):
    """What the directives of the figures share."""

    def figure(self, name: str, data: dict[str, Any], *children: nodes.Node) -> list[nodes.Node]:
        """The figure, on a page that is read again when the library or the published numbers change."""
        for file in [*(BOOK / "vit").glob("*.py"), *(BOOK / "data").glob("*.json")]:
            self.env.note_dependency(str(file))
        node = interactive("", *children)
        node["name"], node["data"] = name, data
        self.set_source_info(node)
        return [node]

    def text(self, words: str, name: str = "") -> nodes.paragraph:
        """A paragraph of inline Markdown, with a class by which a script finds it."""
        inline, messages = self.parse_inline(words)
        return nodes.paragraph(words, "", *inline, *messages, classes=[name] if name else [])

    def table(self, heads: list[str], rows: list[list[list[nodes.Node]]]) -> nodes.table:
        """A table whose cells are lists of paragraphs."""
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in heads), cols=len(heads))
        group += nodes.thead("", _row([[self.text(head)] for head in heads]))
        group += nodes.tbody("", *map(_row, rows))
        return nodes.table("", group)


def _row(cells: list[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))


def visit(self: HTML5Translator, node: interactive) -> None:
    self.body.append(f'<div class="{node["name"]}">\n')


def depart(self: HTML5Translator, node: interactive) -> None:
    data = json.dumps(node["data"], ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    self.body.append(f'<script type="application/json">{data}</script>\n</div>\n')


def add_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    for name in NAMES:
        if f'<div class="{name}">' in context.get("body", ""):
            app.add_js_file(f"web/{name}.js", loading_method="defer")
            app.add_css_file(f"web/{name}.css")


def setup(app: Sphinx) -> None:
    app.add_node(interactive, html=(visit, depart))
    app.connect("html-page-context", add_scripts)
