"""What a student receives is made from the masters, by nbgrader, the same on every run, and holds no secret."""

import json
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import nbformat
import pytest
from nbgrader.utils import compute_checksum

from autograder import masters, release
from autograder.catalog import EXERCISES, ROOT, header, read
from exercises import checks

each = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)


@pytest.fixture(scope="module")
def notebooks():
    """Every exercise's notebook as the student gets it, made now."""
    return {name: release.student_notebook(exercise) for name, exercise in EXERCISES.items()}


def cell(notebook, tag):
    return next(cell for cell in notebook.cells if tag in cell.metadata.tags)


# --- the committed files ----------------------------------------------------------------------------------------


def test_released_files_do_not_drift(tmp_path):
    written = release.release(tmp_path)
    assert {path.relative_to(tmp_path) for path in written} == {
        path.relative_to(ROOT / "exercises")
        for path in (ROOT / "exercises").rglob("*")
        if path.suffix in (".ipynb", ".json")
    }
    for path in written:
        kept = (ROOT / "exercises" / path.relative_to(tmp_path)).read_text(encoding="utf-8")
        made = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            assert made == kept, f"run `autograder release`: {path.name} differs from its master"
        else:
            same = equal(json.loads(made), json.loads(kept))
            assert same, f"run `autograder release`: cases/{path.name} differs from its master"


def equal(a, b):
    """Equality of JSON, with floats to the last few digits, which differ between processors."""
    if isinstance(a, float) and isinstance(b, float):
        return a == pytest.approx(b, rel=1e-10, abs=1e-12)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and a == b


@each
def test_a_second_release_is_the_same(exercise, notebooks):
    assert nbformat.writes(release.student_notebook(exercise)) == nbformat.writes(notebooks[exercise.name])


# --- the notebook -----------------------------------------------------------------------------------------------


@each
def test_solutions_and_tests_are_gone_and_outputs_empty(exercise, notebooks):
    notebook = notebooks[exercise.name]
    text = nbformat.writes(notebook)
    for secret in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN", "nbgrader_cell", "misconception"):
        assert secret not in text
    master = masters.read(exercise)
    shown = "\n".join([*master.given, *master.stub]).splitlines()
    for code in master.reference:
        body = [line for line in code.splitlines() if len(line) > 20 and line not in shown]
        assert body
        assert not any(line in cell.source.splitlines() for cell in notebook.cells for line in body)
    assert master.reasoning.splitlines()[0] not in text
    for code_cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        assert code_cell.outputs == [] and code_cell.execution_count is None


@each
def test_ids_are_stable_and_checksums_right(exercise, notebooks):
    cells = notebooks[exercise.name].cells
    assert len({cell.id for cell in cells}) == len(cells)
    for graded in (cell for cell in cells if "nbgrader" in cell.metadata):
        assert graded.metadata.nbgrader.checksum == compute_checksum(graded)
    assert all(cell.id.rpartition("-")[0] == cell.metadata.tags[0] for cell in cells)


