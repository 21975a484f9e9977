"""Title, note and data of each interactive figure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

import play
from helpers.chapters.ch05_attention_by_hand.figures import hull


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure's title, a note on how to read it, and a function that returns its data."""

    title: str
    note: str
    data: Callable[[], dict]


def html_of(name: str, ident: str) -> str:
    """Return the HTML of a figure, given its name, in its initial state."""
    figure = FIGURES[name]
    return play.figure_html(name, ident, title=figure.title, note=figure.note, data=figure.data())


# --- chapter 02 -----------------------------------------------------------------------------------


def plane() -> dict:
    """Return the query, three words, and the colour of each in the chapter's figures."""
    names, points, query, spoken = play.literals(
        "notebooks/02_similarity_geometry", "names", "points", "stream", "spoken"
    )
    places = [names.index(word) for word in ("brook", "pond", "river")]
    return {
        "names": ["stream", *(names[place] for place in places)],
        "vectors": [query, *(points[place] for place in places)],
        "inks": ["ink", *(f"ink-{place}" for place in places)],
        "spoken": spoken,
    }


# --- chapter 05 -----------------------------------------------------------------------------------

BY_HAND = "notebooks/05_attention_by_hand"
# How the lines begin that compute a score, and a row of weights; which of them have a note. In the
# loops s runs twice: the second time is step four.
OF_A_SCORE = ("for t in", "sum(q_TD", "for s in", "scaled_TT =")
OF_A_ROW = ("for t in", "powers =", "weights =", "powers_TT =", "weights_TT =", "axis=1", ")  #")
PLAIN = re.compile(r'<span class="[npow]">([^<]*)</span>')  # looks like all code
NOTED = {"for t in": "t", "sum(q_TD": "sum", "for s in": "s", "weights =": "weights"}


def projected(*tables: str) -> list:
    """Return the chapter's five words, and their vectors times each of these matrices."""
    words, x, *weights = play.literals(BY_HAND, "words", "X", *tables)
    return [words, *((np.array(x) @ table).round(9).tolist() for table in weights)]


def query() -> dict:
    """Return the chapter's words, keys and values; the figure starts with the query of "it"."""
    words, queries, keys, values = projected("W_Q", "W_K", "W_V")
    start, corners = queries[words.index("it")], hull(values).tolist()
    return {"words": words, "keys": keys, "values": values, "query": start, "hull": corners}


def scores() -> dict:
    """Return the chapter's words, keys, queries and code; at first "it" asks "stream"."""
    words, queries, keys = projected("W_Q", "W_K")
    code = lines()
    coloured = highlight("\n".join(code), PythonLexer(), HtmlFormatter(nowrap=True))
    coloured = PLAIN.sub(r"\1", coloured).split("\n")
    noted = dict(zip(found_in(code, tuple(NOTED)), NOTED.values(), strict=True))
    return {
        "words": words,
        "queries": queries,
        "keys": keys,
        "entries": ["alive", "size"],
        "start": [words.index("it"), words.index("stream")],
        "code": coloured[: len(code)],
        "noted": noted,
        "lines": {"score": found_in(code, OF_A_SCORE), "row": found_in(code, OF_A_ROW)},
    }


def lines() -> list[str]:
    """Return the lines of the two functions that the chapter compares."""
    loops, matrices = (
        play.source_of(BY_HAND, f"attention_by_{way}").split("\n") for way in ("loops", "matrices")
    )
    return [*loops, "", *matrices]


def found_in(code: list[str], beginnings: tuple[str, ...]) -> list[int]:
    """Return the first line with each beginning. Raises: ValueError where one is missing."""
    stripped = [line.strip() for line in code]
    places = []
    for beginning in beginnings:
        at = [n for n, line in enumerate(stripped) if line.startswith(beginning)]
        if not at:
            raise ValueError(f"no line of the chapter's attention begins with {beginning!r}")
        places.append(at[0])
    return places


# --- chapter 07 -----------------------------------------------------------------------------------

WINDOW, WIDTH, LAYERS = 7, 16, 4  # words in the window, numbers of each, layers with random tables


def mask() -> dict:
    """Return the chapter's words, and their scores in a first layer with random weights."""
    (sentence,) = play.literals("notebooks/07_heads_masks_positions", "sentence")
    normal = torch.Generator().manual_seed(0)
    x_TC = torch.randn(WINDOW, WIDTH, generator=normal, dtype=torch.float64)
    tables = torch.randn(LAYERS, 3, WIDTH, WIDTH, generator=normal, dtype=torch.float64)
    q_TC, k_TC, _ = x_TC @ (tables[0] / WIDTH**0.5)
    scaled_TT = q_TC @ k_TC.T / WIDTH**0.5
    return {"words": sentence.split()[: WINDOW + 1], "scaled": scaled_TT.round(decimals=9).tolist()}


FIGURES = {
    "plane": Figure(
        title="Three measures in one plane",
        note="Drag any tip. For the word that you took last the picture shows its angle to stream "
        "(arc), its distance (dashed) and the shadow of stream on its line (grey).",
        data=plane,
    ),
    "query": Figure(
        title="Drag the query: the four steps at once",
        note="Drag the arrow by its tip (it is drawn at half its length), or use the sliders.",
        data=query,
    ),
    "scores": Figure(
        title="Where does a score come from?",
        note="Point at a score, tap it, or walk with the arrow keys. A word at the left stands for "
        "its whole row.",
        data=scores,
    ),
    "mask": Figure(
        title="Who may read whom, and which losses cheat?",
        note="Each row is a word that reads: click a cell to allow or forbid it a word. Numbers "
        "are weights of the first layer. The dashed cell of a row is what it has to say; a ring is "
        "a word that it may not read and yet reaches; what comes later is hatched. Let “fox” read "
        "“cross”: how many losses does this one cell spoil, in one layer and in two?",
        data=mask,
    ),
}
