"""The `vit-tracer` directive: a forward pass tensor by tensor, from the image to the logits.

    ```{vit-tracer}
    ```

Each step names a tensor, the letters of its axes, the line of the definition and the line of vit/model.py that it comes
from. The letters get their numbers from vit/cost.py, the lines of code are looked up in the file. Without JavaScript
the figure is a table for ViT-B/16. The page must hold the definition, whose equations the steps name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from vit import cost
from vit.family import Config, config

from course.interactive import BOOK, Interactive

BATCH, BYTES_PER = 32, {"bfloat16": 2, "float32": 4}  # the first of each is what the page begins with

CHOICES: dict[str, tuple[str, Config]] = {
    "B-16-224": ("ViT-B/16 at 224 pixels", config("B/16")),
    "B-16-384": ("ViT-B/16 at 384 pixels", config("B/16", img=384)),
    "L-14-336": ("ViT-L/14 at 336 pixels", config("L/14", img=336)),
    "H-14-224": ("ViT-H/14 at 224 pixels", config("H/14")),
    "B-16-1024-4": ("ViT-B/16 at 1,024 pixels, 4 registers", config("B/16", img=1024, n_registers=4)),
}

LETTERS = {
    "B": "images in the batch",
    "H": "height in pixels",
    "W": "width in pixels",
    "C": "channels",
    "P": "side of a patch",
    "N_p": "patches of an image",
    "P²C": "numbers in a patch",
    "R": "registers",
    "T": "tokens of an image",
    "d": "width of a token",
    "3d": "three widths, side by side",
    "h": "heads",
    "d_k": "columns of a head",
    "d_ff": "width inside the MLP",
    "L": "blocks",
    "K": "classes",
}


def sizes(cfg: Config) -> dict[str, int]:
    """What each letter of LETTERS stands for in a model, B left out: it is the reader's."""
    d, h, P, C = cfg["d"], cfg["h"], cfg["P"], cfg["C"]
    ends = {"H": cfg["img"], "W": cfg["img"], "C": C, "P": P, "N_p": cost.patches(cfg), "P²C": P * P * C}
    tokens = {"R": cfg["n_registers"], "T": cost.tokens(cfg), "d": d, "3d": 3 * d}
    return ends | tokens | {"h": h, "d_k": d // h, "d_ff": cfg["d_ff"], "L": cfg["L"], "K": cfg["n_classes"]}


@dataclass(frozen=True)
class Step:
    """One tensor. `code` is how its line in vit/model.py begins, `part` what of the line makes it (all, when empty)."""

    key: str
    name: str
    axes: str  # letters, with spaces between them
    definition: str  # Markdown, its formulas as in the definition
    code: str
    words: str
    part: str = ""
    meanings: dict[int, str] = field(default_factory=dict)  # of axes whose letter says too little

    def line(self) -> tuple[str, str, str]:
        """The line of code: what is before the part, the part, what is after it.

        Raises ValueError when vit/model.py has no such line, or more than one.
        """
        source = (BOOK / "vit" / "model.py").read_text(encoding="utf-8")
        lines = [line.split("  #")[0].strip() for line in source.splitlines() if line.strip().startswith(self.code)]
        if len(lines) != 1 or self.part not in lines[0]:
            found = f"{len(lines)} lines begin with" if len(lines) != 1 else f"{self.part!r} is not in the line of"
            raise ValueError(
                f"the tracer's step {self.key!r}: {found} {self.code!r} in vit/model.py; name its line anew"
            )
        before, part, after = lines[0].partition(self.part) if self.part else ("", lines[0], "")
        return before, part, after


_SOFTMAX = r"\operatorname{softmax}\!\bigl(\mathbf{Q}_j\mathbf{K}_j^\top/\sqrt{d_k}\bigr)"
_EMBEDDED = r"\mathbf{X}_p\mathbf{W}_E + \mathbf{1}\mathbf{b}_E^\top"
_GELU = r"\operatorname{GELU}\bigl(\mathbf{Y}\mathbf{W}_1 + \mathbf{1}\mathbf{b}_1^\top\bigr)"
_MLP = "x += mlp("

# In three parts: before the blocks, in each block, after them.
STEPS: dict[str, list[Step]] = {
    "input": [
        Step(
            "image",
            "image",
            "B H W C",
            "the image that the rows of $\\mathbf{X}_p$ are cut from",
            "B, H, W, C = img.shape",
            "A batch of color images, channels last.",
        ),
        Step(
            "patches",
            "flattened patches",
            "B N_p P²C",
            r"$\mathbf{X}_p \in \mathbb{R}^{N_p\times P^2C}$",
            "return cells.reshape(",
            "The image is cut into squares of P by P pixels, in reading order, and each square becomes one row.",
        ),
        Step(
            "embedded",
            "embedded patches",
            "B N_p d",
            f"${_EMBEDDED}$ {{eq}}`eq-input`",
            "patches = linear(",
            "One product brings every patch to the width of the model.",
        ),
        Step(
            "tokens",
            "tokens",
            "B T d",
            rf"$\mathbf{{X}}^{{(0)}} = \bigl[\,\mathbf{{x}}_{{\text{{cls}}}}^\top \,;\ {_EMBEDDED}\,\bigr]"
            r" + \mathbf{P}_{\text{pos}}$ {eq}`eq-input`",
            "return np.concatenate(",
            "The class token, and the registers of a model that has them, go in front of the patches. "
            "Positions are added and change no shape. From here on every block sees the same number of rows.",
        ),
    ],
    "block": [
        Step(
            "norm-1",
            "normalized tokens",
            "B T d",
            r"$\operatorname{LN}_1(\mathbf{X}^{(\ell-1)})$ {eq}`eq-block`",
            "out, weights = attention(",
            "LayerNorm looks at one row at a time and keeps the shape.",
            part='layer_norm(x, block["ln1_g"], block["ln1_b"])',
        ),
        Step(
            "qkv",
            "queries, keys and values",
            "B T 3d",
            r"$[\mathbf{Q}\ \mathbf{K}\ \mathbf{V}] = \mathbf{Y}\mathbf{W}_{QKV} + \mathbf{1}\mathbf{b}_{QKV}^\top$",
            "qkv = linear(",
            "One product makes all three, side by side in a row: queries, then keys, then values.",
            part='linear(y, block["W_qkv"], block["b_qkv"])',
        ),
        Step(
            "heads",
            "queries by head",
            "B h T d_k",
            r"$\mathbf{Q}_j$, the columns $jd_k, \dots, (j+1)d_k - 1$ of $\mathbf{Q}$; keys and values alike",
            "q, k, v = ",
            "The width is cut into heads. The keys and the values have the same shape.",
        ),
        Step(
            "scores",
            "attention scores",
            "B h T T",
            rf"${_SOFTMAX}$ {{eq}}`eq-attention`",
            "scores = q @",
            "In every head, each token's query meets each token's key. The softmax then makes weights of the scores, "
            "row by row, and keeps the shape.",
            meanings={2: "tokens that read", 3: "tokens that are read"},
        ),
        Step(
            "summed",
            "weighted sums of values",
            "B h T d_k",
            rf"${_SOFTMAX}\,\mathbf{{V}}_j$ {{eq}}`eq-attention`",
            "heads = (weights @ v)",
            "Each row of weights sums the values of its head. One of the two token axes is used up.",
            part="(weights @ v)",
        ),
        Step(
            "joined",
            "heads, side by side",
            "B T d",
            rf"$\Bigl[{_SOFTMAX}\,\mathbf{{V}}_j\Bigr]_{{j=0}}^{{h-1}}$ {{eq}}`eq-attention`",
            "heads = (weights @ v)",
            "The heads go back to where their columns were, and the row has the width of the model again.",
        ),
        Step(
            "attended",
            "output of attention",
            "B T d",
            rf"$\operatorname{{MHA}}(\mathbf{{Y}}) = \Bigl[{_SOFTMAX}\,\mathbf{{V}}_j\Bigr]_{{j=0}}^{{h-1}}\mathbf{{W}}_O"
            r" + \mathbf{1}\mathbf{b}_O^\top$ {eq}`eq-attention`",
            "return linear(heads,",
            "One more product mixes what the heads found.",
            part='linear(heads, block["W_o"], block["b_o"])',
        ),
        Step(
            "stream-h",
            "stream after attention",
            "B T d",
            r"$\mathbf{H}^{(\ell)} = \mathbf{X}^{(\ell-1)} +"
            r" \operatorname{MHA}\bigl(\operatorname{LN}_1(\mathbf{X}^{(\ell-1)})\bigr)$ {eq}`eq-block`",
            "x += out",
            "The shortcut adds two tensors, which must have the same shape.",
        ),
        Step(
            "norm-2",
            "normalized stream",
            "B T d",
            r"$\operatorname{LN}_2(\mathbf{H}^{(\ell)})$ {eq}`eq-block`",
            _MLP,
            "The second LayerNorm of the block, with a gain and a shift of its own.",
            part='layer_norm(x, block["ln2_g"], block["ln2_b"])',
        ),
        Step(
            "hidden",
            "inside the MLP",
            "B T d_ff",
            f"${_GELU}$ {{eq}}`eq-mlp`",
            "return linear(gelu(",
            "Every row is widened, and the GELU bends each number.",
            part='gelu(linear(y, block["W_1"], block["b_1"]))',
        ),
        Step(
            "mlp",
            "output of the MLP",
            "B T d",
            rf"$\operatorname{{MLP}}(\mathbf{{Y}}) = {_GELU}\mathbf{{W}}_2 + \mathbf{{1}}\mathbf{{b}}_2^\top$ {{eq}}`eq-mlp`",
            "return linear(gelu(",
            "A second product brings every row back to the width of the model.",
        ),
        Step(
            "stream-x",
            "stream after the block",
            "B T d",
            r"$\mathbf{X}^{(\ell)} = \mathbf{H}^{(\ell)} +"
            r" \operatorname{MLP}\bigl(\operatorname{LN}_2(\mathbf{H}^{(\ell)})\bigr)$ {eq}`eq-block`",
            _MLP,
            "The second shortcut. What a block puts out has the shape of what it got, so blocks can be stacked.",
        ),
    ],
    "output": [
        Step(
            "read",
            "the row that is read",
            "B d",
            r"$\mathbf{X}^{(L)}_{0}$ {eq}`eq-output`",
            "z = x[:, 0] if",
            "Row 0 of the last block, the class token. All other rows have done their work.",
            part="x[:, 0]",
        ),
        Step(
            "z",
            "representation of the image",
            "B d",
            r"$\mathbf{z} = \operatorname{LN}_f\bigl(\mathbf{X}^{(L)}_{0}\bigr)$ {eq}`eq-output`",
            "logits = linear(layer_norm(z",
            "The last LayerNorm, on one row per image.",
            part='layer_norm(z, params["lnf_g"], params["lnf_b"])',
        ),
        Step(
            "logits",
            "logits",
            "B K",
            r"$\text{logits} = \mathbf{z}^\top\mathbf{W}_{\text{head}} + \mathbf{b}_{\text{head}}^\top$ {eq}`eq-output`",
            "logits = linear(layer_norm(z",
            "The head gives every class a score.",
        ),
    ],
}


def data() -> dict[str, Any]:
    """What the script needs beside the table: the letters, what they stand for in each choice, and the steps."""
    steps = [
        {
            "key": step.key,
            "name": step.name,
            "where": where,
            "axes": step.axes.split(),
            "meanings": [step.meanings.get(i, LETTERS[letter]) for i, letter in enumerate(step.axes.split())],
            "words": step.words,
        }
        for where, part in STEPS.items()
        for step in part
    ]
    choices = {key: {"title": title, "sizes": sizes(cfg)} for key, (title, cfg) in CHOICES.items()}
    return {"letters": LETTERS, "types": BYTES_PER, "batch": BATCH, "choices": choices, "steps": steps}


class VitTracer(Interactive):
    def run(self) -> list[nodes.Node]:
        title, cfg = next(iter(CHOICES.values()))
        number_type, bytes_per = next(iter(BYTES_PER.items()))
        known = {"B": BATCH} | sizes(cfg)
        rows = [self.row(step, known, bytes_per) for part in STEPS.values() for step in part]
        heads = ["tensor", "shape", "numbers, bytes", "definition, code"]
        caption = (
            f"Every tensor of a forward pass, for {title} and a batch of {BATCH}; bytes in {number_type}. "
            f"The rows from *normalized tokens* to *stream after the block* are those of one of {cfg['L']} blocks."
        )
        return self.figure("tracer", data(), self.text(caption, "tracer-caption"), self.table(heads, rows))

    def row(self, step: Step, known: dict[str, int], bytes_per: int) -> list[list[nodes.Node]]:
        letters = step.axes.split()
        shape = [known[letter] for letter in letters]
        try:
            before, part, after = step.line()
        except ValueError as error:
            raise self.error(str(error)) from None
        code = nodes.paragraph("", "", classes=["tracer-code"])
        code += [nodes.literal("", before)] if before else []
        code += nodes.strong("", "", nodes.literal("", part)) if before or after else nodes.literal("", part)
        code += [nodes.literal("", after)] if after else []
        grows = [self.text("grows with $T^2$")] if letters.count("T") == 2 else []
        return [
            [self.text(step.name), *grows],
            [
                self.text(f"$({', '.join(map(_tex, letters))})$", "tracer-letters"),
                nodes.paragraph("", f"({', '.join(map(str, shape))})", classes=["tracer-shape"]),
            ],
            [
                nodes.paragraph("", f"{prod(shape):,}", classes=["tracer-numbers"]),
                nodes.paragraph("", f"{prod(shape) * bytes_per:,} B", classes=["tracer-bytes"]),
            ],
            [self.text(step.definition, "tracer-definition"), code],
        ]


def _tex(letter: str) -> str:
    return {"P²C": "P^2C", "d_ff": r"d_{\text{ff}}"}.get(letter, letter)


def setup(app: Sphinx) -> None:
    app.add_directive("vit-tracer", VitTracer)
