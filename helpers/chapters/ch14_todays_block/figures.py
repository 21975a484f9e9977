"""Drawings of chapter 14: two blocks, where an answer is carried, and what each head reads."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Num
from matplotlib.axes import Axes

from helpers.chapters.ch12_inside_the_gpt.figures import SHADE
from helpers.figures import INKS

LIT = "#ffd24d"
BLOCKS = {  # what each part of a block is, and what changed, lit
    "GPT-2, 2019": (
        "LayerNorm",
        "attention",
        "positions added\nat the bottom",
        "LayerNorm",
        "GELU",
    ),
    "today": ("RMSNorm", "attention", "RoPE turns q, k;\nheads share k, v", "RMSNorm", "SwiGLU"),
}


def draw_two_blocks(ax: Axes) -> Axes:
    """The block of GPT-2 above today's, the stream as a thick line, what differs lit."""
    thin = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "color": "#555555"}
    for row, (name, (norm_1, attention, about, norm_2, network)) in enumerate(BLOCKS.items()):
        y = -2.6 * row
        ax.annotate("", (10.2, y), (-0.3, y), arrowprops=thin | {"linewidth": 3, "color": INKS[0]})
        ax.text(-0.3, y + 1.55, name, fontsize=10, weight="bold", va="center")
        for at, words in ((0.3, (norm_1, attention)), (5.4, (norm_2, network))):
            ax.plot([at, at, at + 3.9], [y, y + 0.9, y + 0.9], color="#555555", linewidth=1)
            ax.annotate("", (at + 3.9, y + 0.15), (at + 3.9, y + 0.9), arrowprops=thin)
            for x, word in zip((at + 0.95, at + 2.75), words, strict=True):
                changed = name == "today" and word != "attention"
                style = {"boxstyle": "round", "edgecolor": "#555555"}
                style["facecolor"] = LIT if changed else "white"
                ax.text(x, y + 0.9, word, ha="center", va="center", fontsize=9, bbox=style)
            ax.text(
                at + 3.9,
                y,
                "+",
                ha="center",
                va="center",
                fontsize=11,
                zorder=4,
                bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": "#555555"},
            )
        style = {"boxstyle": "round", "facecolor": LIT, "edgecolor": "none"}
        ax.text(
            3.05, y + 1.65, about, ha="center", va="center", fontsize=8, bbox=style if row else None
        )
    ax.set(xlim=(-0.4, 10.3), ylim=(-3.1, 2.2))
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


def draw_read(ax: Axes, weights_HT: Num[np.ndarray, "H T"], words: Sequence[str]) -> Axes:
    """Draw what each head of a layer reads at one position, a row a head, darker for more.

    Shapes: weights (H, T), a word for each column.
    """
    ax.imshow(weights_HT, cmap=SHADE, vmin=0, vmax=1, interpolation="none", aspect="auto")
    ax.set_xticks(range(len(words)), words, fontsize=8, rotation=60, ha="right")
    ax.set_yticks(range(len(weights_HT)), [str(head + 1) for head in range(len(weights_HT))])
    ax.tick_params(length=0, pad=1.5)
    ax.set(ylabel="head")
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
