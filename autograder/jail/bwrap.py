"""The first choice of jail: bubblewrap, with its own namespaces and nothing writable inside.

Inside there is the interpreter with its standard library, NumPy, SciPy, what students have beside their notebooks, the
worker's two files, /dev/null and /dev/urandom, all read-only. No /proc, no /tmp, no network, no other process; the worker is PID 1 of its own PID
namespace, so nothing that it forks can signal it, and all of it dies with the grader.
"""

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

from autograder.catalog import ROOT

HERE = Path(__file__).parent
PACKAGES = ("numpy", "numpy.libs", "scipy", "scipy.libs")  # what the statements promise to students, nothing else
BESIDE_NOTEBOOK = ("checks.py", "cases")  # of exercises/: with them the setup cell looks for no network
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",  # more threads than one hang under an address-space limit
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",  # an arena for every thread would use up the address space
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "LANG": "C.UTF-8",
}
_FLAGS = """
--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net
--as-pid-1 --die-with-parent --new-session --cap-drop ALL --uid 65534 --gid 65534 --hostname jail --clearenv
"""


def interpreter() -> str:
    """The real Python executable behind the virtual environment."""
    return os.path.realpath(sys._base_executable)


def site_packages() -> Path:
    """The folder that holds NumPy and SciPy."""
    spec = importlib.util.find_spec("numpy")
    return Path(spec.submodule_search_locations[0]).parent


def libraries() -> list[Path]:
    """Folders of shared libraries and of the standard library, without doubles and without those inside another."""
    wanted = [Path("/usr/lib"), Path("/usr/lib32"), Path("/usr/lib64"), Path("/usr/local/lib")]
    wanted += [Path(sys.base_prefix) / "lib", Path(sys.base_prefix) / "lib64", Path(sysconfig.get_path("stdlib"))]
    found = sorted({path.resolve() for path in wanted if path.is_dir()})
    return [path for path in found if not any(other in path.parents for other in found)]


def arguments() -> list[str]:
    """bubblewrap's options for the view of the file system, in order."""
    args = _FLAGS.split()
    for path in libraries():
        args += ["--ro-bind", str(path), str(path)]
        # Other installed packages are none of a student's business, and the course itself may be one of them.
        for packages in sorted(path.glob("python3*/*-packages")) + sorted(path.glob("*-packages")):
            args += ["--tmpfs", str(packages.resolve()), "--remount-ro", str(packages.resolve())]
    for name in ("lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            args += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            args += ["--ro-bind", str(path), str(path)]
    args += ["--ro-bind", interpreter(), interpreter()]
    args += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for name in PACKAGES:
        args += ["--ro-bind-try", str(site_packages() / name), f"/site/{name}"]
    for name in ("worker.py", "protocol.py"):
        args += ["--ro-bind", str(HERE / name), f"/worker/{name}"]
    for name in BESIDE_NOTEBOOK:
        args += ["--ro-bind", str(ROOT / "exercises" / name), f"/notebook/{name}"]
    for device in ("/dev/null", "/dev/urandom"):
        args += ["--dev-bind", device, device]
    for name, value in (ENVIRONMENT | {"LD_LIBRARY_PATH": f"{sys.base_prefix}/lib"}).items():
        args += ["--setenv", name, value]
    return [*args, "--chdir", "/notebook", "--remount-ro", "/"]


def start(control_fd: int, stderr: int) -> subprocess.Popen:
    """Start a worker in a new jail. It finds its control socket at `control_fd`; `stderr` takes complaints.

    The options go through a pipe, not the command line: the jail cannot see the host's paths.
    """
    read, write = os.pipe()
    command = [bwrap(), "--args", str(read), interpreter(), "-S", "-s", "-E", "-B", "/worker/worker.py"]
    with open(write, "wb", buffering=0) as options:
        try:
            process = subprocess.Popen(
                [*command, str(control_fd), "/site"],
                pass_fds=(read, control_fd),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        finally:
            os.close(read)
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and said why
            options.write("\0".join(arguments()).encode() + b"\0")
    return process


@cache
def bwrap() -> str:
    """The path of the bubblewrap executable. Raises FileNotFoundError when it is not installed."""
    path = shutil.which("bwrap")
    if path is None:
        raise FileNotFoundError("bubblewrap (bwrap) is not installed")
    return path
