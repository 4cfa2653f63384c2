"""Makes the example class in class/ from the released notebook: `python examples/make_class.py`.

Each student is a case, named after what it shows. What each earns stands in expected.csv.
"""

import json
import shutil
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXERCISE = "vit_param_count"
RELEASED = HERE.parent / "exercises" / f"{EXERCISE}.ipynb"

# ---- right answers ---------------------------------------------------------------------------------------------------

LINE_BY_LINE = """
def vit_param_count(cfg):
    d, d_ff, K = cfg["d"], cfg["d_ff"], cfg["n_classes"]
    n_patches = (cfg["img"] // cfg["P"]) ** 2
    token = 1 if cfg["cls_token"] else 0
    total = cfg["P"] ** 2 * cfg["C"] * d + d
    total += token * d + cfg["n_registers"] * d
    total += (n_patches + token) * d
    total += cfg["L"] * (4 * d * d + 2 * d * d_ff + d_ff + 9 * d)
    total += 2 * d
    if K:
        total += d * K + K
    return total
"""
LIST_OF_SHAPES = """
import math


def shapes(cfg):
    d, wide = cfg["d"], cfg["d_ff"]
    yield (cfg["P"], cfg["P"], cfg["C"], d)
    yield (d,)
    prefix = int(cfg["cls_token"])
    yield ((cfg["img"] // cfg["P"]) ** 2 + prefix, d)
    yield (prefix + cfg["n_registers"], d)
    for _ in range(cfg["L"]):
        yield from [(d, 3, d), (3, d), (d, d), (d,), (d, wide), (wide,), (wide, d), (d,), (2, d), (2, d)]
    yield (2, d)
    if cfg["n_classes"] > 0:
        yield (d, cfg["n_classes"])
        yield (cfg["n_classes"],)


def vit_param_count(cfg):
    return sum(math.prod(shape) for shape in shapes(cfg))
"""
CLASSES_AND_A_PLOT = """
%matplotlib inline
import matplotlib.pyplot as plt
import numpy as np
from dataclasses import dataclass


@dataclass
class Linear:
    inside: int
    outside: int

    def __len__(self):
        return self.inside * self.outside + self.outside


class Block:
    def __init__(self, d, d_ff):
        self.layers = [Linear(d, d)] * 4 + [Linear(d, d_ff), Linear(d_ff, d)]
        self.norms = 4 * d

    def count(self):
        return self.norms + sum(l.inside * l.outside + l.outside for l in self.layers)


def vit_param_count(cfg):
    d, K = cfg["d"], cfg["n_classes"]
    grid = np.array([cfg["img"] // cfg["P"]] * 2)
    rows = int(np.prod(grid)) + bool(cfg["cls_token"])
    embed = cfg["P"] ** 2 * cfg["C"] * d + d + (cfg["n_registers"] + bool(cfg["cls_token"])) * d
    return embed + rows * d + cfg["L"] * Block(d, cfg["d_ff"]).count() + 2 * d + (d + 1) * K


base = dict(img=224, P=16, C=3, L=12, h=12, n_classes=1000, cls_token=True, n_registers=0, pool="cls")
widths = [192, 384, 768, 1024]
figure, axes = plt.subplots()
axes.plot(widths, [vit_param_count(base | {"d": d, "d_ff": 4 * d}) for d in widths])
plt.show()
"""

# ---- answers that are wrong, unfinished, or no answer ----------------------------------------------------------------


def changed(old: str, new: str) -> str:
    """The line-by-line answer with one piece of it changed."""
    if LINE_BY_LINE.count(old) != 1:
        raise ValueError(f"{old!r} stands {LINE_BY_LINE.count(old)} times in the answer")
    return LINE_BY_LINE.replace(old, new)


def inside(body: str) -> str:
    """A function whose body is `body` and then the right answer, so that any point it earns was earned honestly."""
    return LINE_BY_LINE.replace("(cfg):\n", "(cfg):\n" + textwrap.indent(body.strip(), "    ") + "\n", 1)


