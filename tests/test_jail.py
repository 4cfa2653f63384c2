"""The jail shows what it should and nothing else, and the protocol believes nothing that comes out of it."""

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, OrderedDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from grading import Adopted, needs_jail
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from autograder import doctor
from autograder.jail import LAUNCHERS, open_jail, protocol, seccomp, session
from autograder.jail.session import Crashed, Died, JailBroken, Session, TimedOut

FUZZ = settings(
    max_examples=int(os.environ.get("FUZZ", "300")),  # `make soak` sets 10,000
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

# ---- the protocol ----------------------------------------------------------------------------------------------------


def through(value: object) -> object:
    """`value` as it comes out at the other end."""
    packed, buffers = protocol.pack(value)
    frame = protocol.encode({"value": packed}, buffers)
    document, body = protocol.lengths(frame[: protocol.HEAD.size])
    rest = frame[protocol.HEAD.size :]
    assert len(rest) == document + body
    return protocol.unpack(protocol.decode(rest[:document])["value"], memoryview(rest[document:]))


def same(a: object, b: object) -> bool:
    """Equal in value and in exact type, NaN equal to NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    if isinstance(a, (np.ndarray, np.generic)):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


plain = st.none() | st.booleans() | st.integers(-(2**13_000), 2**13_000) | st.floats() | st.text()
dtypes = st.sampled_from(sorted(protocol.DTYPES)).map(np.dtype)
arrays = dtypes.flatmap(lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=4, min_side=0)))
values = st.recursive(
    plain | arrays | arrays.filter(lambda a: a.size).map(lambda a: a.reshape(-1)[0]),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@FUZZ
@given(values)
def test_plain_data_arrives_as_it_was_sent(value):
    assert same(through(value), value)


def test_big_endian_and_strided_arrays_arrive_in_order():
    array = np.arange(24, dtype=">f8").reshape(2, 3, 4)[:, ::-1, ::2]
    arrived = through(array)
    assert arrived.shape == array.shape and (arrived == array).all() and arrived.dtype == np.float64
    arrived += 1  # it is the receiver's own


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Fraction(1, 2), "Fraction"),
        (Decimal(1), "Decimal"),
        (object(), "object"),
        (len, "builtin_function_or_method"),
        (type("Model", (), {})(), "Model"),
        (type("Evil\n<b>", (), {})(), "Evil__b_"),
        (type("int", (int,), {})(3), "int_subclass"),
        (type("ndarray", (), {})(), "ndarray_subclass"),
        (type("Array", (np.ndarray,), {})(3), "Array"),
        (np.ma.masked_array([1.0]), "MaskedArray"),
        (np.array([object()]), "ndarray_subclass"),
        (np.longdouble(1), "longdouble"),
        (np.datetime64("2020-01-01"), "datetime64"),
        (10**5000, "int_of_too_many_digits"),
        ({1: 2}, "dict_with_keys_that_are_not_str"),
        ({type("Key", (str,), {})("a"): 1}, "dict_with_keys_that_are_not_str"),
        ("x" * protocol.MAX_JSON, "str_beyond_the_size_limit"),
        ([0] * (protocol.MAX_ITEMS + 1), "list_beyond_the_size_limit"),
        (np.zeros(protocol.MAX_BUFFERS // 8 + 1), "ndarray_beyond_the_size_limit"),
        ({1, 2}, "set"),
        (3j, "complex"),
        (b"bytes", "bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_anything_else_arrives_as_nothing_but_the_name_of_its_type(value, name):
    arrived = through(value)
    assert isinstance(arrived, protocol.Foreign) and type(arrived).__name__ == name
    assert arrived != 0 and not hasattr(arrived, "__dict__")


@pytest.mark.parametrize("table", [OrderedDict(a=1), defaultdict(int, a=1), Counter("a")])
def test_the_dicts_of_collections_arrive_as_dicts(table):
    assert same(through(table), {"a": 1})


def test_depth_is_cut_off():
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    assert "list" in json.dumps(protocol.pack(deep)[0])
    deep.append(deep)
    through(deep)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["l", "t", "d", "a", "n", "f", "x"]), inner, max_size=2)
        | st.tuples(st.sampled_from(["int8", "float64", "object", "V8"]), st.lists(st.integers(-1, 2**70))).map(
            lambda pair: {"a": list(pair)}
        )
    ),
    max_leaves=12,
)


@FUZZ
@given(json_values, st.binary(max_size=64))
def test_any_json_is_a_value_or_an_error(packed, buffers):
    with contextlib.suppress(protocol.ProtocolError):
        protocol.unpack(packed, memoryview(buffers))


@FUZZ
@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_error(data):
    with contextlib.suppress(protocol.ProtocolError):
        protocol.lengths(data[: protocol.HEAD.size].ljust(protocol.HEAD.size))
    with contextlib.suppress(protocol.ProtocolError):
        protocol.decode(data)


def test_a_message_beyond_the_limits_is_not_sent():
    with pytest.raises(protocol.ProtocolError):
        protocol.encode({"text": "x" * protocol.MAX_JSON}, [])
    with pytest.raises(protocol.ProtocolError):
        protocol.encode({}, [bytes(protocol.MAX_BUFFERS + 1)])


# ---- the grader's side, against a process that does not keep to the protocol -------------------------------------------


@pytest.fixture
def against(monkeypatch):
    """A session whose process is a function of this test: `against(answer)`, `answer` gets its end of the channel."""
    monkeypatch.setattr(session, "CALL_SECONDS", 0.2)
    channels = []

    def start(answer) -> Session:
        ours, theirs = socket.socketpair()
        channels.extend((ours, theirs))
        ours.setblocking(False)
        threading.Thread(target=answer, args=(theirs,), daemon=True).start()
        return Session(SimpleNamespace(clean=lambda ended: 0), ours, os.getpid())

    yield start
    for channel in channels:
        channel.close()


def request_of(channel: socket.socket) -> dict:
    head = channel.recv(protocol.HEAD.size, socket.MSG_WAITALL)
    document, body = protocol.lengths(head)
    rest = channel.recv(document + body, socket.MSG_WAITALL)
    return protocol.decode(rest[:document])


def dribble(channel: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        for byte in data:
            channel.send(bytes([byte]))
            time.sleep(0.05)


def reply(channel: socket.socket, **fields: object) -> bytes:
    fields = {"id": request_of(channel)["id"], "result": {"t": [3, None]}, "operations": 0} | fields
    return protocol.encode(fields, [])


def test_the_one_answer_that_is_due_is_taken(against):
    current = against(lambda channel: channel.send(reply(channel)))
    assert current.call("f", (), {}).value == 3


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (lambda channel: channel.send(reply(channel) * 2), Crashed),
        (lambda channel: channel.send(reply(channel, id="0" * 32)), Crashed),
        (lambda channel: channel.send(reply(channel, id=None)), Crashed),
        (lambda channel: channel.send(reply(channel)[:9]), TimedOut),
        (lambda channel: channel.send(reply(channel)[:3]), TimedOut),
        (lambda channel: channel.close(), Crashed),
        (lambda channel: (channel.send(reply(channel)[:9]), channel.close()), Crashed),
        (lambda channel: (request_of(channel), time.sleep(5)), TimedOut),
        (lambda channel: time.sleep(5), TimedOut),
        (lambda channel: dribble(channel, reply(channel)), TimedOut),
    ],
)
def test_whatever_else_comes_ends_the_session(against, answer, ending):
    current = against(answer)
    with pytest.raises(ending):
        current.call("f", (), {})
    with pytest.raises(ending):
        current.call("f", (), {})


def test_a_process_that_does_not_read_cannot_hold_up_the_grader(against):
    current = against(lambda channel: time.sleep(5))
    with pytest.raises(TimedOut):
        current.call("f", (np.zeros(2_000_000),), {})


@pytest.mark.parametrize(
    "early",
    [b"early", protocol.encode({"id": "0" * 32, "result": {"t": [3, None]}, "again": True, "operations": 0}, [])],
)
def test_an_answer_before_the_question_ends_the_session(against, early):
    said = threading.Event()
    current = against(lambda channel: (channel.send(early), said.set()))
    said.wait()
    with pytest.raises(Crashed, match="before the question"):
        current.call("f", (), {})


@pytest.mark.parametrize(
    ("again", "values"),
    [(True, (3, 3)), ({"t": [4, None]}, (3, 4)), ({"t": [3, {"t": [{"l": [1]}, {"d": []}]}]}, (3, 3))],
)
def test_two_calls_are_answered_at_once(against, again, values):
    current = against(lambda channel: channel.send(reply(channel, again=again)))
    assert tuple(answer.value for answer in current.call_twice("f", (), {})) == values


def test_the_second_call_is_asked_for_where_it_was_not_made(against):
    current = against(lambda channel: [channel.send(reply(channel, result={"t": [n, None]})) for n in (3, 4)])
    assert [answer.value for answer in current.call_twice("f", (), {})] == [3, 4]


@pytest.mark.parametrize("again", [False, 1, "same", [], {"t": [3]}, {"t": [3, None, 3]}, {"l": [3, None]}])
def test_a_second_answer_that_is_none_ends_the_session(against, again):
    current = against(lambda channel: channel.send(reply(channel, again=again)))
    with pytest.raises(Crashed):
        current.call_twice("f", (), {})


def test_remarks_are_few(against):
    many = [[1, "error", "ValueError"]] * 10_000
    current = against(lambda channel: channel.send(reply(channel, functions={}, events=many)))
    assert len(current.load([], [])["events"]) == session.MAX_EVENTS


@FUZZ
@given(st.binary(max_size=300))
def test_any_answer_is_a_value_or_the_end(data):
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    current = Session(SimpleNamespace(clean=lambda ended: 0), ours, os.getpid())

    def answer() -> None:
        nonce = request_of(theirs)["id"]
        theirs.send(data.replace(b"ID", nonce.encode()))
        theirs.close()

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(Crashed):
        current.call("f", (), {})
    thread.join()
    ours.close()


# ---- the real thing --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["bwrap", "landlock"])
def jail(
    request,
):
    try:
        opened = open_jail(request.param)
    except JailBroken as reason:
        pytest.skip(f"no {request.param} jail here: {reason}")
    yield opened
    opened.close()


def ask(jail, source: str, *args: object, **kwargs: object) -> object:
    """The value of `f(*args, **kwargs)` in a notebook of one cell; an error's name if it raised."""
    current = jail.session()
    try:
        loaded = current.load([(1, source)], ["f"])
        assert loaded["events"] == []
        answer = current.call("f", args, kwargs)
        return answer.error or answer.value
    finally:
        current.close()


@needs_jail
def test_arguments_go_in_and_values_come_out(jail):
    source = "def f(a, b=2, *, c):\n    return [a, b, c]"
    assert same(ask(jail, source, {"x": (1, 2.5)}, c=np.ones((2, 2))), [{"x": (1, 2.5)}, 2, np.ones((2, 2))])


TWICE = """
import time

asked = []


def f(table, x, seconds=0):
    asked.append(table.pop("a", None))
    x[0] += 1
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return [len(asked), asked[-1], float(x[0])]
"""


@needs_jail
@pytest.mark.parametrize("seconds", [0, 1.1])  # quick and slow, for which the worker is asked a second time
def test_each_of_two_calls_has_arguments_of_its_own(jail, seconds):
    with contextlib.closing(jail.session()) as current:
        current.load([(1, TWICE)], ["f"])
        answers = current.call_twice("f", ({"a": 7}, np.zeros(2)), {"seconds": seconds})
    assert [answer.value for answer in answers] == [[1, 7, 1.0], [2, 7, 1.0]]
    assert all(same(answer.arguments, ([{}, np.array([1.0, 0.0])], {"seconds": seconds})) for answer in answers)


@needs_jail
@pytest.mark.parametrize(
    ("change", "unchanged"),
    [
        ("pass", True),
        ("t['a'] = t['a'] + 0", True),
        ("t['x'] = t['x'].copy()", True),
        ("t['a'] = float(t['a'])", False),
        ("t['a'] = bool(t['a'])", False),
        ("t['x'] = t['x'].astype('float32')", False),
        ("t['x'] = t['x'].reshape(2, 1)", False),
        ("t['x'] += 1", False),
        ("t['l'].append(0)", False),
        ("t['l'] = tuple(t['l'])", False),
        ("t['f'] = lambda: 0", False),
    ],
)
def test_a_changed_argument_is_noticed_by_value_and_type(jail, change, unchanged):
    with contextlib.closing(jail.session()) as current:
        current.load([(1, f"def f(t):\n    {change}\n    return 1")], ["f"])
        answer = current.call("f", ({"a": 1, "x": np.zeros(2), "l": [1]},), {})
    assert answer.value == 1 and (answer.arguments is None) == unchanged


@needs_jail
def test_nothing_inside_is_writable(jail):
    source = """
import os


def f():
    wrote = []
    for folder, folders, names in os.walk("/"):
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(folder, name))]
        try:
            os.close(os.open(os.path.join(folder, "x"), os.O_CREAT | os.O_WRONLY))
            wrote.append(folder)
        except OSError:
            pass
        for name in names[:3]:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                wrote.append(os.path.join(folder, name))
            except OSError:
                pass
    return wrote
"""
    assert set(ask(jail, source)) <= {"/dev/null", "/dev/urandom"}


@needs_jail
def test_only_numpy_scipy_and_the_standard_library_can_be_imported(jail):
    source = """
import importlib


def f(names):
    found = []
    for name in names:
        try:
            importlib.import_module(name)
            found.append(name)
        except ImportError:
            pass
    return found
"""
    welcome = [
        "numpy",
        "scipy.stats",
        "fractions",
        "statistics",
        "sqlite3",
        "asyncio",
        "dataclasses",
        "matplotlib.pyplot",
    ]
    assert ask(jail, source, [*welcome, "torch", "otter", "autograder", "solutions", "yaml", "pip", "rich"]) == welcome


@needs_jail
@pytest.mark.parametrize("asked", [False, True])
def test_scipy_is_there_whether_it_was_asked_for_or_not(jail, asked):
    with contextlib.closing(jail.session(scipy=asked)) as current:
        current.load([(1, "from scipy import linalg, special, stats\nf = special.erf")], ["f"])
        answer = current.call("f", (1.0,), {})
    assert math.isclose(answer.value, math.erf(1))


@needs_jail
def test_threads_are_allowed_and_processes_are_not(jail):
    threads = "from concurrent.futures import ThreadPoolExecutor\n\n\ndef f():\n    with ThreadPoolExecutor(4) as pool:\n        return sum(pool.map(abs, range(-9, 0)))"
    assert ask(jail, threads) == 45
    assert ask(jail, "import os\n\n\ndef f():\n    return os.fork()") == "OSError"
    assert ask(jail, "import subprocess\n\n\ndef f():\n    return subprocess.run(['true'])") == "OSError"


if os.geteuid():  # the kernel counts no threads of root

    @needs_jail
    def test_threads_are_so_many_and_no_more(jail):
        code = "import threading, time\nthreading.stack_size(32768)\n\n\ndef f():\n    for n in range(5000):\n        threading.Thread(target=time.sleep, args=(99,), daemon=True).start()"
        assert ask(jail, code) == "RuntimeError"


@needs_jail
def test_one_submission_leaves_nothing_for_the_next(jail):
    spoil = "import numpy, builtins, math\nnumpy.prod = builtins.sum = math.prod = None\n\n\ndef f():\n    return 1"
    assert ask(jail, spoil) == 1
    assert (
        ask(jail, "import math, numpy\n\n\ndef f():\n    return sum([math.prod([2, 3]), int(numpy.prod([4]))])") == 10
    )


@needs_jail
@pytest.mark.parametrize("kind", LAUNCHERS)
def test_a_jail_dies_with_its_grader(
    kind,
):
    """Also when the grader is killed and student code is running at that moment."""
    with Adopted() as processes:
        pid = os.fork()
        if pid == 0:
            try:
                opened = open_jail(kind)
                current = opened.session()
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
                current.load([(1, "while True:\n    pass")], [])
            finally:
                os._exit(3)
        _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert not processes.left


@needs_jail
def test_a_worker_that_is_killed_is_noticed(jail_works):
    opened = open_jail("bwrap")
    current = opened.session()
    opened.workers[False].process.kill()
    with pytest.raises(Crashed):
        while True:  # until the kernel has taken the jail down
            current.load([(1, "x = 1")], [])
    with pytest.raises(JailBroken):
        current.close()
    with pytest.raises(JailBroken):
        opened.session()
    opened.close()


@needs_jail
def test_a_submission_killed_from_outside_is_not_blamed(jail):
    current = jail.session()
    threading.Timer(0.3, os.kill, (~current.clock >> 3, signal.SIGKILL)).start()
    with pytest.raises(Died):
        current.load([(1, "while True:\n    pass")], [])
    with pytest.raises(JailBroken, match="from outside"):
        current.close()
    assert ask(jail, "def f():\n    return 1") == 1


@pytest.mark.parametrize(("limit", "ending"), [(2, signal.SIGXCPU), (20, signal.SIGKILL)])
def test_the_limit_of_cpu_time_is_not_taken_for_an_operator(limit, ending):
    """The kernel ends a process at its limit with SIGKILL; a submission that burns threads must not pass for ours."""
    source = f"""import os, resource, signal, sys
sys.path.insert(0, {str(Path(session.__file__).parent)!r})
import worker
worker.CPU = {limit}
child = os.fork()
if child == 0:
    resource.setrlimit(resource.RLIMIT_CPU, ({limit}, {limit}))
    {"signal.raise_signal(9)" if limit == 20 else "while True: pass"}
print(worker._clean_up(child, patience=60)["signal"])"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(int(ending)), done.stderr


@needs_jail
@pytest.mark.parametrize("code", ["import os\nos._exit(9)", "import os\nos.abort()", "import os\nos.close(3)"])
def test_a_submission_that_ends_itself_is(jail, code):
    current = jail.session()
    with pytest.raises(Died):
        current.load([(1, code)], [])
    current.close()


def test_a_jail_that_does_not_start_says_why(monkeypatch):
    monkeypatch.setattr("autograder.jail.bwrap.arguments", lambda: ["--ro-bind", "/nowhere", "/nowhere"])
    if doctor.shutil.which("bwrap"):
        with pytest.raises(JailBroken, match="/nowhere"):
            open_jail("bwrap")


def test_without_libseccomp_there_is_no_jail_and_the_doctor_says_so(monkeypatch):
    def missing() -> bytes:
        raise seccomp.SeccompMissing("the system's libseccomp.so.2 is missing")

    monkeypatch.setattr(seccomp, "program", missing)
    monkeypatch.setattr(
        doctor.shutil, "which", lambda name: f"/usr/bin/{name}" if name in ("apt-get", "bwrap") else None
    )
    found = {finding.name: finding for finding in doctor.examine()}
    assert not any(finding.works for finding in found.values()) and doctor.best_engine() is None
    assert found["system-call filter"].command == "sudo apt-get install -y libseccomp2"


def test_the_doctor_names_the_command_that_helps(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    found = {finding.name: finding for finding in doctor.examine()}
    assert not found["bwrap"].works and found["bwrap"].command == "sudo apt-get install -y bubblewrap"


def test_the_doctor_knows_ubuntus_restriction(monkeypatch):
    def refuse(engine):
        raise JailBroken("the jail did not start: bwrap: setting up uid map: Permission denied")

    monkeypatch.setattr(doctor, "open_jail", refuse)
    monkeypatch.setattr(doctor, "_restricted_by_apparmor", lambda: True)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/usr/bin/{name}")
    found = {finding.name: finding for finding in doctor.examine()}
    assert "apparmor" in found["bwrap"].command
    assert doctor.best_engine() is None


def test_elsewhere_the_doctor_says_where_to_go(monkeypatch):
    monkeypatch.setattr(doctor, "IS_LINUX", False)
    (finding,) = doctor.examine()
    assert doctor.best_engine() is None
    assert not finding.works and "container" in finding.says and "WSL2" in finding.says
