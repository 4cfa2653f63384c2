"""On a Dask cluster the grades are the same, also when a worker is killed in the middle."""

import os
import signal
import threading
import time

import pytest
from grading import autograder, hand_in, needs_jail, notebook

distributed = pytest.importorskip("distributed")
pytestmark = [needs_jail, pytest.mark.usefixtures("jail_works"), pytest.mark.slow]
STUDENTS = 12


@pytest.fixture
def handed_in(tmp_path):
    for number in range(STUDENTS):
        source = f"def vit_param_count(cfg):\n    return {number} + cfg['n_classes'] * (cfg['d'] + 1)\n"
        hand_in(tmp_path / "class", f"student-{number:02}", "vit_param_count", notebook(source))
    return tmp_path / "class"


@pytest.fixture
def cluster(tmp_path):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "local_directory": tmp_path / "dask"}
    with distributed.LocalCluster(**options) as running:
        yield running


def test_a_killed_worker_costs_nothing(handed_in, cluster, tmp_path):
    here = autograder("grade", handed_in, "--out", tmp_path / "here", "--seed", "x")
    assert here.returncode == 0, here.stderr
    victim = next(iter(cluster.workers.values())).pid

    def kill() -> None:
        out, ends = tmp_path / "there" / "results", time.monotonic() + 300
        while not (out.is_dir() and any(out.iterdir())) and time.monotonic() < ends:
            time.sleep(0.02)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    address = cluster.scheduler_address
    there = autograder("grade", handed_in, "--out", tmp_path / "there", "--seed", "x", "--scheduler", address)
    killer.join(timeout=1)
    assert there.returncode == 0, there.stderr
    assert (tmp_path / "there" / "grades.csv").read_bytes() == (tmp_path / "here" / "grades.csv").read_bytes()


def test_an_address_without_a_scheduler_is_one_sentence(handed_in, tmp_path):
    run = autograder("grade", handed_in, "--out", tmp_path / "out", "--scheduler", "tcp://127.0.0.1:9")
    assert run.returncode == 1
    assert run.stderr.startswith("autograder: no Dask scheduler answers at tcp://127.0.0.1:9")
    assert "Traceback" not in run.stderr
