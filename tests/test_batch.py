"""Nothing is lost: a run that is killed, interrupted or out of disk continues and ends with the same grades."""

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from grading import Adopted, autograder, grades, hand_in, needs_jail, notebook, results
from typer.testing import CliRunner

from autograder import batch, cli
from autograder.catalog import ROOT
from autograder.results import OutputError, Results, folder_name
from autograder.slot import Slot, SlotLost
from autograder.task import Task, result

EXERCISE = "vit_param_count"
STUDENTS = 24
KILLS = int(os.environ.get("KILLS", "4"))  # `make soak` sets 100


def answer(number: int) -> bytes:
    """An answer that earns some points or others, and takes a moment."""
    terms = ["d * K + K", "cfg['L'] * (4*d*d + 2*d*d_ff + d_ff + 9*d)", "cfg['n_registers'] * d", "P * P * C * d"]
    kept = " + ".join(term for place, term in enumerate(terms) if number >> place & 1) or "0"
    names = "P, C, d, d_ff, K = (cfg[k] for k in ('P', 'C', 'd', 'd_ff', 'n_classes'))"
    return notebook(f"def vit_param_count(cfg):\n    {names}\n    sum(range(20_000))\n    return {kept}")


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory, jail_works):
    folder = tmp_path_factory.mktemp("class")
    for number in range(STUDENTS):
        hand_in(folder, f"student-{number:02}", EXERCISE, answer(number))
    return folder


@pytest.fixture(scope="module")
def table(handed_in, tmp_path_factory):
    """grades.csv of a run that nothing disturbed."""
    out = tmp_path_factory.mktemp("reference")
    run = autograder("grade", handed_in, "--out", out, "--seed", "x", "--quiet")
    assert run.returncode == 0, run.stderr
    assert len({row["score"] for row in grades(out).values()}) > 4
    return (out / "grades.csv").read_bytes()


def started(handed_in: Path, out: Path, **options: object) -> subprocess.Popen:
    """A run under way, with its first new result written."""
    before = written(out)
    command = [sys.executable, "-m", "autograder", "grade", str(handed_in), "--out", str(out), "--seed", "x", "--quiet"]
    run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, **options)
    while written(out) == before and run.poll() is None:
        time.sleep(0.005)
    return run


def written(out: Path) -> int:
    return len(list(out.glob("results/*/*.json")))


def below(pid: int) -> list[int]:
    """The processes that `pid` started, and theirs."""
    found, look = [], [pid]
    while look:
        for task in Path(f"/proc/{look.pop()}/task").glob("*/children"):
            try:
                pids = [int(word) for word in task.read_text().split()]
            except OSError:
                continue
            found += pids
            look += pids
    return found


@needs_jail
@pytest.mark.parametrize("whom", ["the run", "a process of it"])
def test_killed_at_random_moments_it_ends_with_the_same_grades(handed_in, table, tmp_path, whom):
    rng, out = random.Random(whom), tmp_path / "out"
    with Adopted() as processes:
        for _ in range(KILLS):
            if written(out) == STUDENTS:  # all done: once more from the start
                shutil.rmtree(out)
            run = started(handed_in, out)
            time.sleep(rng.uniform(0, 0.4))
            victims = [run.pid] if whom == "the run" else below(run.pid)
            if victims and run.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(victims), signal.SIGKILL)
            if whom == "the run":
                run.wait()
            else:  # the others take over
                assert run.wait() == 0, run.stderr.read()
                assert (out / "grades.csv").read_bytes() == table
            run.stderr.close()
            for path in out.glob("results/*/*.json"):
                json.loads(path.read_bytes())
        last = autograder("grade", handed_in, "--out", out, "--seed", "x", "--quiet")
    assert (last.returncode, last.stderr) == (0, "")
    assert (out / "grades.csv").read_bytes() == table
    assert not [path for path in out.rglob("*") if path.suffix == ".tmp"]
    assert not processes.left


@needs_jail
def test_ctrl_c_is_one_sentence_and_the_same_command_continues(handed_in, table, tmp_path):
    out = tmp_path / "out"
    with Adopted() as processes:
        run = started(handed_in, out, start_new_session=True)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the whole group
        _, said = run.communicate(timeout=60)
    assert (run.returncode, said) == (1, "autograder: stopped. What is graded is kept; the same command continues.\n")
    assert 0 < written(out) < STUDENTS and not (out / "grades.csv").exists()
    assert not processes.left
    again = autograder("grade", handed_in, "--out", out, "--seed", "x", "--json")
    assert json.loads(again.stdout)["unchanged"] >= 1
    assert (out / "grades.csv").read_bytes() == table


