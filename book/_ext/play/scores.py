"""One score taken apart, in chapter 05: its query, its key, the sum of products, the line of code.

Queries stand to the left of the scores and keys above them, so that each score stands where its row
of Q and its column of K-transposed meet. The words, keys and queries are those of the chapter's
cells, and so are the lines of code.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

import play
from helpers import numerics, worked
from play import number, tag

CHAPTER = "notebooks/05_attention_by_hand"
NUMBERS, QUERIES, LOOPS, MATRICES = "code-005", "code-021", "code-017", "code-019"
START = ("it", "stream")  # the score that the figure opens with: who asks, who is asked
ENTRIES = ("alive", "size")
# How the lines begin that compute a score, and a row of weights. In the loops s runs twice: the
# second time is step four.
OF_A_SCORE = ("for t in", "sum(q_TD", "for s in", "scaled_TT =")
OF_A_ROW = ("for t in", "powers =", "weights =", "powers_TT =", "weights_TT =", "axis=1", ")  #")
NOTES = {"for t in": "t", "sum(q_TD": "sum", "for s in": "s", "weights =": "weights"}


def given() -> dict:
    """Give the chapter's words, keys and queries."""
    words, keys = play.from_cell(CHAPTER, NUMBERS, "words", "keys")
    (queries,) = play.from_cell(CHAPTER, QUERIES, "queries")
    return {"words": words, "queries": queries, "keys": keys}


def computed(queries, keys) -> dict[str, np.ndarray]:
    """Give all scores, scaled scores and weights, a row a query."""
    scores = np.array([[worked.dot_product("", q, k).value for k in keys] for q in queries])
    scaled = worked.scale("", scores, keys.shape[1]).value
    return {
        "scores": scores,
        "scaled": scaled,
        "weights": numerics.attention_weights(queries, keys),
    }


def lines() -> list[str]:
    """Give the two functions that the chapter has just compared, line by line."""
    of_matrices = play.source_of(CHAPTER, MATRICES).split("\n\n\n")[0]
    return [*play.source_of(CHAPTER, LOOPS).rstrip().split("\n"), "", *of_matrices.split("\n")]


def found_in(code: list[str], beginnings: tuple[str, ...]) -> list[int]:
    """Give the first line with each beginning. Raises: ValueError where one is missing."""
    stripped = [line.strip() for line in code]
    places = []
    for beginning in beginnings:
        at = [n for n, line in enumerate(stripped) if line.startswith(beginning)]
        if not at:
            raise ValueError(f"no line of cell {LOOPS} or {MATRICES} begins with {beginning!r}")
        places.append(at[0])
    return places


# --- what is said ---------------------------------------------------------------------------------


def of_score(numbers: dict, found: dict, t: int, s: int) -> str:
    """Say how the score of one word for another comes about, and what becomes of it."""
    words, queries, keys = numbers["words"], numbers["queries"], numbers["keys"]
    score, scaled, weight = (found[name][t][s] for name in ("scores", "scaled", "weights"))
    return (
        f"What “{words[t]}” asks of “{words[s]}”: its row of Q times the other’s column of Kᵀ, "
        f"{play.product(queries[t], keys[s])} = {number(score)}. Divided by √{len(keys[s])} that "
        f"is {number(scaled)}, of which softmax along the row makes the weight {number(weight)}."
    )


def of_row(numbers: dict, found: dict, t: int) -> str:
    """Say what becomes of a row of scores."""
    words, width = numbers["words"], len(numbers["keys"][0])
    weights = [f"“{word}” {number(w)}" for word, w in zip(words, found["weights"][t], strict=True)]
    return (
        f"All that “{words[t]}” asks: the scores of its row, divided by √{width}, go through "
        f"softmax together and become its weights, {play.listed(weights)}. They sum to "
        f"{number(sum(found['weights'][t]))}."
    )


def notes(numbers: dict, found: dict, t: int, s: int) -> dict[str, str]:
    """Say what stands behind each lit line of code."""
    words, width = numbers["words"], len(numbers["keys"][0])
    score, scaled = found["scores"][t][s], found["scaled"][t][s]
    return {
        "t": f"t = {t}: {words[t]}",
        "s": f"s = {s}: {words[s]}",
        "sum": f"{number(score)} / {number(math.sqrt(width))} = {number(scaled)}",
        "weights": ", ".join(number(weight) for weight in found["weights"][t]),
    }


# --- what is drawn --------------------------------------------------------------------------------


