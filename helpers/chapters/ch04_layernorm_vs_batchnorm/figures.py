"""Drawings of chapter 04: blocks of numbers, who reads whom, ε, stages of a norm, and losses."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Num
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from helpers.worked import superscript

# The norms keep their colours and signs through the whole chapter.
INKS = {
    "layer": "#0072B2",
    "rms": "#56B4E9",
    "batch": "#D55E00",
    "instance": "#CC79A7",
    "group": "#8c6d00",
    "none": "#444444",
}
MARKS = {"layer": "o", "rms": "s", "batch": "^", "instance": "D", "group": "v", "none": "P"}
READ = {
    "itself": "#0072B2",
    "earlier": "#8fc3e6",
    "later": "#D55E00",
    "another sentence": "#f0b27a",
    "not read": "#ffffff",
}
GREY = "#777777"


def draw_block(
    ax: Axes,
    values_BTC: Num[np.ndarray, "B T C"],
    words: Sequence[Sequence[str]] | None,
    *,
    title: str = "",
    reach: float = 1.0,
    framed: tuple[int, int] | None = None,
) -> Axes:
    """Draw a block of numbers as shaded cells, sentence below sentence, a row a word.

    Blue is below 0 and orange above, full at ``reach``. ``framed`` is a (sentence, word) with a
    frame. Shapes: values (B, T, C), words B lists of T.
    """
    values_BTC = np.asarray(values_BTC, dtype=float)
    B, T, C = values_BTC.shape
    gap = np.full((B, 1, C), np.nan)
    rows = np.concatenate([values_BTC, gap], axis=1).reshape(-1, C)[:-1]
    ax.imshow(rows, cmap="PuOr_r", vmin=-1.6 * reach, vmax=1.6 * reach, aspect="auto",
              interpolation="none")  # fmt: skip
    for (y, x), value in np.ndenumerate(rows):
        if np.isfinite(value):
            ax.text(x, y, short(value), ha="center", va="center", fontsize=7)
    ax.set_xticks([])
    at = [b * (T + 1) + t for b in range(B) for t in range(T)]
    ax.set_yticks(at if words else [], [word for line in words for word in line] if words else [])
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    if framed is not None:
        y = framed[0] * (T + 1) + framed[1]
        ax.add_patch(Rectangle((-0.5, y - 0.5), C, 1, fill=False, edgecolor="black", linewidth=1.5))
    ax.set_title(title)
    return ax


def kinds_of_reading(reads_BT: Num[np.ndarray, "B T"], at: tuple[int, int]) -> list[list[str]]:
    """What each token is to the token ``at`` that may read it: a key of READ.

    Shapes: reads (B, T), how strongly each token is read; 0 is not at all.
    """
    reads_BT = np.asarray(reads_BT, dtype=float)

    def kind(b: int, t: int) -> str:
        if reads_BT[b, t] == 0:
            return "not read"
        if b != at[0]:
            return "another sentence"
        return "itself" if t == at[1] else "later" if t > at[1] else "earlier"

    return [[kind(b, t) for t in range(reads_BT.shape[1])] for b in range(len(reads_BT))]


def draw_reads(
    ax: Axes, reads_BT: Num[np.ndarray, "B T"], *, at: tuple[int, int], title: str = ""
) -> Axes:
    """Draw which tokens the output at one token depends on, a cell a token, as ``draw_block``.

    Shapes: reads (B, T).
    """
    kinds = kinds_of_reading(reads_BT, at)
    T = len(kinds[0])
    for b, line in enumerate(kinds):
        for t, kind in enumerate(line):
            y = b * (T + 1) + t
            edge = 1.5 if (b, t) == at else 0.5
            ax.add_patch(Rectangle((0, y - 0.5), 1, 1, facecolor=READ[kind],
                                   edgecolor="black", linewidth=edge))  # fmt: skip
            dark = kind in ("itself", "later")
            ax.text(0.5, y, kind, ha="center", va="center", fontsize=7,
                    color="white" if dark else GREY if kind == "not read" else "black")  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(len(kinds) * (T + 1) - 1.5, -0.5), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(title)
    return ax


def draw_stage(ax: Axes, name: str, values_C: Num[np.ndarray, " C"], *, shown: bool = True) -> Axes:
    """Draw a vector at one stage of a norm as dots on a number line, or its name only.

    A thick bar spans one deviation on each side of the mean. The line runs from the smallest
    number to the largest, so that stages drawn one above the other keep their dots in place.
    """
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(-1, 1))
    ax.text(0.0, 0, name, va="center", fontsize=9, color="black" if shown else "#bbbbbb")
    if shown:
        _number_line(ax, np.asarray(values_C, dtype=float))
    return ax


def _number_line(ax: Axes, values_C: Num[np.ndarray, " C"]) -> None:
    """Dots between 0.34 and 0.9 of the width, the smallest number on the left."""
    low, span = values_C.min(), np.ptp(values_C) or 1.0
    places_C = 0.34 + 0.56 * (values_C - low) / span
    middle, reach = places_C.mean(), places_C.std()
    ax.plot([0.3, 0.94], [-0.35, -0.35], color="#c4c4c4", linewidth=1)
    ax.plot([middle - reach, middle + reach], [-0.35, -0.35], color="#D55E00", linewidth=3,
            alpha=0.6)  # fmt: skip
    ax.plot(places_C, np.full(len(values_C), -0.35), "o", color="#0072B2", markersize=5)
    for value, place in dict(zip(values_C.round(6), places_C, strict=True)).items():
        ax.text(place, 0.15, short(value), ha="center", va="bottom", fontsize=8)


def draw_eps(
    ax: Axes,
    scales: Num[np.ndarray, " S"] | Sequence,
    curves: Mapping,
    *,
    at: int,
    ylabel: str,
    log: bool = False,
) -> Axes:
    """Draw one quantity against the scale of the input, for ε inside and outside the root.

    A dot stands on each curve at the index ``at``. The scale runs by powers of ten, and so does
    the quantity with ``log``. Shapes: scales (S,), each curve (S,).
    """
    powers = np.log10(np.asarray(scales, dtype=float))
    inks, dashes = ("#0072B2", "#D55E00"), ("-", (0, (4, 2)))
    for (name, curve_S), ink, dash in zip(curves.items(), inks, dashes, strict=True):
        heights = np.log10(curve_S) if log else np.asarray(curve_S, dtype=float)
        ax.plot(powers, heights, color=ink, linestyle=dash, label=name)
        ax.plot(powers[at], heights[at], "o", color=ink, markersize=6)
    ticks = np.arange(np.ceil(powers.min()), powers.max() + 0.5, 2)
    ax.set_xticks(ticks, [power_of_ten(tick) for tick in ticks])
    if log:
        ticks = np.arange(-3.0, 10, 3)
        ax.set_yticks(ticks, [power_of_ten(tick) for tick in ticks])
    ax.set(xlabel="σ of the input", ylabel=ylabel)
    return ax


def draw_histogram(
    ax: Axes, values_N: Num[np.ndarray, " N"], *, title: str = "", bins: int = 40
) -> Axes:
    """Draw how the numbers of a vector are spread, and mark their mean and one deviation.

    Shapes: values (N,).
    """
    values_N = np.asarray(values_N, dtype=float)
    counts, edges = np.histogram(values_N, bins)
    ax.stairs(counts, edges, fill=True, color="#0072B2", alpha=0.4)
    mean, deviation = values_N.mean(), values_N.std()
    height = 0.5 * counts.max()
    ax.plot([mean - deviation, mean + deviation], [height, height], color="#D55E00", linewidth=3)
    ax.plot(mean, height, "o", color="#D55E00")
    ax.set(yticks=[], title=title)
    return ax


def draw_rates(
    ax: Axes, rates: Num[np.ndarray, " R"] | Sequence, losses: Mapping, *, title: str = ""
) -> Axes:
    """Draw losses against the learning rate, a dot a seed and a line through the means.

    Where a loss is nan a seed diverged: the line leaves that rate out and a cross stands at the
    upper edge. Shapes: rates (R,), each of ``losses`` (R, seeds).
    """
    rates = np.asarray(rates, dtype=float)
    for row, (name, losses_RS) in enumerate(losses.items()):
        losses_RS = np.asarray(losses_RS, dtype=float)
        whole_R = np.isfinite(losses_RS).all(axis=1)
        beside = rates * 1.04 ** (row - (len(losses) - 1) / 2)  # so that dots do not hide dots
        ax.plot(beside[whole_R], losses_RS[whole_R].mean(axis=1), color=INKS[name], label=name,
                linestyle="--" if name == "none" else "-", linewidth=1)  # fmt: skip
        across = np.repeat(beside, losses_RS.shape[1])
        ax.plot(across, losses_RS.ravel(), MARKS[name], color=INKS[name], markersize=3)
        broken = beside[~whole_R]
        ax.plot(broken, np.full(len(broken), 0.98), "x", color=INKS[name], markersize=9,
                transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xscale("log")
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    ax.minorticks_off()
    ax.set(xlabel="learning rate", ylabel="validation loss (nats)", title=title)
    return ax


def draw_gaps(ax: Axes, pairs: Mapping) -> Axes:
    """Draw two losses of each norm on one line: whole windows at once, and a letter at a time.

    Shapes: each of ``pairs`` two arrays (seeds,).
    """
    for y, (name, (together_S, alone_S)) in enumerate(pairs.items()):
        ends = [np.mean(together_S), np.mean(alone_S)]
        ax.plot(ends, [y, y], color=INKS[name], linewidth=1)
        for losses_S, filled, lift in ((together_S, False, -0.12), (alone_S, True, 0.12)):
            ax.plot(losses_S, np.full(len(losses_S), y + lift), "o", color=INKS[name], markersize=5,
                    fillstyle="full" if filled else "none")  # fmt: skip
    ax.set_yticks(range(len(pairs)), list(pairs))
    ax.set(ylim=(len(pairs) - 0.5, -0.5), xlabel="validation loss (nats)")
    return ax


def draw_evolution(
    ax: Axes,
    steps: Num[np.ndarray, " N"] | Sequence,
    values_NC: Num[np.ndarray, "N C"],
    *,
    start: float,
    title: str = "",
) -> Axes:
    """Draw how each entry of a parameter vector moves in training, from its start.

    Shapes: steps (N,), values (N, C).
    """
    values_NC = np.asarray(values_NC, dtype=float)
    ax.plot([steps[0], steps[-1]], [start, start], color="#c4c4c4", linewidth=3, zorder=0)
    for values_N in values_NC.T:
        ax.plot(steps, values_N, color="#0072B2", linewidth=0.6, alpha=0.7)
    ax.plot(steps, values_NC.mean(axis=1), color="#D55E00", linewidth=1.8)
    ax.set(xlabel="steps", title=title)
    return ax


def short(value: float) -> str:
    """A number in at most three digits and two decimals, with a true minus sign."""
    value = round(float(value), 9)  # so that 0.175 is shown alike however it was computed
    text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else ""
    text = text or f"{value:.2f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text.replace("-", "−")


def power_of_ten(exponent: float) -> str:
    """10 to a whole number in words of at most four signs: 0.01, 1, 10⁻⁷."""
    if -3 <= exponent <= 3:
        return f"{10.0**exponent:g}"
    return "10" + superscript(int(exponent))
