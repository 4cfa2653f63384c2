"""The forward pass: its reference is PyTorch's and timm's, its tests see each convention alone, and loops are counted."""

import contextlib
import copy
import importlib.util
import io
import re

import numpy as np
import pytest
import torch
from grading import autograder, hand_in, jail_works, needs_jail, notebook, results  # noqa: F401
from vit import model

from autograder import hidden, misconceptions, truth
from autograder.catalog import ROOT
from autograder.nbgrader_cell import grade as grade_in_nbgrader
from solutions.vit_forward import make_vit_params, vit_forward

EXERCISE = "vit_forward"
STYLES = sorted((truth.UNUSUAL / EXERCISE).glob("*.py"))
KINDS = [("cls", 0), ("cls", 4), ("gap", 0), ("gap", 4)]


def grade(f, seed="seed"):
    return hidden.run(EXERCISE, {EXERCISE: f}, seed)


def failed(f):
    """The checks that `f` fails, by name, with their messages."""
    return {check.name: check.message for check in grade(f) if check.status != "passed"}


def edited(*edits):
    return misconceptions.functions_after(EXERCISE, edits)[EXERCISE]


def question(pool, R, seed=0, B=2, H=12, W=20, C=3, **sizes):
    rng = np.random.default_rng(seed)
    params = make_vit_params(rng, H, W, R=R, pool=pool, C=C, **sizes)
    return params, rng.standard_normal((B, H, W, C)), pool


# --- the reference is right -------------------------------------------------------------------------------------


