"""The grader's side of a jail: start the worker, open a session for one submission, ask, time, clean up.

A `Jail` owns one warm worker. A `Session` is one submission's process inside it: `load` the cells once, `call`
functions, each within a deadline, until the session is closed. Whatever the process sends that is not the one answer
due to the question asked ends the session.
"""

import contextlib
import json
import secrets
import select
import signal
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from subprocess import Popen, TimeoutExpired

from autograder.jail import protocol, seccomp

CALL_SECONDS = 5.0  # of CPU, as the statements promise
LOAD_SECONDS = 10.0  # of CPU, for the whole notebook
WALL_FACTOR = 3  # a busy machine may take this many times longer before the clock on the wall counts
MAX_EVENTS = 50  # remarks on cells; the worker sends no more
START_SECONDS = 120.0  # a cold disk may need long for NumPy and SciPy
# What a worker imports for all: the setup cell of every notebook asks for the second. SciPy's second one brings its own
# OpenBLAS.
BASE = ("numpy", "urllib.request")
SCIPY = (*BASE, "scipy.special", "scipy.linalg")
WORKER_SECONDS = 20.0  # fork and clean-up, on a machine under heavy load


class JailBroken(RuntimeError):
    """The jail itself failed: our fault or the machine's, never the submission's."""


class SessionEnded(Exception):
    """The submission's process is gone or cannot be trusted to answer any more."""


class TimedOut(SessionEnded):
    """The request took longer than its limit."""


class Crashed(SessionEnded):
    """The process sent what is no answer to the question."""


class Died(Crashed):
    """The process is gone."""


@dataclass(frozen=True)
class Answer:
    """What a call came to: a value and the arguments after it, or the name of a built-in exception."""

    value: object = None
    arguments: tuple[list, dict] | None = None  # None: unchanged
    operations: int = 0
    error: str = ""
    binding: bool = False  # the call did not fit the function's signature


class Jail:
    """Warm workers, started by `launch(control_fd, stderr_fd) -> Popen`, and one session at a time in them.

    A fork takes the longer the more has been imported, and few exercises need SciPy: so it waits in a second worker,
    which starts with the first notebook that asks for it. `filtered=False` leaves the system-call filter out, for
    `--unsafe-trusted` on systems that have none. Raises `JailBroken` when a worker does not come up.
    """

    def __init__(self, launch: Callable[[int, int], Popen], filtered: bool = True) -> None:
        self._launch, self._filtered = launch, filtered
        self.workers = {False: Worker(launch, filtered)}

    def session(self, scipy: bool = False) -> "Session":
        """A fresh process for one submission, with SciPy imported if asked. Raises `JailBroken` when there is none."""
        if scipy not in self.workers:
            self.workers[scipy] = Worker(self._launch, self._filtered, SCIPY)
        return self.workers[scipy].session()

    def close(self) -> None:
        """End the workers and everything in them."""
        for worker in self.workers.values():
            worker.close()


