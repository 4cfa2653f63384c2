"""What runs inside the jail: a warm Python that forks for each submission, and the fork that runs the student's code.

Started as a script (`python worker.py CONTROL_FD SITE`) with nothing of the course beside it but `protocol.py`.
The *zygote* imports what it is told (NumPy, and SciPy for the notebooks that speak of it), then obeys its control socket:
`fork` (with one end of a fresh socket pair for the child) and `stop` (kill whatever the submission left, reap it, report
how it ended). The *child* gives up the control socket, takes on the limits and the system-call filter, and only then reads
what its own socket asks: `load` the notebook's cells, `call` a function. It holds no test, no expected value and no other
submission, so whatever student code does to it can only change its own answers.
"""

import ast
import builtins
import contextlib
import ctypes
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import pickle
import re
import resource
import signal
import socket
import struct
import sys
import time
import types

import protocol

MEMORY = 1024 << 20  # bytes of address space, of which NumPy and SciPy take some 200 MB
CPU = 120  # seconds in all; the grader's own clocks are tighter
TASKS = 1024  # threads; the kernel counts those of the jail's user, and none of root's
REPEAT = 1.0  # seconds of CPU; a call that took longer is not made a second time at once
TEXT = 200  # characters of an error message that are kept

# Shown, drawn and animated by students, needed by none of the exercises: do-nothing stand-ins keep their cells running.
ABSENT = ("IPython", "matplotlib", "ipywidgets", "seaborn", "google")  # the last for google.colab
_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_HARMLESS_MAGICS = ("%%time", "%%timeit", "%%capture")
_MAGIC = re.compile(r"\s*(?:[%!?]|[\w, ]+=\s*[%!]|[\w.]+\?{1,2}\s*$)")


# ---- the zygote -----------------------------------------------------------------------------------------------------


def zygote(control: socket.socket) -> None:
    """Import, then fork and clean up as told, until the grader hangs up."""
    program = control.recv(1 << 16)
    _warm_up(control.recv(1 << 12).decode().split())
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE off: a child, of the same user, cannot look into this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader
    # In a child these lead to /dev/null. Not Python's own: what a child closes is then no descriptor.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    gc.collect()
    gc.freeze()
    control.send(b"ready")
    child = 0
    while True:
        order, fds, _, _ = socket.recv_fds(control, 16, 1)
        if order == b"fork":
            child = os.fork()
            if child == 0:
                _become_child(control, fds[0], program, libc)
            os.close(fds[0])
        elif order in (b"stop", b"ended"):
            control.send(json.dumps(_clean_up(child, patience=1.0 if order == b"ended" else 0.0)).encode())
            child = 0
        else:
            if child:
                _clean_up(child)
            os._exit(0)


def _warm_up(modules: list[str]) -> None:
    for name in modules:
        importlib.import_module(name)
    numpy = sys.modules["numpy"]
    # One product starts OpenBLAS's buffers here, once, instead of in every child.
    numpy.ones((8, 8)) @ numpy.ones((8, 8))


def _clean_up(child: int, patience: float = 0.0) -> dict:
    """Kill every process but this one, wait for them all, and say which signal had ended the child before, if any.

    A child that is about to end has `patience` seconds for it.
    """
    status = _status(child, patience)
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # everything else in this PID namespace
    elif status is None:
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return {"signal": os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else 0}


def _status(child: int, patience: float) -> int | None:
    ends = time.monotonic() + patience
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            # At its limit of CPU time the kernel kills it, with the signal of an operator: say the limit's own.
            return signal.SIGXCPU if used.ru_utime + used.ru_stime > CPU - 1 else status
        if time.monotonic() >= ends:
            return None
        time.sleep(0.005)


def _become_child(control: socket.socket, fd: int, program: bytes, libc: ctypes.CDLL) -> None:
    """Everything between the fork and the first order; ends the process, never returns."""
    try:
        libc.prctl(
            1, signal.SIGKILL, 0, 0, 0
        )  # PR_SET_PDEATHSIG: with the zygote, also where there is no PID namespace
        control.close()
        os.dup2(fd, 3)
        null = os.open("/dev/null", os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.closerange(4, 4096)
        # A first byte: the kernel attaches this process's id, by which the grader reads its CPU clock.
        os.write(3, b"!")
        for limit, bounds in (
            (resource.RLIMIT_AS, (MEMORY, MEMORY)),
            (resource.RLIMIT_CPU, (CPU, CPU + 5)),  # first a signal that says so
            (resource.RLIMIT_FSIZE, (0, 0)),
            (resource.RLIMIT_CORE, (0, 0)),
            (resource.RLIMIT_NOFILE, (32, 32)),
            (resource.RLIMIT_MEMLOCK, (0, 0)),
            (resource.RLIMIT_MSGQUEUE, (0, 0)),
            (resource.RLIMIT_NPROC, (TASKS, TASKS)),
        ):
            resource.setrlimit(limit, bounds)
        _filter_system_calls(program, libc)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        serve(3)
    finally:
        os._exit(70)


def _filter_system_calls(program: bytes, libc: ctypes.CDLL) -> None:
    """Install the grader's BPF program for good. An empty one (only with `--unsafe-trusted`) installs nothing."""
    if not program:
        return
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of 8-byte instructions, padding, where they are.
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, header, 0, 0):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        os._exit(71)