def torch_layer(block, h):
    """PyTorch's own encoder layer, which is a ViT block, with the block's weights."""
    d, d_ff = block["W_1"].shape
    layer = torch.nn.TransformerEncoderLayer(
        d, h, d_ff, dropout=0, activation="gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    ).double()
    names = {
        "norm1.weight": "ln1_g",
        "norm1.bias": "ln1_b",
        "self_attn.in_proj_weight": "W_qkv",
        "self_attn.in_proj_bias": "b_qkv",
        "self_attn.out_proj.weight": "W_o",
        "self_attn.out_proj.bias": "b_o",
        "norm2.weight": "ln2_g",
        "norm2.bias": "ln2_b",
        "linear1.weight": "W_1",
        "linear1.bias": "b_1",
        "linear2.weight": "W_2",
        "linear2.bias": "b_2",
    }
    layer.load_state_dict({theirs: torch.tensor(block[ours].T) for theirs, ours in names.items()})
    return layer.eval()


def patch_kernel(params):
    """The patch embedding as the weight of a convolution, in PyTorch's order: (d, C, P, P)."""
    P, (size, d) = params["P"], params["W_E"].shape
    return torch.tensor(params["W_E"].reshape(P, P, size // P**2, d).transpose(3, 2, 0, 1).copy())


@torch.no_grad()
def torch_vit(params, img, pool):
    """The model out of PyTorch's parts: a convolution, encoder layers, LayerNorm, a linear layer."""
    pixels = torch.tensor(img).permute(0, 3, 1, 2)
    kernel, stride = patch_kernel(params), params["P"]
    x = torch.nn.functional.conv2d(pixels, kernel, torch.tensor(params["b_E"]), stride).flatten(2).transpose(1, 2)
    x = x + torch.tensor(params["pos"][-x.shape[1] :])
    prefix = torch.tensor(params["reg"])
    if pool == "cls":
        prefix = torch.cat([torch.tensor(params["cls"] + params["pos"][0])[None], prefix])
    x = torch.cat([prefix.expand(len(x), -1, -1), x], dim=1)
    for block in params["blocks"]:
        x = torch_layer(block, params["h"])(x)
    x = x[:, 0] if pool == "cls" else x[:, len(prefix) :].mean(1)
    x = torch.nn.functional.layer_norm(
        x, x.shape[-1:], torch.tensor(params["lnf_g"]), torch.tensor(params["lnf_b"]), eps=1e-6
    )
    return (x @ torch.tensor(params["W_head"]) + torch.tensor(params["b_head"])).numpy()


@pytest.mark.parametrize(("pool", "R"), KINDS)
def test_the_reference_is_pytorchs(pool, R):
    for seed, sizes in enumerate([{}, {"d": 24, "h": 4, "L": 3, "d_ff": 31}, {"P": 2, "C": 5, "h": 1}]):
        params, img, _ = question(pool, R, seed, **sizes)
        np.testing.assert_allclose(vit_forward(params, img, pool), torch_vit(params, img, pool), rtol=0, atol=1e-12)


def timm_weights(params, pool):
    """Our parameters under timm's names; it keeps one position table and, for the registers, rows of zeros in it."""
    R, d = params["reg"].shape
    weights = {
        "patch_embed.proj.weight": patch_kernel(params),
        "patch_embed.proj.bias": params["b_E"],
        "pos_embed": np.insert(params["pos"], [int(pool == "cls")] * R, 0, axis=0)[None],
        "fc_norm.weight" if pool == "gap" else "norm.weight": params["lnf_g"],
        "fc_norm.bias" if pool == "gap" else "norm.bias": params["lnf_b"],
        "head.weight": params["W_head"].T,
        "head.bias": params["b_head"],
    }
    if R:
        weights["reg_token"] = params["reg"][None]
    if pool == "cls":
        weights["cls_token"] = params["cls"].reshape(1, 1, d)
    names = {"norm1.weight": "ln1_g", "norm1.bias": "ln1_b", "norm2.weight": "ln2_g", "norm2.bias": "ln2_b"}
    for ours, theirs in {"qkv": "attn.qkv", "o": "attn.proj", "1": "mlp.fc1", "2": "mlp.fc2"}.items():
        names |= {f"{theirs}.weight": f"W_{ours}", f"{theirs}.bias": f"b_{ours}"}
    for number, block in enumerate(params["blocks"]):
        weights |= {f"blocks.{number}.{theirs}": block[ours].T for theirs, ours in names.items()}
    return {name: torch.as_tensor(np.ascontiguousarray(value)) for name, value in weights.items()}


# timm brings torchvision, which nothing else needs, so it is not among the requirements. These tests are there once
# it is: pip install --no-deps timm==1.0.31 torchvision==0.28.0 huggingface_hub
if importlib.util.find_spec("timm"):

    @pytest.fixture(scope="module")
    def timm():
        """timm, also where torchvision's compiled half does not fit a CPU-only PyTorch."""
        with contextlib.suppress(RuntimeError):
            return importlib.import_module("timm")
        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return importlib.import_module("timm")

    @pytest.mark.parametrize(("pool", "R"), KINDS)
    def test_the_reference_is_timms(timm, pool, R):
        H, W = 12, 20
        params, img, _ = question(pool, R, H=H, W=W, d=24, h=4, L=3, d_ff=96)
        vit = timm.models.VisionTransformer(
            img_size=(H, W),
            patch_size=params["P"],
            num_classes=len(params["b_head"]),
            embed_dim=24,
            depth=3,
            num_heads=4,
            mlp_ratio=4,
            class_token=pool == "cls",
            global_pool="token" if pool == "cls" else "avg",
            reg_tokens=R,
        ).double()
        vit.load_state_dict(timm_weights(params, pool))
        with torch.no_grad():
            want = vit.eval()(torch.tensor(img).permute(0, 3, 1, 2)).numpy()
        np.testing.assert_allclose(vit_forward(params, img, pool), want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_the_reference_agrees_with_the_books_own_model(seed):
    rng = np.random.default_rng(seed)
    P, rows, columns, d_k, B = rng.integers(1, 5, 5)
    C, R, h, L, K = rng.integers((1, 0, 1, 1, 2), (6, 4, 5, 4, 9))
    pool = ("cls", "gap")[seed % 2]
    sizes = {"P": int(P), "C": C, "d": h * d_k, "h": int(h), "L": L, "d_ff": rng.integers(1, 40), "K": K}
    params, img, _ = question(pool, R, seed, B, P * rows, P * columns, **sizes)
    np.testing.assert_allclose(vit_forward(params, img, pool), model.forward(params, img, pool), rtol=1e-9, atol=1e-12)


# --- what the tests ask -----------------------------------------------------------------------------------------


def test_the_cases_stay_small():
    assert (ROOT / "exercises" / "cases" / f"{EXERCISE}.json").stat().st_size < 150_000


@pytest.mark.parametrize(
    ("slug", "checks_failed"),
    [
        ("tanh-gelu", {"MLP"}),
        ("epsilon-of-pytorch", {"tokens of small variance"}),
        ("channels-first-in-a-patch", {"pixels of a patch"}),
        ("scores-not-scaled", {"scores"}),
        ("registers-averaged", {"registers", "mean without the registers"}),
        ("norm-before-mean", {"mean over the patches", "no loops over heads or tokens"}),
        ("patch-bias-left-out", {"biases"}),
    ],
)
def test_a_single_error_costs_its_own_check(slug, checks_failed):
    wrong = next(m for m in misconceptions.load(EXERCISE) if m.slug == slug)
    assert failed(wrong.functions[EXERCISE]).keys() == checks_failed | {"whole models"}


def test_only_an_answer_without_the_shape_for_one_image_loses_one_point():
    assert failed(lambda params, img, pool="cls": np.squeeze(vit_forward(params, img, pool))).keys() == {"one image"}


def test_a_changed_argument_is_told():
    def in_place(params, img, pool="cls"):
        params["pos"] += 0.0  # the same numbers: no change
        if pool == "cls":
            params["cls"] += params["pos"][0]
        return vit_forward(params, img, pool)

    messages = failed(in_place)
    assert "changed the arguments it was given" in messages["class token and positions"]
    assert "mean over the patches" not in messages


def test_two_errors_are_no_third_one():
    wrong = edited(("variance + 1e-6", "variance + 1e-5"), ("/ np.sqrt(d // h)", "/ np.sqrt(d)"))
    checked = {check.name: check for check in grade(wrong)}
    assert {check.misconception for check in checked.values()} == {None}
    assert "divided by the root of d_k" in checked["scores"].message
    assert "variance plus 1e-6" in checked["tokens of small variance"].message
    assert checked["MLP"].status == "passed"


def test_feedback_holds_no_hidden_value():
    """What was drawn differs between seeds, so what is said must not."""
    for f in (lambda params, img, pool="cls": np.zeros((len(img), 3)), lambda params, img, pool="cls": img.sum()):
        said = {tuple(check.message for check in grade(f, seed)) for seed in map(str, range(5))}
        assert len(said) == 1


def test_a_wrong_answer_earns_nothing_for_having_no_loop():
    for f in (
        lambda params, img, pool="cls": np.zeros((len(img), len(params["b_head"]))),
        lambda params, img, pool="cls": np.tile(params["b_head"], (len(img), 1)),
        lambda params, img, pool="cls": img.reshape(len(img), -1)[:, : len(params["b_head"])],
    ):
        assert sum(check.points for check in grade(f)) == 0


def test_the_questions_are_those_that_the_statement_allows():
    seen = []

    def record(params, img, pool="cls"):
        seen.append((copy.deepcopy(params), img, pool))
        return vit_forward(params, img, pool)

    assert not failed(record)
    for params, img, pool in seen:
        _, H, W, C = img.shape
        assert H % params["P"] == W % params["P"] == 0 and params["W_E"].shape[0] == params["P"] ** 2 * C
        N = H // params["P"] * (W // params["P"])
        assert len(params["pos"]) == N + (pool == "cls") and ("cls" in params) == (pool == "cls")
        assert params["W_E"].shape[1] % params["h"] == 0 and params["blocks"] and params["reg"].ndim == 2
        assert type(params["P"]) is type(params["h"]) is int and type(pool) is str
        arrays = [value for part in (params, *params["blocks"]) for value in part.values() if hasattr(value, "dtype")]
        assert {array.dtype for array in arrays} == {np.dtype("float64")}
    for kind in (
        lambda params, img, pool: img.dtype == np.float32,
        lambda params, img, pool: len(img) == 1,
        lambda params, img, pool: img.shape[1] != img.shape[2],
        lambda params, img, pool: img.shape[3] == 1,
        lambda params, img, pool: len(params["reg"]) == 0,
        lambda params, img, pool: len(params["reg"]) > 1,
        lambda params, img, pool: params["P"] == 1,
        lambda params, img, pool: len(params["blocks"]) > 1,
    ):
        assert {pool for *_, pool in seen if kind(*_, pool)}, kind


def test_no_token_has_a_mean_far_beyond_its_spread():
    centered = "centered = x - x.mean(-1, keepdims=True)"
    bounded = f"assert (abs(x.mean(-1)) < 1000 * x.std(-1)).all()\n        {centered}"
    assert not failed(edited((centered, bounded)))


# --- loops ------------------------------------------------------------------------------------------------------

ATTEND = """\
weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(d // h))
        heads = (weights @ v).swapaxes(1, 2).reshape(B, T, d)"""
ONE_HEAD = "softmax(q[:, j] @ k[:, j].swapaxes(-1, -2) / np.sqrt(d // h)) @ v[:, j]"
CUT = "grid.reshape(B, rows * columns, P * P * C)"
GELU = "u * (1 + erf(u / np.sqrt(2))) / 2"
MEAN = 'x[:, len(params["reg"]) :].mean(1)'
LOOPS = {
    "over heads": (
        ATTEND,
        f"heads = np.empty((B, T, d))\n        for j in range(h):\n"
        f"            heads[..., j * (d // h) : (j + 1) * (d // h)] = {ONE_HEAD}",
    ),
    "over heads in a comprehension": (ATTEND, f"heads = np.concatenate([{ONE_HEAD} for j in range(h)], axis=-1)"),
    "over heads by map": (ATTEND, f"heads = np.concatenate(list(map(lambda j: {ONE_HEAD}, range(h))), axis=-1)"),
    "over queries": (
        ATTEND,
        "rows = [softmax(q[:, :, t : t + 1] @ k.swapaxes(-1, -2) / np.sqrt(d // h)) @ v for t in range(T)]\n"
        "        heads = np.concatenate(rows, axis=2).swapaxes(1, 2).reshape(B, T, d)",
    ),
    "over places of patches": (
        CUT,
        "np.stack([img[:, i * P : i * P + P, j * P : j * P + P].reshape(B, -1)"
        " for i in range(rows) for j in range(columns)], axis=1)",
    ),
    "over rows of patches": (CUT, "np.concatenate([grid[:, i].reshape(B, columns, -1) for i in range(rows)], axis=1)"),
    "over columns of patches": (
        CUT,
        "np.stack([grid[:, :, j].reshape(B, rows, -1) for j in range(columns)], axis=2).reshape(B, rows * columns, -1)",
    ),
    "over tokens for the mean": (
        MEAN,
        'sum(x[:, t] for t in range(len(params["reg"]), x.shape[1])) / (rows * columns)',
    ),
    "over tokens by apply_along_axis": (
        "x.mean(-1, keepdims=True)",
        "np.apply_along_axis(lambda row: row.mean(keepdims=True), -1, x)",
    ),
    "over numbers by vectorize": (GELU, "u * np.vectorize(lambda a: (1 + erf(a / np.sqrt(2))) / 2)(u)"),
    "over tokens by recursion": (
        MEAN,
        '(add := lambda t: x[:, t] + add(t + 1) if t + 1 < x.shape[1] else x[:, t])(len(params["reg"])) / (rows * columns)',
    ),
}


@pytest.mark.parametrize("edit", LOOPS.values(), ids=LOOPS)
def test_a_loop_loses_its_three_points(edit):
    checked = grade(edited(edit))
    assert [check.name for check in checked if check.status != "passed"] == ["no loops over heads or tokens"]
    assert sum(check.points for check in checked) == 27
    assert "executes more Python operations when there are more" in checked[-1].message


def source_after(*edits):
    """The source of a notebook's cell with the reference after `edits`."""
    source = "import numpy as np\nfrom scipy.special import erf\n\n" + truth._solution(EXERCISE)
    for old, new in edits:
        assert source.count(old) == 1
        source = source.replace(old, new)
    return source


def in_nbgrader(source):
    """Points, and what the hidden cell prints."""
    namespace: dict = {}
    exec(source, namespace)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        return grade_in_nbgrader(EXERCISE, namespace), said.getvalue()


def test_nbgrader_counts_the_same():
    for path in STYLES:
        assert in_nbgrader(path.read_text("utf-8"))[0] == 30, path.stem
    points, said = in_nbgrader(source_after(LOOPS["over heads"]))
    assert points == 27 and "when there are more heads" in said


@needs_jail
@pytest.mark.usefixtures("jail_works")
def test_the_jail_gives_the_same(tmp_path):
    """Right answers in every style, answers with loops and wrong ones: the points and the names they have here."""
    sources = {path.stem: path.read_text("utf-8") for path in STYLES}
    want = {student: (30, set()) for student in sources}
    for number, edit in enumerate(LOOPS.values()):
        sources[f"loop-{number}"], want[f"loop-{number}"] = source_after(edit), (27, set())
    for wrong in misconceptions.load(EXERCISE)[::5]:
        sources[wrong.slug] = source_after(*wrong.edits)
        points = sum(check.points for check in grade(wrong.functions[EXERCISE]))
        want[wrong.slug] = (points, {wrong.slug})
    for student, source in sources.items():
        hand_in(tmp_path / "class", student, EXERCISE, notebook(*re.split("^# %%.*$", source, flags=re.MULTILINE)))
    ran = autograder("grade", tmp_path / "class", "--out", tmp_path / "out", "--seed", "jail")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    got = {}
    for (student, _), result in results(tmp_path / "out").items():
        named = {check["misconception"] for check in result["checks"]} - {None}
        got[student] = (result["score"], named)
    assert got == want
