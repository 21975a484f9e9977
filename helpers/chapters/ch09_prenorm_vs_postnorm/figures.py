"""Drawings of chapter 09: the two orders, and values by block and by step."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Num
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from helpers.worked import superscript

# The orders keep their colours through the whole chapter.
INKS = {"post": "#D55E00", "pre": "#0072B2"}
NORM, PLAIN = "#ffd24d", "#f2f2f2"
MAX_POINTS = 17  # of a line; a frame of an explorer is as heavy as its points
ORDERS = {  # what a token meets: (name, height above the stream), from left to right
    "post": (("f", 1), ("+", 0), ("norm", 0)),
    "pre": (("norm", 1), ("f", 1), ("+", 0)),
}
PITCH = 4.2  # from one sub-layer to the next
ACROSS = {"post": (1.0, 2.3, 3.2), "pre": (0.9, 2.0, 3.2)}


def draw_orders(ax: Axes, order: str) -> Axes:
    """Draw two sub-layers in one order: the stream as a thick line, the norms lit."""
    names = [name for name, _ in ORDERS[order]]
    for start in (0, PITCH):
        leaves, joins = start + 0.45, start + ACROSS[order][names.index("+")]
        ax.plot([leaves, leaves, joins], [0, 1, 1], color="#555555", linewidth=1, zorder=1)
        _arrow(ax, (joins, 1), (joins, 0.22), color="#555555", linewidth=1)
        for (name, height), x in zip(ORDERS[order], ACROSS[order], strict=True):
            _box(ax, start + x, height, name)
    end = 2 * PITCH + 0.2
    _arrow(ax, (-0.3, 0), (end, 0), color=INKS[order], linewidth=3)
    ax.set(xlim=(-0.5, end + 0.1), ylim=(-0.5, 1.5), aspect="equal")
    ax.set_axis_off()
    return ax


def both_orders() -> Figure:
    """Both orders, post-norm on top."""
    fig, axes = plt.subplots(2, 1, figsize=(6.6, 3.4))
    titles = {"post": "post-norm: norm(x + f(x))", "pre": "pre-norm: x + f(norm(x))"}
    for ax, (order, title) in zip(axes, titles.items(), strict=True):
        draw_orders(ax, order).set_title(title, loc="left", fontsize=10)
    return fig


def _arrow(ax: Axes, start, end, **style) -> None:
    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=9, shrinkA=0, shrinkB=0, zorder=2, **style
        )
    )


def _box(ax: Axes, x: float, y: float, name: str) -> None:
    wide = 0.22 if name == "+" else 0.42
    ax.add_patch(
        FancyBboxPatch(
            (x - wide, y - 0.26),
            2 * wide,
            0.52,
            boxstyle="round,pad=0.02",
            zorder=3,
            linewidth=1,
            edgecolor="#555555",
            facecolor=NORM if name == "norm" else PLAIN,
        )
    )
    ax.text(x, y, name, ha="center", va="center", fontsize=9, zorder=4)


def draw_by_block(
    ax: Axes,
    curves: Mapping[str, Num[np.ndarray, "seeds L"] | Sequence],
    *,
    limits: tuple[float, float],
    first: int = 1,
    title: str = "",
) -> Axes:
    """Draw one quantity by block on a log scale, thin lines for seeds, a thick one for their mean.

    first: what the first column counts as; 0 where it lies before the first block. Values beyond
    the limits are drawn on the nearer edge. The mean is geometric. Shapes: each curve (seeds, L).
    """
    for name, values_SL in curves.items():
        logs_SL = np.log10(np.clip(np.asarray(values_SL, dtype=float), *limits))
        count = logs_SL.shape[1]
        at = np.unique(np.linspace(0, count - 1, min(count, MAX_POINTS)).round().astype(int))
        for logs_L in logs_SL:
            ax.plot(at + first, logs_L[at], color=INKS[name], linewidth=0.6, alpha=0.5)
        ax.plot(at + first, logs_SL.mean(axis=0)[at], color=INKS[name], linewidth=2, label=name)
    low, high = (np.log10(limit) for limit in limits)
    ticks = np.arange(np.ceil(low), np.floor(high) + 1)
    ax.set_yticks(ticks, [_power(tick) for tick in ticks])
    ax.set(ylim=(low - 0.1, high + 0.1), xlabel="block" if first else "after block", title=title)
    return ax


BEFORE = {  # title: key, limits, and what its first column counts as
    "RMS of the stream": ("sizes", (0.3, 30), 0),
    "differing between tokens": ("differing", (1e-10, 1), 0),
    "gradient of W_Q and W_K": ("W_Q, W_K", (1e-10, 1), 1),
}


def before(found: Mapping[str, Mapping]) -> Figure:
    """What untrained models are like by block, a panel for each quantity of BEFORE."""
    fig, axes = plt.subplots(1, 3, figsize=(8.4, 2.8))
    for ax, (title, (key, limits, first)) in zip(axes, BEFORE.items(), strict=True):
        curves = {name: values[key] for name, values in found.items()}
        draw_by_block(ax, curves, limits=limits, first=first, title=title)
    axes[0].legend(fontsize=7)
    return fig


def race(post: Sequence[float], pre: Sequence[float], baseline: float) -> Figure:
    """The losses of both orders by step, and the baseline in grey."""
    fig, ax = plt.subplots(figsize=(6.4, 2.8))
    ax.axhline(baseline, color="#999999", linewidth=1)
    ax.plot(post, color=INKS["post"], label="post-norm")
    ax.plot(pre, color=INKS["pre"], label="pre-norm")
    ax.set(xlabel="step", ylabel="loss (nats)")
    ax.legend()
    return fig


def _power(exponent: float) -> str:
    raised = superscript(int(exponent))
    return {0: "1", 1: "10"}.get(int(exponent), f"10{raised}")
