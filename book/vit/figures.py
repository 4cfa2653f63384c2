"""The look of the plots: they read on white paper and on a dark page, in color and without it.

The background is transparent and the text a mid grey that has enough contrast on both. Lines differ by color
(Okabe and Ito's palette, safe for color-blind readers, its two palest darkened to show on white), by dash and by
marker, so that a print in grey still tells them apart.
"""

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

GREY = "#7b7b7b"  # 4.2 to 1 on white and on the dark page, the most that one color can have on both
FAINT = GREY + "40"

# color, dash, marker: one row for each line of a plot, in order
STYLES = [
    ("#0072b2", "-", "o"),
    ("#d55e00", "--", "s"),
    ("#009e73", "-.", "^"),
    ("#cc79a7", ":", "D"),
    ("#a97f00", (0, (5, 1)), "v"),
    ("#2f8fc6", (0, (3, 1, 1, 1)), "P"),
]
COLORS = [color for color, _, _ in STYLES]
HATCHES = ["", "///", "...", "xxx", "\\\\\\", "ooo"]  # for bars and areas, beside COLORS

RC = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "figure.dpi": 110,
    "savefig.bbox": "tight",
    "font.size": 11,
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.titlecolor": GREY,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.grid": True,
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "hatch.color": GREY,
    "hatch.linewidth": 0.6,
}


def figure(rows: int = 1, columns: int = 1, size: tuple[float, float] = (7, 4), **axes) -> tuple[Figure, Axes]:
    """A figure of `size` inches and its axes (an array of axes when there are several): `fig, ax = figure()`.

    Further arguments go to `plt.subplots` (sharex, squeeze, and so on).
    """
    plt.rcParams.update(RC)
    cycle = plt.cycler(color=COLORS) + plt.cycler(linestyle=[dash for _, dash, _ in STYLES])
    plt.rcParams["axes.prop_cycle"] = cycle
    return plt.subplots(rows, columns, figsize=size, layout="constrained", **axes)


def style(index: int) -> dict[str, object]:
    """Keyword arguments for the `index`-th line with markers: `ax.plot(x, y, **style(0))`."""
    color, dash, marker = STYLES[index % len(STYLES)]
    return {"color": color, "linestyle": dash, "marker": marker, "markersize": 6}


def bar_style(index: int) -> dict[str, object]:
    """Keyword arguments for the `index`-th bar or area: `ax.bar(x, y, **bar_style(0))`."""
    return {"color": COLORS[index % len(COLORS)], "hatch": HATCHES[index % len(HATCHES)]}
