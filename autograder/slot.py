"""One parallel slot of a run: a process of its own that holds one jail and grades one submission after the other.

`Slot` is the outside and may live in any thread; `python -m autograder.slot FD` is the inside. Only the grader's own
data travels between them. A process that dies, or whose jail breaks, costs nothing: its submission is given to a fresh
one once more.
"""

import contextlib
import importlib.machinery
import os
import select
import socket
import subprocess
import sys
import threading
import time
import types
from multiprocessing.connection import Connection

from autograder.catalog import ROOT
from autograder.jail import open_jail
from autograder.jail.session import Jail, JailBroken
from autograder.task import Task, failed

SUBMISSION_SECONDS = 300.0  # by the clock on the wall; a slot that takes longer hangs: the engine's limits are tighter
ATTEMPTS = 2  # a submission on which a process was lost is tried once more
GRACE_SECONDS = 2.0  # to end in order


class SlotLost(RuntimeError):
    """The process is gone, hangs, or its jail broke."""


class Slot:
    """A slot, with its process started at once. `grade` blocks, so each slot belongs to a thread.

    The process stays on `core` if one is given: it and its jail wait for each other in turn, and to wake a process is
    cheapest where its partner just ran.
    """

    def __init__(self, engine: str, core: int | None = None) -> None:
        self.engine, self.core, self.closed = engine, core, False
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "autograder.slot", str(theirs.fileno()), self.engine],
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # its products are tiny
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                process_group=0,  # Ctrl-C is the run's to answer, also while this one is still starting
            )
        if self.core is not None:
            with contextlib.suppress(OSError):  # the core may have been taken from this machine meanwhile
                os.sched_setaffinity(self.process.pid, {self.core})
        self.connection = Connection(ours.detach())

    def grade(self, task: Task) -> dict:
        """The result of `task`. Raises SlotLost when two processes in a row were lost on it."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._ask(task)
            except SlotLost:
                self._end(0)
                if self.closed:
                    raise
                with contextlib.suppress(OSError):  # out of processes: the next attempt finds this one dead
                    self._start()
                if attempt == ATTEMPTS:
                    raise

    def _ask(self, task: Task) -> dict:
        try:
            self.connection.send(task)
            if not self.connection.poll(SUBMISSION_SECONDS):
                raise SlotLost(f"grading took more than {SUBMISSION_SECONDS:g} s")
            kind, content = self.connection.recv()
        except (OSError, EOFError) as error:
            raise SlotLost("the grading process ended") from error
        if kind == "broken":
            raise SlotLost(content)
        return content

    def _end(self, patience: float) -> None:
        """End the process and its jail: an idle one within `patience` seconds by itself."""
        if patience:
            self.connection.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        self.process.kill()
        self.process.wait()
        self.connection.close()

    def close(self) -> None:
        """End the slot, when no thread is in `grade`."""
        self.closed = True
        self._end(GRACE_SECONDS)

    def stop(self) -> None:
        """End the slot amid a submission, from another thread: `grade` raises SlotLost there."""
        self.closed = True
        self.process.kill()


def _import_otter_lightly() -> None:
    """Make `otter.test_files` importable without what otter imports beside it: IPython, pandas and 2 seconds more."""
    for name in ("otter", "otter.test_files"):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = importlib.machinery.PathFinder.find_spec(
            name, getattr(sys.modules.get(name.rpartition(".")[0]), "__path__", None)
        ).submodule_search_locations
    exceptions = importlib.import_module("otter.test_files.exception_test")
    package.ExceptionTestFile, package.test_case = exceptions.ExceptionTestFile, exceptions.test_case


def _serve(connection: Connection, engine: str) -> None:
    """The inside: grade what comes, in one jail, until the run hangs up."""
    _import_otter_lightly()
    from autograder import engine as grading

    jail: Jail | None = None
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            break
        try:
            jail = jail or open_jail(engine)
            reply = ("result", grading.grade(task, jail, engine))
        except JailBroken as error:
            reply = ("broken", str(error))
            if jail:
                jail.close()
            jail = None
        except grading.Failed as error:
            # Its text quotes hidden tests: for the instructor's eyes, not for a result that students may see.
            print(f"{task.student}, {task.exercise}: {error}", file=sys.stderr)
            reply = (
                "result",
                failed(task, engine, "The hidden tests themselves failed here; this is no fault of yours."),
            )
        connection.send(reply)
    if jail:
        jail.close()


def _die_with(fd: int) -> None:
    """End this process, and its jail with it, once the run at the other end of `fd` is gone, also amid a submission."""
    poll = select.poll()
    poll.register(fd, select.POLLRDHUP)
    poll.poll()
    time.sleep(GRACE_SECONDS / 2)  # an idle one closes its jail in order meanwhile
    os._exit(1)


if __name__ == "__main__":
    descriptor = int(sys.argv[1])
    threading.Thread(target=_die_with, args=(descriptor,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        _serve(Connection(descriptor), sys.argv[2])