def no_file_beyond(size: int):
    """For preexec_fn: a disk that takes no file of more than `size` bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@needs_jail
@pytest.mark.parametrize("size", [500, 1500], ids=["no result fits", "the results fit, the table does not"])
def test_a_full_disk_is_one_sentence_and_nothing_is_damaged(handed_in, table, tmp_path, size):
    out = tmp_path / "out"
    small = tmp_path / "small"
    for path in sorted(handed_in.iterdir())[:STUDENTS]:
        shutil.copytree(path, small / path.name)
    run = autograder("grade", small, "--out", out, "--seed", "x", "--quiet", preexec_fn=no_file_beyond(size))
    assert run.returncode == 1
    assert run.stderr.startswith(f"autograder: cannot write to {out}: ") and run.stderr.count("\n") == 1
    assert not (out / "grades.csv").exists()
    assert not [path for path in out.rglob("*") if path.suffix == ".tmp"]
    again = autograder("grade", small, "--out", out, "--seed", "x", "--quiet")
    assert (again.returncode, again.stderr) == (0, "")
    assert (out / "grades.csv").read_bytes() == table


@needs_jail
def test_a_disk_that_is_really_full(handed_in, table, tmp_path):
    mount = f"mount -t tmpfs -o size=64k none {tmp_path} && "
    grade = f"{sys.executable} -m autograder grade {handed_in} --out {tmp_path}/out --seed x --quiet"
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount]
    if subprocess.run([*command[:-1], mount + "true"], capture_output=True).returncode:
        pytest.skip("no user namespace here in which to mount a small disk")
    full = f"head -c 60000 /dev/zero > {tmp_path}/full; {grade}; test $? = 1 || exit 9; rm {tmp_path}/full; "
    more = f"mount -o remount,size=9m {tmp_path}; {grade} && cat {tmp_path}/out/grades.csv"
    run = subprocess.run([*command[:-1], mount + full + more], capture_output=True, cwd=ROOT, timeout=300)
    assert run.returncode == 0, run.stderr
    assert b"No space left on device" in run.stderr and run.stdout == table


# ---- what a run is made of -------------------------------------------------------------------------------------------


@needs_jail
def test_a_slot_whose_process_is_lost_tries_once_more_and_then_says_so(handed_in):
    slot = Slot("bwrap")
    data = notebook("import os\n\n\ndef vit_param_count(cfg):\n    return 0")
    task = Task("student", EXERCISE, None, "seed", data)
    slot.process.kill()
    assert slot.grade(task)["status"] == "graded"
    start, lost = slot._start, []

    def stillborn() -> None:
        start()
        slot.process.kill()
        lost.append(slot.process.pid)

    slot._start = stillborn
    slot.process.kill()
    with pytest.raises(SlotLost, match="the grading process ended"):
        slot.grade(task)
    assert len(lost) == 2
    slot._start = start
    slot._end(0)
    slot._start()
    assert slot.grade(task)["status"] == "graded"
    slot.close()


@needs_jail
def test_a_slot_that_cannot_start_again_is_lost_and_no_more(monkeypatch):
    """Somebody's threads may hold all the processes that the machine has."""
    slot = Slot("bwrap")
    task = Task("student", EXERCISE, None, "seed", notebook("x = 1"))
    with monkeypatch.context() as patch:
        patch.setattr("subprocess.Popen", Mock(side_effect=BlockingIOError(11, "Resource temporarily unavailable")))
        slot.process.kill()
        with pytest.raises(SlotLost):
            slot.grade(task)
    assert slot.grade(task)["status"] == "graded"
    slot.close()


class Fake:
    """Stands for a Slot: grades without a jail, and is lost on the students named."""

    lost: tuple[str, ...] = ()

    def __init__(self, engine: str, core: int | None = None) -> None:
        self.engine = engine

    def grade(self, task: Task) -> dict:
        if task.student in self.lost:
            raise SlotLost("the grading process ended")
        return result(task, "graded", [], self.engine)

    def close(self) -> None:
        pass

    stop = close


@pytest.fixture
def run(monkeypatch, tmp_path):
    """The command line in this process, with fake slots: `run(*arguments)` grades tmp_path/class into tmp_path/out."""
    monkeypatch.setattr(batch, "Slot", Fake)
    monkeypatch.setattr(cli.doctor, "best_engine", lambda: "bwrap")

    def invoke(*arguments: str):
        command = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out"), *arguments]
        return CliRunner().invoke(cli.app, command)

    return invoke


