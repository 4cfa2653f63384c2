"""The second choice of jail, where user namespaces are forbidden: Landlock, no capabilities, and the same filter.

The worker is an ordinary process that has given up every file but those that bubblewrap would show it, and every
capability; where it was started by root it becomes nobody. It is not alone in its PID namespace, so that it cannot
signal, trace or talk to other processes rests on the system-call filter: one wall where bubblewrap has two.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from autograder.catalog import ROOT
from autograder.jail import bwrap

NOBODY = 65534
_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_SET_PDEATHSIG = 24, 28, 1
_SECUREBITS = (
    0b10111111  # root is a user like any other, for good: NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, locked
)


def start(control_fd: int, stderr: int) -> subprocess.Popen:
    """Start a worker behind Landlock. It finds its control socket at `control_fd`; `stderr` takes complaints."""
    return subprocess.Popen(
        [sys.executable, "-c", "from autograder.jail.landlocked import main; main()", str(control_fd)],
        pass_fds=[control_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        cwd=ROOT,
    )


def readable() -> list[Path]:
    """The files and folders that student code may read."""
    files = [bwrap.HERE / "worker.py", bwrap.HERE / "protocol.py", Path("/dev/null"), Path("/dev/urandom")]
    files += [Path(bwrap.interpreter()), Path("/etc/ld.so.cache")]
    files += [bwrap.site_packages() / name for name in bwrap.PACKAGES]
    files += [ROOT / "exercises" / name for name in bwrap.BESIDE_NOTEBOOK]
    for folder in bwrap.libraries():
        files += _without_packages(folder)
    return [path for path in files if path.exists()]


def _without_packages(folder: Path) -> Iterator[Path]:
    """`folder` piece by piece without installed packages, because Landlock can only add to what is allowed."""
    packages = [*folder.glob("python3*/*-packages"), *folder.glob("*-packages")]
    if not packages:
        yield folder
        return
    for entry in folder.iterdir():
        if entry in packages:
            continue
        if any(entry in path.parents for path in packages):
            yield from _without_packages(entry)
        else:
            yield entry


def listable() -> list[Path]:
    """The folders whose names Python must see to find a module. What is in them stays closed."""
    return [folder for folder in [*bwrap.libraries(), bwrap.HERE, ROOT / "exercises"] if folder.exists()]


def shut() -> None:
    """Give up every right that is not needed, for this process and whatever it becomes.

    Raises
    ------
    OSError
        When the kernel has no Landlock.
    """
    from landlock import FSAccess, Ruleset

    rules = Ruleset()
    for path in readable():
        read = FSAccess.READ_FILE | FSAccess.EXECUTE
        rules.allow(path, rules=read | FSAccess.READ_DIR if path.is_dir() else read)
    rules.allow("/dev/null", rules=FSAccess.READ_FILE | FSAccess.WRITE_FILE)
    rules.allow(*listable(), rules=FSAccess.READ_DIR)
    if os.geteuid() == 0:
        _become_nobody()
    rules.apply()


def _become_nobody() -> None:
    """Leave root behind: no capabilities now or later, and another user where what is needed is open to all."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_SECUREBITS, _SECUREBITS, 0, 0, 0)
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    if all(_open_to_all(path) for path in readable()):
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    else:
        _drop_capabilities(libc)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    if libc.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError("capabilities cannot be dropped")


def _open_to_all(path: Path) -> bool:
    return path.stat().st_mode & 0o4 and all(folder.stat().st_mode & 0o1 for folder in path.resolve().parents)


def main() -> None:
    """The launcher: shut everything, then become the worker."""
    control_fd = sys.argv[1]
    parent = os.getppid()
    shut()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)
    if os.getppid() != parent:
        return
    os.chdir(ROOT / "exercises")
    worker = [bwrap.interpreter(), "-S", "-s", "-E", "-B", str(bwrap.HERE / "worker.py"), control_fd]
    os.execve(worker[0], [*worker, str(bwrap.site_packages())], bwrap.ENVIRONMENT)
