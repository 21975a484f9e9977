"""Drawings of chapter 10: sizes and gradients by layer, losses of starts, and races."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Shaped
from matplotlib.axes import Axes

from helpers.figures.ladder import spaced

# Each scheme keeps its colour and dash through the whole chapter.
INKS = {
    "LeCun": "#0072B2",
    "Xavier": "#D55E00",
    "He": "#009E73",
    "torch": "#CC79A7",
    "0.02": "#8c6d00",
    "Xavier · 1/√(2L)": "#56B4E9",
    "Xavier, zero start": "#000000",
}
DASHES = {"Xavier": (0, (4, 2)), "torch": (0, (1, 1.5)), "Xavier, zero start": (0, (6, 2, 1, 2))}
RATES = (("#8c6d00", "o"), ("#0072B2", "s"), ("#D55E00", "^"))  # colour and shape


def draw_sizes(
    ax: Axes, sizes: Mapping[str, Float[np.ndarray, "seeds L"]], *, title: str = ""
) -> Axes:
    """Draw how large the numbers are after each layer, a line a scheme, on a log scale.

    A line is the geometric mean over the seeds. Shapes: each (seeds, L), all positive.
    """
    for name, sizes_SL in sizes.items():
        mean_L = np.exp(np.log(sizes_SL).mean(axis=0))
        layers = np.arange(1, len(mean_L) + 1)
        ax.plot(layers, mean_L, color=INKS[name], linestyle=DASHES.get(name, "-"), label=name)
    ax.set_yscale("log")
    ax.minorticks_off()
    ax.set(xlabel="layer", ylabel="size", title=title)
    return ax


def draw_by_layer(
    ax: Axes,
    values_SL: Float[np.ndarray, "seeds L"],
    *,
    name: str,
    limits: tuple[float, float],
    title: str = "",
    layer: str = "layer",
) -> Axes:
    """Draw one quantity by layer on a log scale, a thin line a seed and a thick one their mean.

    Values outside the limits are drawn on the nearer edge. The mean is geometric.
    Shapes: (seeds, L), none negative.
    """
    kept_SL = np.clip(values_SL, *limits)
    layers = np.arange(1, kept_SL.shape[1] + 1)
    for kept_L in kept_SL:
        ax.plot(layers, kept_L, color=INKS[name], linewidth=0.6, alpha=0.5)
    mean_L = np.exp(np.log(kept_SL).mean(axis=0))
    ax.plot(layers, mean_L, color=INKS[name], linewidth=2)
    ax.set_yscale("log")
    ax.minorticks_off()
    ax.set(xlabel=layer, xlim=(0, 25), xticks=[1, 6, 12, 18, 24], title=title)
    ax.set_ylim(limits[0] / 2, limits[1] * 2)
    return ax


LIMITS = {
    "plain layers, ReLU": ((1e-24, 1e2), (1e-24, 1e2)),
    "blocks without norm": ((1e-1, 1e16), (1e-3, 1e16)),
    "pre-norm blocks": ((0.5, 20), (0.001, 1)),
}


def panels_by_layer(
    axes: Shaped[np.ndarray, " panels"],
    values: Float[np.ndarray, "seeds 2 L"],
    *,
    net: str,
    name: str,
) -> Shaped[np.ndarray, " panels"]:
    """Draw sizes and gradients of a net of LIMITS by layer, a panel each."""
    layer = "block" if "blocks" in net else "layer"
    titles = f"size after the {layer}", f"gradient of the {layer}'s weights"
    for at, (ax, title) in enumerate(zip(axes, titles, strict=True)):
        limits = LIMITS[net][at]
        draw_by_layer(ax, values[:, at], name=name, limits=limits, title=title, layer=layer)
    return axes


def draw_losses(ax: Axes, losses: Mapping[str, Sequence[float]]) -> Axes:
    """Draw losses of training runs step by step on a log scale, each named at its end."""
    ends = np.log10([values[-1] for values in losses.values()]).tolist()
    apart = 0.07 * np.ptp(np.log10(np.concatenate(list(losses.values()))))
    inks = "#8c6d00", "#009E73", "#D55E00"
    for (name, values), ink, height in zip(losses.items(), inks, spaced(ends, apart), strict=True):
        ax.plot(values, color=ink)
        ax.annotate(name, (len(values) - 1, values[-1]), xytext=(4, 10**height), va="center",
                    textcoords=("offset points", "data"), color=ink)  # fmt: skip
    ax.set_yscale("log")
    ax.set(xlabel="step", ylabel="loss (nats)", xlim=(0, len(values) * 1.15))
    return ax


def draw_starts(
    ax: Axes,
    losses: Mapping[str, Mapping[float, Float[np.ndarray, " seeds"]]],
    *,
    label: str = "validation loss (nats)",
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw final losses of several starts, a row a start, a colour and a shape a learning rate.

    A seed that diverged (nan), or lies beyond the limits, stands as a triangle at the right edge.
    """
    rates = sorted({rate for by_rate in losses.values() for rate in by_rate})
    looks = dict(zip(rates, RATES if len(rates) > 1 else RATES[1:], strict=False))
    for row, by_rate in enumerate(losses.values()):
        for place, (rate, found_S) in enumerate(sorted(by_rate.items())):
            found_S = np.asarray(found_S, dtype=float)
            ink, shape = looks[rate]
            height = row + 0.22 * (place - (len(by_rate) - 1) / 2)
            inside = np.isfinite(found_S) & (limits is None or found_S <= limits[1])
            ax.plot(found_S[inside], np.full(inside.sum(), height), shape, color=ink,
                    markersize=3.5, label=f"{rate:g}" if row == 0 else None)  # fmt: skip
            if not inside.all() and limits is not None:
                ax.plot(limits[1], height, ">", color=ink, markersize=6, clip_on=False)
    ax.set_yticks(range(len(losses)), list(losses))
    ax.set(ylim=(len(losses) - 0.5, -0.5), xlabel=label)
    if limits is not None:
        ax.set_xlim(*limits)
    ax.grid(axis="x", color="#e4e4e4", linewidth=0.6)
    return ax


def draw_race(
    ax: Axes,
    steps: Sequence[int],
    losses: Mapping[str, Float[np.ndarray, "seeds steps"]],
) -> Axes:
    """Draw validation losses at a few steps, a dot a seed and a line through the means.

    Steps stand at equal distances.
    """
    places = np.arange(len(steps))
    styles = zip(("#000000", "#0072B2", "#D55E00", "#009E73"), ("-", "--", "-.", ":"), strict=True)
    for (name, losses_SK), (ink, dash) in zip(losses.items(), styles, strict=False):
        ax.plot(places, losses_SK.mean(axis=0), color=ink, linestyle=dash, label=name)
        across = np.tile(places, len(losses_SK))
        ax.plot(across, np.ravel(losses_SK), "o", color=ink, markersize=2.5)
    ax.set_xticks(places, [f"{step}" for step in steps])
    ax.set(xlabel="steps", ylabel="validation loss (nats)")
    ax.legend(fontsize=8)
    return ax