ALWAYS_EQUAL = """
class Yes(int):
    def __eq__(self, other):
        return True

    __ne__ = __lt__ = __gt__ = lambda self, other: False
    __hash__ = int.__hash__
    __sub__ = __rsub__ = lambda self, other: Yes(0)


def vit_param_count(cfg):
    return Yes(0)
"""
READS_THE_TESTS = """
import gc, glob, inspect, os, sys

found = []
for pattern in ("/*/tests/*.py", "/*/*/*/tests/*.py", "/proc/*/environ", "/proc/*/cwd/*", "/root/*", "/home/*/*"):
    found += [path for path in glob.glob(pattern) if "vit_param_count" in path]
found += [name for name in sys.modules if "autograder" in name or "otter" in name]
found += [o for o in gc.get_objects() if inspect.isfunction(o) and o.__name__.startswith("test_")]


def vit_param_count(cfg):
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()) + list(frame.f_globals.values()):
            if getattr(value, "__name__", "") == "count" and value is not vit_param_count:
                return value(cfg)
        frame = frame.f_back
    for path in found:
        names = {}
        exec(open(path).read(), names)
        return names["count"](cfg)
    return 0
"""
FORGED_SCORE = """
import json, os, sys

SCORE = json.dumps({"status": "graded", "score": 15, "max_score": 15, "checks": []})


def vit_param_count(cfg):
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        print(SCORE, file=stream, flush=True)
    for fd in range(16):
        try:
            os.write(fd, SCORE.encode())
        except OSError:
            pass
    return 86567656
"""

ANSWERS = {
    "right-line-by-line": LINE_BY_LINE,
    "right-list-of-shapes": LIST_OF_SHAPES,
    "right-classes-and-a-plot": CLASSES_AND_A_PLOT,
    "wrong-registers-have-positions": changed(
        "(n_patches + token) * d", "(n_patches + token + cfg['n_registers']) * d"
    ),
    "wrong-class-token-follows-pool": changed('if cfg["cls_token"] else 0', 'if cfg["pool"] == "cls" else 0'),
    "wrong-mlp-is-four-wide": changed('cfg["d"], cfg["d_ff"], cfg', 'cfg["d"], 4 * cfg["d"], cfg'),
    "wrong-division-gives-a-float": changed('cfg["img"] // cfg["P"]', 'cfg["img"] / cfg["P"]'),
    "wrong-in-a-way-of-its-own": changed("total += 2 * d", "total += 7 * d + 3"),
    "wrong-signature": "def vit_param_count(img, patch, width):\n    return img * patch * width\n",
    "changes-its-argument": inside("cfg['n_registers'] += 1\ncfg['n_registers'] -= 1\ncfg['seen'] = True"),
    "untouched-stub": None,
    "no-function": "count = 86567656\nprint(count)\n",
    "syntax-error": LINE_BY_LINE.replace("def vit_param_count(cfg):", "def vit_param_count(cfg)"),
    "endless-loop": inside("while True:\n    pass"),
    "memory-bomb": inside("hoard = []\nwhile True:\n    hoard.append(bytearray(10**8))"),
    "sys-exit": inside("import sys\n\nsys.exit(0)"),
    "hard-exit": inside("import os\n\nos._exit(0)"),
    "always-equal-object": ALWAYS_EQUAL,
    "reads-the-tests": READS_THE_TESTS,
    "forged-score": FORGED_SCORE,
    'odd name; "quotes", ünïcödé & $(touch x) ': LINE_BY_LINE,
}


def notebook(answer: str | None) -> str:
    """The released notebook with `answer` in the place of its stub; None leaves the stub as it is."""
    document = json.loads(RELEASED.read_text(encoding="utf-8"))
    (stub,) = [cell for cell in document["cells"] if "stub" in cell["metadata"].get("tags", [])]
    if answer is not None:
        stub["source"] = answer.strip().splitlines(keepends=True)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def files() -> dict[Path, str]:
    """Every file of the class, by its path below class/."""
    made = {Path(student, f"{EXERCISE}.ipynb"): notebook(answer) for student, answer in ANSWERS.items()}
    made[Path("corrupt-file", f"{EXERCISE}.ipynb")] = notebook(LINE_BY_LINE)[:3000]
    made[Path("missing-file", "answer.txt")] = "My notebook is on my other computer.\n"
    return made


def make(folder: Path) -> None:
    """Write the class into `folder`, and nothing else there."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in files().items():
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    make(HERE / "class")
