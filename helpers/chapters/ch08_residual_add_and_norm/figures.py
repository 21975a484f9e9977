"""Drawings of chapter 08: signal and gradient by level, copying, surprise by part, neurons."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Num
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
GREY = "#777777"
MOST_POINTS = 25  # of a line; a frame of an explorer is as heavy as its points


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
    ax.set(xlabel="blocks", ylabel="said again rightly", ylim=(0, 1.05))
    ax.legend(fontsize=8, loc="center left")
    return ax


def draw_by_letter(
    ax: Axes,
    values_RT: Num[np.ndarray, "rows T"] | Sequence,
    text: str,
    names: Sequence[str],
    *,
    highest: float | None = None,
    label: str = "",
) -> Axes:
    """Draw a value for each row and letter as a grey, the darker the larger; a space is a dot.

    Shapes: values (rows, T), a letter of ``text`` for each column, a name for each row.
    Raises: ValueError where text or names do not fit the values.
    """
    values_RT = np.asarray(values_RT, dtype=float)
    if values_RT.shape != (len(names), len(text)):
        raise ValueError(
            f"values have shape {values_RT.shape}; with {len(names)} names and {len(text)} letters "
            f"it must be {(len(names), len(text))}"
        )
    ax.imshow(values_RT, cmap="Greys", vmin=0, vmax=highest, aspect="auto", interpolation="none")
    shown = [{" ": "·", "\n": "↵"}.get(letter, letter) for letter in text]
    ax.set_xticks(range(len(text)), shown, fontsize=8, family="monospace")
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(True)
    ax.set_title(label)
    return ax
