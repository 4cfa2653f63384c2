"""What a Gradescope container runs: grades the submission in a jail if one works there, else leaves it to otter.

`python -m autograder.gradescope EXERCISE` reads `/autograder/submission` and writes `/autograder/results/results.json`.
Where no jail works it ends with `NOT_GRADED` before it has looked at the submission, and `run_autograder` calls otter.
Nothing that a submission does leads there: one on which the jail is lost stays ungraded, for a person to look at.
"""

import hashlib
import json
import secrets
import sys
from pathlib import Path

from . import doctor
from .archive import SubmissionError, walk
from .catalog import EXERCISES
from .export import gradescope_result
from .slot import Slot, SlotLost
from .task import Task, failed

NOT_GRADED, LOST = 3, 4
NO_JAIL = """\
No jail works in this container ({reason}), so otter runs the notebook in its usual way: its code runs beside the tests
and could read or change them. The tests are the same. Look at a score that surprises you."""


def task_for(exercise: str, submission: Path) -> Task:
    """The one notebook in the folder, or the one called after the exercise; else a task that says what to hand in."""
    files = [file for file in walk(submission, []) if file.parts[-1].lower().endswith(".ipynb")]
    named = [file for file in files if file.parts[-1] == f"{exercise}.ipynb"]
    chosen = files if len(files) == 1 else named
    seed = secrets.token_hex(16)
    if len(chosen) != 1:
        return Task(
            "", exercise, None, seed, refused=f"Hand in one notebook, {exercise}.ipynb; there are {len(files)}."
        )
    try:
        data = chosen[0].read()
    except SubmissionError as reason:
        return Task("", exercise, None, seed, refused=f"The file {reason}.")
    return Task("", exercise, hashlib.sha256(data).hexdigest(), seed, data)


def main(exercise: str, root: Path = Path("/autograder")) -> int:
    """Grade the submission below `root`; the exit status."""
    name = doctor.best_engine()
    if name is None:
        print(NO_JAIL.format(reason="; ".join(finding.says for finding in doctor.examine() if not finding.works)))
        return NOT_GRADED
    task, slot = task_for(exercise, root / "submission"), Slot(name)
    try:
        result = slot.grade(task)
    except SlotLost as reason:
        result = failed(task, name, f"The grader failed here, twice: {reason}.")
    finally:
        slot.close()
    if result["score"] is None:
        print("\n".join(check["message"] for check in result["checks"]))
        return LOST
    results = root / "results"
    results.mkdir(exist_ok=True)
    (results / "results.json").write_text(json.dumps(gradescope_result(result), indent=1), "utf-8")
    print(f"Graded in a jail ({name}): {result['score']:g} of {EXERCISES[exercise].points} points.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(Path, sys.argv[2:])))
