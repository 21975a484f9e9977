"""Drawings of chapter 15: tiles of scores, a block of few bits, a roofline, a scaling law."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator

from helpers.figures import INKS

DONE, NOW, NEVER = "#cfe3f2", "#ffd24d", "#f2f2f2"
FEW = 5  # bits up to which the levels are drawn one by one


def draw_tiles(ax: Axes, *, T: int = 12, tile: int = 3, row: int = 2, column: int = 1) -> Axes:
    """Draw causal scores of T tokens in tiles: those that are done, the one at work, the others.

    row, column: of the tile at work. Beside its rows stand what is kept of them.
    """
    for top in range(0, T, tile):
        for left in range(0, T, tile):
            at = (top // tile, left // tile)
            done = at[1] <= at[0] and at < (row, column)
            colour = NOW if at == (row, column) else DONE if done else "white"
            colour = NEVER if at[1] > at[0] else colour
            hatch = "////" if at[1] > at[0] else None
            ax.add_patch(
                Rectangle(
                    (left, top), tile, tile, facecolor=colour, edgecolor="#555555", hatch=hatch
                )
            )
    for name, x in (("m", T + 0.8), ("s", T + 2.0), ("o", T + 3.2)):
        width = 2.4 if name == "o" else 0.8
        ax.add_patch(Rectangle((x, row * tile), width, tile, facecolor=NOW, edgecolor="#555555"))
        ax.text(x + width / 2, row * tile - 0.3, name, ha="center", va="bottom", fontsize=10)
    ax.text(T / 2, -0.4, "keys, in tiles", ha="center", va="bottom", fontsize=9)
    ax.text(-0.4, T / 2, "queries", ha="right", va="center", rotation=90, fontsize=9)
    ax.set(xlim=(-1.4, T + 6.2), ylim=(T + 0.3, -1.6), aspect="equal")
    ax.set_axis_off()
    return ax


def draw_block(ax: Axes, x_N: Float[np.ndarray, " N"], levels: Float[np.ndarray, " L"]) -> Axes:
    """Draw numbers as dots, each with a line to the nearest level; few levels are lines."""
    nearest_N = levels[np.abs(x_N[:, None] - levels).argmin(axis=1)]
    if len(levels) <= 2**FEW:
        ax.hlines(levels, -1, len(x_N), color="#bbbbbb", linewidth=0.6)
    at = np.arange(len(x_N))
    ax.vlines(at, x_N, nearest_N, color=INKS[1], linewidth=1.2)
    ax.plot(at, x_N, "o", color=INKS[0], markersize=3)
    ax.set(xlabel="number in the block", ylabel="value", xlim=(-1, len(x_N)))
    return ax


def of_block(x_N: Float[np.ndarray, " N"], measure: Callable) -> tuple[Callable, Callable]:
    """A block whose largest number is multiplied, on 2^bits levels, and the same in words.

    measure: of a block, its levels and the largest: levels of the others, and their error.
    """
    largest = int(np.abs(x_N).argmax())

    def levels(bits, times):
        x = x_N.astype(float)
        x[largest] *= times
        return x, np.linspace(x.min(), x.max(), 2**bits)

    def picture(bits, times):
        fig, ax = plt.subplots(figsize=(6.4, 3))
        draw_block(ax, *levels(bits, times))
        return fig

    def in_words(bits, times):
        others, left = measure(*levels(bits, times), largest)
        return (
            f"{bits} bits, the largest number multiplied by {times}: the other 31 numbers "
            f"share {others} of the {2**bits} levels, and rounding changes them by {left:.0%} of "
            "their RMS."
        )

    return picture, in_words


def draw_roofline(
    ax: Axes, intensity: Sequence[float], rate: Sequence[float], bandwidth: float
) -> Axes:
    """Draw measured operations a second against operations a byte, under the two roofs.

    rate in 10⁹ operations a second, bandwidth in 10⁹ bytes a second.
    """
    top = max(rate)
    x = np.array([min(intensity) / 2, top / bandwidth, max(intensity) * 2])
    ax.plot(x, np.minimum(x * bandwidth, top), color="#999999", linewidth=2)
    ax.plot(intensity, rate, "o-", color=INKS[0], markersize=4, linewidth=0.8)
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set(xlabel="operations a byte", ylabel="10⁹ operations a second")
    return ax


def draw_scaling(
    ax: Axes, losses: Mapping[int, Float[np.ndarray, " seeds"]], *, upto: float
) -> Axes:
    """Draw losses, a dot a seed, against parameters; the axis goes on to `upto`."""
    for N, values in losses.items():
        ax.plot([N] * len(values), values, "o", color=INKS[0], markersize=4, alpha=0.7)
    ax.set(xscale="log", yscale="log", xlim=(min(losses) / 1.5, upto * 1.5))
    ticks = (1.9, 2.0, 2.1, 2.2, 2.3)
    ax.set_yticks(ticks, [f"{tick:.1f}" for tick in ticks])
    ax.set_ylim(ticks[0], ticks[-1])
    ax.minorticks_off()
    ax.set(xlabel="parameters in the blocks", ylabel="validation loss (nats)")
    return ax
