"""Drawings of chapter 08: one block, signal and gradient by level."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Num, Shaped
from matplotlib.axes import Axes

# The schemes keep their colours and dashes through the whole chapter.
INKS = {
    "neither": "#D55E00",
    "norm alone": "#8c6d00",
    "residual alone": "#009E73",
    "residual and norm": "#0072B2",
}
DASHES = {
    "neither": (0, (1, 1.2)),
    "norm alone": (0, (4, 1.5)),
    "residual alone": (0, (6, 1.5, 1, 1.5)),
    "residual and norm": "-",
}
LIT = "#ffd24d"
EDGES = (1e-12, 1e12)  # what lies beyond is drawn here
TICKS = {-12: "≤ 10⁻¹²", -6: "10⁻⁶", 0: "1", 6: "10⁶", 12: "≥ 10¹²"}  # powers of ten
MAX_POINTS = 25  # of a line; a frame of an explorer is as heavy as its points


def draw_block(ax: Axes) -> Axes:
    """One block of 2017: the stream as a thick line, two sub-layers, each with sum and norm."""
    road: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "color": "#555555"}
    for at, name in ((0.5, "attention"), (5.0, "feed-forward")):
        joins = at + 2.9
        ax.plot([at, at, joins], [0, 1, 1], color="#555555", linewidth=1)
        ax.annotate("", (joins, 0.2), (joins, 1), arrowprops=road)
        ax.text(joins + 0.1, 0.62, "f(x)", fontsize=8, color="#555555")
        ax.text(at + 1.4, 0.13, "x passes by", ha="center", fontsize=8, color="#555555")
        boxes = ((at + 1.4, 1, name), (joins, 0, "+"), (joins + 0.95, 0, "norm"))
        for x, y, words in boxes:
            style = {"boxstyle": "round", "facecolor": LIT, "edgecolor": "#555555"}
            ax.text(x, y, words, ha="center", va="center", fontsize=9, bbox=style, zorder=4)
    stream = road | {"linewidth": 3, "color": INKS["residual and norm"]}
    ax.annotate("", (10.1, 0), (-0.3, 0), arrowprops=stream)
    ax.set(xlim=(-0.4, 10.2), ylim=(-0.5, 1.5))
    ax.set_axis_off()
    return ax


def draw_levels(
    ax: Axes, scheme: str, values_SL: Num[np.ndarray, "seeds levels"], *, title: str = ""
) -> Axes:
    """Draw what was measured before the first block and after each, on a log scale, a line a seed.

    Shapes: values_SL (seeds, levels).
    """
    values_SL = np.clip(values_SL, *EDGES)
    last = values_SL.shape[1] - 1
    at = np.unique(np.linspace(0, last, min(last + 1, MAX_POINTS)).round().astype(int))
    for values_L in values_SL:
        ax.plot(
            at, np.log10(values_L[at]), color=INKS[scheme], linestyle=DASHES[scheme], linewidth=1
        )
    ax.set_yticks(list(TICKS), list(TICKS.values()))
    ax.set(xlim=(0, last), xticks=sorted({0, last // 2, last}), ylim=(-12.72, 12.72))
    ax.set(xlabel="after block", title=title)
    return ax


def panels_of_levels(
    axes: Shaped[np.ndarray, " panels"],
    scheme: str,
    found: Mapping[str, Num[np.ndarray, "seeds levels"]],
) -> Shaped[np.ndarray, " panels"]:
    """Draw what was measured of one scheme, a panel a quantity."""
    for ax, (title, values_SL) in zip(axes, found.items(), strict=True):
        draw_levels(ax, scheme, values_SL, title=title)
    return axes
