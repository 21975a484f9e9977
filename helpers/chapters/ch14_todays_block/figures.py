"""Drawings of chapter 14: two blocks, where an answer is carried, and what each head reads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Num
from matplotlib.axes import Axes

from helpers.chapters.ch12_inside_the_gpt.figures import SHADE
from helpers.figures import INKS

LIT = "#ffd24d"
BLOCKS = {  # the boxes of both branches, from the bottom up
    "GPT-2, 2019": ("LayerNorm", "attention", "LayerNorm", "GELU"),
    "today": ("RMSNorm", "attention", "RMSNorm", "SwiGLU"),
}
PARTNERS = {"neighbours": ((0, 1), (2, 3)), "halves": ((0, 2), (1, 3))}
EDGE = "#555555"
LINE: dict[str, Any] = {"color": EDGE, "linewidth": 1, "zorder": 0}
ARROW: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "color": EDGE}


def draw_box(ax: Axes, x: float, y: float, said: str, fill: str = "white", shape="round") -> Axes:
    """Draw a word in a box."""
    style = {"boxstyle": shape, "facecolor": fill, "edgecolor": EDGE}
    ax.text(x, y, said, ha="center", va="center", fontsize=9, bbox=style)
    return ax


def draw_two_blocks(ax: Axes) -> Axes:
    """Draw GPT-2's block and today's, from the bottom up, and beside them the four swaps."""
    for left, (name, parts) in zip((0, 4.2), BLOCKS.items(), strict=True):
        ax.text(left + 0.2, 9.1, name, weight="bold", va="center")
        stream = ARROW | {"linewidth": 3, "color": INKS[0]}
        ax.annotate("", (left + 0.4, 8.8), (left + 0.4, 0), arrowprops=stream)
        if not left:
            draw_box(ax, 2.1, 0.35, "positions")
            ax.annotate("", (0.5, 0.35), (1.3, 0.35), arrowprops=ARROW)
        for at in (0, 1):
            x, y = left + 2.1, 1.2 + 3.8 * at
            ax.plot([left + 0.4, x, x], [y, y, y + 3], **LINE)
            ax.annotate("", (left + 0.65, y + 3), (x, y + 3), arrowprops=ARROW)
            for up, part in zip((0.8, 2.1), parts[2 * at : 2 * at + 2], strict=True):
                draw_box(ax, x, y + up, part, LIT if left else "white")
            draw_box(ax, left + 0.4, y + 3, "+", shape="circle,pad=0.15")
    for y, there, said in (
        (9.1, 7.1, "gates on hidden numbers"),
        (6.4, 3.4, "heads share k, v"),
        (3.8, 3.2, "RoPE turns q, k"),
        (1.2, 1.9, "no mean is subtracted"),
    ):
        ax.plot([7.2, 8], [there, y - 0.9], color=EDGE, linewidth=0.8, linestyle=":")
        ax.text(8.1, y, said, va="center", fontsize=9)
    draw_box(ax, 8.95, 8.3, "silu(gate)", LIT)
    draw_box(ax, 8.95, 7.4, "up")
    ax.plot([9.2, 10.3, 9, 10.3, 10.8, 10.8], [8.3, 7.85, 7.4, 7.85, 7.85, 7.0], **LINE)
    draw_box(ax, 10.3, 7.85, "×", shape="circle,pad=0.15")
    draw_box(ax, 10.8, 7.0, "down")
    for x in (8.6, 9.5, 10.4):
        ax.plot([x, 9.5], [5.65, 4.75], **LINE)
        draw_box(ax, x, 5.65, "q", shape="square,pad=0.2")
    draw_box(ax, 9.5, 4.75, "k v", LIT, "square,pad=0.2")
    turn = np.exp(1j * np.linspace(0, 2 * np.pi, 60))
    ax.fill(9 + 0.75 * turn.real, 2.55 + 0.75 * turn.imag, LIT, edgecolor=EDGE)
    for position, angle in enumerate((0.2, 1.0)):
        x, y = np.cos(angle), np.sin(angle)
        arrow = ARROW | {"linewidth": 1 + position, "color": "black"}
        ax.annotate("", (9 + 0.7 * x, 2.55 + 0.7 * y), (9, 2.55), arrowprops=arrow)
        ax.text(9 + 0.9 * x, 2.55 + 0.9 * y, f"position {position}", va="center", fontsize=8)
    draw_box(ax, 8.95, 0.4, "− mean")
    ax.plot([8.2, 9.7], [0.2, 0.6], color=INKS[1], linewidth=1.5, zorder=4)
    draw_box(ax, 10.6, 0.4, "÷ RMS", LIT)
    ax.set(xlim=(0, 11.5), ylim=(-0.1, 9.5))
    ax.set_axis_off()
    return ax


def draw_pairs(
    ax: Axes, neighbours_T4: Num[np.ndarray, "T 4"], halves_T4: Num[np.ndarray, "T 4"]
) -> Axes:
    """Draw which numbers of a key are partners, and where its pairs point at positions 0 to T − 1.

    Shapes: the key of width 4 at each position (T, 4), turned in both ways.
    """
    for y, name, keys_T4 in ((0, "neighbours", neighbours_T4), (-3.3, "halves", halves_T4)):
        keys_T4 = np.asarray(keys_T4)
        ax.text(-5.4, y + 1.3, name, weight="bold", va="center")
        for pair, partners in enumerate(PARTNERS[name]):
            ink, middle, hands_T2 = INKS[1 - pair], (3.3 * pair, y), keys_T4[:, list(partners)]
            left, right = places = 0.95 * np.array(partners) - 5
            for x, number in zip(places, keys_T4[0, list(partners)], strict=True):
                draw_box(ax, x, y - 0.5, f"{number:.1f}".replace("-", "−"), shape="square,pad=0.35")
            bow = f"arc3,rad={0.25 * (partners[1] - partners[0]) - 0.9}"
            link = {"arrowstyle": "-", "connectionstyle": bow, "color": ink, "linewidth": 1.8}
            ax.annotate("", (right, y - 0.1), (left, y - 0.1), arrowprops=link)
            turn = np.linalg.norm(hands_T2[0]) * np.exp(1j * np.linspace(0, 2 * np.pi, 90))
            ax.plot(middle[0] + turn.real, y + turn.imag, color="#bbbbbb", linewidth=0.8)
            ax.plot(*(middle + hands_T2).T, "o", color=ink, markersize=3)
            for tip, width in zip(middle + hands_T2[:2], (0.8, 2), strict=True):
                arrow = ARROW | {"linewidth": width, "color": ink}
                ax.annotate("", tip, middle, arrowprops=arrow)
            last = len(hands_T2) - 1
            for at in (0, last) if pair else range(last + 1):
                x, up = middle + hands_T2[at] * (1 + 0.27 / np.linalg.norm(hands_T2[at]))
                ax.text(x, up, str(at), ha="center", va="center", fontsize=8.5)
    ax.set(xlim=(-5.5, 4.8), ylim=(-4.9, 1.6), aspect="equal")
    ax.set_axis_off()
    return ax


def draw_shared(ax: Axes, heads: int, keep: Mapping[str, int]) -> Axes:
    """Draw heads of queries and, lit, the fewer heads of keys and values that they share.

    keep: for each drawing, side by side, its title and how many heads have keys and values.
    """
    for block, (title, groups) in enumerate(keep.items()):
        left = block * (heads + 1.5)
        ax.text(left - 0.4, 2.9, title, fontsize=9)
        middles = left + (np.arange(groups) + 0.5) * heads / groups - 0.5
        for head in range(heads):
            ax.plot([left + head, middles[head * groups // heads]], [2, 0.6], **LINE)
            draw_box(ax, left + head, 2, "q", shape="square,pad=0.2")
        for x in middles:
            draw_box(ax, x, 0.6, "k", LIT, "square,pad=0.2")
            draw_box(ax, x, -0.2, "v", LIT, "square,pad=0.2")
    ax.set(xlim=(-0.7, len(keep) * (heads + 1.5) - 1.5), ylim=(-0.7, 3.4))
    ax.set_axis_off()
    return ax


def draw_carried(
    ax: Axes, levels: Sequence[int], moved_RP: Num[np.ndarray, "R P"], words: Sequence[str]
) -> Axes:
    """Draw, level by level, how far the answer moves when one position's vector is swapped.

    Shapes: levels (R,), moved (R, P), a word for each position.
    """
    for word, moved_R, ink in zip(words, np.transpose(moved_RP), INKS, strict=False):
        ax.plot(levels, moved_R, color=ink, linewidth=2, label=word)
    ax.axhline(0, color="#999999", linewidth=0.8)
    ax.set(xlabel="swapped after block", ylabel="the answer moves by", ylim=(-0.15, 1.15))
    ax.legend(title="swapped at")
    return ax


def draw_read(
    ax: Axes, weights_HT: Num[np.ndarray, "H T"], words: Sequence[str], row: str = "head"
) -> Axes:
    """Draw what each head of a layer reads at one position, a row a head, darker for more.

    Shapes: weights (H, T), a word for each column.
    """
    ax.imshow(weights_HT, cmap=SHADE, vmin=0, vmax=1, interpolation="none", aspect="auto")
    ax.set_xticks(range(len(words)), words, fontsize=8, rotation=60, ha="right")
    ax.set_yticks(range(len(weights_HT)), [str(head + 1) for head in range(len(weights_HT))])
    ax.tick_params(length=0, pad=1.5)
    ax.set(ylabel=row)
    return ax


def draw_runs(ax: Axes, runs: Mapping[str, Mapping[str, Num[np.ndarray, " seeds"]]]) -> Axes:
    """Draw a dot for each run and an upright line for each mean, a row a kind, an ink a rate."""
    for row, rates in enumerate(runs.values()):
        for n, (rate, losses) in enumerate(rates.items()):
            y, ink = row + 0.3 * n - 0.15, INKS[n]
            ax.plot(losses, np.full(len(losses), y), "o", color=ink, markersize=4, alpha=0.7)
            mean, label = [losses.mean()] * 2, None if row else rate
            ax.plot(mean, [y - 0.13, y + 0.13], color=ink, linewidth=2.5, label=label)
    ax.set_yticks(np.arange(len(runs)), list(runs))
    ax.set(ylim=(len(runs) - 0.5, -0.5), xlabel="nats per character")
    ax.legend(loc="lower right")
    return ax


def of_heads(
    reads: Mapping[str, Num[np.ndarray, "L H T"]], words: Sequence[str], start: int
) -> tuple[Callable, Callable]:
    """What the heads of a block read, and the same in words; words before start count as examples.

    Shapes: reads (L, H, T), a word for each position; blocks are counted from 1.
    """
    columns = ["first", "examples", *words[start:]]

    def columns_of(block, at):
        w_HT = reads[at][block - 1]
        return np.column_stack([w_HT[:, 0], w_HT[:, 1:start].sum(axis=1), w_HT[:, start:]])

    def picture(block, at):
        fig, ax = plt.subplots(figsize=(5.6, 2.9), layout="constrained")
        draw_read(ax, columns_of(block, at), columns)
        return fig

    def in_words(block, at):
        mean = dict(zip(columns, columns_of(block, at).mean(axis=0), strict=True))
        shown = ["first", " fox", " stream"] + [" wide"] * (at != "it")
        said = ", ".join(f"{word.strip()} {100 * mean[word]:.0f} %" for word in shown)
        said = said.replace("wide", "tired") if "tired" in at else said
        return f"Block {block}, {at}: on average the heads read {said}."

    return picture, in_words
