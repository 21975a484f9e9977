"""Drawings of chapter 11: a tensor's way, losses of a run, the next token, and levers."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy import ndarray

from helpers.figures.ladder import spaced

BAR, OTHER, GREY = "#0072B2", "#9cc3de", "#777777"
SHOWN = {" ": "␣", "\n": "⏎"}


def visible(characters: Sequence[str]) -> list[str]:
    """The characters as they can be read on an axis: a space and the end of a line get a sign."""
    return [SHOWN.get(character, character) for character in characters]


def draw_next(ax: Axes, p_V: Float[ndarray, " V"], vocab: Sequence[str], *, title: str) -> Axes:
    """Draw the eight likeliest next tokens as bars. Shapes: p_V (V,), the vocab's probabilities."""
    likeliest = np.argsort(-np.asarray(p_V), kind="stable")[:8]
    ax.bar(np.arange(len(likeliest)), p_V[likeliest], color=BAR, width=0.7)
    ax.set_xticks(np.arange(len(likeliest)), visible([vocab[i] for i in likeliest]))
    ax.tick_params(axis="x", length=0)
    ax.set(ylim=(0, 1), ylabel="probability", title=title)
    return ax


def next_words(
    logits_V: Float[ndarray, " V"], vocab: Sequence[str]
) -> tuple[Callable[[float, int], Figure], Callable[[float, int], str]]:
    """The picture of the next word at a temperature and top-k, and what to say of it."""

    def next_word(temperature: float, top_k: int) -> Float[ndarray, " V"]:
        kept_V = np.where(logits_V >= np.sort(logits_V)[-top_k], logits_V / temperature, -np.inf)
        powers_V = np.exp(kept_V - kept_V.max())
        return powers_V / powers_V.sum()

    def picture(temperature: float, top_k: int) -> Figure:
        fig, ax = plt.subplots(figsize=(7, 2.6))
        draw_next(ax, next_word(temperature, top_k), vocab, title="The fox …")
        return fig

    def in_words(temperature: float, top_k: int) -> str:
        p_V = next_word(temperature, top_k)
        likeliest = np.argsort(-p_V, kind="stable")[: min(top_k, 3)]
        words = (f"“{vocab[i].strip()}” {p_V[i]:.2f}" for i in likeliest)
        return f"The likeliest next words have probabilities {', '.join(words)}."

    return picture, in_words


def draw_forward(ax: Axes, tensors: Mapping[str, Float[ndarray, "T features"]]) -> Axes:
    """Draw tensors in the order in which forward makes them: a column of cells for each token."""
    left = 0.0
    tallest = max(tensor.shape[1] for tensor in tensors.values())
    for n, (name, tensor) in enumerate(tensors.items()):
        T, rows = tensor.shape
        bottom = (tallest - rows) / 2
        low, high = tensor.min(), tensor.max()
        for t, row in np.ndindex(T, rows):
            depth = 0.1 + 0.7 * float(tensor[t, row] - low) / (float(high - low) or 1.0)
            cell = (left + t, bottom + row)
            if rows == 1:
                ax.text(
                    left + t + 0.5, bottom + 0.5, f"{tensor[t, row]:g}", ha="center", va="center"
                )
            else:
                ax.add_patch(Rectangle(cell, 0.92, 0.92, color=BAR, alpha=depth, linewidth=0))
        ax.text(left + T / 2, -0.5, name, ha="center", va="top", fontsize=9)
        if n:
            tip, tail = (left - 0.3, tallest / 2), (left - 1.6, tallest / 2)
            ax.annotate("", tip, xytext=tail, arrowprops={"arrowstyle": "->", "color": GREY})
        left += T + 2
    ax.set(xlim=(-0.5, left - 1.5), ylim=(-3.2, tallest + 0.2))
    ax.set_axis_off()
    return ax


def curve(losses: Sequence[float]) -> Figure:
    """The losses of a training so far."""
    fig, ax = plt.subplots(figsize=(6.4, 2.8))
    ax.plot(range(1, len(losses) + 1), losses, color=BAR, linewidth=1)
    ax.set(xlabel="step", ylabel="loss of the batch (nats)", ylim=(0, None))
    return fig


def draw_levers(ax: Axes, less: Mapping[str, Float[ndarray, " seeds"]]) -> Axes:
    """Draw by how much each change raises (right) or lowers (left) the loss, a dot for each seed.

    The first change is on top; a short upright line is the mean.
    """
    for row, values in enumerate(less.values()):
        mean = values.mean()
        ax.plot(values, np.full(len(values), row), "o", color=OTHER, markersize=4)
        ax.plot([mean, mean], [row - 0.3, row + 0.3], color=BAR, linewidth=2)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(np.arange(len(less)), list(less))
    ax.set(ylim=(len(less) - 0.5, -0.5), xlabel="loss less that of the unchanged model (nats)")
    return ax


def draw_losses(
    ax: Axes,
    steps: Sequence[int],
    losses: Sequence[float],
    baselines: Mapping[str, float],
    *,
    validation: Mapping[int, float],
) -> Axes:
    """Draw training losses against steps, validation losses by their step, and named baselines."""
    end = max(steps)
    ax.plot(steps, losses, color=OTHER, linewidth=1, label="training, a batch")
    dots: dict = {
        "color": BAR,
        "markersize": 5,
        "label": "validation",
        "clip_on": False,
        "zorder": 4,
    }
    ax.plot(*zip(*validation.items(), strict=True), "o-", **dots)
    heights = [*baselines.values(), *losses, *validation.values()]
    low, high = min(heights), max(heights)
    room = max(0.08 * (high - low), 0.02)
    places = spaced(list(baselines.values()), room)
    for (name, height), place in zip(baselines.items(), places, strict=True):
        ax.plot([0, end], [height, height], color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        ax.plot([end, 1.05 * end], [height, place], color=GREY, linewidth=0.8, clip_on=False)
        said: dict = {"color": "#555555", "va": "center", "fontsize": 8}
        ax.text(1.06 * end, place, f"{height:.2f}  {name}", **said)
    ax.set(xlim=(0, end), ylim=(low - room, high + room), xlabel="steps", ylabel="loss (nats)")
    ax.legend(fontsize=8)
    return ax
