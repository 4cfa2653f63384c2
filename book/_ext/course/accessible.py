"""Repairs to the HTML that other extensions write, so that a screen reader gets a name and a valid role everywhere."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

REPAIRS = (
    # myst-nb names every folded cell "Toggle hidden content", over the text that says what is hidden.
    (r'<summary aria-label="Toggle hidden content">', "<summary>"),
    # The corner of a table with row names is no heading.
    (r'<th class="(head[^"]*)"><p></p></th>', r'<td class="\1"></td>'),
    # docutils makes a bibliography a list and its entries no items of it.
    (r' role="doc-biblioentry"', ' role="listitem"'),
)


def repair(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    for pattern, replacement in REPAIRS:
        context["body"] = re.sub(pattern, replacement, context.get("body", ""))


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", repair)
