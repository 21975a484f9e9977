"""Drawings of chapter 10: sizes and gradients by layer, and losses of starts."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Each scheme keeps its colour and dash through the whole chapter.
INKS = {
    "LeCun": "#0072B2",
    "Xavier": "#D55E00",
    "He": "#009E73",
    "torch": "#CC79A7",
    "0.02": "#8c6d00",
    "Xavier · 1/√(2L)": "#56B4E9",
    "Xavier · 0": "#000000",
}
DASHES = {"Xavier": (0, (4, 2)), "torch": (0, (1, 1.5)), "Xavier · 0": (0, (6, 2, 1, 2))}
RATES = (("#8c6d00", "o"), ("#0072B2", "s"), ("#D55E00", "^"))  # colour and shape


def draw_sizes(
    ax: Axes, sizes: Mapping[str, Float[np.ndarray, "seeds L"]], *, title: str = ""
) -> Axes:
    """Draw how large the numbers are after each layer, a line a scheme, on a log scale.

    Each line is the geometric mean over the seeds. Shapes: each (seeds, L), all positive.
    """
    for name, sizes_SL in sizes.items():
        mean_L = np.exp(np.log(sizes_SL).mean(axis=0))
        layers = np.arange(1, len(mean_L) + 1)
        ax.plot(layers, mean_L, color=INKS[name], linestyle=DASHES.get(name, "-"), label=name)
    ax.set_yscale("log")
    ax.minorticks_off()
    ax.set(xlabel="layer", ylabel="RMS", title=title)
    return ax


LIMITS = {
    "plain layers, ReLU": ((1e-24, 1e2), (1e-24, 1e2)),
    "blocks without norm": ((1e-1, 1e16), (1e-3, 1e16)),
    "pre-norm blocks": ((0.5, 20), (0.001, 1)),
}


def race(losses: Mapping[float, Sequence[float]]) -> Figure:
    """The losses by step on a log scale, a line for each σ."""
    fig, ax = plt.subplots(figsize=(6.4, 3))
    for sigma, by_step in losses.items():
        ax.plot(by_step, label=f"σ = {sigma}")
    ax.set(yscale="log", xlabel="step", ylabel="loss (nats)")
    ax.legend()
    return fig


def three(sizes: Mapping[str, Mapping[str, Float[np.ndarray, "seeds L"]]]) -> Figure:
    """How large the numbers are after each layer of three nets, from each scheme."""
    fig, axes = plt.subplots(1, 3, figsize=(8.4, 3.2))
    for ax, net in zip(axes, LIMITS, strict=True):
        draw_sizes(ax, {name: of[net] for name, of in sizes.items()}, title=net)
    axes[2].set(ylim=(0.8, 1e3))
    axes[2].legend(fontsize=9, ncols=1, loc="upper left")
    return fig


def panels_by_layer(values: Float[np.ndarray, "seeds 2 L"], *, net: str, name: str) -> Figure:
    """Draw sizes and gradients by layer on log scales, a thin line a seed, a thick one their mean.

    Values outside the net's LIMITS are drawn on the nearer edge. The mean is geometric.
    Shapes: (seeds, 2, L), none negative.
    """
    fig, axes = plt.subplots(1, 2, figsize=(7.6, 2.9))
    fig.set_layout_engine("constrained", wspace=0.12)
    layer = "block" if "blocks" in net else "layer"
    titles = f"RMS after the {layer}", f"gradient of the {layer}'s weights"
    for at, (ax, title) in enumerate(zip(axes, titles, strict=True)):
        low, high = LIMITS[net][at]
        kept_SL = np.clip(values[:, at], low, high)
        layers = np.arange(1, kept_SL.shape[1] + 1)
        ax.plot(layers, kept_SL.T, color=INKS[name], linewidth=0.6, alpha=0.5)
        mean_L = np.exp(np.log(kept_SL).mean(axis=0))
        ax.plot(layers, mean_L, color=INKS[name], linewidth=2)
        ax.set_yscale("log")
        ax.minorticks_off()
        ax.set(xlabel=layer, xlim=(0, 25), xticks=[1, 6, 12, 18, 24], title=title)
        ax.set_ylim(low / 2, high * 2)
    return fig


def draw_starts(
    ax: Axes,
    losses: Mapping[str, Mapping[float, Float[np.ndarray, " seeds"]]],
    *,
    limits: tuple[float, float],
) -> Axes:
    """Draw final losses of several starts, a row a start, a colour and a shape a learning rate.

    A seed that diverged (nan), or lies beyond the limits, stands as a triangle at the right edge.
    """
    for row, by_rate in enumerate(losses.values()):
        marks = zip(sorted(by_rate.items()), RATES, strict=False)
        for place, ((rate, found_S), (ink, shape)) in enumerate(marks):
            height = row + 0.22 * (place - (len(by_rate) - 1) / 2)
            inside = found_S <= limits[1]
            ax.plot(
                found_S[inside],
                np.full(inside.sum(), height),
                shape,
                color=ink,
                markersize=3.5,
                label=f"{rate:g}" if row == 0 else None,
            )
            if not inside.all():
                ax.plot(limits[1], height, ">", color=ink, markersize=6, clip_on=False)
    ax.set_yticks(range(len(losses)), list(losses))
    ax.set(ylim=(len(losses) - 0.5, -0.5), xlim=limits, xlabel="validation loss (nats)")
    ax.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    return ax
