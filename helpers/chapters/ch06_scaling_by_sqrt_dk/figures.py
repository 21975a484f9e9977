"""Drawings of chapter 06: weights and barcodes of weights, gradients, losses."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# The divisors keep their colours through the whole chapter.
INKS = {"1": "#D55E00", "√D": "#0072B2", "D": "#009E73"}


def draw_barcode(ax: Axes, weights_QK, *, title: str, ink: str) -> Axes:
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
        ax.plot(widths, np.maximum(norms_W, 1e-6), color=INKS[name])
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
    ax.set_yticks(range(len(tokens)), tokens, fontsize=9)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xticks=[0, 0.5, 1])
    ax.set_title(title, color=ink)
    return ax


def draw_losses(ax: Axes, steps, losses: Mapping[str, np.ndarray]) -> Axes:
    """Draw training losses, a thin line a seed and a thick one for their mean.

    Shapes: steps (N,), each of ``losses`` (seeds, N).
    """
    for name, losses_SN in losses.items():
        losses_SN = np.asarray(losses_SN, dtype=float)
        for losses_N in losses_SN:
            ax.plot(steps, losses_N, color=INKS[name], linewidth=0.6, alpha=0.4)
        ax.plot(steps, losses_SN.mean(axis=0), color=INKS[name], label=f"÷ {name}")
    ax.set(xlabel="steps", ylabel="loss (nats)")
    ax.legend(fontsize=8)
    return ax
