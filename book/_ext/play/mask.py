"""Chapter 07: edit a mask, and see which losses cheat, in one layer or through several.

The sentence, the masks and the stack of layers are the chapter's. What is drawn here is the causal
mask: its weights by ``helpers.attention``, and what every word reads by the chapter's own probe,
``depends_on``. ``play-mask.js`` goes on from there.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch

import play
from helpers.attention import attention_steps, depends_on

CHAPTER = "notebooks/07_heads_masks_positions"
LENGTH, WIDTH, MOST = 7, 16, 4  # words in the window, numbers of each, layers at most
LAYERS, CHOSEN = 2, 3  # at first: so many layers; the word whose loss is taken apart
START = "causal"
OF_CHAPTER = ("causal", "none at all", "one too far", "only what came before")
SIGNS = {"honest": "✓", "cheats": "✗", "nothing": "?"}
STEP, RISE, TOP, FOOT = 48, 44, 24, 30  # of the drawing of layers: SVG units
TITLE = "Who may read whom, and which losses cheat?"
NOTE = (
    "Each row is a word that reads: click cells, or drag over them, to allow or forbid it a word. "
    "Numbers are weights of the first layer. The dashed cell of a row is what it has to say; a "
    "ring is a word that it may not read and yet reaches; what comes later is hatched. Let “fox” "
    "read “cross”: how many losses does this one cell spoil, in one layer and in two?"
)
CAPTION = (
    "What reaches the loss of the chosen row, from the words at the foot up through the layers, "
    "each of which adds what a word reads to what it had. Hollow: what comes later."
)


@cache
def chapter() -> dict:
    """Give what the chapter's cells make: its words, and the masks by their names."""
    space = {"torch": torch}
    exec(play.source_of(CHAPTER, "the-masks"), space)
    (_, words) = play.from_cell(CHAPTER, "code-005", "sentence", "words")
    return {"words": words, "allowed": space["allowed"]}


@cache
def tables() -> tuple[torch.Tensor, torch.Tensor]:
    """Give random words (T, C) and random tables (L, 3, C, C), as the chapter's `layer` has."""
    normal = torch.Generator().manual_seed(0)
    x_TC = torch.randn(LENGTH, WIDTH, generator=normal, dtype=torch.float64)
    W = torch.randn(MOST, 3, WIDTH, WIDTH, generator=normal, dtype=torch.float64) / WIDTH**0.5
    return x_TC, W


def layer(x_TC: torch.Tensor, l: int, may_TT: torch.Tensor) -> torch.Tensor:
    """Add to each word what it reads, as the chapter's `layer` does."""
    return x_TC + attention_steps(*(x_TC @ W for W in tables()[1][l]), allowed=may_TT).output


def presets() -> dict[str, torch.Tensor]:
    """Give the masks to start from, the chapter's first."""
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    prefix, padding = causal.clone(), causal.clone()
    prefix[:3, :3] = True
    padding[:, :2] = False
    return {name: chapter()["allowed"](name, LENGTH) for name in OF_CHAPTER} | {
        "the last three": causal.triu(-2),
        "a prefix of three": prefix,
        "the first two are padding": padding,
    }


def first() -> tuple[torch.Tensor, np.ndarray]:
    """Compute the first state: weights of the first layer (T, T), and who reads whom (T, T)."""
    x_TC, W = tables()
    may_TT = presets()[START]
    steps = attention_steps(*(x_TC @ part for part in W[0]), allowed=may_TT)

    def stack(x_TC: torch.Tensor) -> torch.Tensor:
        for l in range(LAYERS):
            x_TC = layer(x_TC, l, may_TT)
        return x_TC

    reads_TT = depends_on(stack, x_TC).any(dim=3).any(dim=1)
    if reads_TT.triu(1).any():
        raise ValueError(f"START={START!r} must be a mask through which no word reads a later one")
    return steps.weights, reads_TT.numpy()


def data() -> dict:
    """Give what the script reads."""
    x_TC, W = tables()
    q, k = x_TC @ W[0, 0], x_TC @ W[0, 1]
    return {
        "words": chapter()["words"][: LENGTH + 1],
        "scaled": (q @ k.T / WIDTH**0.5).tolist(),
        "presets": {name: may.int().tolist() for name, may in presets().items()},
        "start": START,
        "layers": LAYERS,
        "chosen": CHOSEN,
        "drawing": {"step": STEP, "rise": RISE, "top": TOP, "foot": FOOT},
    }


# --- the drawing ----------------------------------------------------------------------------------


def cell(t: int, s: int, weight: float, may: bool, reached: bool) -> str:
    """Draw whether a word t may read a word s, and with which weight it does."""
    return play.tag(
        "span", play.fixed(weight) if may else "○" if reached else "", class_="mask-cell",
        data_may=may, data_later=s > t, data_answer=s == t + 1, data_through=reached and not may,
        style=f"--weight: {play.at(weight if may else 0)};",
    )  # fmt: skip


