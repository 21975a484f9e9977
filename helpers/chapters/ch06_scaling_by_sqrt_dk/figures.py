"""Drawings of chapter 06: sizes of scores, weights and barcodes of weights, gradients, losses."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# The divisors keep their colours and dashes through the whole chapter.
INKS = {
    "1": "#D55E00",
    "√D": "#0072B2",
    "D": "#009E73",
    "measured": "#8c6d00",
    "QK-norm": "#CC79A7",
}
DASHES = {"1": "-", "√D": "-", "D": "-", "measured": (0, (5, 2)), "QK-norm": (0, (1, 1.5))}
SHADES = ("#0072B2", "#D55E00", "#009E73", "#8c6d00", "#CC79A7")
GREY = "#777777"


def draw_growth(ax: Axes, widths, sizes: Mapping[str, np.ndarray]) -> Axes:
    """Draw typical sizes of dot products against D, a dot a seed, with lines √D and D.

    Shapes: widths (W,), each of ``sizes`` (W, seeds).
    """
    widths = np.asarray(widths, dtype=float)
    ends = widths[[0, -1]]
    for power, name in ((1, "D"), (0.5, "√D")):
        ax.plot(ends, ends**power, color="#c4c4c4", linewidth=1, zorder=0)
        ax.annotate(name, (ends[1], ends[1] ** power), xytext=(4, 0), textcoords="offset points",
                    color=GREY, va="center")  # fmt: skip
    for (name, sizes_WS), ink in zip(sizes.items(), SHADES, strict=False):
        sizes_WS = np.asarray(sizes_WS, dtype=float)
        ax.plot(widths, sizes_WS.mean(axis=1), color=ink, linewidth=1)
        across = np.repeat(widths, sizes_WS.shape[1])
        ax.plot(across, sizes_WS.ravel(), "o", color=ink, markersize=3, label=name)
    ax.set_xscale("log", base=4)
    ax.set_yscale("log", base=4)
    for set_ticks in (ax.set_xticks, ax.set_yticks):
        set_ticks(widths, [f"{width:g}" for width in widths])
    ax.minorticks_off()
    ax.set(xlabel="D", ylabel="typical size of q·k")
    ax.legend(fontsize=8, loc="upper left")
    return ax


def draw_barcode(ax: Axes, weights_QK, *, title: str = "", ink: str = "black") -> Axes:
    """Draw attention weights as a barcode: a row a query, a column a key, ink the weight.

    From eight times an equal share on it is black. Shapes: weights (queries, keys).
    """
    black = 8 / np.shape(weights_QK)[1]
    ax.imshow(weights_QK, cmap="Greys", vmin=0, vmax=black, aspect="auto", interpolation="none")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    ax.set_title(title, color=ink)
    return ax


def draw_gradients(ax: Axes, widths, norms: Mapping[str, np.ndarray], *, at: float) -> Axes:
    """Draw gradient norms against D on log scales, with a mark at one D.

    Norms below 1e-6 are drawn on the lower edge. Shapes: widths (W,), each of ``norms`` (W,).
    """
    widths = np.asarray(widths, dtype=float)
    for name, norms_W in norms.items():
        ax.plot(widths, np.maximum(norms_W, 1e-6), color=INKS[name], linestyle=DASHES[name])
        ax.plot(at, max(norms_W[list(widths).index(at)], 1e-6), "o", color=INKS[name])
    ax.plot([at, at], [1e-6, 10], color="#c4c4c4", linewidth=1, zorder=0)
    ax.set_xscale("log", base=4)
    ax.set_yscale("log")
    ax.set_xticks(widths, [f"{width:g}" for width in widths])
    ax.set_yticks([1e-6, 1e-4, 1e-2, 1], ["≤ 10⁻⁶", "10⁻⁴", "10⁻²", "1"])
    ax.set(ylim=(5e-7, 10), xlabel="D", ylabel="norm of ∂w/∂q")
    ax.minorticks_off()
    return ax


def saturation(
    weights: Mapping[str, np.ndarray], widths, norms: Mapping[str, Sequence], *, at: float
) -> Figure:
    """Draw barcodes of the weights of each divisor at one D, and below them all gradient norms."""
    fig, axes = plt.subplot_mosaic(
        [list(weights), ["below"] * len(weights)], figsize=(5.2, 4.2), height_ratios=[2, 2.2]
    )
    for name, weights_QK in weights.items():
        draw_barcode(axes[name], weights_QK, title=f"÷ {name}", ink=INKS[name])
    as_arrays = {name: np.array(norms_W) for name, norms_W in norms.items()}
    draw_gradients(axes["below"], widths, as_arrays, at=at)
    return fig


def draw_shares(ax: Axes, shares_T, tokens: Sequence[str], *, title: str, ink: str) -> Axes:
    """Draw the weights of one query as bars, a word each.

    Shapes: shares (T,).
    """
    ax.barh(range(len(tokens)), shares_T, color=ink)
    ax.set_yticks(range(len(tokens)), tokens, fontsize=8)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xticks=[0, 0.5, 1])
    ax.set_title(title, color=ink)
    return ax


def draw_losses(ax: Axes, steps, losses: Mapping[str, np.ndarray], *, title: str = "") -> Axes:
    """Draw training losses, a thin line a seed and a thick one for their mean.

    Shapes: steps (N,), each of ``losses`` (seeds, N).
    """
    for name, losses_SN in losses.items():
        losses_SN = np.asarray(losses_SN, dtype=float)
        for losses_N in losses_SN:
            ax.plot(steps, losses_N, color=INKS[name], linewidth=0.6, alpha=0.4)
        mean_N = losses_SN.mean(axis=0)
        ax.plot(steps, mean_N, color=INKS[name], linestyle=DASHES[name], label=f"÷ {name}"
                if name in ("1", "√D", "D") else name)  # fmt: skip
    ax.set(xlabel="steps", ylabel="loss (nats)", title=title)
    ax.legend(fontsize=8)
    return ax


def draw_rates(
    ax: Axes,
    rates: Sequence[float],
    losses: Mapping,
    *,
    title: str = "",
    marks: Mapping | None = None,
) -> Axes:
    """Draw final losses against the learning rate, a dot a seed, with a line through the means.

    Where a loss is nan, a seed diverged: the line leaves that rate out, and a cross stands at the
    upper edge.

    Args:
        rates: the learning rates, (R,).
        losses: for each divisor the losses, (R, seeds).
        marks: names and heights of grey lines to compare with.
    """
    at_R = np.asarray(rates, dtype=float)
    for name, height in (marks or {}).items():
        ax.plot(at_R[[0, -1]], [height, height], color="#c4c4c4", linewidth=1, zorder=0)
        middle = np.sqrt(at_R[0] * at_R[-1])
        ax.annotate(name, (middle, height), xytext=(0, 2), textcoords="offset points",
                    color=GREY, fontsize=7, ha="center")  # fmt: skip
    for row, (name, losses_RS) in enumerate(losses.items()):
        losses_RS = np.asarray(losses_RS, dtype=float)
        through_R = np.isfinite(losses_RS).all(axis=1)
        ax.plot(at_R[through_R], losses_RS[through_R].mean(axis=1), color=INKS[name],
                linestyle=DASHES[name], label=name)  # fmt: skip
        across = np.repeat(at_R, losses_RS.shape[1])
        ax.plot(across, losses_RS.ravel(), "o", color=INKS[name], markersize=2.5)
        broken_R = at_R[~through_R]
        ax.plot(broken_R, np.full(len(broken_R), 0.97 - 0.05 * row), "x", color=INKS[name],
                markersize=5, transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xscale("log")
    ax.set_xticks(at_R, [f"{rate:g}" for rate in at_R], fontsize=8)
    ax.minorticks_off()
    ax.set(xlabel="learning rate", ylabel="validation loss (nats)", title=title)
    return ax
