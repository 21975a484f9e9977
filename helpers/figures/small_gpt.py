"""Drawings of chapter 11: surprise along a text, the next character, copying, and levers."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

INKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
BAR, OTHER, WARM, GREY = "#0072B2", "#9cc3de", "#D55E00", "#777777"
SHOWN = {" ": "␣", "\n": "⏎"}


def visible(characters: Sequence[str]) -> list[str]:
    """The characters as they can be read on an axis: a space and the end of a line get a sign."""
    return [SHOWN.get(character, character) for character in characters]


def draw_surprise(
    ax: Axes,
    characters: Sequence[str],
    surprise: Mapping[str, Float[np.ndarray, " T"]],
    *,
    top: float,
    at: int | None = None,
) -> Axes:
    """Draw −log p of each character of a text, a bar for each model, the first one in front.

    surprise: for each model the nats (T,) of the T characters. top: where the axis ends; what
    is higher is cut off there. at: the character that is marked.
    Raises: ValueError where there are not as many numbers as characters.
    """
    places = np.arange(len(characters))
    for order, (name, nats_T) in enumerate(surprise.items()):
        if len(nats_T) != len(characters):
            raise ValueError(f"surprise[{name!r}] has {len(nats_T)} of {len(characters)} numbers")
        ink, width = ((BAR, 6), (OTHER, 13))[order % 2]
        heights = np.minimum(nats_T, top)
        ax.vlines(places, 0, heights, color=ink, linewidth=width, label=name, zorder=3 - order)
    if at is not None:
        ax.axvspan(at - 0.5, at + 0.5, color="#ffd24d", alpha=0.5, linewidth=0, zorder=0)
    ax.set_xticks(places, visible(characters), fontsize=9)
    ax.tick_params(axis="x", length=0)
    ax.set(xlim=(-0.7, len(characters) - 0.3), ylim=(0, top), ylabel="nats")
    ax.legend(fontsize=8, loc="upper right", ncols=2)
    return ax


def draw_next(
    ax: Axes,
    p_V: Float[np.ndarray, " V"],
    vocab: Sequence[str],
    *,
    came: str,
    title: str = "",
    most: int = 8,
) -> Axes:
    """Draw the likeliest next characters as bars, the one that came in another colour.

    Shapes: p_V (V,), the probabilities of the characters of vocab.
    Raises: ValueError where p_V and vocab do not go together.
    """
    if len(p_V) != len(vocab):
        raise ValueError(f"p_V has {len(p_V)} numbers and vocab {len(vocab)} characters: one each")
    likeliest = np.argsort(-np.asarray(p_V), kind="stable")[:most]
    inks = [WARM if vocab[i] == came else BAR for i in likeliest]
    ax.bar(np.arange(len(likeliest)), p_V[likeliest], color=inks, width=0.7)
    ax.set_xticks(np.arange(len(likeliest)), visible([vocab[i] for i in likeliest]))
    ax.tick_params(axis="x", length=0)
    ax.set(ylim=(0, 1), ylabel="probability", title=title)
    return ax


def draw_copying(
    ax: Axes, lengths: Sequence[int], shares: Mapping[str, Float[np.ndarray, " N"]]
) -> Axes:
    """Draw which share of the runs of so many characters stands in the training text.

    shares: for each text the share (N,), 0 to 1, at each of the N lengths.
    """
    for ink, (name, share_N) in zip(INKS, shares.items(), strict=False):
        dash = (0, (4, 2)) if ink == INKS[0] else "-"
        ax.plot(lengths, share_N, "o", linestyle=dash, color=ink, markersize=4, label=name)
    ax.set_xticks(lengths)
    ax.set(ylim=(-0.03, 1.03), xlabel="characters in a run", ylabel="share found in training text")
    ax.legend(fontsize=8)
    return ax


def draw_levers(ax: Axes, less: Mapping[str, Float[np.ndarray, " seeds"]], *, limit: float) -> Axes:
    """Draw by how much each change raises (right) or lowers (left) the loss, a dot a seed.

    The first change is on top, its mean a short upright line. What lies beyond the limit is
    drawn on the edge as a triangle, with the mean in words.
    """
    for row, values in enumerate(less.values()):
        inside, mean = np.abs(values) <= limit, values.mean()
        ax.plot(values[inside], np.full(inside.sum(), row), "o", color=OTHER, markersize=4)
        for side, marker in ((1, ">"), (-1, "<")):
            beyond = (side * values > limit).sum()
            ax.plot([side * limit] * beyond, [row] * beyond, marker, color=OTHER, markersize=5)
        if abs(mean) <= limit:
            ax.plot([mean, mean], [row - 0.3, row + 0.3], color=BAR, linewidth=2)
        else:
            place = np.sign(mean) * limit * 0.95
            side = "right" if mean > 0 else "left"
            ax.text(place, row, f"{mean:+.2f}", ha=side, va="center", fontsize=8, color=BAR)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(np.arange(len(less)), list(less))
    ax.set(xlim=(-1.08 * limit, 1.08 * limit), ylim=(len(less) - 0.5, -0.5))
    ax.set(xlabel="loss less that of the unchanged model (nats)")
    return ax
