"""Drawings of chapter 04: blocks of numbers, who reads whom, losses; its explorer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Bool, Float, Num
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from helpers.norms import NORMS, NormSpec, normalise_over
from helpers.probes import leaks, reads

# The norms keep their colours and signs through the whole chapter.
INKS = {
    "layer": "#0072B2",
    "rms": "#56B4E9",
    "batch": "#D55E00",
    "instance": "#CC79A7",
    "group": "#8c6d00",
    "none": "#444444",
}
READ = {
    "itself": "#0072B2",
    "earlier": "#8fc3e6",
    "later": "#D55E00",
    "another sentence": "#f0b27a",
    "not read": "#ffffff",
}
GREY = "#777777"
FILLED = "#f0b27a"


def draw_block(
    ax: Axes,
    values_BTC: Num[np.ndarray, "B T C"],
    words: Sequence[Sequence[str]] | None,
    *,
    title: str = "",
    reach: float = 1.0,
    framed: tuple[int, ...] | None = None,
    shade_BTC: Bool[np.ndarray, "B T C"] | None = None,
) -> Axes:
    """Draw a block of numbers as shaded cells, sentence below sentence, a row a word.

    Blue is below 0 and orange above, full at ``reach``; with ``shade_BTC`` some cells are filled
    and the others clear. ``framed`` is a (sentence, word) with a frame, or one number of it.
    Shapes: values (B, T, C), words B lists of T.
    """
    values_BTC = np.asarray(values_BTC, dtype=float)
    B, T, C = values_BTC.shape

    gap = np.full((B, 1, C), np.nan)
    rows = np.concatenate([values_BTC, gap], axis=1).reshape(-1, C)[:-1]
    if shade_BTC is None:
        ax.imshow(
            rows,
            cmap="PuOr_r",
            vmin=-1.6 * reach,
            vmax=1.6 * reach,
            aspect="auto",
            interpolation="none",
        )
    else:
        for (b, t, c), filled in np.ndenumerate(np.asarray(shade_BTC)):
            corner, face = (c - 0.5, b * (T + 1) + t - 0.5), FILLED if filled else "none"
            ax.add_patch(
                Rectangle(corner, 1, 1, facecolor=face, edgecolor="#bbbbbb", linewidth=0.5)
            )
        ax.set(xlim=(-0.55, C - 0.45), ylim=(len(rows) - 0.45, -0.55))
    for (y, x), value in np.ndenumerate(rows):
        if np.isfinite(value):
            ax.text(x, y, short(value), ha="center", va="center", fontsize=7)
    ax.set_xticks([])
    at = [b * (T + 1) + t for b in range(B) for t in range(T)]
    ax.set_yticks(at if words else [], [word for line in words for word in line] if words else [])
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    if framed is not None:
        b, t, *c = framed
        corner, wide = (sum(c) - 0.5, b * (T + 1) + t - 0.5), 1 if c else C
        ax.add_patch(Rectangle(corner, wide, 1, fill=False, edgecolor="black", linewidth=1.5))
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
            ax.add_patch(
                Rectangle(
                    (0, y - 0.5), 1, 1, facecolor=READ[kind], edgecolor="black", linewidth=edge
                )
            )
            dark = kind in ("itself", "later")
            ax.text(
                0.5,
                y,
                kind,
                ha="center",
                va="center",
                fontsize=7,
                color="white" if dark else GREY if kind == "not read" else "black",
            )
    ax.set(xlim=(-0.02, 1.02), ylim=(len(kinds) * (T + 1) - 1.5, -0.5), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(title)
    return ax


Block = Float[Any, "B T C"]
TOGETHER = {"each by itself": None, "two and two": 2, "all four": 1}
NAMES = {point: f"{name} norm" for name, point in NORMS.items()} | {
    NormSpec(over="B", groups=None): "batch norm, each position by itself",
    NormSpec(over="", groups=2): "group norm, each token by itself",
    NormSpec(over="T", groups=1): "group norm with one group",
}
NAMELESS = "no norm with a usual name"


def picking(
    block_BTC: Block, sentences: Sequence[Sequence[str]], at: tuple[int, int]
) -> tuple[Callable[..., Figure], Callable[..., str]]:
    """Give the picture and the words of the explorer that picks what is averaged."""

    def point_of(sentences_too: str, words_too: str, features: str, mean_off: str) -> NormSpec:
        over = "B" * (sentences_too == "yes") + "T" * (words_too == "yes")
        return NormSpec(over=over, groups=TOGETHER[features], centred=mean_off == "yes")

    def picture(**choice: str) -> Figure:
        point = point_of(**choice)
        found = normalise_over(block_BTC, point)
        read_BT = reads(lambda x: normalise_over(x, point).output, block_BTC, at=at).numpy()
        fig, axes = plt.subplots(1, 5, figsize=(8.4, 3.5), width_ratios=[1.25, 1, 1, 1, 0.8])
        draw_block(axes[0], block_BTC.numpy(), sentences, title="block", reach=12, framed=at)
        draw_block(axes[1], found.mean.numpy(), None, title="mean", reach=12)
        deviation = found.variance.sqrt().numpy()
        draw_block(axes[2], deviation, None, title="deviation", reach=12)
        draw_block(axes[3], found.output.numpy(), None, title="result", reach=2, framed=at)
        draw_reads(axes[4], read_BT, at=at, title=f"“{sentences[at[0]][at[1]]}” reads")
        return fig

    def in_words(**choice: str) -> str:
        point = point_of(**choice)
        found = leaks(lambda x: normalise_over(x, point).output, block_BTC)
        read = ["later words"] * (found.future > 0) + ["the other sentence"] * (found.others > 0)
        return (
            f"This is {NAMES.get(point, NAMELESS)}. "
            f"Through it a word reads {' and '.join(read) or 'nothing that it must not'}."
        )

    return picture, in_words


def draw_gaps(ax: Axes, pairs: Mapping) -> Axes:
    """Draw two losses of each norm on one line: whole windows at once, and a letter at a time.

    Shapes: each of ``pairs`` two arrays (seeds,).
    """
    for y, (name, (together_S, alone_S)) in enumerate(pairs.items()):
        ends = [np.mean(together_S), np.mean(alone_S)]
        ax.plot(ends, [y, y], color=INKS[name], linewidth=1)
        for losses_S, filled, lift in ((together_S, False, -0.12), (alone_S, True, 0.12)):
            ax.plot(
                losses_S,
                np.full(len(losses_S), y + lift),
                "o",
                color=INKS[name],
                markersize=5,
                fillstyle="full" if filled else "none",
            )
    ax.set_yticks(range(len(pairs)), list(pairs))
    ax.set(ylim=(len(pairs) - 0.5, -0.5), xlabel="validation loss (nats)")
    return ax


def short(value: float) -> str:
    """A number in at most three digits and two decimals, with a true minus sign."""
    value = round(float(value), 9)  # so that 0.175 is shown alike however it was computed
    text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else ""
    text = text or f"{value:.2f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text.replace("-", "−")
