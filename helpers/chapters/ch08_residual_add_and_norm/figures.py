"""Drawings of chapter 08: one block, signal and gradient by level, copying."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Num, Shaped
from matplotlib.axes import Axes

from helpers.worked import superscript

# The schemes keep their colours and dashes through the whole chapter.
INKS = {
    "neither": "#D55E00",
    "norm alone": "#8c6d00",
    "residual alone": "#009E73",
    "residual and norm": "#0072B2",
    "norm first": "#CC79A7",
}
DASHES = {
    "neither": (0, (1, 1.2)),
    "norm alone": (0, (4, 1.5)),
    "residual alone": (0, (6, 1.5, 1, 1.5)),
    "residual and norm": "-",
    "norm first": "-",
}
GREY, LIT = "#777777", "#ffd24d"
MOST_POINTS = 25  # of a line; a frame of an explorer is as heavy as its points


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
    ax: Axes,
    curves: Mapping[str, Num[np.ndarray, "seeds levels"] | Sequence],
    *,
    title: str = "",
    limits: tuple[float, float] = (1e-12, 1e12),
) -> Axes:
    """Draw what was measured before the first block and after each, on a log scale, a line a seed.

    What lies outside of ``limits`` is drawn on the edge. Shapes: each curve (seeds, levels).
    """
    low, high = np.log10(limits)
    for name, values_SL in curves.items():
        values_SL = np.clip(np.asarray(values_SL, dtype=float), *limits)
        last = values_SL.shape[1] - 1
        at = np.unique(np.linspace(0, last, min(last + 1, MOST_POINTS)).round().astype(int))
        for seed, values_L in enumerate(values_SL):
            ax.plot(at, np.log10(values_L[at]), color=INKS[name], linestyle=DASHES[name],
                    linewidth=1, label=name if seed == 0 else None)  # fmt: skip
        ax.set(xlim=(0, last), xticks=sorted({0, last // 2, last}))
    ticks = np.arange(low, high + 1, max(1, round((high - low) / 4)))
    names = [f"{_edge(tick, low, high)}{_power(tick)}" for tick in ticks]
    ax.set_yticks(ticks, names)
    ax.set(ylim=(low - 0.03 * (high - low), high + 0.03 * (high - low)), xlabel="after block")
    ax.set_title(title)
    return ax


def panels_of_levels(
    axes: Shaped[np.ndarray, " panels"],
    scheme: str,
    found: Mapping[str, Num[np.ndarray, "seeds levels"]],
) -> Shaped[np.ndarray, " panels"]:
    """Draw what was measured of one scheme, a panel a quantity."""
    for ax, (title, values_SL) in zip(axes, found.items(), strict=True):
        draw_levels(ax, {scheme: values_SL}, title=title)
    return axes


def _edge(tick: float, low: float, high: float) -> str:
    """The sign by which the outermost ticks say that what lies beyond is drawn there."""
    return "≤ " if tick == low else "≥ " if tick == high and high > 0 else ""


def _power(exponent: float) -> str:
    raised = superscript(int(exponent))
    return "1" if exponent == 0 else f"10{raised}"


def draw_copying(
    ax: Axes,
    depths: Sequence[int],
    right: Mapping[str, Num[np.ndarray, "depths seeds"] | Sequence],
    *,
    chance: float,
) -> Axes:
    """Draw the share of right answers against depth, a dot a seed and a line for the mean.

    Shapes: each of ``right`` (depths, seeds). Dots of different names stand side by side.
    """
    places = np.arange(len(depths), dtype=float)
    for order, (name, right_DS) in enumerate(right.items()):
        right_DS = np.asarray(right_DS, dtype=float)
        aside = places + 0.07 * (order - (len(right) - 1) / 2)
        ax.plot(aside, right_DS.mean(axis=1), color=INKS[name], linestyle=DASHES[name], label=name)
        across = np.repeat(aside, right_DS.shape[1])
        ax.plot(across, right_DS.ravel(), "o", color=INKS[name], markersize=3.5)
    ax.plot(places[[0, -1]], [chance, chance], color=GREY, linewidth=0.8, zorder=0)
    ax.annotate("guessing", (places[0], chance), xytext=(0, 3), textcoords="offset points",
                color=GREY, fontsize=8)  # fmt: skip
    ax.set_xticks(places, [str(depth) for depth in depths])
    ax.set(xlabel="blocks", ylabel="copied correctly", ylim=(0, 1.05))
    ax.legend(fontsize=8, loc="center left")
    return ax