def drawn(ident: str) -> str:
    """Give the figure in its first state."""
    numbers = given()
    words = numbers["words"]
    t, s = (words.index(word) for word in START)
    found = computed(numbers["queries"], numbers["keys"])
    code = lines()
    of_a_score, of_a_row = (found_in(code, wanted) for wanted in (OF_A_SCORE, OF_A_ROW))
    return play.figure(
        "scores",
        ident,
        title="Where does a score come from?",
        note="Point at a score, tap it, or walk with the arrow keys. A word at the left stands for "
        "its whole row.",
        stage=grid(numbers, found, t, s) + written_out(numbers, found, t, s),
        says=of_score(numbers, found, t, s),
        more=listing(code, of_a_score, notes(numbers, found, t, s)),
        data={
            "words": words,
            "queries": numbers["queries"].tolist(),
            "keys": numbers["keys"].tolist(),
            "start": [t, s],
            "lines": {"score": of_a_score, "row": of_a_row},
        },
    )  # fmt: skip


def grid(numbers: dict, found: dict, t: int, s: int) -> str:
    """Write Q, K-transposed and the scores as one table, with one score lit."""
    words, queries, keys = numbers["words"], numbers["queries"], numbers["keys"]
    over = tag("th", "K<sup>T</sup>, a key a column", colspan=3, scope="row", class_="name")
    head = [tag("tr", over, *(
        tag("th", tag("span", word), scope="col", class_="word" + " lit" * (n == s),
            data_part=f"column-{n}")
        for n, word in enumerate(words)))]  # fmt: skip
    for d, entry in enumerate(ENTRIES):
        cells = (
            tag("td", number(key[d]), class_=f"key pair-{d}" + " lit" * (n == s),
                data_part=f"key-{n}-{d}")
            for n, key in enumerate(keys)
        )  # fmt: skip
        head.append(tag("tr", tag("th", entry, colspan=3, scope="row", class_="entry"), *cells))
    between = tag(
        "tr",
        tag("th", "Q, a query a row", scope="col", class_="name"),
        *(tag("th", entry, scope="col", class_="entry") for entry in ENTRIES),
        tag("th", "scores Q K<sup>T</sup>", colspan=len(words), scope="colgroup", class_="name"),
    )
    body = [row(words, queries, found, n, (t, s)) for n in range(len(words))]
    return tag("table", tag("thead", *head, between), tag("tbody", *body), class_="scores-grid",
               aria_label="Queries, keys and their scores")  # fmt: skip


def row(words, queries, found, n: int, chosen: tuple[int, int]) -> str:
    """Write the query of a word and its scores."""
    t, s = chosen
    low, high = found["scores"].min(), found["scores"].max()
    cells = [
        tag("th", tag("span", words[n]), scope="row", class_="word" + " lit" * (n == t),
            data_part=f"row-{n}")
    ]  # fmt: skip
    for d, entry in enumerate(queries[n]):
        cells.append(
            tag("td", number(entry), class_=f"query pair-{d}" + " lit" * (n == t),
                data_part=f"query-{n}-{d}")
        )  # fmt: skip
    for m, score in enumerate(found["scores"][n]):
        heat = (score - low) / (high - low)
        cells.append(
            tag("td", number(score), class_="score" + " lit" * ((n, m) == (t, s)),
                data_part=f"score-{n}-{m}", style=f"--heat: {heat:.3f}")
        )  # fmt: skip
    return tag("tr", *cells)


def written_out(numbers: dict, found: dict, t: int, s: int) -> str:
    """Write the score out as the sum that it is, each product marked like its two cells."""
    words, query, key = numbers["words"], numbers["queries"][t], numbers["keys"][s]
    products = " + ".join(
        tag("span", f"{play.factor(a)} · {play.factor(b)}", class_=f"pair-{d}",
            data_part=f"product-{d}")
        for d, (a, b) in enumerate(zip(query, key, strict=True))
    )  # fmt: skip
    names = (
        tag("sub", word, data_part=f"{at}-name") for word, at in ((words[t], "q"), (words[s], "k"))
    )
    of_q, of_k = names
    return tag("p", f"<i>q</i>{of_q} · <i>k</i>{of_k} = {products} = ",
               tag("b", number(found["scores"][t][s]), data_part="value"),
               class_="scores-sum")  # fmt: skip


def listing(code: list[str], lit: list[int], said: dict[str, str]) -> str:
    """Write the chapter's code, each line in a span, with notes behind the lines that compute."""
    coloured = highlight("\n".join(code), PythonLexer(), HtmlFormatter(nowrap=True)).split("\n")
    noted = {found_in(code, (beginning,))[0]: name for beginning, name in NOTES.items()}
    written = []
    for n, _ in enumerate(code):
        note = tag("span", escape(said[noted[n]]), class_="note", data_part=f"note-{noted[n]}") \
            if n in noted else ""  # fmt: skip
        words, kind = tag("span", coloured[n], class_="words"), "code-line" + " lit" * (n in lit)
        written.append(tag("span", words, note, class_=kind, data_part=f"line-{n}"))
    return tag("pre", *written, class_="highlight scores-code")  # not the theme's: no copy button