class Worker:
    """A warm process that has imported `modules` and forks for each submission. Raises as `Jail` does."""

    def __init__(self, launch: Callable[[int, int], Popen], filtered: bool, modules: Sequence[str] = BASE) -> None:
        try:
            program = seccomp.program() if filtered else b""
        except seccomp.SeccompMissing as error:
            raise JailBroken(f"the jail did not start: {error}") from error
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with tempfile.TemporaryFile() as complaints, theirs:
            try:
                self.process = launch(theirs.fileno(), complaints.fileno())
            except OSError as error:
                self.control.close()
                raise JailBroken(f"the jail did not start: {error}") from error
            theirs.close()
            self.control.settimeout(START_SECONDS)
            try:
                self.control.send(program)
                self.control.send(" ".join(modules).encode())
                ready = self.control.recv(16) == b"ready"
            except OSError:
                ready = False
            if not ready:
                self.close()
                complaints.seek(0)
                text = complaints.read(20_000).decode(errors="replace").strip().rpartition("\n")[2]
                raise JailBroken(f"the jail did not start: {text or 'no reason given'}")
        self.control.settimeout(WORKER_SECONDS)

    def session(self) -> "Session":
        """A fresh process for one submission. Raises `JailBroken` when the worker does not provide one."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with theirs:
                # From here on the kernel attaches the sender's process id to what it sends.
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
                socket.send_fds(self.control, [b"fork"], [theirs.fileno()])
            ours.settimeout(WORKER_SECONDS)
            byte, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(12))
            if byte != b"!" or not ancillary:
                raise JailBroken("the worker started no process")
            pid = struct.unpack("3i", ancillary[0][2])[0]
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
            ours.setblocking(False)
        except OSError as error:
            ours.close()
            raise JailBroken(f"the worker started no process: {error}") from error
        return Session(self, ours, pid)

    def clean(self, ended: bool) -> int:
        """Kill what the submission left in the jail; the signal that had `ended` its process before, or 0."""
        try:
            self.control.send(b"ended" if ended else b"stop")
            return json.loads(self.control.recv(256))["signal"]
        except (OSError, ValueError, KeyError) as error:
            raise JailBroken("the worker did not clean up") from error

    def close(self) -> None:
        """End the worker and everything in it."""
        self.control.close()  # an idle worker ends now
        for seconds in (1.0, WORKER_SECONDS):
            with contextlib.suppress(TimeoutExpired):
                self.process.wait(seconds)
                return
            self.process.kill()


class Session:
    """One submission's process. Closing it kills the process and all it started."""

    def __init__(self, worker: Worker, channel: socket.socket, pid: int) -> None:
        self.worker, self.channel = worker, channel
        self.clock = (~pid << 3) | 2  # the kernel's id of that process's CPU clock
        self.ended: SessionEnded | None = None

    def close(self) -> None:
        """Kill the process and all it started.

        Raises
        ------
        JailBroken
            When the worker does not say that it did, or when the process had been killed by somebody else: the filter
            lets no student code kill itself, so this was an operator, or the kernel short of memory.
        """
        self.channel.close()
        if self.worker.clean(isinstance(self.ended, Died)) == signal.SIGKILL:
            raise JailBroken("the notebook's process was killed from outside; is the machine short of memory?")

    def load(self, cells: list[tuple[int, str]], functions: list[str]) -> dict:
        """Run the notebook; see the worker's `load` for what comes back.

        Raises
        ------
        TimedOut, Crashed
            The session is over then, and says the same to whatever else is asked.
        """
        reply, _ = self._ask({"op": "load", "cells": cells, "functions": functions}, [], LOAD_SECONDS)
        found, events = reply.get("functions"), reply.get("events")
        if type(found) is not dict or set(found) != set(functions) or type(events) is not list:
            self._end(Crashed("an answer that is none"))
        if not all(_are_parameters(parameters) for parameters in found.values()):
            self._end(Crashed("an answer that is none"))
        return {"functions": found, "events": [event for event in events[:MAX_EVENTS] if _is_event(event)]}

    def call(self, function: str, args: tuple, kwargs: dict, count: bool = False) -> Answer:
        """Call a function of the notebook with plain data, counting its operations on request.

        Raises
        ------
        TimedOut, Crashed
            The session is over then, and says the same to whatever else is asked.
        """
        return self._call(function, args, kwargs, count=count)[0]

    def call_twice(self, function: str, args: tuple, kwargs: dict) -> tuple[Answer, Answer]:
        """What `call` answers, and what it answers again, in one exchange if the first is quick. Raises alike."""
        first, second = self._call(function, args, kwargs, twice=True)
        return first, second or self.call(function, args, kwargs)

    def _call(
        self, function: str, args: tuple, kwargs: dict, count: bool = False, twice: bool = False
    ) -> tuple[Answer, Answer | None]:
        packed, buffers = protocol.pack((list(args), kwargs))
        request = {"op": "call", "function": function, "arguments": packed, "count": count, "twice": twice}
        reply, body = self._ask(request, buffers, CALL_SECONDS)
        if "error" in reply:
            error = reply["error"]
            if type(error) is not str or not error.isidentifier() or len(error) > 40:
                self._end(Crashed("an answer that is none"))
            answer = Answer(error=error, binding=reply.get("binding") is True)
            return answer, answer
        try:
            result, again = protocol.unpack({"t": [reply.get("result"), reply.get("again")]}, body)
        except (protocol.ProtocolError, RecursionError) as error:
            self._end(Crashed(str(error)))
        operations = reply.get("operations")
        if type(operations) is not int:
            self._end(Crashed("an answer that is none"))
        first = self._answer(result, operations)
        if again is None or again is True:
            return first, first if again else None
        return first, self._answer(again, operations)

    def _answer(self, outcome: object, operations: int) -> Answer:
        """A call's value and the arguments after it, as the worker sent them."""
        if type(outcome) is not tuple or len(outcome) != 2:
            self._end(Crashed("an answer that is none"))
        value, arguments = outcome
        if arguments is not None:
            fits = type(arguments) is tuple and [type(part) for part in arguments] == [list, dict]
            arguments = arguments if fits else ([], {})  # whatever they are, they are not what was sent
        return Answer(value, arguments, operations)

    def _ask(self, request: dict, buffers: list[bytes], limit: float) -> tuple[dict, memoryview]:
        if self.ended:
            raise self.ended
        nonce = request["id"] = secrets.token_hex(16)
        deadline = _Deadline(self.clock, limit)
        try:
            if self._readable():
                raise Crashed("an answer before the question")
            self._write(protocol.encode(request, buffers), deadline)
            frame, size = self._read_frame(deadline)
            reply = protocol.decode(bytes(frame[:size]))
            if reply.get("id") != nonce:
                raise Crashed("an answer to another question")
        except protocol.ProtocolError as error:
            self._end(Crashed(str(error)))
        except OSError:
            self._end(Died("the process ended"))
        except SessionEnded as error:
            self._end(error)
        return reply, frame[size:]

    def _end(self, error: SessionEnded) -> None:
        self.ended = error
        raise error

    def _readable(self) -> bool:
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        return bool(poll.poll(0))

    def _write(self, data: bytes, deadline: "_Deadline") -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[self.channel.send(view) :]
            except BlockingIOError:
                deadline.wait(self.channel, select.POLLOUT)

    def _read_frame(self, deadline: "_Deadline") -> tuple[memoryview, int]:
        """One frame without its head, and how many of its bytes are JSON. Not a byte more may have come with it."""
        data, wanted, document = bytearray(), protocol.HEAD.size, 0
        while len(data) < wanted:
            deadline.wait(self.channel, select.POLLIN)
            got = self.channel.recv_into(_received)
            if not got:
                raise Died("the process ended")
            data += _received[:got]
            if not document and len(data) >= protocol.HEAD.size:
                document, body = protocol.lengths(data[: protocol.HEAD.size])
                wanted += document + body
        if len(data) != wanted:
            raise Crashed("more than one answer")
        return memoryview(data)[protocol.HEAD.size :], document


