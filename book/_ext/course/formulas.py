"""Formulas set by KaTeX while the book is built: no script sets them, and a mistake fails the build."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from course import npm

logger = logging.getLogger(__name__)


class Typesetter:
    """One Node process that turns TeX into HTML with MathML inside; started by the first formula that needs it."""

    def __init__(self) -> None:
        self.process = None
        self.answers: dict[tuple[str, bool], dict[str, str]] = {}

    def html(self, tex: str, display: bool, where: nodes.Node) -> str:
        """The formula as HTML. A formula KaTeX refuses is reported at `where` and shown as its TeX."""
        key = (tex, display)
        if key not in self.answers:
            self.process = self.process or npm.node(npm.WEB / "formulas.mjs")
            self.process.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
            self.process.stdin.flush()
            self.answers[key] = json.loads(self.process.stdout.readline())
        answer = self.answers[key]
        if "error" in answer:
            logger.warning("%s in the formula %s", answer["error"], tex, location=where)
        return answer.get("html") or f"<code>{escape(tex)}</code>"

    def close(self) -> None:
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


typesetter = Typesetter()


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{typesetter.html(node.astext(), False, node)}</span>')
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    tex = node.astext().strip()
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(typesetter.html(tex, True, node) + "</div>\n")
    raise nodes.SkipNode


def add_style(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    if 'class="katex' in context.get("body", ""):
        app.add_css_file("katex/katex.min.css")


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("katex", (visit_inline, None), (visit_display, None))
    app.config["html_math_renderer"] = "katex"
    app.connect("html-page-context", add_style)
    app.connect("build-finished", lambda app, error: typesetter.close())
