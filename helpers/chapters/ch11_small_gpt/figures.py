"""Drawings of chapter 11: surprise, the next character, and levers."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BAR, OTHER, WARM, GREY = "#0072B2", "#9cc3de", "#D55E00", "#777777"
TOP = 6.0  # nats, where the axis of surprise ends
SHOWN = {" ": "␣", "\n": "⏎"}


def visible(characters: Sequence[str]) -> list[str]:
    """The characters as they can be read on an axis: a space and the end of a line get a sign."""
    return [SHOWN.get(character, character) for character in characters]


def draw_surprise(
    ax: Axes,
    characters: Sequence[str],
    surprise: Mapping[str, Float[np.ndarray, " T"]],
    *,
    at: int,
) -> Axes:
    """Draw −log p of each character of a text, a bar for each model, the first one in front.

    surprise: for each model the nats (T,) of the T characters; what is above 6 is cut off. at:
    the character that is marked.
    """
    places = np.arange(len(characters))
    for order, (name, nats_T) in enumerate(surprise.items()):
        ink, width = ((BAR, 6), (OTHER, 13))[order % 2]
        heights = np.minimum(nats_T, TOP)
        ax.vlines(places, 0, heights, color=ink, linewidth=width, label=name, zorder=3 - order)
    ax.axvspan(at - 0.5, at + 0.5, color="#ffd24d", alpha=0.5, linewidth=0, zorder=0)
    ax.set_xticks(places, visible(characters), fontsize=9)
    ax.tick_params(axis="x", length=0)
    ax.set(xlim=(-0.7, len(characters) - 0.3), ylim=(0, TOP), ylabel="nats")
    ax.legend(fontsize=8, loc="upper right", ncols=2)
    return ax


def draw_next(
    ax: Axes, p_V: Float[np.ndarray, " V"], vocab: Sequence[str], *, came: str, title: str
) -> Axes:
    """Draw the eight likeliest next characters as bars, the one that came in another colour.

    Shapes: p_V (V,), the probabilities of the characters of vocab.
    """
    likeliest = np.argsort(-np.asarray(p_V), kind="stable")[:8]
    inks = [WARM if vocab[i] == came else BAR for i in likeliest]
    ax.bar(np.arange(len(likeliest)), p_V[likeliest], color=inks, width=0.7)
    ax.set_xticks(np.arange(len(likeliest)), visible([vocab[i] for i in likeliest]))
    ax.tick_params(axis="x", length=0)
    ax.set(ylim=(0, 1), ylabel="probability", title=title)
    return ax


def along_frame(
    place: int,
    text: str,
    nats: Mapping[str, Float[np.ndarray, " T"]],
    p_TV: Float[np.ndarray, "T V"],
    vocab: Sequence[str],
) -> Figure:
    """Draw what each character of a text costs, and below what may come at the marked place."""
    fig, (upper, lower) = plt.subplots(2, 1, figsize=(7, 4.2), layout="none")
    fig.subplots_adjust(0.08, 0.07, 0.98, 0.97, hspace=0.4)
    draw_surprise(upper, text, nats, at=place)
    title = f"before {visible(text[place])[0]}, place {place}"
    draw_next(lower, p_TV[place], vocab, came=text[place], title=title)
    return fig


def draw_levers(ax: Axes, less: Mapping[str, Float[np.ndarray, " seeds"]]) -> Axes:
    """Draw by how much each change raises (right) or lowers (left) the loss, a dot a seed.

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
