"""The look of the plots: everything can be seen on white and on the dark page, and without color."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt
from vit.figures import GREY, HATCHES, STYLES, bar_style, figure, style

WHITE, DARK = "#ffffff", "#14181e"


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2."""

    def luminance(color: str) -> float:
        channels = np.array(colors.to_rgb(color))
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", [WHITE, DARK])
def test_contrast(page):
    assert contrast(GREY, page) > 4.1  # 4.2 is the most that one grey can have on both
    for color, _, _ in STYLES:
        assert contrast(color, page) >= 3, color


def test_lines_differ_without_color():
    assert len({(str(dash), marker) for _, dash, marker in STYLES}) == len(STYLES) == len(HATCHES) == len(set(HATCHES))
    assert style(0) != style(1) and style(0) == style(len(STYLES)) and bar_style(1)["hatch"] == HATCHES[1]


def test_the_background_is_transparent(tmp_path):
    fig, ax = figure()
    ax.plot([1, 2], [1, 2], **style(0))
    fig.savefig(tmp_path / "plot.png")
    pixels = plt.imread(tmp_path / "plot.png")
    plt.close(fig)
    assert pixels.shape[2] == 4 and (pixels[..., 3] == 0).mean() > 0.8


def test_several_axes():
    fig, axes = figure(2, 1, size=(5, 6), sharex=True)
    assert axes.shape == (2,) and tuple(fig.get_size_inches()) == (5, 6)
    plt.close(fig)