# ---- the child ------------------------------------------------------------------------------------------------------


def serve(fd: int) -> None:
    """Answer one request after the other until the grader hangs up."""
    notebook = Notebook()
    while True:
        document, buffers = _read_frame(fd)
        request = protocol.decode(document)
        if request["op"] == "load":
            reply, out = notebook.load(request["cells"], request["functions"]), []
        else:
            reply, out = notebook.call(request, buffers)
        reply["id"] = request["id"]
        try:
            frame = protocol.encode(reply, out)
        except protocol.ProtocolError:
            too_large = {"t": [{"f": "value_beyond_the_size_limit"}, None]}
            frame = protocol.encode({"id": request["id"], "result": too_large, "operations": 0}, [])
        view = memoryview(frame)
        while view:
            view = view[os.write(fd, view) :]


_received = memoryview(bytearray(1 << 16))  # made before the fork, because it costs more than what it receives


def _read_frame(fd: int) -> tuple[bytes, bytes]:
    """The JSON and the buffers of the next request; nothing follows it before it is answered."""
    data, wanted, document = bytearray(), protocol.HEAD.size, 0
    while len(data) < wanted:
        got = os.readv(fd, [_received])
        if not got:
            os._exit(0)
        data += _received[:got]
        if not document and len(data) >= protocol.HEAD.size:
            document, body = protocol.lengths(data[: protocol.HEAD.size])
            wanted += document + body
    start = protocol.HEAD.size + document
    return bytes(data[protocol.HEAD.size : start]), bytes(data[start:])


class Notebook:
    """The student's notebook: its cells, run in order in one namespace, and calls of what they define."""

    def __init__(self) -> None:
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.names = vars(module)
        self.names.update(display=_nothing, get_ipython=_Absent)
        checks = types.ModuleType("checks")  # the students' own checker: not here, and not needed
        checks.check = _nothing
        sys.modules["checks"] = checks
        sys.meta_path.append(_AbsentFinder())
        builtins.input = _no_input

    def load(self, cells: list, functions: list) -> dict:
        """Run the cells; a cell that raises does not stop the next one, as in Jupyter.

        Returns the parameters of each wanted function ("name", "name=" with a default, "*name"; None: not defined,
        False: not callable) and the events of the run as (cell number, "skipped" | "error", text). No hidden input
        exists yet, so the texts give none away.
        """
        events: list[list] = []
        for number, source in cells:
            try:
                self._run(number, source, events)
            except BaseException as error:
                events.append([number, "error", _describe(error)])
        return {"functions": {name: self._parameters(name) for name in functions}, "events": events[:50]}

    def _run(self, number: int, source: str, events: list) -> None:
        try:
            tree = ast.parse(source)  # first: a line of a long expression may well begin with `%`
        except (SyntaxError, ValueError):
            source, skipped = without_magics(source)
            events.extend([number, "skipped", _readable(line)] for line in skipped)
            tree = ast.parse(source)
        if not only_checks(tree):
            exec(compile(tree, f"<cell {number}>", "exec"), self.names)

    def _parameters(self, name: str) -> object:
        if name not in self.names:
            return None
        if not callable(self.names[name]):
            return False
        try:
            parameters = inspect.signature(self.names[name]).parameters.values()
            return [_STARS.get(p.kind, "") + p.name[:60] + "=" * (p.default is not p.empty) for p in parameters][:20]
        except BaseException:
            return []  # callable, but it does not tell

    def call(self, request: dict, buffers: bytes) -> tuple[dict, list[bytes]]:
        """Call one function, once or twice. The reply has what each call came to, or the first error.

        The second is True when it came to the very same, and None when there was none: the limit is for one call, so
        a slow function is not called again before it is asked for again.
        """
        function = self.names.get(request["function"])
        counter = Counter() if request["count"] else contextlib.nullcontext()
        arguments = protocol.unpack(request["arguments"], memoryview(buffers))
        sent, started, again = pickle.dumps(arguments, 5), time.process_time(), None
        try:
            result, out = _outcome(function, arguments, sent, counter)
            if request["twice"] and time.process_time() - started < REPEAT:
                again, more = _outcome(function, pickle.loads(sent), sent, counter)
                if more == out and json.dumps(again) == json.dumps(result):
                    again = True
                else:
                    out = out + more
        except _CallError as error:
            return error.reply, []
        return {"result": result, "again": again, "operations": counter.operations if request["count"] else 0}, out


