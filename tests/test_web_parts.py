"""The parts of a live exercise one by one: what runs the reader's code, and the page's hold on the worker."""

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

from autograder import masters
from autograder.catalog import EXERCISES

sys.path.insert(0, str(ROOT / "book" / "_ext"))
from course import live, npm

SOURCE = npm.WEB / "src"


@pytest.fixture
def perform(monkeypatch):
    """Performs code as the worker does; returns the result and all that was printed."""
    spec = importlib.util.spec_from_file_location("runner", SOURCE / "live" / "runner.py")
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, stream, getattr(sys, stream))
    monkeypatch.syspath_prepend(ROOT / "exercises")

    def call(code: str, given: str = "", check: tuple[str, ...] = ()) -> tuple[dict, str]:
        printed = []
        task = {"given": given, "code": code, "check": check}
        return json.loads(runner.perform(json.dumps(task), printed.append)), "".join(printed)

    return call


def test_the_last_value_is_shown_as_in_a_notebook(perform):
    assert perform("print('a')\n1 + 1") == ({"ok": True}, "a\n2\n")
    assert perform("x = 3") == ({"ok": True}, "")
    assert perform("given + 1", given="given = 41") == ({"ok": True}, "42\n")


def test_a_traceback_has_the_readers_lines_and_no_others(perform):
    result, printed = perform(
        "import json\n\ndef f(text):\n    return json.loads(text)\n\nf('{')", given="def g(): pass"
    )
    assert result == {"ok": False}
    assert [line.strip() for line in printed.splitlines() if line.startswith("  File")] == [
        'File "your code", line 6, in <module>',
        'File "your code", line 4, in f',
    ]
    assert "return json.loads(text)" in printed and "JSONDecodeError" in printed


def test_a_chain_of_errors_has_the_readers_lines_and_no_others(perform):
    _, printed = perform(
        "import json\ntry:\n    json.loads('{')\nexcept ValueError as error:\n    raise KeyError('no') from error"
    )
    assert "direct cause" in printed and printed.count("  File") == printed.count('  File "your code"') == 2


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def f(:\n    pass", 'File "your code", line 1'),
        ("input('n? ')", "EOFError: nothing can be typed in here"),
        ("exit()", "it called exit()"),
        ("def f():\n    return f()\nf()", "RecursionError"),
        ("import sys\nsys.stdout = None\nprint(1)\n1 / 0", "ZeroDivisionError"),
        ("class E(Exception):\n    def __str__(self): raise E\nraise E", "E: <exception str() failed>"),
    ],
)
def test_trouble_is_told(perform, code, words):
    result, printed = perform(code)
    assert result == {"ok": False} and words in printed


def test_output_ends_at_some_point_and_an_error_after_it_is_still_told(perform):
    _, printed = perform("for i in range(10**5):\n    print(i)\n1 / 0")
    assert 20_000 < len(printed) < 20_500
    assert "[Not shown: all that follows" in printed and printed.endswith("ZeroDivisionError: division by zero\n")


def test_a_check_gives_the_rows_that_checks_gives(perform):
    from exercises import checks

    result, printed = perform(
        "def vit_param_count(cfg):\n    return 12 * cfg['L'] * cfg['d'] ** 2", check=("vit_param_count",)
    )
    report = checks.check_rows({"vit_param_count": lambda cfg: 12 * cfg["L"] * cfg["d"] ** 2})
    assert result == {
        "ok": True,
        "rows": [vars(row) for row in report.rows],
        "passed": False,
        "summary": report.summary,
        "mistake": report.mistake,
    }
    assert report.mistake and printed == ""


def test_what_is_not_defined_is_a_row_and_no_error(perform):
    result, _ = perform("x = 1", check=("vit_param_count",))
    assert {row["got"] for row in result["rows"]} == {"not defined"}


# A worker whose messages the test sends, and what the page hears of them.
HOLD = """
globalThis.Worker = class {
  constructor() { workers.push(this); this.sent = []; }
  postMessage(data) { this.sent.push(data); }
  terminate() { this.ended = true; }
};
const workers = [];
const say = (i, data) => workers[i].onmessage({ data });
const { Python } = await import(%s);
const python = new Python("worker.js", "the set-up", 0.05);
const seen = [];
const run = (task) => python.run(task, (message) => seen.push(message.text)).then((outcome) => seen.push(outcome));
const told = async () => { await new Promise((done) => setTimeout(done)); return seen; };
%s
console.log(JSON.stringify({ seen: await told(), ended: workers.map((each) => Boolean(each.ended)), sent: workers.map((each) => each.sent) }));
process.exit();
"""


def hold(script: str) -> dict:
    module = json.dumps((SOURCE / "live" / "python.js").as_uri())
    command = [npm.NODE, "--input-type=module", "-e", HOLD % (module, script)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_task_hears_its_worker_and_gets_its_result():
    told = hold(
        'run("task"); say(0, {type: "running"}); say(0, {type: "output", text: "a"}); say(0, {type: "done", result: 7});'
    )
    assert told == {"seen": [None, "a", {"result": 7}], "ended": [False], "sent": [["the set-up", "task"]]}


def test_an_ended_worker_is_not_heard_any_more():
    told = hold(
        """run("first"); say(0, {type: "running"}); python.stop("reader"); await told();
        run("second"); say(0, {type: "output", text: "late"}); say(0, {type: "done", result: "late"});
        say(1, {type: "done", result: "its own"});"""
    )
    assert told["seen"] == [None, {"stopped": "reader"}, {"result": "its own"}]
    assert told["ended"] == [True, False] and told["sent"][1] == ["the set-up", "second"]


def test_a_task_that_takes_too_long_is_ended_and_time_to_load_does_not_count():
    told = hold(
        """run("slow"); await new Promise((done) => setTimeout(done, 150)); seen.push("still there");
        say(0, {type: "running"}); await new Promise((done) => setTimeout(done, 150));"""
    )
    assert told["seen"] == ["still there", None, {"stopped": "limit"}]
    assert told["ended"] == [True, False], "and Python starts again"


def test_a_worker_that_fails_is_replaced_by_the_next_task():
    told = hold(
        """run("first"); say(0, {type: "failed", step: "start", reason: "no network"}); await told();
        run("second"); say(1, {type: "done", result: 1}); await told();
        run("third"); workers[1].onerror({ message: "broken" });"""
    )
    assert told["seen"] == [
        {"failed": "start", "reason": "no network"},
        {"result": 1},
        {"failed": "start", "reason": "broken"},
    ]
    assert told["ended"] == [True, True]


@pytest.mark.parametrize("name", EXERCISES)
def test_a_page_says_which_packages_its_exercise_needs(name):
    needed = live.packages(EXERCISES[name], masters.read(EXERCISES[name]))
    assert needed == (["numpy", "scipy"] if name == "vit_forward" else [])


def test_an_answer_belongs_to_a_version_of_the_code_it_began_with():
    versions = {live.version(masters.read(exercise)) for exercise in EXERCISES.values()}
    assert len(versions) == len(EXERCISES)


def test_what_is_published_of_python_is_the_core_and_two_packages():
    folder = npm.python()
    published = {path.name for path in folder.iterdir()}
    assert published == {"pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json", "snapshot.bin"}
    assert set(json.loads((folder / "pyodide-lock.json").read_text())["packages"]) == {"numpy", "scipy"}


def test_the_bundles_name_no_file_of_this_machine():
    for folder in (npm.bundles(), npm.python()):
        for path in filter(Path.is_file, folder.rglob("*")):
            content = path.read_bytes()
            content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
            assert str(ROOT).encode() not in content, path.name
