"""The `vit-exercise` directive: the page of an exercise, made from its master in solutions/.

    ```{vit-exercise} vit_param_count
    ```

shows the statement, what is given, the stub, a link to the student's notebook, one folded hint per symptom and, unless the
book is built with `course_solutions: false`, the folded solution. What a student downloads is published under exercises/.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from autograder import masters
from autograder.catalog import EXERCISES, ROOT
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

DIFFICULTY = {"core": "core", "interview": "harder, of the kind asked in interviews"}


def fence(directive: str, body: str, argument: str = "", **options: str) -> str:
    """A MyST directive around `body`, fenced by more backticks than any line in it."""
    ticks = "`" * max([3, *(len(line) - len(line.lstrip("`")) + 1 for line in body.splitlines())])
    head = "".join(f":{name}: {value}\n" for name, value in options.items())
    return f"{ticks}{{{directive}}} {argument}\n{head}\n{body.strip()}\n{ticks}\n"


class VitExercise(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in EXERCISES:
            raise self.error(f"There is no exercise `{name}`; the exercises are {', '.join(EXERCISES)}.")
        exercise = EXERCISES[name]
        self.env.note_dependency(str(exercise.master))
        master = masters.read(exercise)
        code = "\n\n".join(cell.strip() for cell in [*master.given, *master.stub])
        top = "../" * self.env.docname.count("/")
        facts = (
            f"{exercise.points} points, about {exercise.minutes} minutes, {DIFFICULTY[exercise.difficulty]}. "
            f"It follows from {{doc}}`/book/{exercise.chapter}`."
        )
        parts = [
            facts,
            fence("exercise", master.statement, exercise.title, label=f"exercise-{name}"),
            "## Write it",
            fence("code-block", code, "python"),
            f'<p><a class="course-download" href="{top}exercises/{name}.ipynb" download>Download the notebook</a></p>',
            "## Hints",
            "Open the one whose title is what you see.",
            *(fence("dropdown", hint.body, hint.symptom) for hint in master.hints),
        ]
        if self.config.course_solutions:
            parts += ["## Solution", fence("dropdown", master.solution, "A worked solution")]
        return self.parse_text_to_nodes("\n\n".join(parts), allow_section_headings=True)