def test_what_the_grader_could_not_grade_is_no_zero_and_is_tried_again(run, monkeypatch, tmp_path):
    for student in ("ann", "bob", "cy"):
        hand_in(tmp_path / "class", student, EXERCISE, notebook("x = 1"))
    monkeypatch.setattr(Fake, "lost", ("bob",))
    first = run()
    assert first.exit_code == 1
    row = grades(tmp_path / "out")["bob", EXERCISE]
    assert (row["status"], row["score"]) == ("engine-error", "")
    assert results(tmp_path / "out")["bob", EXERCISE]["score"] is None
    monkeypatch.setattr(Fake, "lost", ())
    second = run("--json")
    assert second.exit_code == 0 and json.loads(second.stdout)["unchanged"] == 2
    assert grades(tmp_path / "out")["bob", EXERCISE]["status"] == "graded"


def test_when_every_slot_is_lost_the_run_stops_and_says_where_to_look(run, monkeypatch, tmp_path):
    students = tuple("abcdefgh")
    for student in students:
        hand_in(tmp_path / "class", student, EXERCISE, notebook("x = 1"))
    monkeypatch.setattr(Fake, "lost", students)
    stopped = run("--jobs", "1")
    assert stopped.exit_code == 1 and "autograder doctor" in stopped.stderr
    assert written(tmp_path / "out") < len(students)


def test_only_what_changed_is_graded_again(run, tmp_path):
    for student in ("ann", "bob"):
        hand_in(tmp_path / "class", student, EXERCISE, notebook("x = 1"))
    hand_in(tmp_path / "class", "bob", "vit_macs", notebook("x = 1"))
    assert run().exit_code == 0
    first = results(tmp_path / "out")
    assert {row["status"] for row in grades(tmp_path / "out").values()} == {"graded", "missing"}
    hand_in(tmp_path / "class", "ann", EXERCISE, notebook("x = 2"))
    hand_in(tmp_path / "class", "ann", "vit_macs", notebook("x = 3"))
    assert json.loads(run("--json").stdout)["unchanged"] == 2
    second = results(tmp_path / "out")
    changed = {key for key in second if second[key] != first[key]}
    assert changed == {("ann", EXERCISE), ("ann", "vit_macs")}
    (tmp_path / "class" / "ann" / "vit_macs.ipynb").unlink()
    assert run().exit_code == 0
    assert grades(tmp_path / "out")["ann", "vit_macs"]["status"] == "missing"


def test_the_salt_is_kept_and_another_one_grades_everything_again(run, tmp_path):
    hand_in(tmp_path / "class", "ann", EXERCISE, notebook("x = 1"))

    def seed(*arguments: str) -> str:
        assert run(*arguments).exit_code == 0
        return results(tmp_path / "out")["ann", EXERCISE]["seed"]

    first = seed()
    assert seed() == first
    other = seed("--seed", "other")
    assert other != first and seed() == other and seed("--seed", "other") == other
    shutil.rmtree(tmp_path / "out")
    assert seed() not in (first, other)
    assert seed("--seed", "other") == other


def test_other_tests_grade_everything_again(run, monkeypatch, tmp_path):
    hand_in(tmp_path / "class", "ann", EXERCISE, notebook("x = 1"))
    assert run().exit_code == 0
    monkeypatch.setattr("autograder.results.tests_version", lambda exercise: "another")
    assert json.loads(run("--json").stdout)["unchanged"] == 0


def test_damaged_results_and_those_half_written_are_graded_again(run, tmp_path):
    for student in ("ann", "bob", "cy"):
        hand_in(tmp_path / "class", student, EXERCISE, notebook("x = 1"))
    assert run().exit_code == 0
    table = (tmp_path / "out" / "grades.csv").read_bytes()
    path = tmp_path / "out" / "results" / "ann" / f"{EXERCISE}.json"
    path.write_text(path.read_text()[:100])
    (path.parent / f"{EXERCISE}.json.tmp").write_text("half")
    (tmp_path / "out" / "results" / "bob" / f"{EXERCISE}.json").write_text("[]")
    (tmp_path / "out" / "grades.csv").write_text("")
    assert json.loads(run("--json").stdout)["unchanged"] == 1
    assert (tmp_path / "out" / "grades.csv").read_bytes() == table
    assert [path.name for path in path.parent.iterdir()] == [f"{EXERCISE}.json"]


def test_one_exercise_leaves_the_others_as_they_were(run, tmp_path):
    for name in (EXERCISE, "vit_macs"):
        hand_in(tmp_path / "class", "ann", name, notebook("x = 1"))
    assert run("--exercise", "vit_macs").exit_code == 0
    assert set(grades(tmp_path / "out")) == {("ann", "vit_macs")}
    assert run("--exercise", EXERCISE).exit_code == 0
    assert list(grades(tmp_path / "out")) == [("ann", EXERCISE), ("ann", "vit_macs")]


