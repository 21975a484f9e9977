"""Drawings of chapter 15: passes, tiles, bits, a batch, a roofline and frontier, a law."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from itertools import count
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import LogLocator

from helpers.figures import INKS

DONE, NOW, NEVER = "#cfe3f2", "#ffd24d", "#f2f2f2"
FEW = 5  # bits up to which the levels are drawn one by one


def _box(x: float, y: float, wide: float, high: float, colour: Any, **how: Any) -> Rectangle:
    """A filled box with an edge; what is never computed is hatched."""
    hatch = "////" if colour == NEVER else None
    how = {"edgecolor": "#555555", "hatch": hatch} | how
    return Rectangle((x, y), wide, high, facecolor=colour, **how)


def _legend(ax: Axes, meant: Mapping[str, str], **where: Any) -> None:
    """Say what the colours mean."""
    boxes = [_box(0, 0, 1, 1, colour, label=name) for name, colour in meant.items()]
    ax.legend(handles=boxes, borderpad=0, fontsize=9, **where)


def draw_passes(ax: Axes, words: Sequence[str], prompt: int, *, cache: bool) -> Axes:
    """Draw each pass as a row that ends with the word it writes; what it computes is lit."""
    rows = range(len(words) - prompt)
    for row in rows:
        for at, word in enumerate(words[: prompt + row + 1]):
            written, kept = at == prompt + row, cache and row and at < prompt + row - 1
            colour = "white" if written else DONE if kept else NOW
            edge = {"edgecolor": "#999999", "linestyle": ":" if written else "-"}
            ax.add_patch(_box(at, row, 0.96, 0.88, colour, **edge))
            ax.text(at + 0.48, row + 0.46, word, ha="center", va="center", fontsize=9)
        phase = ("decode" if row else "prefill") if cache else f"pass {row + 1}"
        ax.text(-0.12, row + 0.46, phase, ha="right", va="center", fontsize=9)
    lit = sum(1 if cache and row else prompt + row for row in rows)
    how = "with a KV cache" if cache else "our generate"
    if cache:
        _legend(ax, {"passes through": NOW, "read from the cache": DONE}, loc="upper right")
    ax.set_title(f"{how}: {lit} tokens pass through the model", fontsize=10)
    ax.set(xlim=(-0.95, len(words)), ylim=(len(rows), -0.15))
    ax.set_axis_off()
    return ax


def draw_tiles(ax: Axes, *, T: int = 12, tile: int = 3, row: int = 2, column: int = 1) -> Axes:
    """Draw causal scores of T tokens in tiles: those that are done, the one at work, the others.

    row, column: of the tile at work. Beside its rows stands what is kept of them.
    """
    looks = {
        "done, forgotten": DONE,
        "at work": NOW,
        "not begun": "white",
        "masked, skipped": NEVER,
    }
    for top in range(0, T, tile):
        for left in range(0, T, tile):
            at = (top // tile, left // tile)
            look = "done, forgotten" if at < (row, column) else "not begun"
            look = "at work" if at == (row, column) else look
            look = "masked, skipped" if at[1] > at[0] else look
            ax.add_patch(_box(left, top, tile, tile, looks[look]))
    for end in range(tile, T + 1, tile):  # the mask goes through tiles on the diagonal
        stair = [(k + x, k) for k in range(end - tile, end) for x in (0, 1)]
        masked = [*stair[1:], (end, end - tile)]
        ax.add_patch(Polygon(masked, facecolor=NEVER, edgecolor="#555555", hatch="////"))
    edges = [row * tile, (row + 1) * tile]
    ax.hlines(edges, T, T + 0.8, color="#555555", linestyle=":", linewidth=0.8)
    kept = {
        "m": (0.8, "largest score"),
        "s": (0.8, "sum of e^(score − m)"),
        "o": (2.4, "weighted sum of values"),
    }
    x = T + 0.8
    for name, (width, _) in kept.items():
        ax.add_patch(_box(x, row * tile, width, tile, NOW))
        ax.text(x + width / 2, row * tile - 0.3, name, ha="center", va="bottom", fontsize=10)
        x += width + 0.4
    said = "\n".join(f"{name}: {means}" for name, (_, means) in kept.items())
    ax.text(T + 0.8, (row + 1) * tile + 0.3, f"kept for each row\n{said}", va="top", fontsize=9)
    corner = {"bbox_to_anchor": (T + 0.4, 0), "bbox_transform": ax.transData}
    _legend(ax, looks, loc="upper left", **corner)
    ax.text(T / 2, -0.4, "keys, in tiles", ha="center", va="bottom", fontsize=9)
    ax.text(-0.4, T / 2, "queries", ha="right", va="center", rotation=90, fontsize=9)
    ax.set(xlim=(-1.4, T + 6.8), ylim=(T + 0.3, -1.6), aspect="equal")
    ax.set_axis_off()
    return ax


def draw_block(ax: Axes, x_N: Float[np.ndarray, " N"], levels: Float[np.ndarray, " L"]) -> Axes:
    """Draw numbers as dots, each with a line to the nearest level; few levels are lines."""
    nearest_N = levels[np.abs(x_N[:, None] - levels).argmin(axis=1)]
    if len(levels) <= 2**FEW:
        ax.hlines(levels, -1, len(x_N), color="#bbbbbb", linewidth=0.6)
    at = np.arange(len(x_N))
    ax.vlines(at, x_N, nearest_N, color=INKS[1], linewidth=1.2)
    ax.plot(at, x_N, "o", color=INKS[0], markersize=3)
    ax.set(xlabel="number in the block", ylabel="value", xlim=(-1, len(x_N)))
    return ax


def of_block(x_N: Float[np.ndarray, " N"], measure: Callable) -> tuple[Callable, Callable]:
    """A block whose largest number is multiplied, on 2^bits levels, and the same in words.

    measure: of a block, its levels and the largest: levels of the others, and their error.
    """
    largest = int(np.abs(x_N).argmax())

    def levels(bits, times):
        x = x_N.astype(float)
        x[largest] *= times
        return x, np.linspace(x.min(), x.max(), 2**bits)

    def picture(bits, times):
        fig, ax = plt.subplots(figsize=(6.4, 3))
        draw_block(ax, *levels(bits, times))
        return fig

    def in_words(bits, times):
        others, left = measure(*levels(bits, times), largest)
        return (
            f"{bits} bits, the largest number multiplied by {times}: the other 31 numbers "
            f"fall on {others} of the {2**bits} levels, and rounding moves them by {left:.0%} of "
            "their RMS."
        )

    return picture, in_words


def draw_roofline(
    ax: Axes,
    users: Sequence[int],
    seconds: Sequence[float],
    reading: float,
    computing: float,
    weights: float,
) -> Axes:
    """Draw measured operations a second against operations a byte, under the two roofs.

    seconds: of a step for so many users; reading: for all weights, each of four bytes;
    computing: for a token of prefill.
    """
    rate = 2 * weights * np.divide(users, seconds) / 1e9
    top, bandwidth = 2 * weights / computing / 1e9, 4 * weights / reading / 1e9
    intensity = np.divide(users, 2)  # two operations a user for four bytes
    x = np.array([min(intensity) / 2, top / bandwidth, max(intensity) * 2])
    ax.plot(x, np.minimum(x * bandwidth, top), color="#999999", linewidth=2)
    ax.plot(intensity, rate, "o-", color=INKS[0], markersize=4, linewidth=0.8)
    below: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}
    for point, name in zip(zip(intensity, rate, strict=True), users, strict=True):
        ax.annotate(str(name), point, (4, -11), **below)
    half = (x[0] * x[1]) ** 0.5
    ax.annotate("memory is the limit", (half, half * bandwidth), (-8, 5), ha="right", **below)
    ax.annotate("arithmetic is the limit", (x[1], top), (4, 5), **below)
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set(xlabel="operations a byte", ylabel="10⁹ operations a second")
    return ax


def _seats(
    requests: Mapping[str, tuple[Sized, int]], users: int
) -> Iterator[tuple[str, int, int, int, int]]:
    """Of each text: its row, its prompt's length, and in which columns it joins and has ended."""
    free = [max(len(ids_T) for ids_T, _ in requests.values())] * users
    for text, (ids_T, answer) in requests.items():
        row = free.index(joins := min(free))
        free[row] = joins + answer
        yield text, row, len(ids_T), joins, free[row]


