"""What a student receives: the files of exercises/, also as one zip."""

import zipfile
from pathlib import Path

from autograder.catalog import EXERCISES, ROOT

FOLDER = ROOT / "exercises"
FILES = [
    *(f"{name}.ipynb" for name in EXERCISES),
    *(f"cases/{name}.json" for name in EXERCISES),
    "checks.py",
]


def write_zip(path: Path) -> Path:
    """Writes all files under exercises/ in `path`; the same files give the same bytes. Gives `path`.

    Raises FileNotFoundError where one is missing (`autograder release` makes them).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in FILES:
            entry = zipfile.ZipInfo(f"exercises/{file}", date_time=(2020, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, (FOLDER / file).read_bytes())
    return path
