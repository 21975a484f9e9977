"""Drawings of chapter 14: where an answer is carried, and what each head reads."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Num
from matplotlib.axes import Axes

from helpers.chapters.ch12_inside_the_gpt.figures import SHADE
from helpers.figures import INKS


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
