"""Chapter 04: pick the axes of a norm, watch one result, change one number.

The block is the chapter's own. What is drawn here is layer norm and the numbers behind one result,
by ``helpers.norms``; ``play-axes.js`` goes on from there.
"""

from __future__ import annotations

from functools import cache
from html import escape

import torch

import play
from helpers.figures.norms import kinds_of_reading
from helpers.norms import EPS, POINTS, Normalised, Point, leaks, pooled, reads

CHAPTER, CELL = "notebooks/04_layernorm_vs_batchnorm", "code-021"
START = "layer"
WATCHED = (0, 2, 3)  # sentence, word, number of the result that is written out at first
CHOSEN = (1, 4, 3)  # the number that the slider changes at first
LEAST, MOST = -12, 12  # of a number that is changed
TERMS = 6  # so many terms of a sum are written out; of more, the first three and the last
OTHERS = {  # as the chapter calls them
    Point(over="B", groups=None): "batch norm, each position by itself",
    Point(over="", groups=2): "groups within one token",
    Point(over="T", groups=1): "nn.LayerNorm((T, C))",
}
NAMELESS = "no norm with a usual name"
KINDS = {"itself": "itself", "earlier": "earlier", "later": "later", "another sentence": "other"}
LEGEND = {
    "itself": "its own word",
    "earlier": "earlier words",
    "later": "later words: a leak",
    "other": "the other sentence: a leak",
}
TITLE = "Which numbers make one result?"
NOTE = (
    "Above you saw what each choice of axes does to the whole block; here follow a single result "
    "back to the numbers that make it, written out below, and change any of them. Left, the block "
    "that goes into a norm; right, what comes out. Choose a result on the right: "
    "the numbers that share its mean and variance light up. Drag a number on the left sideways, or "
    "choose it and move the slider: triangles mark the results that move. Guess first: can a "
    "number of the other sentence move the result that you watch?"
)


@cache
def block() -> tuple[list[list[str]], torch.Tensor]:
    """Give the chapter's sentences, and their numbers (B, T, C)."""
    names = ("sentences", "of_word", "block_BTC")
    sentences, _, x_BTC = play.from_cell(CHAPTER, CELL, *names, torch=torch)
    return sentences, x_BTC


def key(point: Point, width: int) -> str:
    """Name a point as the script does: axes, groups, whether the mean is subtracted."""
    return f"{point.over}|{point.groups or width}|{'yes' if point.centred else 'no'}"


def data() -> dict:
    """Give what the script reads: numbers, where it starts, and the names of norms."""
    sentences, x_BTC = block()
    point, width = POINTS[START], x_BTC.shape[-1]
    names = {point: f"{name} norm" for name, point in POINTS.items()} | OTHERS
    return {
        "sentences": sentences,
        "x": x_BTC.tolist(),
        "eps": EPS,
        "start": {"over": point.over, "groups": point.groups or width, "centred": point.centred},
        "groups": [width, 2, 1],
        "watched": WATCHED,
        "chosen": CHOSEN,
        "reach": [LEAST, MOST],
        "terms": TERMS,
        "names": {key(point, width): name for point, name in names.items()},
        "nameless": NAMELESS,
        "five": [key(point, width) for point in POINTS.values()],
    }


def first(point: Point) -> tuple[Normalised, torch.Tensor, list[list[str]]]:
    """Compute the first state: all results, the watched one's set (B, T, C), kinds of its words."""
    _, x_BTC = block()
    b, t, c = WATCHED
    jacobian = torch.autograd.functional.jacobian
    mean_by_BTC = jacobian(lambda x: pooled(x, point).mean[b, t, c], x_BTC)
    read_BT = reads(lambda x: pooled(x, point).output, x_BTC, at=(b, t))
    return pooled(x_BTC, point), mean_by_BTC != 0, kinds_of_reading(read_BT.numpy(), (b, t))


# --- words ----------------------------------------------------------------------------------------


def place(at: tuple[int, int, int]) -> str:
    """Name one number of the block."""
    b, t, c = at
    return f"number {c + 1} of “{block()[0][b][t]}” in sentence {b + 1}"


def total(terms: list[str]) -> str:
    """Write a sum; of a long one only the beginning and the end."""
    if len(terms) > TERMS:
        terms = [*terms[:3], "…", terms[-1]]
    return " + ".join(terms)


def working(found: Normalised, in_set: torch.Tensor) -> dict[str, str]:
    """Write out the mean, the variance and the watched result of a norm that subtracts the mean."""
    _, x_BTC = block()
    values, n = x_BTC[in_set].tolist(), int(in_set.sum())
    mean, variance, result = (
        part[WATCHED].item() for part in (found.mean, found.variance, found.output)
    )
    value, eps = play.number(x_BTC[WATCHED]), play.number(EPS, 10)
    squares = [f"{play.factor(v - mean)}²" for v in values]
    return {
        "mean": f"mean = ({total([play.factor(v) for v in values])}) / {n} = {play.number(mean)}",
        "variance": f"variance = ({total(squares)}) / {n} = {play.number(variance)}",
        "result": f"result = ({value} − {play.factor(mean)}) / "
        f"√({play.number(variance)} + {eps}) = {play.number(result)}",
    }