def draw_batch(ax: Axes, requests: Mapping[str, tuple[Sized, int]], users: int) -> Axes:
    """Draw who sits in which row of a continuous batch, after how much padding, and when.

    requests: of each text its ids, and how many the answer has, in the order they came.
    """
    sat: dict[int, int] = {}  # by row, the one who had it before
    seats = [*_seats(requests, users)]
    for y, (_, row, T, joins, ends) in enumerate(seats):
        for left, right, colour in (
            (0, joins - T, NEVER),
            (joins - T, joins, DONE),
            (joins, ends, NOW),
        ):
            for x in range(left, right):
                ax.add_patch(_box(x, y + 0.1, 1, 0.8, colour, linewidth=0.6))
        if row in sat:
            ax.plot([joins, joins], [sat[row] + 0.5, y + 0.9], color=INKS[1], linewidth=2)
        sat[row] = y
    looks = {"padding": NEVER, "prompt": DONE, "answer, a token a step": NOW}
    _legend(ax, looks, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    ax.set(
        xlim=(0, max(seat[-1] for seat in seats)),
        ylim=(len(seats), 0),
        xlabel="column of the cache",
    )
    labels = [f"{text}\nrow {row + 1}" for text, row, *_ in seats]
    ax.set_yticks(np.arange(len(labels)) + 0.5, labels, fontsize=9)
    ax.tick_params(left=False)
    return ax


def draw_pages(
    ax: Axes, requests: Mapping[str, tuple[Sized, int]], users: int, *, page: int = 4
) -> Axes:
    """Draw the same caches in pages of one pool, whenever somebody joins, and near the end."""
    seats = [*_seats(requests, users)]
    shown = sorted({joins for *_, joins, _ in seats})
    shown.append(max(seat[-1] for seat in seats) - 1)
    pages: dict[int, tuple[str, int]] = {}  # of the pool: whose each is, and which of theirs
    for column in range(shown[-1] + 1):
        tokens = {a: T + column - at for a, _, T, at, ends in seats if at <= column < ends}
        pages = {at: one for at, one in pages.items() if one[0] in tokens}
        for one in [(a, n) for a, T in tokens.items() for n in range(-(-T // page))]:
            if one not in pages.values():
                pages[next(at for at in count() if at not in pages)] = one
        for at, (text, n) in pages.items() if column in shown else ():
            x, y, ink = at * (page + 0.6), shown.index(column), INKS[[*requests].index(text)]
            filled = min(page, tokens[text] - n * page)
            ax.add_patch(_box(x, y + 0.15, filled, 0.7, (ink, 0.3), linewidth=0))
            ax.add_patch(_box(x, y + 0.15, page, 0.7, "none", linewidth=0.6))
            ax.text(
                x + page / 2,
                y + 0.5,
                f"{text.split()[0]} {n + 1}",
                ha="center",
                va="center",
                fontsize=8,
            )
    ax.autoscale_view()
    ax.invert_yaxis()
    ax.set_yticks(np.arange(len(shown)) + 0.5, [f"column {c}" for c in shown], fontsize=9)
    ax.set(xticks=[], xlabel=f"pages of {page} tokens in one pool")
    ax.tick_params(left=False)
    return ax


def draw_round(ax: Axes, read: Sequence[str], written: Sequence[str]) -> Axes:
    """Draw a round of speculative decoding: what is drafted after a token, read, and written."""
    lost = [""] * (len(read) - 1 - len(written))
    rows = {"draft writes": read[1:], "target reads": read, "kept": [*written, *lost]}
    for y, (name, words) in enumerate(rows.items()):
        ax.text(-0.12, y + 0.46, name, ha="right", va="center", fontsize=9)
        for x, word in enumerate(words, len(read) - len(words) if y < 2 else 1):
            theirs = y == 2 and x == len(written)
            colour = NOW if theirs else (DONE, "white", DONE)[y] if word else NEVER
            ax.add_patch(_box(x, y, 0.96, 0.88, colour))
            ax.text(x + 0.48, y + 0.46, word.strip(), ha="center", va="center", fontsize=9)
    looks = {"drafted": DONE, "the target's own": NOW, "thrown away": NEVER}
    _legend(ax, looks, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    ax.set(xlim=(-1, len(read) + 1), ylim=(len(rows), -0.1))
    ax.set_axis_off()
    return ax


def draw_frontier(
    ax: Axes, caches: Mapping[int, float], weights: float, room: float, bandwidth: float
) -> Axes:
    """Draw tokens a second in all against those of each person, for more and more people.

    caches: bytes of a conversation, by its tokens; weights: bytes, too. A line ends where the
    caches fill the room, and has a ring where they take as many bytes as the weights.
    """
    for ink, (T, size) in zip(INKS, caches.items(), strict=False):
        people = np.arange(1, room // size + 1)
        each = bandwidth / (weights + people * size)
        ax.plot(each, people * each, color=ink, label=f"conversations of {T:,} tokens")
        for n, fill in ((round(weights / size), "white"), (len(people), ink)):
            x, y = each[n - 1], n * each[n - 1]
            ax.plot([x], [y], "o", color=ink, markerfacecolor=fill, markersize=5)
            ax.annotate(f"{n} people", (x, y), (6, 3), textcoords="offset points", fontsize=9)
    ax.legend(loc="upper right", fontsize=9)
    ax.set(xlim=(0, None), ylim=(0, None))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlabel="tokens a second for each person", ylabel="tokens a second in all")
    return ax


def draw_scaling(
    ax: Axes, losses: Mapping[int, Float[np.ndarray, " seeds"]], *, upto: float
) -> Axes:
    """Draw losses, a dot a seed, against parameters; the axis goes on to `upto`."""
    for N, values in losses.items():
        ax.plot([N] * len(values), values, "o", color=INKS[0], markersize=4, alpha=0.7)
    ax.set(xscale="log", yscale="log", xlim=(min(losses) / 1.5, upto * 1.5))
    ticks = (1.9, 2.0, 2.1, 2.2, 2.3)
    ax.set_yticks(ticks, [f"{tick:.1f}" for tick in ticks])
    ax.set_ylim(ticks[0], ticks[-1])
    sizes = (2000, 5000, 10_000, 20_000, 50_000, 100_000)
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set(xlabel="parameters in the blocks", ylabel="validation loss (nats per character)")
    return ax
