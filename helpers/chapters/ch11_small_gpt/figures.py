"""Drawings of chapter 11: losses of a run, the next token, and levers."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
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
    ax.plot(
        *zip(*validation.items(), strict=True), "o-", color=BAR, markersize=4, label="validation"
    )
    heights = [*baselines.values(), *losses, *validation.values()]
    low, high = min(heights), max(heights)
    room = max(0.08 * (high - low), 0.02)
    places = spaced(list(baselines.values()), room)
    for (name, height), place in zip(baselines.items(), places, strict=True):
        ax.plot([0, end], [height, height], color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        ax.text(
            end * 1.02, place, f"{height:.2f}  {name}", color="#555555", va="center", fontsize=8
        )
    ax.set(xlim=(0, end), ylim=(low - room, high + room), xlabel="steps", ylabel="loss (nats)")
    ax.legend(fontsize=8, loc="upper right")
    return ax