def _outcome(function: object, arguments: tuple, sent: bytes, counter: object) -> tuple[dict, list[bytes]]:
    """The value of one call and the arguments after it (None: unchanged), packed. Raises _CallError."""
    args, kwargs = arguments
    try:
        with counter:
            value = function(*args, **kwargs)
    except BaseException as error:
        # One frame only: the call itself did not fit the signature.
        binding = error.__traceback__.tb_next is None
        raise _CallError({"error": _builtin_name(error), "binding": binding}) from None
    changed, buffers = (None, []) if _pickles_to(arguments, sent) else protocol.pack(arguments)
    packed, out = protocol.pack(value)
    return {"t": [packed, changed]}, out + buffers


def _pickles_to(arguments: tuple, sent: bytes) -> bool:
    """Whether the arguments are what they were: the quickest look at every value and type in them."""
    try:
        return pickle.dumps(arguments, 5) == sent
    except BaseException:  # something was put into them that cannot be pickled
        return False


class _CallError(Exception):
    """A call that raised, as the reply to it."""

    def __init__(self, reply: dict) -> None:
        self.reply = reply


class Counter:
    """Counts the bytecode operations that the notebook's own code executes, NumPy's and the library's not included."""

    operations = 0

    def __enter__(self) -> "Counter":
        sys.settrace(self._enter_frame)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _enter_frame(self, frame: types.FrameType, event: str, arg: object) -> object:
        if not frame.f_code.co_filename.startswith("<cell "):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._count

    def _count(self, frame: types.FrameType, event: str, arg: object) -> object:
        self.operations += event == "opcode"
        return self._count


def only_checks(tree: ast.Module) -> bool:
    """Whether a cell does nothing but call `check(...)`: such cells are for the student, not part of the answer."""
    return bool(tree.body) and all(
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Call)
        and isinstance(line.value.func, ast.Name)
        and line.value.func.id == "check"
        for line in tree.body
    )


def without_magics(source: str) -> tuple[str, list[str]]:
    """A cell that is no Python without what only IPython understands, and the lines left out."""
    lines, skipped = source.split("\n"), []
    if lines[0].startswith("%%") and not lines[0].startswith(_HARMLESS_MAGICS):
        return "", [lines[0]]
    for position, line in enumerate(lines):
        if _MAGIC.match(line):
            skipped.append(line.strip())
            lines[position] = line[: len(line) - len(line.lstrip())] + "pass"
    return "\n".join(lines), skipped


def _describe(error: BaseException) -> str:
    """The error as a student reads it under a cell: its type and message, of bounded length."""
    name = str(type(error).__name__)[:60]
    try:
        syntax = isinstance(error, SyntaxError)
        text = f"{error.msg}, line {error.lineno} of the cell" if syntax else str(error)
    except BaseException:
        text = ""
    return _readable(f"{name}: {text}" if text else name)


def _readable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:TEXT])


_BUILTIN_ERRORS = {e for e in vars(builtins).values() if isinstance(e, type) and issubclass(e, BaseException)}


def _builtin_name(error: BaseException) -> str:
    """The name of the nearest built-in exception class: a class of the student's own could carry a message out."""
    return next(c.__name__ for c in type.mro(type(error)) if c in _BUILTIN_ERRORS)


def _nothing(*args: object, **kwargs: object) -> None:
    return None


def _no_input(prompt: object = "") -> str:
    raise EOFError("input() cannot be answered while grading")


class _Absent(types.ModuleType):
    """A module that is not here: whatever is read from it, called or looped over is again nothing."""

    __path__: tuple = ()

    def __init__(self, name: str = "absent", *args: object, **kwargs: object) -> None:
        super().__init__(str(name))

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(name)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return _Absent()

    def __iter__(self) -> object:
        return iter((_Absent(), _Absent()))  # `figure, axes = plt.subplots()`

    def __getitem__(self, key: object) -> object:
        return _Absent()

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def __enter__(self) -> object:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class _SiteFinder(importlib.abc.MetaPathFinder):
    """Finds NumPy and SciPy in a folder whose other packages are not to be seen, nor even listed."""

    def __init__(self, site: str) -> None:
        self.site = site

    def find_spec(self, name: str, path: object = None, target: object = None):
        if name not in ("numpy", "scipy"):
            return None
        folder = f"{self.site}/{name}"
        return importlib.util.spec_from_file_location(
            name, f"{folder}/__init__.py", submodule_search_locations=[folder]
        )


class _AbsentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: object = None, target: object = None):
        if name.partition(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Absent(spec.name)

    def exec_module(self, module) -> None:
        pass


if __name__ == "__main__":
    _, descriptor, site = sys.argv
    sys.meta_path.append(_SiteFinder(site))
    sys.argv[:], sys.path[:1] = [""], []  # of no concern to student code: the command line, and where this file is
    zygote(socket.socket(fileno=int(descriptor)))
