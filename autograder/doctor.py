"""Says which jail this machine can build, what is missing for a better one, and the command that brings it."""

import platform
import shutil
import sys
from dataclasses import dataclass

from autograder.jail import LAUNCHERS, open_jail, seccomp
from autograder.jail.session import JailBroken

IS_LINUX = sys.platform.startswith("linux")
APPARMOR = """\
printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\\n' \
| sudo tee /etc/apparmor.d/bwrap && sudo systemctl reload apparmor"""
INSTALLERS = {
    "apt-get": "apt-get install -y",
    "dnf": "dnf install -y",
    "zypper": "zypper install -y",
    "pacman": "pacman -S",
}
ELSEWHERE = "grading needs Linux: on macOS use a Linux container or a virtual machine, on Windows use WSL2."


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it works, what it is, and the command that mends it if there is one."""

    name: str
    works: bool
    says: str
    command: str = ""


def examine() -> list[Finding]:
    """Look at each kind of jail, best first, by really starting it."""
    if not IS_LINUX:
        return [Finding("Linux", False, ELSEWHERE)]
    return [_filter(), *(_jail(engine) for engine in LAUNCHERS if engine != "unsafe-trusted")]


def _filter() -> Finding:
    if seccomp.available():
        return Finding("system-call filter", True, "libseccomp makes it")
    return Finding("system-call filter", False, "libseccomp.so.2 is missing", _install("libseccomp2", "libseccomp"))


def _jail(engine: str) -> Finding:
    if engine == "bwrap" and not shutil.which("bwrap"):
        return Finding(engine, False, "bubblewrap is not installed", _install("bubblewrap", "bubblewrap"))
    try:
        open_jail(engine).close()
    except JailBroken as error:
        forbidden = engine == "bwrap" and _restricted_by_apparmor()
        return Finding(engine, False, str(error), APPARMOR if forbidden else "")
    return Finding(engine, True, f"starts on {platform.system()} {platform.release()}")


def _restricted_by_apparmor() -> bool:
    """Whether this system, as Ubuntu since 24.04, gives user namespaces only to programs with a profile."""
    try:
        with open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") as file:
            return file.read().strip() == "1"
    except OSError:
        return False


def _install(debian: str, other: str) -> str:
    for tool, command in INSTALLERS.items():
        if shutil.which(tool):
            return f"sudo {command} {debian if tool == 'apt-get' else other}"
    return ""


def best_engine() -> str | None:
    """The safest kind of jail that works here, or None."""
    for engine in LAUNCHERS:
        if IS_LINUX and engine != "unsafe-trusted" and _jail(engine).works:
            return engine
    return None
