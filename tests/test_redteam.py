"""No hostile notebook gains a point, reaches what it wanted, hangs past its limit, or changes the next one's grade."""

from pathlib import Path

import pytest
from grading import needs_jail
from redteam import Attack, attacks, grade, play

from autograder.catalog import ROOT
from autograder.jail import bwrap, open_jail, session

pytestmark = [needs_jail, pytest.mark.usefixtures("jail_works")]
RIGHT = (
    "def vit_param_count(cfg):\n"
    "    d, d_ff, K = cfg['d'], cfg['d_ff'], cfg['n_classes']\n"
    "    rows = (cfg['img'] // cfg['P']) ** 2 + 2 * cfg['cls_token'] + cfg['n_registers']\n"
    "    blocks = cfg['L'] * (4 * d * d + 2 * d * d_ff + d_ff + 9 * d)\n"
    "    return cfg['P'] ** 2 * cfg['C'] * d + d + rows * d + blocks + 2 * d + d * K + K\n",
)


@pytest.fixture(scope="module", params=["bwrap", "landlock"])
def jail(request):
    """One warm worker for all attacks, with short limits: an attack that stalls does so for a second."""
    patch = pytest.MonkeyPatch()
    patch.setattr(session, "CALL_SECONDS", 0.3)
    patch.setattr(session, "LOAD_SECONDS", 0.6)
    try:
        opened = open_jail(request.param)
    except session.JailBroken as reason:
        pytest.skip(f"no {request.param} jail here: {reason}")
    yield opened, request.param
    opened.close()
    patch.undo()


def files() -> dict[Path, tuple[int, int]]:
    """Size and time of change of what a jail shows of this machine."""
    folders = [ROOT / "exercises", bwrap.HERE, bwrap.site_packages() / "numpy"]
    stats = {path: path.stat() for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


@pytest.fixture(scope="module")
def files_before():
    return files()


def inside(jail: session.Jail) -> set[str]:
    """The process ids below the jail's own: what is left when a submission is over is the worker alone."""
    below, look = set(), [str(worker.process.pid) for worker in jail.workers.values()]
    while look:
        for task in Path("/proc", look.pop(), "task").glob("*/children"):
            found = set(task.read_text().split()) - below
            below |= found
            look += found
    return below


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_attack(files_before, jail, attack: Attack):
    opened, kind = jail
    workers = inside(opened)
    outcome = play(attack, opened, kind)
    assert outcome.points == 0
    assert not outcome.reached
    assert outcome.status == attack.status or attack.status == "any"
    assert "Stolen" not in outcome.messages and "script" not in outcome.messages
    assert outcome.messages.replace("\n", " ").isprintable()
    assert inside(opened) == workers
    assert grade(RIGHT, opened, kind)["score"] == 15


def test_the_corpus_is_large_and_its_names_are_its_own():
    names = [attack.name for attack in attacks()]
    assert len(names) == len(set(names)) >= 40


def test_nothing_was_written(jail, files_before):
    """Runs last: what the jails can see is as it was before the first attack, and so is shared memory."""
    assert files() == files_before
    assert not Path("/dev/shm/left").exists()