_received = memoryview(bytearray(1 << 16))  # one for all, because a fresh one would cost more than what it receives


class _Deadline:
    """`limit` seconds of the process's CPU time, or `WALL_FACTOR` times as many by the clock on the wall."""

    def __init__(self, clock: int, limit: float) -> None:
        self.clock, self.limit = clock, limit
        self.started, self.used = time.monotonic(), self._cpu()
        self.next_look = self.started + limit

    def _cpu(self) -> float:
        try:
            return time.clock_gettime(self.clock)
        except OSError:
            return 0.0  # the process has ended; the channel will say so

    def wait(self, channel: socket.socket, events: int) -> None:
        """Return when the channel is ready. Raises `TimedOut` when the time is up first."""
        poll = select.poll()
        poll.register(channel, events)
        while True:
            now = time.monotonic()
            ready = poll.poll(max(0.0, self.next_look - now) * 1000)
            if ready and time.monotonic() < self.next_look:
                return
            left = self.limit - (self._cpu() - self.used)
            wall_left = self.started + WALL_FACTOR * self.limit - time.monotonic()
            if left <= 0 or wall_left <= 0:
                raise TimedOut(f"more than {self.limit:g} s")
            self.next_look = time.monotonic() + min(max(left, 0.02), wall_left)


def _are_parameters(value: object) -> bool:
    """A list of parameters as the worker writes them, or None or False where there is no function."""
    if value is None or value is False:
        return True
    return type(value) is list and all(type(p) is str and p.strip("*=").isidentifier() and len(p) < 80 for p in value)


def _is_event(event: object) -> bool:
    return (
        type(event) is list
        and [type(part) for part in event] == [int, str, str]
        and event[1] in ("skipped", "error")
        and all(c.isprintable() for c in event[2])
        and len(event[2]) <= 300
    )