@each
def test_points_stand_in_the_hidden_cell_alone(exercise, notebooks):
    graded = [cell for cell in notebooks[exercise.name].cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [cell.metadata.nbgrader.points for cell in graded][:-1] == [0] * len(exercise.functions)
    assert graded[-1].metadata.nbgrader.points == exercise.points
    assert "hidden" in graded[-1].metadata.tags


@each
def test_the_notebook_reads_in_order(exercise, notebooks):
    tags = [cell.metadata.tags[0] for cell in notebooks[exercise.name].cells]
    top = notebooks[exercise.name].cells[0].source
    assert tags[:3] == ["top", "statement", "setup"] and tags[-2:] == ["next", "hidden"]
    assert f"# {exercise.title}" in top and f"{exercise.minutes} minutes" in top and f"{exercise.points} points" in top
    hints = [cell.source for cell in notebooks[exercise.name].cells if "hint" in cell.metadata.tags]
    assert len(hints) >= 3
    assert all(hint.startswith("<details>\n<summary>") and hint.endswith("\n\n</details>") for hint in hints)


@each
def test_the_stub_raises_an_error_that_names_the_task(exercise):
    namespace = {}
    master = masters.read(exercise)
    for code in (*master.given, *master.stub):
        exec(code, namespace)
    for name in exercise.functions:
        parameters = namespace[name].__code__.co_argcount
        with pytest.raises(NotImplementedError, match=name):
            namespace[name](*[{}] * parameters)


@each
def test_the_book_and_nbgrader_cut_the_same_stub(exercise, notebooks):
    stubs = tuple(cell.source for cell in notebooks[exercise.name].cells if "stub" in cell.metadata.tags)
    assert tuple(map(str.strip, masters.read(exercise).stub)) == tuple(map(str.strip, stubs))


# --- the cases --------------------------------------------------------------------------------------------------


@each
def test_cases_cover_every_function_and_hold_no_code(exercise):
    content = release.cases(exercise)
    assert {case["call"] for case in content["cases"]} == set(exercise.functions)
    assert len({case["name"] for case in content["cases"]}) == len(content["cases"])
    text = release.cases_text(content)
    assert "lambda" not in text and "def " not in text
    assert json.loads(text).keys() == {"functions", "cases", "mistakes"}


# --- the setup cell ---------------------------------------------------------------------------------------------


def run_alone(folder, source):
    """Runs a notebook's setup cell in a folder of its own, and then checks a function."""
    code = f"{source}\nvit_param_count = lambda cfg: 0\ntry:\n    check(vit_param_count)\nexcept AssertionError as e:\n    print(e)"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def setup(notebooks):
    return cell(notebooks["vit_param_count"], "setup").source


def test_setup_finds_what_lies_beside_it(setup, tmp_path):
    (tmp_path / "cases").mkdir()
    for file in ("checks.py", "cases/vit_param_count.json"):
        (tmp_path / file).write_bytes((ROOT / "exercises" / file).read_bytes())
    done = run_alone(tmp_path, setup.replace(release.site(), "http://127.0.0.1:9/"))
    assert done.returncode == 0 and "cases are not right yet" in done.stdout and not done.stderr


def test_setup_fetches_from_the_books_address_when_alone(setup, tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=ROOT))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = run_alone(tmp_path, setup.replace(release.site(), f"http://127.0.0.1:{server.server_port}/"))
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 0 and "cases are not right yet" in done.stdout and not done.stderr
    assert (tmp_path / "cases" / "vit_param_count.json").exists()


def test_setup_says_what_to_copy_without_a_network(setup, tmp_path):
    done = run_alone(tmp_path, setup.replace(release.site(), "http://127.0.0.1:9/"))
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.count("copy checks.py and the folder cases to where this notebook is") == 2
    assert not (tmp_path / "checks.py").exists()


def test_the_books_address_is_the_one_in_the_configuration(setup):
    assert f'"{release.site()}exercises/"' in setup
    assert release.site().endswith("/") and f"baseurl: {release.site()}" in (ROOT / "_config.yml").read_text()


# --- a master that is wrong -------------------------------------------------------------------------------------


def broken(tmp_path, old, new):
    original = (ROOT / "solutions" / "vit_param_count.py").read_text(encoding="utf-8")
    assert old in original
    path = tmp_path / "broken.py"
    path.write_text(original.replace(old, new), encoding="utf-8")
    return path


def test_a_master_without_points_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no `course: points`"):
        read(broken(tmp_path, "#     points: 15\n", ""))


def test_a_file_without_a_header_is_refused(tmp_path):
    (tmp_path / "plain.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match="does not begin with a jupytext header"):
        header(tmp_path / "plain.py")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('# %% tags=["cases"]', "# %%", "needs one tag out of"),
        ("# ### My answer is a float\n", "# My answer is a float\n", "a hint begins with"),
        ("    ### BEGIN SOLUTION\n", "", "a stub needs its solution"),
    ],
)
def test_a_master_with_a_wrong_cell_is_refused(tmp_path, old, new, message):
    with pytest.raises(ValueError, match=message):
        masters.read(read(broken(tmp_path, old, new)))


def test_the_worked_solution_ends_with_code_that_runs():
    master = masters.read(EXERCISES["vit_param_count"])
    code = master.solution.partition("```python\n")[2].removesuffix("\n```")
    namespace = {}
    exec(code, namespace)
    case = release.cases(EXERCISES["vit_param_count"])["cases"][0]
    assert checks.agrees(namespace["vit_param_count"](*case["args"]), case["want"])
    assert "NotImplementedError" not in code and "SOLUTION" not in code
