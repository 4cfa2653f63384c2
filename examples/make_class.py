"""Makes the example class in class/ from the released notebooks: `python examples/make_class.py`.

A student is a case, named after what it shows. What each earns stands in expected.csv; a notebook that is not listed
there was not handed in.
"""

import json
import re
import shutil
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
# answers/<student>/<exercise>.py is what a student wrote: a part for each cell that the notebook leaves open, at "# %%".
ANSWERS = HERE / "answers"
PATTERN = "right-line-by-line"  # whose answers are changed to make those below
EXERCISES = ("vit_forward", "vit_param_count", "vit_macs", "gpu_days", "attention_memory")

Edits = tuple[tuple[str, str], ...]


def first(body: str) -> Edits:
    """Edits that make `body` run before the right answer, so that any point it earns was earned honestly."""
    return (("(cfg):\n", "(cfg):\n" + textwrap.indent(body, "    ") + "\n"),)


TOKEN = 'token = 1 if cfg["cls_token"] else 0'
TOKEN_BY_POOL: Edits = ((TOKEN, TOKEN.replace('cfg["cls_token"]', 'cfg["pool"] == "cls"')),)
FOUR_WIDE = ('cfg["d"], cfg["d_ff"], cfg', 'cfg["d"], 4 * cfg["d"], cfg')
UNMASKED = "    scores = scores - scores.max(-1, keepdims=True)\n"

# These handed in all five. Where nothing is changed, and nothing of theirs is in answers/, they are right.
WRONG: dict[str, dict[str, Edits]] = {
    "wrong-registers-have-positions": {
        "vit_param_count": (("(n_patches + token) * d", "(n_patches + token + cfg['n_registers']) * d"),),
        "vit_forward": (
            ('    x = x + params["pos"]\n', ""),
            ("x[:, first:]], axis=1)\n", 'x[:, first:]], axis=1)\n    x[:, : len(params["pos"])] += params["pos"]\n'),
        ),
    },
    "wrong-class-token-follows-pool": {
        "vit_param_count": TOKEN_BY_POOL,
        "vit_macs": TOKEN_BY_POOL,
        "attention_memory": TOKEN_BY_POOL,
    },
    "wrong-mlp-is-four-wide": {
        "vit_param_count": (FOUR_WIDE,),
        "vit_macs": (FOUR_WIDE, ('2 * cfg["d"] + cfg["d_ff"]', '6 * cfg["d"]')),
    },
    "wrong-division-gives-a-float": {
        "vit_param_count": (('cfg["img"] // cfg["P"]', 'cfg["img"] / cfg["P"]'),),
        "vit_macs": (('res // cfg["P"]', 'res / cfg["P"]'),),
        "attention_memory": (('res // cfg["P"]', 'res / cfg["P"]'),),
    },
    "wrong-macs-and-flops-mixed-up": {
        "vit_macs": (("return macs\n", "return {term: 2 * count for term, count in macs.items()}\n"),),
        "gpu_days": (("forward = 2 * forward_macs(cfg, res)", "forward = forward_macs(cfg, res)"),),
    },
    "wrong-at-the-edges": {
        "vit_forward": ((UNMASKED, ""),),
        "vit_macs": (('< 2 * cfg["d"]', '<= 2 * cfg["d"]'),),
        "gpu_days": (("return exaflops * 1e18 / at_peak", "return min(1.0, exaflops * 1e18 / at_peak)"),),
        "attention_memory": (("= budget_bytes //", "= max(budget_bytes - 1, 0) //"),),
    },
    "wrong-habits-of-a-language-model": {
        "vit_forward": ((UNMASKED, f"    scores = np.where(np.tri(T) == 1, scores, -np.inf)\n{UNMASKED}"),),
        "attention_memory": (("return heads * T * T * bytes_per", "return heads * T * (T + 1) // 2 * bytes_per"),),
    },
    "wrong-in-a-way-of-its-own": {
        "vit_forward": (
            ("weights / weights.sum(-1, keepdims=True)", "weights / (1 + weights.sum(-1, keepdims=True))"),
        ),
        "vit_param_count": (("total += 2 * d", "total += 7 * d + 3"),),
        "gpu_days": (("seconds / 86400", "seconds / 86164"), ("device_days * 86400", "device_days * 86164")),
    },
    "wrong-loop-over-heads": {},
}

