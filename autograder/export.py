"""Scores out of OUT, in the forms that Canvas, Moodle and Gradescope read; nbgrader's is in export_nbgrader.py.

The columns are those of canvas-lms `lib/gradebook_importer.rb`, moodle `mod/assign/feedback/offline/importgradeslib.php`
and the `results.json` of Gradescope's autograder documentation.
"""

import contextlib
import csv
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

from .catalog import EXERCISES
from .graded import Student, load
from .results import spreadsheet_text

# Columns by which a person is known, in what Canvas and Moodle export; a number first, then names that must be whole.
NUMBERS = ("ID", "Identifier")
NAMES = ("SIS Login ID", "SIS User ID", "Student", "Username", "ID number", "Email address", "Full name")
PAIRS = (("FirstName", "LastName"), ("First name", "Last name"), ("First name", "Surname"))

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("Identifier", "Full name", "Email address")


class ExportError(ValueError):
    """The scores cannot be written that way; the text says why and what to do."""


@dataclass
class Sheet:
    """A CSV file as a platform exported it, to be given back with nothing changed but the scores."""

    header: list[str]
    rows: list[list[str]]
    delimiter: str = ","
    encoding: str = "utf-8"

    @classmethod
    def read(cls, path: Path) -> "Sheet":
        """Raises ExportError when the file is no table of text."""
        try:
            data = path.read_bytes()
            encoding = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"
            text = data.decode(encoding)
            first = text.partition("\n")[0]
            delimiter = max(",;\t", key=first.count)
            header, *rows = csv.reader(io.StringIO(text), delimiter=delimiter)
        except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
            raise ExportError(f"{path} is no CSV file that can be read ({error})") from None
        return cls(header, [row + [""] * (len(header) - len(row)) for row in rows], delimiter, encoding)

    def text(self) -> str:
        """The table as CSV."""
        table = io.StringIO()
        csv.writer(table, delimiter=self.delimiter, lineterminator="\r\n").writerows([self.header, *self.rows])
        return table.getvalue()

    def write(self, path: Path) -> None:
        """Write the table in the encoding it came in."""
        path.write_text(self.text(), self.encoding, newline="")

    def column(self, exercise: str) -> int | None:
        """The column of an exercise: called by its name or title, with what the platforms put around it."""
        wanted = {exercise.casefold(), _title(exercise).casefold()}
        for position, name in enumerate(self.header):
            plain = re.sub(r"^[^:]+: | \([^()]*\)$", "", name)
            if {name.casefold(), plain.casefold()} & wanted:
                return position
        return None

    def points_possible(self) -> list[str]:
        """What each column is out of, which Canvas writes in a row of its own."""
        return next((row for row in self.rows if "Points Possible" in row[0]), [""] * len(self.header))

    def people(self) -> dict[tuple[str, str], list[int]]:
        """Whom each row is about: ("number" or "name", what is written) -> rows."""
        at = {name: position for position, name in reversed(list(enumerate(self.header)))}
        known: dict[tuple[str, str], list[int]] = {}
        for number, row in enumerate(self.rows):
            if "Points Possible" in row[0]:  # nobody's, whatever a student is called
                continue
            keys = [("number", re.sub(r"^\D+", "", row[at[name]])) for name in NUMBERS if name in at]
            keys += [("name", row[at[name]]) for name in NAMES if name in at]
            keys += [("name", f"{row[at[a]]} {row[at[b]]}") for a, b in PAIRS if a in at and b in at]
            for kind, value in keys:
                if value.strip():
                    known.setdefault((kind, value.strip().casefold()), []).append(number)
        return known


def _title(exercise: str) -> str:
    return EXERCISES[exercise].title if exercise in EXERCISES else exercise


def _number(score: float) -> str:
    return f"{round(score, 2):g}"


def _id(student: Student) -> str:
    """The platform's number at the end of a name that `submissions` made: lovelaceada_4411."""
    match = re.fullmatch(r".+_(\d+)", student.name, re.DOTALL)
    return match[1] if match else ""


def _name(student: Student) -> str:
    return student.name.removesuffix(f"_{_id(student)}") if _id(student) else student.name


def _row_of(student: Student, people: dict[tuple[str, str], list[int]]) -> int | None:
    for key in (("name", student.name.casefold()), ("number", _id(student)), ("name", _name(student).casefold())):
        rows = people.get(key, [])
        if len(set(rows)) == 1:
            return rows[0]
    return None


def _exercises(students: list[Student]) -> list[str]:
    found = {name for student in students for name in student.by_exercise}
    return [name for name in EXERCISES if name in found] + sorted(found - EXERCISES.keys())


def feedback(result: dict) -> str:
    """What the student should read, as text: remarks, and the checks that were not passed."""
    lines = []
    for check in result["checks"]:
        if not check["max_points"]:
            lines += [check["message"]] if check["message"] else []
        elif check["status"] != "passed":
            points = f"{_number(check['points'])} of {_number(check['max_points'])}"
            lines.append(f"{check['name']} ({points}): {check['message'] or 'not passed'}")
    return "\n".join(lines)


# ---- Canvas


def to_canvas(out: Path, destination: Path, gradebook: Path | None = None) -> list[str]:
    """Writes a CSV for Canvas's gradebook import; returns what the instructor should know.

    With `gradebook`, the file that Canvas exports, only the columns of the exercises are filled and all else stays as
    it is. Without, a file with Canvas's columns is made, which adds the exercises as new assignments.
    Raises ExportError when a column for an exercise is missing, FileNotFoundError when there are no results.
    """
    students = load(out)
    if gradebook:
        sheet = Sheet.read(gradebook)
        notes = _fill(sheet, students, _exercises(students))
    else:
        sheet, notes = _new_canvas(students), []
    sheet.write(destination)
    return notes


