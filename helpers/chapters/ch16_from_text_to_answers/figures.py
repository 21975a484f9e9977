"""Drawings of chapter 16: tokens and which of them count, a LoRA, and how likely each token is."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from helpers.figures import INKS

MASKED, COUNTS = "#999999", "#ffd24d"
WHOSE = {"you type": INKS[0], "the model writes": INKS[2], "the template": "#555555"}


def draw_conversations(ax: Axes, texts: Mapping[str, Sequence[tuple[str, str, bool]]]) -> Axes:
    """Titled texts, a box for each token (whose it is, whether it counts) and a row for each line.

    A character is one unit wide, so that 66 fill a figure of five inches.
    """
    y = 0.0
    for title, tokens in texts.items():
        ax.text(0, y, title, weight="bold", va="center")
        x, y = 0.0, y - 1.1
        for token, whose, counts in tokens:
            word = token.strip() or "⏎"
            wide, ink = len(word) + 0.8, WHOSE[whose]
            if x + wide > 66:
                x, y = 0.0, y - 1.1
            if counts:
                ax.bar(x, 0.18, wide, bottom=y - 0.58, align="edge", color=COUNTS)
            ax.bar(x, 0.7, wide, bottom=y - 0.35, align="edge", color=(ink, 0.15), edgecolor=ink)
            ax.text(x + 0.4, y, word, family="monospace", fontsize=9, va="center")
            x, y = (0.0, y - 1.1) if word == "⏎" else (x + wide + 0.5, y)
        ax.text(x + 0.5, y, "stop" if "|" in word else "…", va="center", weight="bold")
        y -= 1.5
    keys = [Patch(color=(ink, 0.4), label=whose) for whose, ink in WHOSE.items()]
    keys.append(Patch(color=COUNTS, label="counts in training"))
    apart = {"fontsize": 8.5, "handlelength": 0.8, "handletextpad": 0.4, "columnspacing": 1}
    ax.legend(handles=keys, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 0), **apart)
    ax.set(xlim=(-0.2, 66.2), ylim=(y + 0.8, 0.6))
    ax.set_axis_off()
    return ax


def draw_losses(
    ax: Axes,
    tokens: Sequence[str],
    before: Float[np.ndarray, " T"],
    after: Float[np.ndarray, " T"],
    counted: int,
) -> Axes:
    """Nats at each token, before and after fine-tuning; the last `counted` are the answer's."""
    at = np.arange(len(tokens))
    ax.axvspan(len(tokens) - counted - 0.5, len(tokens) - 0.5, color=COUNTS, alpha=0.35)
    ax.bar(at - 0.2, before, 0.4, color=MASKED, label="before")
    ax.bar(at + 0.2, after, 0.4, color=INKS[0], label="after")
    ax.set_xticks(at, tokens, rotation=90, fontsize=8)
    ax.set(ylabel="loss (nats)", xlim=(-0.6, len(tokens) - 0.4))
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return ax


