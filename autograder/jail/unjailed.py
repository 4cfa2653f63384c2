"""No jail at all, for `--unsafe-trusted`: the same worker as a plain process, with the grader's own rights."""

import subprocess

from autograder.catalog import ROOT
from autograder.jail.bwrap import ENVIRONMENT, HERE, interpreter, site_packages


def start(control_fd: int, stderr: int) -> subprocess.Popen:
    """Start a worker. It finds its control socket at `control_fd`; `stderr` takes complaints."""
    return subprocess.Popen(
        [interpreter(), "-S", "-s", "-E", "-B", HERE / "worker.py", str(control_fd), site_packages()],
        pass_fds=[control_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env=ENVIRONMENT,
        cwd=ROOT / "exercises",
    )
