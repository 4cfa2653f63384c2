"""One parallel slot of a run: a process of its own that holds one jail and grades one submission after the other.

`Slot` is the outside and may live in any thread; `python -m autograder.slot FD` is the inside. Only the grader's own
data travels between them. A slot that dies, or whose jail breaks, costs nothing but the submission it was on, which is
given to a fresh one once more.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection

from autograder.catalog import ROOT
from autograder.jail import open_jail
from autograder.jail.session import Jail, JailBroken
from autograder.task import Task, failed

SUBMISSION_SECONDS = 300.0  # by the clock on the wall; a slot that takes longer hangs: the engine's limits are tighter
GRACE_SECONDS = 2.0  # to end in order


class SlotLost(RuntimeError):
    """The slot's process is gone, hangs, or its jail broke."""


class Slot:
    """A grading process, started at once and ready for its first task before it is up."""

    def __init__(self, engine: str) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "autograder.slot", str(theirs.fileno()), engine],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
            )
        self.connection = Connection(ours.detach())

    def send(self, task: Task) -> None:
        """Hand over a task. Whether the slot is still there to take it, `receive` says."""
        with contextlib.suppress(OSError):
            self.connection.send(task)

    def receive(self) -> dict:
        """The result of the task in hand. Raises SlotLost."""
        try:
            kind, content = self.connection.recv()
        except (OSError, EOFError) as error:
            raise SlotLost("the grading process ended") from error
        if kind == "broken":
            raise SlotLost(content)
        return content

    def close(self) -> None:
        """End the process and its jail, whatever they are doing."""
        self.connection.close()
        try:
            self.process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _serve(connection: Connection, engine: str) -> None:
    """The inside: grade what comes, in one jail, until the run hangs up."""
    from autograder import engine as grading  # brings otter, which takes its time

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
            reply = ("result", failed(task, engine, f"The grader itself failed here:\n{error}"))
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the run's to answer
    descriptor = int(sys.argv[1])
    threading.Thread(target=_die_with, args=(descriptor,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        _serve(Connection(descriptor), sys.argv[2])