def _new_canvas(students: list[Student]) -> Sheet:
    exercises = _exercises(students)
    points = [next(s.by_exercise[name]["max_score"] for s in students if name in s.by_exercise) for name in exercises]
    rows = [["    Points Possible", "", "", "", "", *map(_number, points)]]
    for student in students:
        scores = [_score(student, name) for name in exercises]
        rows.append([spreadsheet_text(_name(student)), _id(student), "", spreadsheet_text(student.name), "", *scores])
    return Sheet([*CANVAS, *map(_title, exercises)], rows)


def _score(student: Student, exercise: str) -> str:
    """The score, or nothing where the grader has none yet."""
    score = student.by_exercise.get(exercise, {}).get("score")
    return "" if score is None else _number(score)


def _fill(sheet: Sheet, students: list[Student], exercises: list[str]) -> list[str]:
    """Puts the scores of each exercise into its column; returns notes on whom or what could not be placed."""
    places = {name: place for name in exercises if (place := sheet.column(name)) is not None}
    if not places:
        titles = ", ".join(map(_title, exercises))
        raise ExportError(f"the file has no column for {titles}: call the assignment by its title in the platform")
    notes = [f"{name}: the file has no column for it" for name in exercises if name not in places]
    people, possible = sheet.people(), sheet.points_possible()
    for student in students:
        row = _row_of(student, people)
        if row is None:
            notes.append(f"{student.name}: not in the file, or there more than once")
            continue
        for exercise, place in places.items():
            result = student.by_exercise.get(exercise)
            if result and result["score"] is None:
                notes.append(f"{student.name}, {exercise}: left as it was, the grader has no score yet")
            elif result:
                sheet.rows[row][place] = _scaled(result, possible[place])
    return notes


def _scaled(result: dict, maximum: str) -> str:
    """The score on the platform's own scale, if that is a number other than nought."""
    with contextlib.suppress(ValueError):
        if float(maximum) > 0:
            return _number(result["score"] / result["max_score"] * float(maximum))
    return _number(result["score"])


# ---- Moodle


def to_moodle(out: Path, destination: Path, worksheet: Path | None = None, exercise: str | None = None) -> list[str]:
    """Writes a CSV for Moodle; returns what the instructor should know.

    `worksheet` is what Moodle exports: an assignment's grading worksheet, for which `exercise` must be the one it is
    about, or the gradebook. Without it, a file for Moodle's grade import is made, with a column for each exercise.
    Raises ExportError where the columns do not fit, FileNotFoundError when there are no results.
    """
    students = load(out)
    exercises = _exercises(students)
    if worksheet is None:
        sheet, notes = _new_moodle(students, exercises), []
    else:
        sheet = Sheet.read(worksheet)
        if "Identifier" in sheet.header and "Grade" in sheet.header:
            if exercise is None and len(exercises) > 1:
                raise ExportError(f"say which exercise the worksheet is about: one of {', '.join(exercises)}")
            notes = _fill_worksheet(sheet, students, exercise or exercises[0])
        else:
            notes = _fill(sheet, students, exercises)
    sheet.write(destination)
    return notes


def _new_moodle(students: list[Student], exercises: list[str]) -> Sheet:
    rows = []
    for student in students:
        number, name = _id(student), _name(student)
        email = name if "@" in name else ""
        scores = [_score(student, exercise) for exercise in exercises]
        rows.append(
            [f"Participant {number}" if number else "", spreadsheet_text(name), spreadsheet_text(email), *scores]
        )
    return Sheet([*MOODLE, *map(_title, exercises)], rows)


def _fill_worksheet(sheet: Sheet, students: list[Student], exercise: str) -> list[str]:
    """The grade, on the worksheet's own scale, and the feedback, where the worksheet asks for it."""
    at = {name: position for position, name in enumerate(sheet.header)}
    people, notes = sheet.people(), []
    for student in students:
        result, row = student.by_exercise.get(exercise), _row_of(student, people)
        if result is None:
            continue
        if row is None:
            notes.append(f"{student.name}: not in the worksheet, or there more than once")
        elif result["score"] is None:
            notes.append(f"{student.name}, {exercise}: left as it was, the grader has no score yet")
        else:
            cells = sheet.rows[row]
            cells[at["Grade"]] = _scaled(result, cells[at["Maximum Grade"]] if "Maximum Grade" in at else "")
            if "Feedback comments" in at:
                cells[at["Feedback comments"]] = spreadsheet_text(feedback(result))
    return notes


# ---- Gradescope


def gradescope_result(result: dict) -> dict:
    """A result that has a score in the form of Gradescope's results.json, which a student sees."""
    remarks = [check["message"] for check in result["checks"] if not check["max_points"] and check["message"]]
    return {
        "score": result["score"],
        "execution_time": result["seconds"],
        "output": "\n".join(remarks),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": check["name"],
                "score": check["points"],
                "max_score": check["max_points"],
                "status": "passed" if check["status"] == "passed" else "failed",
                "output": check["message"],
                "output_format": "text",
                "visibility": "visible",
            }
            for check in result["checks"]
            if check["max_points"]
        ],
        "extra_data": {key: result[key] for key in ("engine", "seed", "submission_sha256")},
    }


def to_gradescope(out: Path, directory: Path) -> list[str]:
    """Writes `directory/<student>/<exercise>/results.json`; returns what the instructor should know.

    Raises FileNotFoundError when there are no results.
    """
    notes = []
    for student in load(out):
        for exercise, result in student.by_exercise.items():
            if result["score"] is None:
                notes.append(f"{student.name}, {exercise}: left out, the grader has no score yet")
                continue
            path = directory / student.folder / exercise / "results.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(gradescope_result(result), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return notes
