"""The course's exercises, in order: what each is called, asks for and is worth, read from the masters' headers."""

from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Exercise:
    """One exercise; everything but `name` and the two paths stands in the header of its master."""

    name: str
    title: str
    functions: tuple[str, ...]
    points: int
    minutes: int
    difficulty: str  # "core" or "interview"
    chapter: str  # file stem of the chapter in book/ that leads to it
    order: int
    master: Path
    test_file: Path

    @property
    def in_words(self) -> str:
        """Points, minutes and difficulty as a student reads them."""
        difficulty = {"core": "core", "interview": "harder, of the kind asked in interviews"}[self.difficulty]
        return f"{self.points} points, about {self.minutes} minutes, {difficulty}"


def header(master: Path) -> dict:
    """The YAML header of a py:percent notebook.

    Raises ValueError when the file does not begin with one.
    """
    lines = master.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0] != "# ---" or "# ---" not in lines[1:]:
        raise ValueError(f"{master.name} does not begin with a jupytext header between two lines '# ---'")
    end = lines.index("# ---", 1)
    return yaml.safe_load("\n".join(line[2:] for line in lines[1:end]))["jupyter"]


def read(master: Path) -> Exercise:
    """The exercise that `master` describes.

    Raises ValueError when its header lacks `course` or one of its entries.
    """
    course = header(master).get("course", {})
    try:
        return Exercise(
            name=master.stem,
            title=course["title"],
            functions=tuple(course["functions"]),
            points=course["points"],
            minutes=course["minutes"],
            difficulty=course["difficulty"],
            chapter=course["chapter"],
            order=course["order"],
            master=master,
            test_file=ROOT / "autograder" / "tests" / f"{master.stem}.py",
        )
    except KeyError as missing:
        raise ValueError(f"the header of {master.name} has no `course: {missing.args[0]}`") from None


def _all() -> dict[str, Exercise]:
    masters = [path for path in (ROOT / "solutions").glob("*.py") if path.name != "__init__.py"]
    exercises = sorted(map(read, masters), key=lambda exercise: exercise.order)
    return {exercise.name: exercise for exercise in exercises}


EXERCISES: dict[str, Exercise] = _all()
