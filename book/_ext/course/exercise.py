"""The exercises in the book: a page for each, made from its master in solutions/, and a table of all of them.

    ```{vit-exercise} vit_param_count
    ```

is all that the page of an exercise holds: it becomes the title, the statement, the code to complete (which live.py makes
an editor), a link to the student's notebook, one folded hint per symptom and, unless the book is built with
`course_solutions: false`, the folded solution. `{vit-exercise-list}` is the table. What a notebook fetches when it comes
alone (the checks and their cases) is published under exercises/, beside the notebooks.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from autograder import handout, masters
from autograder.catalog import EXERCISES
from course import live

logger = logging.getLogger(__name__)


def fence(directive: str, argument: str, body: str, **options: str) -> str:
    """A MyST directive around `body`, its fence longer than any inside. Behind a fence of tildes a title may have code."""
    longest = max((len(line) - len(line.lstrip("~")) for line in body.splitlines()), default=0)
    ticks = "~" * max(3, longest + 1)
    lines = [
        f"{ticks}{{{directive}}} {argument}",
        *(f":{key}: {value}" for key, value in options.items()),
        "",
        body.strip(),
    ]
    return "\n".join([*lines, ticks])


def given(master: masters.Master) -> str:
    """The code a reader is given, folded: it can be long, and nothing in it is to be changed."""
    code = fence("code-block", "python", "\n\n\n".join(master.given), **{"class": "live-given"})
    return fence("dropdown", "The code you are given, which runs before yours", code)


class VitExercise(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in EXERCISES:
            raise self.error(f"There is no exercise `{name}`. There are: {', '.join(EXERCISES)}.")
        exercise = EXERCISES[name]
        self.env.note_dependency(str(exercise.master))
        master = masters.read(exercise)
        top = "../" * self.env.docname.count("/")
        parts = [
            f"# {exercise.title}",
            f"{exercise.in_words}. The chapter behind it is {{doc}}`/book/{exercise.chapter}`.",
            fence("exercise", "", master.statement, label=name, nonumber=""),
            "## Your code",
            live.opening(exercise, master, live.address(self.config)),
            *([given(master)] if master.given else []),
            fence("code-block", "python", "\n\n\n".join(master.stub), **{"class": "live-stub"}),
            "</div>",
            f'<a class="course-download" href="{top}exercises/{name}.ipynb" download>Download the notebook</a>',
            "## Hints",
            "Each is titled by what you see. Open one, go back to your code, and return for the next.",
            *(
                fence("dropdown", hint.symptom, hint.body, **{"class-container": "course-hint"})
                for hint in master.hints
            ),
        ]
        if self.config.course_solutions:
            folded = {"class-container": "course-solution"}
            parts += ["## Solution", fence("dropdown", "One way to write it, and why", master.solution, **folded)]
        self.env.metadata[self.env.docname]["live"] = True
        # Parsed as the page's own text, so that its headings are the page's headings.
        lines = StringList("\n\n".join(parts).splitlines(), source=str(exercise.master))
        self.state.nested_parse(lines, 0, self.state.document, match_titles=True)
        return []


class VitExerciseList(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        rows = ["| exercise | you write | minutes | points |", "|---|---|--:|--:|"]
        for name, exercise in EXERCISES.items():
            self.env.note_dependency(str(exercise.master))
            functions = ", ".join(f"`{function}`" for function in exercise.functions)
            link = f"{{doc}}`{exercise.title} </book/exercises/{name}>`"
            rows.append(f"| {link} | {functions} | {exercise.minutes} | {exercise.points} |")
        return [*self.parse_text_to_nodes("\n".join(rows)), nodes.raw("", live.progress(), format="html")]


def publish(app: Sphinx, error: Exception | None) -> None:
    """Copy what students and lone notebooks fetch to exercises/ of the site, also as one zip, and nothing else."""
    if error:
        return
    missing = [file for file in handout.FILES if not (handout.FOLDER / file).exists()]
    for file in missing:
        logger.warning("exercises/%s is missing; `make release` makes it from its master", file)
    target = Path(app.outdir) / "exercises"
    for file in set(handout.FILES) - set(missing):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(handout.FOLDER / file, target / file)
    if not missing:
        handout.write_zip(target / "exercises.zip")


def setup(app: Sphinx) -> None:
    app.add_directive("vit-exercise", VitExercise)
    app.add_directive("vit-exercise-list", VitExerciseList)
    app.connect("build-finished", publish)
