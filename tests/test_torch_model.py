"""book/vit/torch_model.py against the NumPy model, in both directions and both precisions."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from vit import cost, model
from vit.family import config
from vit.torch_model import ViT, kernel_from_matrix, load_numpy_params, matrix_from_kernel, to_numpy_params

RNG = np.random.default_rng(3)
IMAGES = RNG.standard_normal((2, 32, 32, 3))
VARIANTS = [
    config("tiny", pool=pool, cls_token=pool == "cls", n_registers=registers)
    for pool in ("cls", "gap")
    for registers in (0, 3)
]


def torch_images(dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(IMAGES, dtype=dtype).permute(0, 3, 1, 2)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("cfg", VARIANTS)
def test_the_same_weights_give_the_same_logits(cfg, fused):
    params = model.init(RNG, cfg)
    right = model.forward(params, IMAGES, cfg["pool"])
    with torch.no_grad():
        double = load_numpy_params(ViT(cfg, fused).double(), params)(torch_images(torch.float64)).numpy()
        single = load_numpy_params(ViT(cfg, fused), params)(torch_images(torch.float32)).numpy()
    np.testing.assert_allclose(double, right, rtol=0, atol=1e-12)
    np.testing.assert_allclose(single, right, rtol=0, atol=1e-4)
    assert single.dtype == np.float32 and np.abs(single - right).max() > 1e-9


@pytest.mark.parametrize("cfg", VARIANTS)
def test_there_and_back_is_the_identity(cfg):
    params = model.init(RNG, cfg)
    back = to_numpy_params(load_numpy_params(ViT(cfg).double(), params))
    assert back.keys() == params.keys()
    for old, new in [(params, back), *zip(params["blocks"], back["blocks"], strict=True)]:
        assert all(np.array_equal(old[key], new[key]) for key in old if key != "blocks")


def test_torch_to_numpy():
    vit = ViT(VARIANTS[1])
    params = to_numpy_params(vit)
    with torch.no_grad():
        theirs = vit(torch_images(torch.float32)).numpy()
    np.testing.assert_allclose(model.forward(params, IMAGES.astype(np.float32)), theirs, rtol=0, atol=1e-4)
    params["pos"] += 1  # a copy: the model does not move
    assert not np.array_equal(params["pos"], to_numpy_params(vit)["pos"])


def test_what_does_not_fit_is_refused():
    params = model.init(RNG, config("tiny"))
    with pytest.raises(ValueError, match="parameters are for 4 heads, but this model has 8"):
        load_numpy_params(ViT(config("tiny", h=8)), params)
    with pytest.raises(RuntimeError, match="size mismatch for pos"):
        load_numpy_params(ViT(config("tiny", img=64)), params)


@pytest.mark.parametrize("fused", [False, True])
def test_the_mask_is_the_same_mask(fused):
    params, causal = model.init(RNG, config("tiny")), np.tri(17, dtype=bool)
    vit = load_numpy_params(ViT(config("tiny"), fused).double(), params)
    with torch.no_grad():
        ours = vit(torch_images(torch.float64), torch.from_numpy(causal)).numpy()
    np.testing.assert_allclose(ours, model.forward(params, IMAGES, mask=causal), rtol=0, atol=1e-12)


def test_a_convolution_is_a_patch_matrix():
    W_E = RNG.standard_normal((8 * 4 * 4, 5))  # 8 channels, so that none is taken for a side
    kernel = kernel_from_matrix(W_E, 4)
    assert kernel.shape == (5, 8, 4, 4)
    assert np.array_equal(matrix_from_kernel(kernel), W_E)
    images = RNG.standard_normal((2, 12, 8, 8))
    theirs = torch.nn.functional.conv2d(torch.tensor(images).permute(0, 3, 1, 2), torch.tensor(kernel), stride=4)
    np.testing.assert_allclose(model.patchify(images, 4) @ W_E, theirs.flatten(2).transpose(1, 2), atol=1e-12)


@pytest.mark.parametrize("name", ["Ti/16", "B/16", "H/14"])
def test_parameters_and_flops_are_those_of_the_formulas(name):
    """On the meta device, which computes shapes and no numbers."""
    cfg = config(name)
    with torch.device("meta"):
        vit = ViT(cfg)
        with FlopCounterMode(display=False) as counter:
            vit(torch.empty(1, 3, cfg["img"], cfg["img"]))
    assert sum(tensor.numel() for tensor in vit.parameters()) == cost.parameters(cfg)
    assert counter.get_total_flops() == 2 * cost.macs(cfg)["total"]