def sentence(point: Point, in_set: torch.Tensor) -> str:
    """Say which norm this is, how many statistics it takes, and what leaks through it."""
    _, x_BTC = block()
    n = int(in_set.sum())
    count = x_BTC.numel() // n
    found = leaks(lambda x: pooled(x, point).output, x_BTC)
    read = [
        what
        for what, size in (("later words", found.future), ("the other sentence", found.others))
        if size > 0
    ]
    return (
        f"This is {START} norm: {count} means and {count} variances in all, each of {n} numbers. "
        f"The watched result, {place(WATCHED)}, shares its mean and variance with {n - 1} others. "
        f"Through this norm a word reads {play.listed(read or ['nothing that it must not'])}."
    )


# --- the drawing ----------------------------------------------------------------------------------


def table(side: str, caption: str, cell) -> str:
    """Draw a block as a table, sentence below sentence, a row a word; cell(at) is one number."""
    sentences, x_BTC = block()
    width, parts = x_BTC.shape[-1], []
    columns = width + (side == "x")  # on the right words are there for a screen reader only
    for b, words in enumerate(sentences):
        head = f'<th scope="rowgroup" colspan="{columns}">sentence {b + 1}</th>'
        rows = "".join(
            "<tr>"
            + (f'<th scope="row">{escape(word)}</th>' if side == "x" else "")
            + "".join(f"<td>{cell((b, t, c))}</td>" for c in range(width))
            + "</tr>"
            for t, word in enumerate(words)
        )
        parts.append(f'<tbody><tr class="axes-sentence">{head}</tr>{rows}</tbody>')
    return (
        f'<table class="axes-block" data-side="{side}"><caption>{caption}</caption><colgroup>'
        f"{'<col>' * columns}</colgroup>{''.join(parts)}</table>"
    )


def blocks(found: Normalised, in_set: torch.Tensor, kinds: list[list[str]]) -> str:
    """Draw both blocks, the set of the watched result lit."""
    sentences, x_BTC = block()

    def number_in(at: tuple[int, int, int]) -> str:
        lit = KINDS[kinds[at[0]][at[1]]] if in_set[at] else None
        text = play.number(x_BTC[at])
        return play.tag("span", text, class_="axes-cell", data_kind=lit, data_own=at == WATCHED)

    def result(at: tuple[int, int, int]) -> str:
        text = (
            play.tag("span", play.fixed(found.output[at], digits), class_=name)
            for name, digits in (("axes-fine", 2), ("axes-coarse", 1))
        )
        word = f'<span class="visually-hidden">{escape(sentences[at[0]][at[1]])}</span>'
        shown = play.tag("span", *text, class_="axes-cell", data_own=at == WATCHED)
        return shown if at[2] else word + shown

    tables = table("x", "goes in", number_in) + table("y", "comes out", result)
    return f'<div class="axes-blocks">{tables}</div>'


def legend() -> str:
    """Explain the colours and the hatching of lit numbers."""
    entries = "".join(
        f'<li><span class="axes-cell" data-kind="{kind}" aria-hidden="true"></span>{words}</li>'
        for kind, words in LEGEND.items()
    )
    return f'<ul class="axes-legend">{entries}</ul>'


def picker(ident: str) -> str:
    """Give the controls for the axes, and the names that wait to be found."""
    names = data()["names"]
    five = "".join(f'<li data-point="{k}">{escape(names[k])}</li>' for k in data()["five"])
    over = play.buttons(B="sentences (B)", T="words (T)")
    features = play.choices(
        ident, "features", "features (C)", ["each by itself", "two and two", "all four"], 2
    )
    return (
        '<div class="play-controls axes-picker" hidden>'
        f'<div class="axes-over"><span>average over</span>{over}</div>'
        f"{play.buttons(centred='subtract the mean')}{features}"
        f'<div class="axes-find"><span>find all five:</span><ul>{five}</ul></div></div>'
    )


def drawn(ident: str) -> str:
    """Give the figure's HTML."""
    point = POINTS[START]
    found, in_set, kinds = first(point)
    lines = "".join(
        f'<p data-line="{name}">{words}</p>' for name, words in working(found, in_set).items()
    )
    stage = (
        f"{picker(ident)}{blocks(found, in_set, kinds)}{legend()}"
        f'<div class="axes-working">{lines}</div>'
    )
    controls = play.slider("value", place(CHOSEN), block()[1][CHOSEN], LEAST, MOST, 1)
    return play.figure(
        "axes", ident, title=TITLE, stage=stage, says=sentence(point, in_set), data=data(),
        note=NOTE, controls=controls + play.buttons(back="Back to the chapter’s numbers"),
    )  # fmt: skip
