"""Drawings of chapter 17: the fox at the stream, answers as rows of tiles, and probabilities."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from helpers.figures import INKS

RIGHT, WRONG, OTHER = INKS[2], INKS[1], "#999999"


def draw_crossings(ax: Axes, moves: Sequence[str]) -> Axes:
    """A line through the side on which the fox is before and after each move."""
    is_far = np.cumsum([0, *(move == "cross" for move in moves)]) % 2
    ax.axhspan(0.3, 0.7, color=INKS[0], alpha=0.2)
    ax.plot(range(len(is_far)), is_far, color=INKS[1], marker="o")
    ax.set_xticks(np.arange(len(moves)) + 0.5, moves)
    ax.set_yticks([0, 1], ["near", "far"])
    ax.tick_params(length=0)
    ax.set(ylim=(-0.3, 1.3))
    return ax


def draw_tiles(ax: Axes, answers: Sequence[str], is_right: Sequence[bool]) -> Axes:
    """A row of tiles for each answer, the longest above: filled for far, empty for near."""
    order = sorted(range(len(answers)), key=lambda n: (len(answers[n].split()), is_right[n]))
    for right, ink in ((True, RIGHT), (False, WRONG)):
        for word, fill in (("far", ink), ("near", "none"), ("so", OTHER)):
            tiles = [
                (x, y)
                for y, n in enumerate(order)
                for x, token in enumerate(answers[n].split())
                if token == word and is_right[n] == right
            ]
            x, y = zip(*tiles, strict=True) if tiles else ((), ())
            edge = OTHER if word == "so" else ink
            ax.plot(x, y, "s", markersize=5, markerfacecolor=fill, markeredgecolor=edge)
    ax.set(xlim=(-1, 13), ylim=(-1, len(answers)), xticks=[], yticks=[])
    return ax


def draw_course(ax: Axes, p_K3: Float[np.ndarray, "K 3"], names: Sequence[str]) -> Axes:
    """The probabilities of three answers over the updates."""
    for n, (name, p_K) in enumerate(zip(names, p_K3.T, strict=True)):
        ax.plot(p_K, color=INKS[n], linestyle=("-", "--", ":")[n], linewidth=2.5, label=name)
    ax.set(xlabel="updates", ylabel="probability", ylim=(-0.02, 1.02))
    ax.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1.2))
    return ax