def draw_lora(ax: Axes, width: int, rank: int) -> Axes:
    """A square weight with a and b beside it, above, and merged with them, below: all to scale."""
    thin, n = rank / width, f"{width * rank:,}"
    grey, pale, at = "#dddddd", (COUNTS, 0.35), thin / 2 - 0.4
    for left, foot, wide, high, fill in (
        (0, 0, 0.03, 1, INKS[0]),  # x
        (0.4, 0, 1, 1, grey),  # W
        (0.4, at - thin / 2, 1, thin, COUNTS),  # a
        (1.85, at - thin / 2, 0.03, thin, INKS[0]),  # a x
        (2.2, at - 0.5, thin, 1, COUNTS),  # b
        (3.3, 0, 0.03, 1, INKS[0]),  # the output
        (0, -2.25, 1, 1, grey),
        (1.5, -2.25, thin, 1, COUNTS),
        (1.6, -2.25, 1, 1, pale),
        (1.6, -1.22, 1, thin, COUNTS),
        (3, -2.25, 1, 1, grey),
        (3, -2.25, 1, 1, pale),
    ):
        ax.bar(left, high, wide, bottom=foot, align="edge", color=fill, edgecolor="#555555")
    for start, end in (
        ((0.03, 0.5), (0.4, 0.5)),
        ((0.03, 0.5), (0.4, at)),
        ((1.4, at), (1.85, at)),
        ((1.88, at), (2.2, at)),
        ((1.4, 0.5), (2.75, 0.5)),
        ((2.2 + thin, at), (2.79, 0.42)),
        ((2.9, 0.5), (3.3, 0.5)),
    ):
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#555555"})
    for x, y, words in (
        (0.015, 1.12, "x"),
        (0.9, 0.5, f"W, frozen\n{width} × {width}\n= {width**2:,}"),
        (0.9, at - 0.2, f"a: {rank} × {width} = {n}"),
        (1.87, at + 0.17, "a x"),
        (2.65, at - 0.25, f"b: {width} × {rank}\n= {n}"),
        (2.82, 0.5, "+"),
        (2.78, 0.02, "× α/r"),
        (3.315, 1.12, "output"),
        (0.5, -1.75, "W"),
        (1.25, -1.75, "+ α/r ×"),
        (2.1, -1.75, "b a"),
        (2.8, -1.75, "="),
        (3.5, -1.75, "merged"),
    ):
        ax.text(x, y, words, ha="center", va="center", fontsize=9)
    ax.set(xlim=(-0.1, 4.05), ylim=(-2.255, 1.25), aspect="equal")
    ax.set_axis_off()
    return ax


def draw_forgotten(ax: Axes, losses: Mapping[str, Sequence[float]], *, before: float) -> Axes:
    """Losses on tales after each way of fine-tuning, a dot for each seed, and the mean."""
    for row, found in enumerate(losses.values()):
        ax.plot(found, [row] * len(found), "o", color=INKS[1], markersize=4, alpha=0.7)
        ax.text(max(found) + 0.15, row, f"mean {np.mean(found):.2f}", va="center", fontsize=9)
    ax.axvline(before, color="#555555", linestyle="--", label="before")
    ax.set_yticks(range(len(losses)), list(losses))
    ax.set(xlim=(0, 9), ylim=(len(losses) - 0.5, -0.5), xlabel="loss on tales (nats per token)")
    above = ax.secondary_xaxis("top", functions=(np.exp, lambda x: np.log(np.maximum(x, 1e-9))))
    above.set_xticks([2, 10, 100], ["2", "10", "100"])
    above.set_xlabel("like a choice among this many equally likely words")
    ax.legend(loc="lower right")
    return ax


def draw_rounds(ax: Axes, runs: Mapping[str, Sequence[Sequence[float]]]) -> Axes:
    """What is counted in each round of DPO, a line for each seed and a colour for each β."""
    for ink, (name, lines) in zip(INKS[1::-1], runs.items(), strict=True):
        for n, line in enumerate(lines):
            ax.plot(line, color=ink, marker="o", markersize=2.5, label=None if n else name)
    ax.set(xlabel="round of DPO", ylim=(0, None))
    return ax


def draw_token_probabilities(ax: Axes, tokens: Sequence[str], p: Float[np.ndarray, " T"]) -> Axes:
    """A bar for each token of an answer, as high as its probability."""
    ax.bar(range(len(tokens)), p, color=INKS[0])
    ax.set_xticks(range(len(tokens)), tokens)
    ax.set(ylabel="probability", ylim=(0, 1))
    return ax


def of_strength(found: Mapping[tuple[float, str], tuple]) -> tuple[Callable, Callable]:
    """The tokens of a right answer at a strength of the adapters, and the same in words."""

    def picture(strength, ending):
        fig, ax = plt.subplots(figsize=(5, 2.4))
        draw_token_probabilities(ax, *found[strength, ending][1:])
        return fig

    def in_words(strength, ending):
        right, _, p = found[strength, ending]
        shown = ", ".join(f"{x:.1f}" for x in p)
        return f"strength {strength}: the tokens of “{right}” have the probabilities {shown}"

    return picture, in_words
