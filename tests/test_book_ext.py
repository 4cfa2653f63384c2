"""The book's own Sphinx extension, on pages made for the purpose: what it writes, and what it says about a mistake."""

import re
from collections.abc import Callable
from functools import partial

import pytest
from pages import Built, one_page

from autograder import masters
from autograder.catalog import EXERCISES


@pytest.fixture
def build(tmp_path) -> Callable[..., Built]:
    """Builds a page with the given text; a second call builds again over the first."""
    return partial(one_page, tmp_path)


def exercise_page(name: str) -> str:
    return f"```{{vit-exercise}} {name}\n```\n"


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_page_holds_what_its_master_says(build, name):
    master = masters.read(EXERCISES[name])
    built = build(exercise_page(name))
    assert f"<h1>{EXERCISES[name].title}" in built.html
    titles = [
        words(title) for title in re.findall(r'<span class="sd-summary-text">(.*?)</span><span class="sd', built.html)
    ]
    assert [hint.symptom for hint in master.hints if words(hint.symptom.replace("`", "")) not in titles] == []
    assert f'href="../../exercises/{name}.ipynb" download' in built.html
    for function in EXERCISES[name].functions:
        assert re.search(rf'<span class="nf">{function}</span>', built.html)
    assert "BEGIN SOLUTION" not in built.html


def solution_lines(name: str) -> set[str]:
    """The lines that only the solution has: of its code and of its reasoning, long enough to be nobody else's."""
    master = masters.read(EXERCISES[name])
    public = "\n".join([master.statement, *master.given, *master.stub, *(hint.body for hint in master.hints)])
    lines = {line.strip() for line in master.solution.splitlines()}
    return {line for line in lines if len(line) >= 24 and line not in public}


def words(text: str) -> str:
    """Text without markup and without spaces, so that highlighting and wrapping hide nothing."""
    return re.sub(r"\s+", "", re.sub(r"<[^>]+>", "", text)).replace("&quot;", '"').replace("&#39;", "'")


@pytest.mark.parametrize("name", EXERCISES)
def test_the_switch_publishes_the_book_without_solutions(build, name):
    lines = [words(line) for line in solution_lines(name)]
    code = [words(line) for line in "\n".join(masters.read(EXERCISES[name]).reference).splitlines() if len(line) > 40]
    shown = words(build(exercise_page(name)).everything)
    assert any(line in shown for line in code), "the solution is there when it may be"
    hidden = words(build(exercise_page(name) + "\n", course_solutions=False).everything)
    assert [line for line in lines if line in hidden] == []


def test_a_page_is_read_again_when_its_master_changes(build):
    name = next(iter(EXERCISES))
    built = build(exercise_page(name))
    used = {(built.app.srcdir / path).resolve() for path in built.app.env.dependencies["book/exercises/page"]}
    assert EXERCISES[name].master.resolve() in used


def test_an_exercise_that_does_not_exist_is_named(build):
    assert "There is no exercise `vit_params`. There are: " in build("# T\n\n" + exercise_page("vit_params")).warnings


PREDICTION = "# T\n\n```{prediction} How many?\n%s\n\nThe answer.\n```\n"


def test_a_prediction_is_a_fold_that_knows_its_answer(build):
    built = build(PREDICTION % ":answer: 86,567,656\n:unit: parameters\n:tolerance: 10%")
    assert 'data-kind="number" data-answer="86567656" data-tolerance="0.1" data-unit="parameters"' in built.html
    assert re.search(r"<details[^>]*><summary>Show the answer</summary>\s*<p>The answer\.</p>", built.html)
    assert "prediction.js" in built.html and not built.warnings


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (":unit: GB", "A prediction needs `:answer:`"),
        (":answer: lots", "could not convert string to float"),
        (":answer: 3\n:tolerance: 0.1", "give the tolerance as a percentage"),
        (":answer: (2, 3)\n:letters: B T d", "names more or fewer axes"),
    ],
)
def test_a_prediction_with_a_mistake_says_so(build, options, sentence):
    assert sentence in build(PREDICTION % options).warnings


def test_a_formula_is_set_without_a_script(build):
    built = build("# T\n\nBefore $d_{\\text{ff}}$.\n\n$$ a = b $$ (one)\n")
    assert built.html.count('class="katex"') == 2 and "(1)" in built.html and "MathJax" not in built.html
    assert not built.warnings


def test_a_mistake_in_a_formula_is_a_warning_each_time(build):
    for _ in range(2):  # the second build would find an unchanged page, were a build that warned remembered
        built = build("# T\n\n$\\fraq{1}{2}$\n")
        assert "Undefined control sequence: \\fraq" in built.warnings