def verdict(t: int) -> str:
    """Draw what a word has to say, and that it does so honestly."""
    answer = play.tag("em", chapter()["words"][t + 1])
    sign = play.tag("span", SIGNS["honest"], class_="mask-sign")
    return f"{sign} {answer} {play.tag('span', 'honest', class_='mask-told')}"


def table(weights_TT: torch.Tensor, reads_TT: np.ndarray) -> str:
    """Draw the mask as a table, a row a word that reads, with a verdict on its loss."""
    words, may_TT = chapter()["words"][:LENGTH], presets()[START]
    heads = "".join(f'<th scope="col"><span>{word}</span></th>' for word in words)
    rows = "".join(
        play.tag(
            "tr", f'<th scope="row"><span class="mask-word">{word}</span></th>',
            *(
                f"<td>{cell(t, s, weights_TT[t, s], bool(may_TT[t, s]), bool(reads_TT[t, s]))}</td>"
                for s in range(LENGTH)
            ),
            f'<td class="mask-verdict">{verdict(t)}</td>', data_kind="honest",
            data_chosen=t == CHOSEN,
        )
        for t, word in enumerate(words)
    )  # fmt: skip
    return (
        '<table class="mask-grid" aria-label="Who may read whom">'
        f"<colgroup>{'<col>' * (LENGTH + 2)}</colgroup>"
        f"<thead><tr><td></td>{heads}"
        '<th scope="col" class="mask-verdict">has to say</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def ways(may_TT: np.ndarray) -> str:
    """Draw the layers, words at the foot, and all ways from words to the chosen one's loss."""
    sees = may_TT | np.eye(LENGTH, dtype=bool)
    through = [np.linalg.matrix_power(sees.astype(int), LAYERS - l) for l in range(LAYERS + 1)]
    lit = [power[CHOSEN] > 0 for power in through]

    def x(t: int) -> float:
        return STEP * (t + 0.5)

    def y(l: int) -> float:
        return TOP + RISE * (LAYERS - l)

    lines = [
        play.tag("line", x1=x(s), y1=y(l), x2=x(t), y2=y(l + 1),
                 class_="mask-way" if may_TT[t, s] else "mask-way round")
        for l in range(LAYERS) for t in range(LENGTH) for s in range(LENGTH)
        if lit[l + 1][t] and sees[t, s]
    ]  # fmt: skip
    dots = [
        play.tag("circle", cx=x(t), cy=y(l), r=5 if lit[l][t] else 2.5, class_="mask-dot",
                 data_lit=bool(lit[l][t]))
        for l in range(LAYERS + 1) for t in range(LENGTH)
    ]  # fmt: skip
    words = [
        play.tag("text", word, x=x(t), y=y(0) + 22, text_anchor="middle", data_lit=bool(lit[0][t]))
        for t, word in enumerate(chapter()["words"][:LENGTH])
    ]
    sign = play.tag("text", SIGNS["honest"], x=x(CHOSEN), y=y(LAYERS) - 10, text_anchor="middle",
                    class_="mask-sign")  # fmt: skip
    size = f"0 0 {STEP * LENGTH} {play.at(y(0) + FOOT)}"
    return play.tag(
        "svg", *lines, *dots, *words, sign, viewBox=size, class_="mask-ways", role="img",
        aria_label=f"What reaches the loss at {chapter()['words'][CHOSEN]} through the layers",
    )  # fmt: skip


def told(reads_T: np.ndarray) -> str:
    """Say what the chosen word's loss is made from."""
    words = chapter()["words"]
    read = play.listed([f"“{words[s]}”" for s in np.flatnonzero(reads_T)])
    return (
        f"“{words[CHOSEN]}” has to say “{words[CHOSEN + 1]}”. Through {LAYERS} layers it has read "
        f"{read}: nothing that comes later."
    )


def drawn(ident: str) -> str:
    """Give the figure's HTML."""
    weights_TT, reads_TT = first()
    names = {f"preset-{i}": name for i, name in enumerate(presets())}
    middle = play.slider("layers", "layers", LAYERS, 1, MOST, 1) + play.choices(
        ident, "order", "the mask is put on", ["before softmax", "after softmax"]
    )
    stage = (
        f'<div class="play-controls mask-presets" hidden>{play.buttons(**names)}</div>'
        f"{table(weights_TT, reads_TT)}"
        f'<div class="play-controls" hidden>{middle}</div>'
        f'<p class="mask-caption">{CAPTION}</p>'
        f'<div class="mask-below" data-kind="honest">{ways(presets()[START].numpy())}'
        f'<p class="mask-chosen">{told(reads_TT[CHOSEN])}</p></div>'
    )
    says = f"Mask “{START}”, {LAYERS} layers: all {LENGTH} losses are honest."
    return play.figure("mask", ident, title=TITLE, stage=stage, says=says, data=data(), note=NOTE)
