"""The machine of a measurement in words that mean something elsewhere: no host name, no path."""

import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("nbgrader", "otter-grader", "numpy", "scipy")


def describe() -> dict:
    """CPU, cores, memory, kernel and versions, and how busy the machine is (its load, in processes)."""
    return {
        "cpu": _field("/proc/cpuinfo", r"model name\s*: (.+)"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(_field("/proc/meminfo", r"MemTotal:\s*(\d+) kB")) / 2**20, 1),
        "kernel": f"{platform.system()} {re.match(r'[0-9.]+', platform.release())[0]}",
        "python": platform.python_version(),
        "bubblewrap": _bubblewrap(),
        **{name: version(name) for name in PACKAGES},
        "load_before": round(os.getloadavg()[0], 1),
    }


def _field(path: str, pattern: str) -> str:
    found = re.search(pattern, Path(path).read_text())
    return found[1].strip() if found else "unknown"


def _bubblewrap() -> str:
    if shutil.which("bwrap") is None:
        return "none"
    return subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
