"""Reads files from folders and zips that students filled: no link is followed, no bomb goes off, nothing is unpacked.

A file inside a zip is read from there, into memory, when it is asked for.
"""

import datetime
import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

MAX_FILE = 20 * 2**20  # bytes of one notebook
MAX_INNER_ZIP = 50 * 2**20  # bytes of one student's zip, packed; what it unpacks to is under the same limit
MAX_INNER_MEMBERS = 1_000
MAX_MEMBERS = 200_000  # of a platform's zip
MAX_NAME = 255  # characters, as file systems have it
MAX_RATIO = 200  # unpacked over packed size; a notebook reaches 20
RATIO_FREE = 2**20  # bytes below which the ratio does not matter
JUNK = re.compile(r"\..*|__MACOSX|.*-checkpoint\.ipynb", re.DOTALL)


class SubmissionError(ValueError):
    """What was given as submissions, or one file of it, cannot be read; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that can be read. `read` raises SubmissionError, with the end of a sentence about the file."""

    parts: tuple[str, ...]  # folders and zips on the way, then the file's name
    mtime: float
    read: Callable[[], bytes]

    @property
    def origin(self) -> str:
        """Where it is, relative to what was walked."""
        return "/".join(self.parts)


def _refuse_odd(mode: int) -> None:
    """Raises SubmissionError for what is no ordinary file: a link may lead anywhere, and a pipe may never end."""
    if stat.S_ISLNK(mode):
        raise SubmissionError("is a link to another file; links are not followed")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise SubmissionError("is no ordinary file")


def _read_path(path: str, limit: int = MAX_FILE) -> bytes:
    try:
        _refuse_odd(os.lstat(path).st_mode)
        with Path(path).open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise SubmissionError(f"cannot be read: {error.strerror}") from None
    if len(data) > limit:
        raise SubmissionError(f"is larger than {limit // 2**20} MB")
    return data


def _read_member(archive: Callable[[], zipfile.ZipFile], info: zipfile.ZipInfo, limit: int = MAX_FILE) -> bytes:
    _refuse_odd(info.external_attr >> 16)
    if info.flag_bits & 0x1:
        raise SubmissionError("is encrypted; ask for it without a password")
    if info.file_size > RATIO_FREE and info.file_size > MAX_RATIO * max(info.compress_size, 1):
        raise SubmissionError(f"unpacks to more than {MAX_RATIO} times its size, as no notebook does")
    try:
        with archive().open(info) as file:
            data = file.read(limit + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError) as error:
        raise SubmissionError(f"is damaged inside its zip ({error})") from None
    if len(data) > limit:
        raise SubmissionError(f"is larger than {limit // 2**20} MB")
    return data


@lru_cache(maxsize=8)
def _open(path: Path) -> zipfile.ZipFile:
    """The zip at `path`; a few are kept open, because reading the directory of a large one takes a while."""
    return zipfile.ZipFile(path)


@lru_cache(maxsize=1)
def _inner(read: Callable[[], bytes]) -> zipfile.ZipFile:
    """The zip that `read` gives; the last one is kept, because its members are read one after the other."""
    return zipfile.ZipFile(io.BytesIO(read()))


def _walk_zip(archive: Callable, parts: tuple[str, ...], notes: list[str], inner: bool) -> Iterator[File]:
    origin = "/".join(parts)
    try:
        members = [info for info in archive().infolist() if not info.is_dir()]
    except (zipfile.BadZipFile, SubmissionError, OSError, ValueError) as error:
        notes.append(f"{origin or 'the zip'}: skipped, it is no readable zip ({error})")
        return
    limit = MAX_INNER_MEMBERS if inner else MAX_MEMBERS
    if len(members) > limit or (inner and sum(info.file_size for info in members) > MAX_INNER_ZIP):
        notes.append(f"{origin or 'the zip'}: skipped, it unpacks to too much ({len(members):,} files)")
        return
    for info in members:
        names = tuple(name for name in info.filename.split("/") if name)
        if (
            not names
            or ".." in names
            or info.filename.startswith("/")
            or any("\\" in name or ":" in name[:2] for name in names)
        ):
            notes.append(f"{origin}/{info.filename[:200]}: skipped, its name points outside of the zip".lstrip("/"))
        elif max(map(len, names)) > MAX_NAME:
            notes.append(f"{origin}/{info.filename[:200]}: skipped, its name is too long".lstrip("/"))
        elif not any(JUNK.fullmatch(name) for name in names):
            mtime = datetime.datetime(*_valid(info.date_time)).timestamp()
            yield from _expand(
                File(parts + names, mtime, partial(_read_member, archive, info)),
                partial(_inner, partial(_read_member, archive, info, MAX_INNER_ZIP)),
                notes,
                inner,
            )


def _valid(date_time: tuple[int, ...]) -> tuple[int, ...]:
    try:
        datetime.datetime(*date_time)
    except ValueError:
        return (1980, 1, 1)
    return date_time


def _expand(file: File, archive: Callable, notes: list[str], inside: bool) -> Iterator[File]:
    """The file, or what is in it when it is a zip; a zip within a student's zip is not looked into."""
    if not file.parts[-1].lower().endswith(".zip"):
        yield file
    elif inside:
        notes.append(f"{file.origin}: skipped, it is a zip within a zip")
    else:
        yield from _walk_zip(archive, file.parts, notes, inner=True)


def _utf8(name: str) -> str:
    """A file's name as it can stand in a result file, which one that is no UTF-8 could not."""
    return os.fsencode(name).decode("utf-8", "replace")


def walk(root: Path, notes: list[str]) -> Iterator[File]:
    """Every file in the folder or zip `root`, in order, and every file in a zip there; `notes` says what is skipped."""
    if root.is_file():
        yield from _walk_zip(partial(_open, root), (), notes, inner=False)
        return
    for folder, folders, names in os.walk(root):  # plain strings: a Path for each file would cost a large class memory
        folders[:] = sorted(name for name in folders if not JUNK.fullmatch(name))
        inside = () if folder == os.fspath(root) else tuple(_utf8(os.path.relpath(folder, root)).split(os.sep))
        for name in sorted(name for name in names if not JUNK.fullmatch(name)):
            path, parts = os.path.join(folder, name), (*inside, _utf8(name))
            status = os.lstat(path)
            if name.lower().endswith(".zip") and stat.S_ISREG(status.st_mode):
                # At the top it may be a platform's, one per assignment and large; deeper down it is a student's.
                yield from _walk_zip(partial(_open, Path(path)), parts, notes, inner=len(parts) > 1)
            else:
                yield File(parts, status.st_mtime, partial(_read_path, path))
