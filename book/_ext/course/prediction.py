"""The `prediction` directive: the reader commits to a number or a shape, hears how far off it is, then sees the answer.

    ````{prediction} How many parameters does ViT-B/16 have?
    :answer: 86567656
    :unit: parameters
    :tolerance: 5%

    What is shown once the reader has predicted.
    ````

`:answer:` is a number, or a shape such as `(32, 16, 577, 577)` whose axes `:letters:` may name (`B h T T`). `:unit:`
may carry a prefix (`GB`). `:tolerance:` is how far off still counts as right. Without JavaScript the whole is a
question above a `<details>`.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator


class prediction(nodes.General, nodes.Element):
    """A question (first child, a paragraph) and what is shown after it (second child, a `prediction_answer`)."""


class prediction_answer(nodes.General, nodes.Element):
    """What the reader sees after a prediction."""


def answer(text: str) -> tuple[str, str]:
    """`86,567,656` -> number, `86567656`; `(32, 16, 577, 577)` -> shape, `32,16,577,577`. Else raises ValueError."""
    if re.fullmatch(r"\(\s*\d+(\s*,\s*\d+)*\s*,?\s*\)", text.strip()):
        return "shape", ",".join(re.findall(r"\d+", text))
    number = text.strip().replace(",", "")
    float(number)
    return "number", number


def tolerance(text: str) -> str:
    """`5%` -> `0.05`. Raises ValueError for anything that is no percentage."""
    if not text.strip().endswith("%"):
        raise ValueError("give the tolerance as a percentage, for example 5%")
    return str(float(text.strip()[:-1]) / 100)


class Prediction(SphinxDirective):
    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {
        "answer": answer,
        "unit": directives.unchanged_required,
        "tolerance": tolerance,
        "letters": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        if "answer" not in self.options:
            raise self.error("A prediction needs `:answer:`, a number or a shape.")
        self.assert_has_content()
        kind, value = self.options["answer"]
        letters = self.options.get("letters", "").split()
        if letters and len(letters) != len(value.split(",")):
            raise self.error("`:letters:` names more or fewer axes than the answer has.")
        node = prediction()
        node["data"] = {"kind": kind, "answer": value, "tolerance": self.options.get("tolerance", "0.05")}
        node["data"] |= {key: self.options[key] for key in ("unit", "letters") if key in self.options}
        node["number"] = self.env.new_serialno("prediction")
        self.set_source_info(node)
        inline, messages = self.parse_inline(self.arguments[0])
        node += nodes.paragraph(self.arguments[0], "", *inline, classes=["prediction-question"])
        node += prediction_answer("", *self.parse_content_to_nodes())
        return [node, *messages]


def visit_prediction(self: HTML5Translator, node: prediction) -> None:
    data = "".join(f' data-{key}="{escape(value)}"' for key, value in node["data"].items())
    self.body.append(f'<div class="prediction" id="prediction-{node["number"]}"{data}>\n')
    self.body.append('<p class="prediction-title">Predict first</p>\n')


def visit_answer(self: HTML5Translator, node: prediction_answer) -> None:
    self.body.append('<details class="prediction-answer"><summary>Show the answer</summary>\n')


def add_script(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document) -> None:
    if 'class="prediction"' in context.get("body", ""):
        app.add_js_file("prediction.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    app.add_node(prediction, html=(visit_prediction, lambda self, node: self.body.append("</div>\n")))
    app.add_node(prediction_answer, html=(visit_answer, lambda self, node: self.body.append("</details>\n")))
    app.add_directive("prediction", Prediction)
    app.connect("html-page-context", add_script)
