"""Make the files of this folder: tiny models of timm, torchvision and Hugging Face with random weights, and their logits.

The tests of `vit.weights` read them, so that its answers are compared with the libraries' own and no library is needed.
To make them again, in an environment that has the three libraries as well as the course's: python tests/libraries/make.py

Each model is also given to `load` alive, and must give the same logits.
"""

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from safetensors.torch import save_file

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "book"))


def import_torchvision() -> None:
    """Import it beside a PyTorch without CUDA too, for which its compiled operations, which no ViT calls, do not load."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        import_torchvision.library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            import_torchvision.library.define(f"{name}(Tensor boxes, Tensor scores, float threshold) -> Tensor")


import_torchvision()
import timm  # noqa: E402
from torchvision.models import VisionTransformer  # noqa: E402
from transformers import ViTConfig, ViTForImageClassification  # noqa: E402
from vit import model, weights  # noqa: E402

SIZES = {
    "img_size": 12,
    "patch_size": 4,
    "embed_dim": 8,
    "depth": 2,
    "num_heads": 2,
    "mlp_ratio": 1.5,
    "num_classes": 5,
}


def timm_vit(**arguments: object) -> torch.nn.Module:
    return timm.models.vision_transformer.VisionTransformer(**SIZES | arguments)


def hugging_face() -> torch.nn.Module:
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12}
    return ViTForImageClassification(ViTConfig(image_size=12, patch_size=4, num_labels=5, layer_norm_eps=1e-6, **sizes))


MODELS = {
    "timm_cls": ("timm", timm_vit()),
    "timm_cls_registers": ("timm", timm_vit(reg_tokens=3)),
    "timm_cls_registers_without_positions": ("timm", timm_vit(reg_tokens=3, no_embed_class=True)),
    "timm_gap": ("timm", timm_vit(class_token=False, global_pool="avg")),
    "timm_gap_registers": ("timm", timm_vit(class_token=False, global_pool="avg", reg_tokens=3, no_embed_class=True)),
    "timm_gap_beside_cls": ("timm", timm_vit(global_pool="avg", reg_tokens=1)),
    "timm_no_head": ("timm", timm_vit(num_classes=0)),
    "torchvision": ("torchvision", VisionTransformer(12, 4, 2, 2, 8, 12, num_classes=5)),
    "hugging_face": ("transformers", hugging_face()),
}


def main() -> None:
    """Write <name>.safetensors for each model, and outputs.json."""
    torch.manual_seed(0)
    images = torch.randn(2, 3, 12, 12, dtype=torch.float64)
    outputs = {"images": images.permute(0, 2, 3, 1).tolist(), "models": {}}
    for name, (library, live) in MODELS.items():
        live = live.double().eval()
        with torch.no_grad():
            for tensor in live.parameters():
                tensor.normal_(std=0.5)
            answer = live(images)
        logits = getattr(answer, "logits", answer)
        save_file({key: tensor.contiguous() for key, tensor in live.state_dict().items()}, HERE / f"{name}.safetensors")
        outputs["models"][name] = {"made by": f"{library} {version(library)}", "logits": logits.tolist()}
        if library == "transformers":  # the files that it writes keep older names
            with TemporaryDirectory() as folder:
                live.save_pretrained(folder)
                shutil.copyfile(Path(folder) / "model.safetensors", HERE / f"{name}_file.safetensors")
            outputs["models"][f"{name}_file"] = outputs["models"][name]
        params = weights.load(live)
        if name == "timm_no_head":  # then the library answers with the features
            params |= {"W_head": np.eye(8), "b_head": np.zeros(8)}
        ours = model.forward(params, images.permute(0, 2, 3, 1).numpy(), "cls" if "cls" in params else "gap")
        off = np.abs(ours - logits.numpy()).max()
        print(f"{name}: largest difference {off:.1e}")
        assert off < 1e-12
    (HERE / "outputs.json").write_text(json.dumps(outputs, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
