"""Drawings of chapter 03: what follows what, surprise, the pull on logits, and where logits go."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from helpers.figures import INKS as ROW_INKS
from helpers.figures.ladder import spaced

GREY, WARNING = "#b5b5b5", "#D55E00"
VISIBLE = {" ": "␣", "\n": "↵"}
SPOKEN = {" ": "space", "\n": "line end", ".": "stop", ",": "comma"}


def visible(letters: str) -> str:
    """The letters with a mark for each space and line end."""
    return "".join(VISIBLE.get(letter, letter) for letter in letters)


def signed(value: float) -> str:
    """A number with its sign and two decimals; a zero has a plus."""
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def draw_table(ax: Axes, share_VV, letters: Sequence[str]) -> Axes:
    """Draw which letter follows which: a row for the present one, darker for likelier.

    The shade goes with the root of the share, so that small shares can be told from none.

    Shapes: share (V, V), rows P(next | present); one letter per row.
    """
    share_VV = np.asarray(share_VV, dtype=float)
    names = [visible(letter) for letter in letters]
    ax.imshow(share_VV, cmap="Blues", norm=PowerNorm(0.5, vmin=0, vmax=1))
    ax.set_xticks(range(len(names)), names, fontsize=8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlabel="next character", ylabel="present character")
    return ax


def draw_pull(ax: Axes, p, y, names: Sequence[str]) -> Axes:
    """Draw the probabilities of a row, and for each logit the pull y − p that it feels.

    The arrow goes from p to y; gradient descent moves the logit that way. Shapes: p, y (V,).
    """
    p, y = np.asarray(p, dtype=float), np.asarray(y, dtype=float)
    places = np.arange(len(p))
    ax.bar(places, p, width=0.5, color=GREY)
    for place, start, end in zip(places, p, y, strict=True):
        ink = ROW_INKS[0] if end > start else WARNING
        if abs(end - start) > 0.02:
            ax.annotate(
                "",
                (place, end),
                xytext=(place, start),
                arrowprops={"arrowstyle": "-|>", "color": ink, "lw": 2, "shrinkA": 0, "shrinkB": 0},
            )
        pull = round(end - start, 2) + 0.0  # no −0.00
        ax.text(place + 0.3, (start + end) / 2, signed(pull), va="center", color=ink)
    ax.set_xticks(places, names)
    ax.set(xlim=(-0.5, len(p) - 0.2), ylim=(-0.03, 1.06), ylabel="probability")
    return ax


def draw_logits(ax: Axes, log_p_VV, table_VV, letters: Sequence[str], lit: Sequence[str]) -> Axes:
    """Draw a dot a pair: log of its counted probability, and its logit; some rows coloured.

    Pairs never counted stand in a strip at the left, where a dot is all of a row that have the
    same logit. Each coloured row has its line: slope 1, at the height of its row constant.

    Shapes: log_p (V, V) with -inf where a pair was not seen, table (V, V).
    """
    seen_VV = np.isfinite(log_p_VV)
    left = np.floor(log_p_VV[seen_VV].min())
    inks = dict(zip(lit, ROW_INKS, strict=False))
    rest = [i for i, letter in enumerate(letters) if letter not in inks]
    _dots(ax, log_p_VV[rest][seen_VV[rest]], table_VV[rest][seen_VV[rest]], "#cfcfcf", 2.6)
    constants = []
    for letter, ink in inks.items():
        i = list(letters).index(letter)
        x, w = log_p_VV[i, seen_VV[i]], table_VV[i, seen_VV[i]]
        constants.append(float(np.exp(x) @ (w - x)))  # mean over what follows, as often as it does
        ax.plot([left, 0], [left + constants[-1], constants[-1]], color=ink, lw=0.8, alpha=0.6)
        _dots(ax, x, w, ink, 4)
    for (letter, ink), height in zip(inks.items(), spaced(constants, 0.7), strict=True):
        ax.text(0.15, height, SPOKEN.get(letter, letter), color=ink, va="center", clip_on=True)
    _unseen_strip(ax, table_VV, seen_VV, left, [inks.get(letter, "#cfcfcf") for letter in letters])
    ax.set(xlim=(left - 2.4, 1.6), xticks=np.arange(left + left % 2, 1, 2))
    ax.set(xlabel="log of its counted probability", ylabel="logit in the table")
    return ax


def _unseen_strip(ax: Axes, table_VV, seen_VV, left: float, inks: Sequence[str]) -> None:
    ax.axvspan(left - 2.2, left - 0.5, color="#f1f1f1", linewidth=0)
    places = left - 2.1 + 1.5 * (np.arange(len(inks)) + 0.5) / len(inks)
    for ink in dict.fromkeys(inks):
        points = [
            (places[i], w)
            for i in range(len(inks))
            if inks[i] == ink
            for w in np.unique(np.round(table_VV[i, ~seen_VV[i]], 2))
        ]
        if points:
            x, y = np.array(points).T
            _dots(ax, x, y, ink, 2.6)
    ax.text(
        left - 1.35,
        0.02,
        "never seen",
        transform=ax.get_xaxis_transform(),
        ha="center",
        va="bottom",
        fontsize=8,
        color="#666666",
    )


def _dots(ax: Axes, x, y, ink: str, size: float) -> None:
    """All dots as one path of very short strokes with round ends: a small SVG.

    Rounded to less than half a dot, so that many coordinates are alike and frames pack well.
    """
    x, y = (
        np.round(np.asarray(x, dtype=float) * 20) / 20,
        np.round(np.asarray(y, dtype=float) * 20) / 20,
    )
    gap = np.full_like(x, np.nan)
    ax.plot(
        np.stack([x, x + 0.01, gap], axis=1).ravel(),
        np.stack([y, y, gap], axis=1).ravel(),
        color=ink,
        linewidth=size,
        solid_capstyle="round",
    )


# ------------------------------------------------------------- what readers move: picture and words

Moved = tuple[Callable[..., Figure], Callable[..., str]]


def pulling(logits: Sequence[float], names: str) -> Moved:
    """The pull on each logit of a row of which the last one is chosen, and what to say of it."""

    def p_and_y(logit: float, came: str):
        powers = np.exp([*logits[:-1], logit])
        return powers / powers.sum(), np.eye(len(names))[names.index(came)]

    def picture(logit: float, came: str) -> Figure:
        fig, ax = plt.subplots(figsize=(4.6, 2.8))
        p, y = p_and_y(logit, came)
        draw_pull(ax, p, y, names)
        return fig

    def in_words(logit: float, came: str) -> str:
        p, y = p_and_y(logit, came)
        pulls = ", ".join(f"{n} {signed(pull)}" for n, pull in zip(names, y - p, strict=True))
        total = signed((y - p).sum()).removeprefix("+").removesuffix(".00")
        surprise = f"The surprise is {-np.log(p @ y):.2f} nats; "
        return f"{surprise}the pulls are {pulls}. Their sum is {total}."

    return picture, in_words


def slope(log_p_V, table_V) -> float:
    """By how much the logits of a row rise with the logs of its shares, over the pairs seen."""
    seen = np.isfinite(log_p_V)
    return np.polyfit(log_p_V[seen], table_V[seen], 1)[0]


def learning(tables: Mapping[int, Any], gaps: Mapping[int, float], log_p_VV, letters: str) -> Moved:
    """All pairs' logits after so many steps, and what to say of them."""
    e = letters.index("e")
    never = np.flatnonzero(~np.isfinite(log_p_VV[e]))[-1]

    def picture(step: int) -> Figure:
        fig, ax = plt.subplots(figsize=(6.4, 5))
        draw_logits(ax, log_p_VV, tables[step], letters, [" ", "e", "t", ".", "x", "z"])
        ax.set_ylim(-6, 12.5)
        return fig

    def in_words(step: int) -> str:
        rows = {c: letters.index(c) for c in "exz"}
        slopes = [f"{slope(log_p_VV[i], tables[step][i]):.2f} for {c}" for c, i in rows.items()]
        unseen = round(tables[step][e, never], 1) + 0.0
        return (
            f"Step {step:,}: the loss is {gaps[step]:.3f} nats above the floor. "
            f"The dots of a row rise with slope {', '.join(slopes)}. "
            f"A pair never seen after e has logit {unseen:.1f}."
        ).replace("-", "−")

    return picture, in_words
