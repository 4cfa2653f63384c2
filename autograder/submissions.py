"""Finds the students' notebooks in a folder or in what Canvas, Moodle, Gradescope and nbgrader hand out.

The names that the platforms give to files are those of canvas-lms `lib/content_zipper.rb`, moodle
`mod/assign/classes/downloader.php` and Gradescope's `submission_metadata.yml`.
"""

import datetime
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import yaml

from .archive import File, SubmissionError, walk
from .catalog import Exercise

CANVAS = re.compile(
    r"(?:(?P<name>\w+?)_)??(?:(?P<late>LATE)_)?(?P<user>anon_\w+?|\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL
)
MOODLE = re.compile(r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_file(?:_(?P<file>.*))?", re.DOTALL)
GRADESCOPE = re.compile(r"submission_\d+")
COPY = re.compile(
    r"(?P<stem>.+?)(?:[ _-]?\((?P<browser>\d+)\)|-(?P<canvas>\d+)|[ _-]+copy)?", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Submission:
    """One student's notebook for one exercise, not yet read."""

    student: str
    exercise: str
    origin: str  # where it was found, relative to the path given
    late: bool
    when: datetime.datetime | None  # handed in, where the platform says so
    source: Callable[[], bytes]

    def read(self) -> bytes:
        """The bytes of the file; raises SubmissionError when it is too large, encrypted, damaged or a link."""
        return self.source()


@dataclass
class Collection:
    """All submissions found, by student and exercise, and what the instructor should know about the rest."""

    submissions: list[Submission] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a file's place says: whose it is, its name as the student gave it, and how new it is."""

    students: tuple[str, ...]
    name: str
    late: bool = False
    when: datetime.datetime | None = None
    number: int = 0  # Canvas numbers uploads upwards


@dataclass(frozen=True)
class _Layout:
    """How the files lie, which is known only from all of them together."""

    root: str  # the name of what was given
    lead: int  # so many leading folders are common to all and say nothing
    depth: int | None  # where the platform's name for a student stands in a path; None without a platform
    people: dict[str, tuple[tuple[str, ...], datetime.datetime | None]]  # Gradescope's: submission_N -> who, when
    namesakes: set[str]  # Moodle's: names that two people share
    exercises: Mapping[str, Exercise]


def _platform_depth(paths: list[tuple[str, ...]]) -> int | None:
    """The depth at which most of what was handed in has a name that a platform made.

    A student may name what is inside of their own folder in the same way, to be taken for another: that is deeper. And
    may put a thousand files there: each folder has one vote, which it shares out among what is in it.
    """
    inside: dict[tuple[str, ...], set[str]] = {}
    for parts in paths:
        for d, part in enumerate(parts):
            inside.setdefault(parts[:d], set()).add(part)
    votes: Counter = Counter()
    for parts in paths:
        ours = (d for d, part in enumerate(parts) if any(p.fullmatch(part) for p in (GRADESCOPE, MOODLE, CANVAS)))
        votes[next(ours, None)] += 1 / prod(len(inside[parts[:d]]) for d in range(len(parts)))
    (depth, share), *_ = votes.most_common(1) or [(None, 0.0)]
    return depth if share > 0.5 + 1e-6 else None  # the sum of all votes is 1, but for rounding


def _gradescope(files: list[File], depth: int, notes: list[str]) -> dict:
    """`submission_N` -> (students, time), from the submission_metadata.yml beside them; its keys are Ruby symbols."""
    people: dict[str, tuple[tuple[str, ...], datetime.datetime | None]] = {}
    for file in files:
        if file.parts[-1] != "submission_metadata.yml" or len(file.parts) != depth + 1:
            continue
        try:
            for folder, entry in yaml.load(file.read(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)).items():
                submitters = entry.get(":submitters") or []
                students = (str(who.get(":email") or who.get(":sid") or who[":name"]) for who in submitters)
                created = entry.get(":created_at")
                people[str(folder)] = (tuple(students), created if isinstance(created, datetime.datetime) else None)
        except (yaml.YAMLError, SubmissionError, AttributeError, KeyError, UnicodeDecodeError) as error:
            notes.append(f"{file.origin}: not understood, so its students are named by their folders ({error})")
    return people


def _namesakes(paths: list[tuple[str, ...]], depth: int) -> set[str]:
    """The names that two people of one Moodle download share.

    Moodle numbers people anew for each assignment, so the number is part of a student only where the name is not enough.
    """
    numbers: dict[tuple, set[str]] = {}
    for parts in paths:
        if match := MOODLE.fullmatch(parts[min(depth, len(parts) - 1)]):
            numbers.setdefault((parts[:depth], match["name"]), set()).add(match["number"])
    return {name for (_, name), different in numbers.items() if len(different) > 1}


def _layout(files: list[File], notebooks: list[File], root: str, exercises: Mapping, notes: list[str]) -> _Layout:
    paths = [file.parts for file in notebooks]
    lead = _common_folders([parts[:-1] for parts in paths], exercises)
    depth = _platform_depth(paths)
    if depth is None:
        return _Layout(root, lead, None, {}, set(), exercises)
    return _Layout(root, lead, depth, _gradescope(files, depth, notes), _namesakes(paths, depth), exercises)


def _claim(file: File, layout: _Layout) -> _Claim:
    return _by_platform(file, layout) or _by_folder(file, layout)


def _by_platform(file: File, layout: _Layout) -> _Claim | None:
    """What a learning platform says about the file, if it does."""
    if layout.depth is None or layout.depth >= len(file.parts):
        return None
    part, name = file.parts[layout.depth], file.parts[-1]
    last = layout.depth == len(file.parts) - 1
    if GRADESCOPE.fullmatch(part) and not last:
        students, when = layout.people.get(part, ((), None))
        return _Claim(students or (part,), name, when=when)
    if match := MOODLE.fullmatch(part):
        student = f"{match['name']}_{match['number']}" if match["name"] in layout.namesakes else match["name"]
        return _Claim((student,), match["file"] if last and match["file"] else name)
    if match := CANVAS.fullmatch(part):
        student = "_".join(filter(None, (match["name"], match["user"])))
        return _Claim((student,), match["file"] if last else name, bool(match["late"]), number=int(match["attachment"]))
    return None


def _by_folder(file: File, layout: _Layout) -> _Claim:
    """What the file's folders and name say: the outermost folder that is not all students' is a student."""
    names, lead = layout.exercises, layout.lead
    folders = [part.removesuffix(".zip") for part in file.parts[lead:-1]]
    owners = [part for part in folders if part not in names]
    if owners:
        return _Claim((owners[0],), file.parts[-1])
    stem = COPY.fullmatch(Path(file.parts[-1]).stem)["stem"]
    if folders and stem not in names:  # vit_macs/ada.ipynb
        return _Claim((stem,), folders[0] + ".ipynb")
    for name in names:  # ada_vit_macs.ipynb, vit_macs-ada.ipynb
        if match := re.fullmatch(rf"(?:(.+?)[ _-]+{name}|{name}[ _-]+(.+?))", stem, re.DOTALL):
            return _Claim((match[1] or match[2],), name + Path(file.parts[-1]).stem[len(stem) :] + ".ipynb")
    return _Claim(([layout.root, *file.parts[:lead]][-1].removesuffix(".zip"),), file.parts[-1])


def _exercise(name: str, file: File, names: Mapping[str, Exercise]) -> str | None:
    """The exercise a notebook is for: by its name, else by its folder, else by the cells that nbgrader marked."""
    stem = COPY.fullmatch(Path(name).stem)["stem"].lower()
    if stem in names:
        return stem
    for part in reversed(file.parts[:-1]):
        if part in names:
            return part
    try:
        cells = json.loads(file.read())["cells"]
        marked = {cell["metadata"]["nbgrader"]["grade_id"] for cell in cells if "nbgrader" in cell["metadata"]}
    except (SubmissionError, ValueError, KeyError, TypeError, RecursionError):
        return None
    found = [name for name, exercise in names.items() if marked & set(exercise.functions)]
    return found[0] if len(found) == 1 else None


def _copy_number(name: str) -> int:
    match = COPY.fullmatch(Path(name).stem)
    return int(match["browser"] or match["canvas"] or 0)


def _timestamps(files: list[File]) -> dict[tuple[str, ...], datetime.datetime]:
    """Folder -> time, from nbgrader's timestamp.txt."""
    times = {}
    for file in files:
        if file.parts[-1] == "timestamp.txt":
            try:
                text = file.read().decode().strip().removesuffix(" UTC")
                when = datetime.datetime.fromisoformat(text)
                when.astimezone(datetime.UTC).timestamp()  # not every date of a calendar is a time of a computer
                times[file.parts[:-1]] = when
            except (SubmissionError, ValueError, OverflowError, OSError):
                continue
    return times


def _common_folders(paths: list[tuple[str, ...]], names: Mapping[str, Exercise]) -> int:
    """How many leading folders all `paths` share and therefore say nothing about the student."""
    shared = 0
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1 or parts[0] in names:
            break
        shared += 1
    return shared


def collect(path: Path, exercises: Mapping[str, Exercise]) -> Collection:
    """The newest copy of every student's notebook for each of `exercises` found at `path`.

    `path` is a folder or a zip: `student/exercise.ipynb`, a flat folder, nbgrader's course or `submitted/`, a download
    from Canvas, Moodle or Gradescope, packed or not, or a folder of such zips. Sorted by student, then course order.
    Raises SubmissionError when there is nothing at `path`, or no notebook in it.
    """
    if not path.exists():
        raise SubmissionError(f"{path} does not exist: give the folder or the zip with the students' notebooks")
    if path.is_file() and not zipfile.is_zipfile(path):
        raise SubmissionError(f"{path.name} is neither a folder nor a zip: give what the platform's download made")
    root = path / "submitted" if (path / "nbgrader_config.py").exists() and (path / "submitted").is_dir() else path
    collection = Collection()
    files = list(walk(root, collection.notes))
    times = _timestamps(files)
    notebooks = [file for file in files if file.parts[-1].lower().endswith(".ipynb")]
    layout = _layout(files, notebooks, root.resolve().name, exercises, collection.notes)

    copies: dict[tuple[str, str], list[tuple[tuple, Submission]]] = {}
    for file in notebooks:
        claim = _claim(file, layout)
        exercise = _exercise(claim.name, file, exercises)
        if exercise is None:
            collection.notes.append(f"{file.origin}: skipped, it is no notebook of {', '.join(exercises)}")
            continue
        when = claim.when or times.get(file.parts[:-1])
        age = (claim.number, when.timestamp() if when else 0.0, _copy_number(claim.name), file.mtime, file.origin)
        for student in claim.students:
            submission = Submission(student, exercise, file.origin, claim.late, when, file.read)
            copies.setdefault((student, exercise), []).append((age, submission))
    if not copies:
        reasons = "".join(f"; {note}" for note in collection.notes[:3])
        raise SubmissionError(f"{path} holds no notebook of {', '.join(exercises)}{reasons}")

    order = {name: position for position, name in enumerate(exercises)}
    for student, exercise in sorted(copies, key=lambda key: (key[0], order[key[1]])):
        *older, (_, newest) = sorted(copies[student, exercise], key=lambda item: item[0])
        if older:
            others = ", ".join(submission.origin for _, submission in older)
            collection.notes.append(f"{student}, {exercise}: graded the newest copy, {newest.origin}, not {others}")
        if newest.late:
            collection.notes.append(f"{student}, {exercise}: handed in late")
        collection.submissions.append(newest)
    return collection
