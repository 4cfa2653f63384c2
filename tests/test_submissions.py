"""Submissions are found whoever handed them out, the newest copy wins, and an archive can do no harm."""

import io
import json
import os
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.archive import MAX_FILE, MAX_INNER_MEMBERS, SubmissionError
from autograder.submissions import collect


@dataclass(frozen=True)
class Named:
    """Stands for a catalog.Exercise: the reader needs only its functions."""

    functions: tuple[str, ...]


EXERCISES = {"vit_param_count": Named(("vit_param_count",)), "vit_macs": Named(("vit_macs", "attention_crossover_res"))}


def notebook(text: str = "", grade_id: str | None = None) -> bytes:
    metadata = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    cell = {"cell_type": "code", "metadata": metadata, "outputs": [], "execution_count": None, "source": text}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def lay(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def pack(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def found(path: Path) -> dict[tuple[str, str], bytes]:
    return {(s.student, s.exercise): s.read() for s in collect(path, EXERCISES).submissions}


CANVAS = {
    "lovelaceada_4411_900001_vit_macs.ipynb": b"ada old",
    "lovelaceada_4411_900007_vit_macs-1.ipynb": b"ada new",
    "hopper_grace_LATE_4412_900003_vit_param_count.ipynb": b"grace",
    "anon_aB3xZ_900004_vit_macs (2).ipynb": b"anon",
    "LATE_anon_qQ2_900005_vit_macs.ipynb": b"late anon",
}
MOODLE = {
    "Ada Lovelace_4411_assignsubmission_file/vit_macs.ipynb": b"ada",
    "Grace Hopper_4412_assignsubmission_file_/answer/vit_param_count.ipynb": b"grace",
    "Jean-Luc O'Neil_4413_assignsubmission_file_vit_macs.ipynb": b"jean",
    "Ada Lovelace_4411_assignsubmission_onlinetext/onlinetext.html": b"<p>hello</p>",
}
GRADESCOPE = {
    "assignment_77_export/submission_1/vit_macs.ipynb": b"ada",
    "assignment_77_export/submission_2/vit_macs.ipynb": b"pair",
    "assignment_77_export/submission_3/vit_macs.ipynb": b"ada again",
    "assignment_77_export/submission_9/vit_macs.ipynb": b"nobody knows",
    "assignment_77_export/submission_metadata.yml": b"""
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: '111'
    :email: ada@example.edu
  :created_at: 2026-04-26 17:34:00.861687000 Z
submission_2:
  :submitters:
  - :name: Grace Hopper
    :sid: 222
  - :name: Alan T
  :created_at: 2026-04-26 17:34:00.000000000 Z
submission_3:
  :submitters:
  - :name: Ada Lovelace
    :sid: '111'
    :email: ada@example.edu
  :created_at: 2026-04-26 18:00:00.000000000 Z
""",
}
LAYOUTS = {
    "tree": (
        {"ada/vit_macs.ipynb": b"1", "grace/vit_param_count.ipynb": b"2", "grace/deep/vit_macs.ipynb": b"3"},
        {("ada", "vit_macs"): b"1", ("grace", "vit_param_count"): b"2", ("grace", "vit_macs"): b"3"},
    ),
    "tree below a common folder": (
        {"class/ada/vit_macs.ipynb": b"1", "class/grace/vit_macs.ipynb": b"2"},
        {("ada", "vit_macs"): b"1", ("grace", "vit_macs"): b"2"},
    ),
    "one student": ({"ada/vit_macs.ipynb": b"1"}, {("ada", "vit_macs"): b"1"}),
    "nbgrader": (
        {
            "nbgrader_config.py": b"",
            "source/vit_macs/vit_macs.ipynb": b"not this",
            "autograded/ada/vit_macs/vit_macs.ipynb": b"nor this",
            "submitted/ada/vit_macs/vit_macs.ipynb": b"1",
            "submitted/ada/vit_macs/timestamp.txt": b"2026-03-01 10:00:00.000000 UTC",
            "submitted/grace/vit_macs/vit_macs.ipynb": b"2",
            "submitted/grace/vit_macs/.ipynb_checkpoints/vit_macs-checkpoint.ipynb": b"junk",
        },
        {("ada", "vit_macs"): b"1", ("grace", "vit_macs"): b"2"},
    ),
    "one nbgrader student": ({"ada/vit_macs/vit_macs.ipynb": b"1"}, {("ada", "vit_macs"): b"1"}),
    "flat": (
        {"ada_vit_macs.ipynb": b"1", "vit_macs-grace.ipynb": b"2", "mary ann_vit_param_count (1).ipynb": b"3"},
        {("ada", "vit_macs"): b"1", ("grace", "vit_macs"): b"2", ("mary ann", "vit_param_count"): b"3"},
    ),
    "by exercise": (
        {"vit_macs/ada.ipynb": b"1", "vit_macs/grace.ipynb": b"2", "vit_param_count/ada.ipynb": b"3"},
        {("ada", "vit_macs"): b"1", ("grace", "vit_macs"): b"2", ("ada", "vit_param_count"): b"3"},
    ),
    "a zip each": (
        {"ada.zip": pack({"vit_macs.ipynb": b"1"}), "grace.zip": pack({"my work/vit_macs.ipynb": b"2"})},
        {("ada", "vit_macs"): b"1", ("grace", "vit_macs"): b"2"},
    ),
    "canvas": (
        CANVAS,
        {
            ("lovelaceada_4411", "vit_macs"): b"ada new",
            ("hopper_grace_4412", "vit_param_count"): b"grace",
            ("anon_aB3xZ", "vit_macs"): b"anon",
            ("anon_qQ2", "vit_macs"): b"late anon",
        },
    ),
    "canvas, students handed in zips": (
        {"lovelaceada_4411_9_work.zip": pack({"work/vit_macs.ipynb": b"1", "work/vit_param_count.ipynb": b"2"})},
        {("lovelaceada_4411", "vit_macs"): b"1", ("lovelaceada_4411", "vit_param_count"): b"2"},
    ),
    "moodle": (
        MOODLE,
        {
            ("Ada Lovelace", "vit_macs"): b"ada",
            ("Grace Hopper", "vit_param_count"): b"grace",
            ("Jean-Luc O'Neil", "vit_macs"): b"jean",
        },
    ),
    "moodle, two people of one name, two assignments": (
        {
            "one/Ada Lovelace_4411_assignsubmission_file/vit_macs.ipynb": b"1",
            "two/Ada Lovelace_5511_assignsubmission_file/vit_param_count.ipynb": b"2",
            "one/Participant_1_assignsubmission_file/vit_macs.ipynb": b"3",
            "one/Participant_2_assignsubmission_file/vit_macs.ipynb": b"4",
        },
        {
            ("Ada Lovelace", "vit_macs"): b"1",
            ("Ada Lovelace", "vit_param_count"): b"2",
            ("Participant_1", "vit_macs"): b"3",
            ("Participant_2", "vit_macs"): b"4",
        },
    ),
    "gradescope": (
        GRADESCOPE,
        {
            ("ada@example.edu", "vit_macs"): b"ada again",
            ("222", "vit_macs"): b"pair",
            ("Alan T", "vit_macs"): b"pair",
            ("submission_9", "vit_macs"): b"nobody knows",
        },
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read(tmp_path: Path, layout: str) -> None:
    files, want = LAYOUTS[layout]
    assert found(lay(tmp_path / "handed in", files)) == want


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("nbgrader", "a zip each")])
def test_every_layout_is_read_from_a_zip(tmp_path: Path, layout: str) -> None:
    files, want = LAYOUTS[layout]
    path = tmp_path / "submissions.zip"
    path.write_bytes(pack(files))
    assert found(path) == want


def test_a_folder_of_downloads_one_zip_per_assignment(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "macs submissions.zip": pack({"lovelaceada_1_10_vit_macs.ipynb": b"1"}),
            "count submissions.zip": pack({"lovelaceada_1_11_vit_param_count.ipynb": b"2"}),
        },
    )
    assert found(tmp_path) == {("lovelaceada_1", "vit_macs"): b"1", ("lovelaceada_1", "vit_param_count"): b"2"}


def test_late_and_older_copies_are_said(tmp_path: Path) -> None:
    notes = "\n".join(collect(lay(tmp_path, CANVAS), EXERCISES).notes)
    assert "lovelaceada_4411, vit_macs: graded the newest copy, lovelaceada_4411_900007_vit_macs-1.ipynb" in notes
    assert "not lovelaceada_4411_900001_vit_macs.ipynb" in notes
    assert "hopper_grace_4412, vit_param_count: handed in late" in notes
    assert "lovelaceada_4411, vit_macs: handed in late" not in notes


def test_the_newer_file_wins_where_names_say_nothing(tmp_path: Path) -> None:
    lay(tmp_path, {"ada/a/vit_macs.ipynb": b"new", "ada/b/vit_macs.ipynb": b"old", "bob/vit_macs.ipynb": b"bob"})
    os.utime(tmp_path / "ada/b/vit_macs.ipynb", (1, 1))
    assert found(tmp_path)["ada", "vit_macs"] == b"new"


def test_a_renamed_notebook_is_known_by_its_cells(tmp_path: Path) -> None:
    data = notebook("answer", grade_id="attention_crossover_res")
    path = lay(tmp_path, {"ada/homework final.ipynb": data, "bob/diary.ipynb": notebook("dear diary")})
    assert found(path) == {("ada", "vit_macs"): data}
    assert any(note.startswith("bob/diary.ipynb: skipped") for note in collect(path, EXERCISES).notes)


def test_submissions_come_by_student_and_in_course_order(tmp_path: Path) -> None:
    lay(tmp_path, {f"{who}/{what}.ipynb": b"" for who in ("b", "a") for what in EXERCISES})
    got = [(s.student, s.exercise) for s in collect(tmp_path, EXERCISES).submissions]
    assert got == [("a", "vit_param_count"), ("a", "vit_macs"), ("b", "vit_param_count"), ("b", "vit_macs")]


def test_a_name_that_is_no_text_is_made_one(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/ad\xe9"
    os.mkdir(folder)
    with open(folder + b"/vit_macs.ipynb", "wb") as file:
        file.write(b"1")
    lay(tmp_path, {"bob/vit_macs.ipynb": b"2"})
    assert found(tmp_path) == {("ad\ufffd", "vit_macs"): b"1", ("bob", "vit_macs"): b"2"}


# ---- archives and names that mean harm


@pytest.mark.parametrize("kind", ["tree", "canvas", "gradescope"])
def test_a_student_is_not_taken_for_another_by_names_inside_their_own_folder(tmp_path: Path, kind: str) -> None:
    inside = {
        "bob_4412_999999_vit_macs.ipynb": b"forged",
        "bob/vit_macs.ipynb": b"forged",
        "bob_1_assignsubmission_file_/vit_macs.ipynb": b"forged",
        "submission_2/vit_macs.ipynb": b"forged",
        "submission_metadata.yml": b"submission_2:\n  :submitters:\n  - :name: ada\n",
    }
    ada, bob, cy, dee = {
        "tree": ("ada", "bob", "cy", "dee"),
        "canvas": ("ada_4411_1_work.zip", "bob_4412_2_vit_macs.ipynb", "cy_4413_3_vit_macs.ipynb", "dee_4_4_x.zip"),
        "gradescope": ("submission_1", "submission_2", "submission_3", "submission_4"),
    }[kind]
    if kind == "canvas":
        other = {bob: b"bob", cy: b"cy", dee: pack({"vit_macs.ipynb": b"dee"})}
        lay(tmp_path, {ada: pack(inside), **other})
    else:
        lay(tmp_path, {f"{ada}/{name}": data for name, data in inside.items()})
        lay(tmp_path, {f"{who}/vit_macs.ipynb": who.encode() for who in (bob, cy, dee)})
    others = {student: data for (student, _), data in found(tmp_path).items() if data != b"forged"}
    assert len(others) == 3
    assert [student for (student, _), data in found(tmp_path).items() if data == b"forged"] in (
        ["ada"],
        ["ada_4411"],
        ["submission_1"],
    )


@pytest.mark.parametrize("layout", ["by student", "by exercise"])
def test_a_student_is_not_taken_for_another_by_a_thousand_files(tmp_path: Path, layout: str) -> None:
    """However many names in one folder look like a platform's, the others decide what the platform is."""
    many = {f"ada_1_assignsubmission_file/{n}/vit_macs.ipynb": b"forged" for n in range(MAX_INNER_MEMBERS)}
    home = "{}" if layout == "by student" else "vit_macs/{}"
    lay(tmp_path, {f"{home.format(who)}/vit_macs.ipynb": who.encode() for who in ("ada", "bob", "cy", "dee")})
    lay(tmp_path, {f"{home.format('eve')}/more.zip": pack(many)})
    expected = {(who, "vit_macs"): who.encode() for who in ("ada", "bob", "cy", "dee")}
    assert found(tmp_path) == expected | {("eve", "vit_macs"): b"forged"}


@pytest.mark.parametrize(
    "text", ["0001-01-01", "0001-01-01 00:00:00+14:00", "9999-12-31T23:59:59-12:00", "soon", "\xff"]
)
def test_a_time_that_is_none_costs_nobody_anything(tmp_path: Path, text: str) -> None:
    lay(tmp_path, {"ada/vit_macs.ipynb": b"1", "ada/timestamp.txt": text.encode("latin-1"), "bob/vit_macs.ipynb": b"2"})
    assert [submission.when for submission in collect(tmp_path, EXERCISES).submissions] == [None, None]


def test_a_file_that_cannot_be_read_costs_only_its_own_student(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ada/odd name.ipynb", "ada/timestamp.txt", "ada/vit_macs.ipynb", "bob/vit_macs.ipynb")
    lay(tmp_path, dict.fromkeys(names, b"2"))
    real = Path.open

    def refused(path: Path, *args: object) -> object:
        if path.parent.name == "ada":
            raise PermissionError(13, "Permission denied")
        return real(path, *args)

    monkeypatch.setattr(Path, "open", refused)
    ada, bob = collect(tmp_path, EXERCISES).submissions
    with pytest.raises(SubmissionError, match="cannot be read: Permission denied"):
        ada.read()
    assert bob.read() == b"2"


def test_a_zip_in_a_zip_is_unpacked_once_for_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand notebooks of no known name are a thousand looks inside; unpacking it for each would take minutes."""
    opened = []
    real = zipfile.ZipFile.__init__
    monkeypatch.setattr(zipfile.ZipFile, "__init__", lambda *args, **kw: (opened.append(1), real(*args, **kw))[1])
    inner = pack({f"{n}.ipynb": b"{}" for n in range(MAX_INNER_MEMBERS)})
    (tmp_path / "in.zip").write_bytes(pack({"ada/work.zip": inner, "bob/vit_macs.ipynb": b"2"}))
    opened.clear()
    assert found(tmp_path / "in.zip") == {("bob", "vit_macs"): b"2"}
    assert len(opened) <= 3


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    lay(tmp_path / "in", {"ada/vit_param_count.ipynb": b"1", "bob/vit_macs.ipynb": b"2"})
    (tmp_path / "in/ada/vit_macs.ipynb").symlink_to(tmp_path / "secret")
    (tmp_path / "in/eve").symlink_to(tmp_path)
    submissions = {(s.student, s.exercise): s for s in collect(tmp_path / "in", EXERCISES).submissions}
    assert set(submissions) == {("ada", "vit_param_count"), ("ada", "vit_macs"), ("bob", "vit_macs")}
    with pytest.raises(SubmissionError, match="link"):
        submissions["ada", "vit_macs"].read()


def test_a_pipe_does_not_hold_the_grader_up(tmp_path: Path) -> None:
    lay(tmp_path, {"ada/notes.txt": b"", "bob/vit_macs.ipynb": b"2"})
    os.mkfifo(tmp_path / "ada/vit_macs.ipynb")
    os.mkfifo(tmp_path / "ada/work.zip")
    ada, bob = collect(tmp_path, EXERCISES).submissions
    with pytest.raises(SubmissionError, match="is no ordinary file"):
        ada.read()
    assert bob.read() == b"2"


def test_a_link_in_a_zip_is_not_followed(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("ada/vit_macs.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    (submission,) = collect(tmp_path / "in.zip", EXERCISES).submissions
    with pytest.raises(SubmissionError, match="link"):
        submission.read()


@pytest.mark.parametrize("name", ["../../etc/vit_macs.ipynb", "/root/vit_macs.ipynb", "C:\\x\\vit_macs.ipynb"])
def test_a_name_that_points_outside_is_skipped_and_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "in.zip").write_bytes(pack({name: b"evil", "bob/vit_macs.ipynb": b"2", "al/vit_macs.ipynb": b"3"}))
    collection = collect(tmp_path / "in.zip", EXERCISES)
    assert [s.student for s in collection.submissions] == ["al", "bob"]
    assert any("points outside" in note for note in collection.notes)


def test_a_name_without_end_is_skipped_and_said(tmp_path: Path) -> None:
    names = ["anon_" * 13_000, "_" * 65_000, "1_" * 30_000]
    (tmp_path / "in.zip").write_bytes(
        pack({f"{name}.ipynb": b"evil" for name in names} | {"bob/vit_macs.ipynb": b"2", "al/vit_macs.ipynb": b"3"})
    )
    collection = collect(tmp_path / "in.zip", EXERCISES)
    assert [s.student for s in collection.submissions] == ["al", "bob"]
    assert sum("too long" in note for note in collection.notes) == 3


def test_a_bomb_is_refused_without_being_unpacked(tmp_path: Path) -> None:
    (tmp_path / "in.zip").write_bytes(pack({"ada/vit_macs.ipynb": bytes(MAX_FILE - 1), "bob/vit_macs.ipynb": b"2"}))
    ada, bob = collect(tmp_path / "in.zip", EXERCISES).submissions
    with pytest.raises(SubmissionError, match="times its size"):
        ada.read()
    assert bob.read() == b"2"


def test_a_member_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    data = bytearray(pack({"ada/vit_macs.ipynb": os.urandom(1000), "bob/vit_macs.ipynb": b"2"}))
    where = data.index(b"PK\x01\x02") + 24  # the size unpacked, in the directory at the end
    data[where : where + 4] = (10).to_bytes(4, "little")
    (tmp_path / "in.zip").write_bytes(bytes(data))
    with pytest.raises(SubmissionError):
        collect(tmp_path / "in.zip", EXERCISES).submissions[0].read()


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    lay(tmp_path, {"ada/vit_macs.ipynb": b"", "bob/vit_macs.ipynb": b"2"})
    os.truncate(tmp_path / "ada/vit_macs.ipynb", MAX_FILE + 1)
    with pytest.raises(SubmissionError, match="larger than 20 MB"):
        collect(tmp_path, EXERCISES).submissions[0].read()


def test_an_encrypted_and_a_damaged_member_cost_only_their_own_student(tmp_path: Path) -> None:
    files = {"ada/vit_macs.ipynb": b"a" * 99, "bob/vit_macs.ipynb": os.urandom(99), "eve/vit_macs.ipynb": b"e"}
    data = bytearray(pack(files))
    data[data.index(b"PK\x01\x02") + 8] |= 1  # ada: the flag for encryption
    at = data.index(b"bob/vit_macs.ipynb") + len("bob/vit_macs.ipynb") + 40
    data[at] ^= 0xFF
    (tmp_path / "in.zip").write_bytes(bytes(data))
    ada, bob, eve = collect(tmp_path / "in.zip", EXERCISES).submissions
    with pytest.raises(SubmissionError, match="encrypted"):
        ada.read()
    with pytest.raises(SubmissionError, match="damaged"):
        bob.read()
    assert eve.read() == b"e"


def test_a_students_zip_may_not_be_deep_full_or_broken(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "canvas.zip": pack(
                {
                    "bob_2_3_full.zip": pack({f"{n}.txt": b"" for n in range(MAX_INNER_MEMBERS + 1)}),
                    "eve_3_4_broken.zip": b"PK\x03\x04 not really",
                    "fay_4_5_vit_macs.ipynb": b"1",
                    "gil_5_6_deep.zip": pack({"more.zip": pack({"vit_macs.ipynb": b""})}),
                }
            ),
        },
    )
    collection = collect(tmp_path, EXERCISES)
    assert [s.student for s in collection.submissions] == ["fay_4"]
    notes = "\n".join(collection.notes)
    assert "bob_2_3_full.zip: skipped, it unpacks to too much (1,001 files)" in notes
    assert "eve_3_4_broken.zip: skipped, it is no readable zip" in notes
    assert "more.zip: skipped, it is a zip within a zip" in notes


def test_broken_metadata_costs_only_the_names(tmp_path: Path) -> None:
    files = {**GRADESCOPE, "assignment_77_export/submission_metadata.yml": b"{ not yaml"}
    collection = collect(lay(tmp_path, files), EXERCISES)
    assert {s.student for s in collection.submissions} == {f"submission_{n}" for n in (1, 2, 3, 9)}
    assert any("not understood" in note for note in collection.notes)


@pytest.mark.parametrize("what", ["missing", "text", "empty"])
def test_nothing_to_read_is_said_in_one_sentence(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "text":
        path.write_text("hello")
    if what == "empty":
        path.mkdir()
    with pytest.raises(SubmissionError) as caught:
        collect(path, EXERCISES)
    assert "\n" not in str(caught.value)
    assert what in str(caught.value)


def test_a_zip_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    data = bytearray(pack({"ad\u00e9/vit_macs.ipynb": b"1"}))
    data[data.rindex(b"\xc3")] = 0xFF  # a name in the directory that is no UTF-8
    (tmp_path / "in.zip").write_bytes(bytes(data))
    with pytest.raises(SubmissionError, match="it is no readable zip"):
        collect(tmp_path / "in.zip", EXERCISES)


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.zip").write_bytes(pack(CANVAS))
    monkeypatch.setattr(zipfile.ZipFile, "extract", None)
    monkeypatch.setattr(zipfile.ZipFile, "extractall", None)
    found(tmp_path / "in.zip")
    assert os.listdir(tmp_path) == ["in.zip"]