# These handed in what is listed, and what is in answers/. None is a notebook as it was released.
SOME: dict[str, dict[str, Edits | None]] = {
    "unfinished": {"vit_param_count": (), "gpu_days": None},
    "untouched-stub": dict.fromkeys(EXERCISES),
    "syntax-error": {"vit_param_count": (("(cfg):", "(cfg)"),)},
    "changes-its-argument": {
        "vit_param_count": first("cfg['n_registers'] += 1\ncfg['n_registers'] -= 1\ncfg['seen'] = True"),
        "vit_forward": (('cls = np.tile(params["cls"]', 'cls = params["cls"] = np.tile(params["cls"]'),),
    },
    "odd name; ünïcödé & $(touch x)": {"vit_param_count": ()},
    "endless-loop": {"vit_param_count": first("while True:\n    pass")},
    "memory-bomb": {"vit_param_count": first("hoard = []\nwhile True:\n    hoard.append(bytearray(10**8))")},
    "sys-exit": {"vit_param_count": first("import sys\n\nsys.exit(0)")},
    "hard-exit": {"vit_param_count": first("import os\n\nos._exit(0)")},
}


def written(student: str, exercise: str) -> str:
    """What stands in answers/ for that notebook."""
    return (ANSWERS / student / f"{exercise}.py").read_text(encoding="utf-8")


def changed(exercise: str, edits: Edits) -> str:
    """The pattern's answer after edits. Raises ValueError for a piece that is not there exactly once."""
    answer = written(PATTERN, exercise)
    for old, new in edits:
        if answer.count(old) != 1:
            raise ValueError(f"{old!r} stands {answer.count(old)} times in the answer to {exercise}")
        answer = answer.replace(old, new)
    return answer


def answers() -> dict[tuple[str, str], str | None]:
    """Every answer by student and exercise; None where the notebook was left as it was released."""
    made: dict[tuple[str, str], str | None] = {}
    for student, changes in WRONG.items():
        made |= {(student, exercise): changed(exercise, changes.get(exercise, ())) for exercise in EXERCISES}
    for student, changes in SOME.items():
        for exercise, edits in changes.items():
            made[student, exercise] = None if edits is None else changed(exercise, edits)
    for path in sorted(ANSWERS.glob("*/*.py")):
        made[path.parent.name, path.stem] = written(path.parent.name, path.stem)
    return made


def notebook(exercise: str, answer: str | None) -> str:
    """The released notebook with the parts of `answer` in the place of its stubs; None leaves them as they are."""
    document = json.loads((HERE.parent / "exercises" / f"{exercise}.ipynb").read_text(encoding="utf-8"))
    if answer is not None:
        stubs = [cell for cell in document["cells"] if "stub" in cell["metadata"].get("tags", [])]
        parts = re.split(r"^# %%\n", answer, flags=re.MULTILINE)
        for stub, part in zip(stubs, parts, strict=True):
            stub["source"] = part.strip().splitlines(keepends=True)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def files() -> dict[Path, str]:
    """Every file of the class, by its path below class/."""
    made = {
        Path(student, f"{exercise}.ipynb"): notebook(exercise, answer)
        for (student, exercise), answer in answers().items()
    }
    made[Path("corrupt-file", "vit_param_count.ipynb")] = notebook("vit_param_count", None)[:3000]
    made[Path("missing-file", "answer.txt")] = "My notebook is on my other computer.\n"
    return made


def make(folder: Path) -> None:
    """Write the class into `folder`, and nothing else there."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    make(HERE / "class")
