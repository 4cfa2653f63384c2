"""The jail: student code runs in it, and only plain data comes out.

`protocol` is what the two sides say, `worker` the inside, `session` the outside, `seccomp` the system calls that are
left, `bwrap` and `landlocked` the walls. Nothing else in the grader starts a process for student code.
"""

from autograder.jail import bwrap, landlocked, unjailed
from autograder.jail.session import Jail

LAUNCHERS = {"bwrap": bwrap.start, "landlock": landlocked.start, "unsafe-trusted": unjailed.start}  # safest first


def open_jail(engine: str) -> Jail:
    """A jail of the kind `engine`. Raises `session.JailBroken` when it does not start."""
    return Jail(LAUNCHERS[engine], filtered=engine != "unsafe-trusted")