def test_no_name_is_a_formula_in_a_table_or_a_command_to_the_terminal(run, tmp_path):
    for student in ("=cmd()", "-x", "\x1b]0;owned\x07"):
        hand_in(tmp_path / "class", student, EXERCISE, notebook("x = 1"))
    hand_in(tmp_path / "class", "ann", "\x1b[2Jodd", notebook("x = 1"))
    done = run()
    assert done.exit_code == 0 and "skipped, it is no notebook" in done.stdout
    assert done.stdout.replace("\n", "").isprintable()
    assert ("'=cmd()", EXERCISE) in grades(tmp_path / "out") and ("=cmd()", EXERCISE) in results(tmp_path / "out")
    assert ("-x", EXERCISE) in grades(tmp_path / "out")  # odd, but it calls nothing


def test_a_link_is_not_followed_and_a_huge_file_not_read(run, tmp_path):
    secret = tmp_path / "solution.ipynb"
    secret.write_bytes(notebook("the solution"))
    for student in ("ann", "bob"):
        (tmp_path / "class" / student).mkdir(parents=True)
    (tmp_path / "class" / "ann" / f"{EXERCISE}.ipynb").symlink_to(secret)
    with (tmp_path / "class" / "bob" / f"{EXERCISE}.ipynb").open("wb") as file:
        file.truncate(2**31)
    assert run().exit_code == 0
    assert all(not row["submission_sha256"] for row in grades(tmp_path / "out").values())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--exercise", "vit_params"], "there is no exercise vit_params; there are "),
        (["--scheduler", "tcp://x:1", "--unsafe-trusted"], "cannot go with --scheduler"),
        (["--jobs", "0"], "--jobs"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_usage_is_status_2_and_says_why(run, tmp_path, arguments, says):
    hand_in(tmp_path / "class", "ann", EXERCISE, notebook("x = 1"))
    refused = run(*arguments)
    assert refused.exit_code == 2 and says in refused.stderr


def test_a_folder_that_is_not_there_is_status_2(run, tmp_path):
    refused = run()
    assert refused.exit_code == 2
    assert "does not exist" in refused.stderr and not (tmp_path / "out").exists()


def test_two_runs_do_not_write_to_one_folder(run, tmp_path):
    hand_in(tmp_path / "class", "ann", EXERCISE, notebook("x = 1"))
    with Results(tmp_path / "out", None):
        refused = run()
        assert refused.exit_code == 2 and "another run is writing" in refused.stderr
        with pytest.raises(OutputError):
            Results(tmp_path / "out", None)
    assert run().exit_code == 0


def test_an_output_folder_that_is_a_file_is_status_2(run, tmp_path):
    hand_in(tmp_path / "class", "ann", EXERCISE, notebook("x = 1"))
    (tmp_path / "out").write_text("a file")
    refused = run()
    assert refused.exit_code == 2 and "cannot write" in refused.stderr


def test_without_a_jail_nothing_is_run(run, monkeypatch, tmp_path):
    hand_in(tmp_path / "class", "ann", EXERCISE, notebook("x = 1"))
    monkeypatch.setattr(cli.doctor, "best_engine", lambda: None)
    refused = run()
    assert refused.exit_code == 1 and "autograder doctor" in refused.stderr and written(tmp_path / "out") == 0
    trusted = run("--unsafe-trusted")
    assert trusted.exit_code == 0 and "no jail" in trusted.stderr
    assert results(tmp_path / "out")["ann", EXERCISE]["engine"] == "unsafe-trusted"


def test_folder_names_are_harmless_and_each_students_own():
    names = ["..", ".", "", "a/b", "a%2Fb", "a", "A\n", "x" * 300, "x" * 301, "é" * 150, "C:\\", "-rf", ".hidden", "%"]
    folders = [folder_name(name) for name in names]
    assert len(set(folders)) == len(names)
    for folder in folders:
        assert (
            folder.isprintable() and "/" not in folder and not folder.startswith(".") and 0 < len(folder.encode()) < 250
        )
    assert folder_name("Zoë O'Neil") == "Zoë O'Neil"


@needs_jail
def test_trusted_notebooks_get_the_same_grades_without_a_jail(handed_in, table, tmp_path):
    run = autograder("grade", handed_in, "--out", tmp_path / "out", "--seed", "x", "--unsafe-trusted")
    assert run.returncode == 0 and "no jail" in run.stderr
    assert (tmp_path / "out" / "grades.csv").read_bytes() == table
