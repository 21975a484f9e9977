"""Drawings of chapter 12: patterns, heads, what each layer says, patches, and learning."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float, Num
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from helpers.figures import INKS

SPACE, LINE_END = "␣", "¶"
# From nothing to ink, so that what is not read takes the page's own colour, light or dark.
SHADE = LinearSegmentedColormap.from_list("shade", [(0.0, 0.35, 0.6, 0.0), (0.0, 0.35, 0.6, 1.0)])


def shown(token: str) -> str:
    """A token as a label: a space and a line end get a sign of their own."""
    return {" ": SPACE, "\n": LINE_END}.get(token, token)


def draw_map(
    ax: Axes,
    weights_TT: Float[np.ndarray, "T T"] | Sequence,
    tokens: Sequence[str],
    *,
    title: str = "",
) -> Axes:
    """Draw attention weights, a row for each token that reads, darker where it reads more.

    Shapes: weights (T, T), tokens T of them; a token "" has no label. The shading goes from 0
    (nothing is drawn) to 1.
    """
    ax.imshow(weights_TT, cmap=SHADE, vmin=0, vmax=1, interpolation="none")
    labels = [shown(token) for token in tokens]
    size = 8 if sum(map(bool, labels)) <= 20 else 5.5
    turned = 90 if max(map(len, labels)) > 1 else 0
    ax.set_xticks(range(len(labels)), labels, fontsize=size, rotation=turned)
    ax.set_yticks(range(len(labels)), labels, fontsize=size)
    ax.tick_params(length=0, pad=1.5)
    ax.set(xlabel="is read", ylabel="reads", title=title)
    return ax


def draw_heads(
    ax: Axes,
    values_LH: Num[np.ndarray, "L H"] | Sequence,
    *,
    title: str = "",
    highest: float | None = None,
) -> Axes:
    """Draw a number for each head as a table, shaded from 0 to ``highest`` (else the largest).

    Shapes: values (L, H); the last layer stands on top.
    """
    values_LH = np.asarray(values_LH, dtype=float)
    top = highest or max(values_LH.max(), 1e-12)
    ax.imshow(values_LH, cmap="Blues", vmin=0, vmax=top, origin="lower", aspect="auto")
    for (layer, head), value in np.ndenumerate(values_LH):
        ink = "white" if value > 0.6 * top else "black"
        said = f"{value:.2f}".replace("-", "−")
        ax.text(head, layer, said, ha="center", va="center", fontsize=8, color=ink)
    layers, heads = values_LH.shape
    ax.set_yticks(range(layers), [str(layer + 1) for layer in range(layers)])
    ax.set_xticks(range(heads), [str(head + 1) for head in range(heads)])
    ax.tick_params(length=0)
    ax.set(xlabel="head", ylabel="layer")
    ax.set_title(title, fontsize=9)
    return ax


def draw_lens(
    ax: Axes,
    guesses: Sequence[Sequence[str]],
    p_RT: Float[np.ndarray, "R T"] | Sequence,
    tokens: Sequence[str],
) -> Axes:
    """Draw the likeliest next token at each level (rows, the last on top) of each token.

    Shapes: guesses R rows of T tokens; p (R, T), the probability of the right one, shades.
    """
    p_RT = np.asarray(p_RT, dtype=float)
    ax.imshow(p_RT, cmap="Greens", vmin=0, vmax=1, origin="lower", aspect="auto")
    for row, line in enumerate(guesses):
        for place, guess in enumerate(line):
            ink = "white" if p_RT[row, place] > 0.6 else "black"
            ax.text(place, row, shown(guess), ha="center", va="center", fontsize=9, color=ink)
    turned = 90 if max(map(len, tokens)) > 1 else 0
    labels = [shown(token) for token in tokens]
    ax.set_xticks(range(len(tokens)), labels, fontsize=9, rotation=turned)
    names = ["embedding", *(f"layer {level}" for level in range(1, len(p_RT)))]
    ax.set_yticks(range(len(p_RT)), names, fontsize=9)
    ax.tick_params(length=0)
    ax.set(xlabel="token that was read last")
    return ax


def draw_patches(
    ax: Axes, moved_RT: Num[np.ndarray, "R T"] | Sequence, words: Sequence[str]
) -> Axes:
    """Draw how far the answer moves when one place of one level is exchanged.

    Shapes: moved (R, T), 0 for no effect and 1 for the other answer; the last level on top.
    """
    moved_RT = np.asarray(moved_RT, dtype=float)
    told_RT = np.ma.masked_inside(moved_RT, -0.05, 0.05)  # what is small is left empty
    ax.imshow(told_RT, cmap="PuOr_r", vmin=-1, vmax=1, origin="lower", aspect="auto")
    for (level, place), value in np.ma.ndenumerate(told_RT):
        ink = "white" if abs(value) > 0.6 else "black"
        said = f"{value:.1f}".replace("-", "−")
        ax.text(place, level, said, ha="center", va="center", fontsize=9, color=ink)
    labels = [shown(word) for word in words]
    ax.set_xticks(range(len(words)), labels, fontsize=9, rotation=60, ha="right")
    names = ["embedding", *(f"after layer {level}" for level in range(1, len(moved_RT)))]
    ax.set_yticks(range(len(moved_RT)), names, fontsize=9)
    ax.tick_params(length=0)
    return ax


def draw_lines(
    ax: Axes,
    along: Sequence[int],
    lines: Mapping[str, Num[np.ndarray, "S N"] | Sequence],
    *,
    at: int | None = None,
    xlabel: str = "layer",
) -> Axes:
    """Draw numbers by layer or by update, a thin line a seed, a thick one their mean.

    Shapes: along (N,), each of ``lines`` (S, N). at: what a grey line marks.
    """
    if at is not None:
        ax.axvline(at, color="#999999", linewidth=1)
    for (name, values_SN), ink in zip(lines.items(), INKS, strict=False):
        values_SN = np.asarray(values_SN, dtype=float)
        ax.plot(along, values_SN.T, color=ink, linewidth=0.6, alpha=0.6)
        ax.plot(along, values_SN.mean(axis=0), color=ink, linewidth=2, label=name)
    if len(along) < 10:
        ax.set_xticks(along)
    ax.set(xlabel=xlabel, ylim=(0, 1.05))
    ax.legend(fontsize=8)
    return ax


# --- explorers ------------------------------------------------------------------------------


def of_heads(weights_LHTT: Sequence, tokens: Sequence[str]) -> tuple[Callable, Callable]:
    """The pattern of a head, by layer and head, counted from 1; words on its last row."""

    def picture(layer, head):
        fig, ax = plt.subplots(figsize=(4.6, 4.6))
        title = f"layer {layer}, head {head}"
        draw_map(ax, weights_LHTT[layer - 1][head - 1], tokens, title=title)
        return fig

    def in_words(layer, head):
        last_T = np.asarray(weights_LHTT[layer - 1][head - 1])[-1]
        most = int(last_T.argmax())
        return f"“{tokens[-1]}” reads “{tokens[most]}” most, {last_T[most]:.0%}."

    return picture, in_words


def of_copying(
    found: Mapping, looks: Sequence[int], row: Sequence[int]
) -> tuple[Callable, Callable]:
    """What becomes of copiers, of all seeds and in the maps of one, and a sentence about it."""
    letters = [chr(ord("A") + i + 6 * (i > 25)) for i in row]
    curves = {
        "loss / log 32": found["losses"] / np.log(32),
        "weight on what followed": found["followed"],
    }

    def picture(updates):
        fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.7), width_ratios=[1.1, 1])
        draw_lines(left, looks, curves, at=updates, xlabel="updates")
        map_TT = np.array(found["maps"][looks.index(updates)]) / 100
        draw_map(right, map_TT, letters, title=f"layer 2, head {found['head']}")
        return fig

    def in_words(updates):
        loss, followed = (found[kind][0, looks.index(updates)] for kind in ("losses", "followed"))
        return (
            f"After {updates} updates: loss {loss:.2f} nats; the best head of layer 2 gives "
            f"{followed:.0%} to what followed."
        )

    return picture, in_words
