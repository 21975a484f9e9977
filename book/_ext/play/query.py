"""The dragged query of chapter 05: scores as shadows, weights, and the values added up.

The same five words, keys and values as the chapter's explorer, read from its cell. On the left the
score of a key is the length of its shadow on the query's line, times the length of the query; on
the right the values, shortened to their weights, are put end to end, and end at the output.
"""

from __future__ import annotations

import math

import numpy as np

import play
from helpers import worked
from helpers.figures.attention_by_hand import hull
from play import Plane, at, tag

CHAPTER, CELL = "notebooks/05_attention_by_hand", "code-005"
SIDE = 300  # of both pictures
MOST = 4.0  # the largest entry of a query
REACH = 2.1  # of the plane of keys
NEAR = 0.005  # weights this close count as alike
STAR = [
    (r * math.sin(math.pi * n / 5), r * math.cos(math.pi * n / 5))
    for n, r in enumerate([8, 3.2] * 5)
]


def given() -> dict:
    """Give the words, keys and values of the chapter, and the query that the figure starts with."""
    names = ("words", "keys", "values", "something_with_size")
    words, keys, values, query = play.from_cell(CHAPTER, CELL, *names)
    return {"words": words, "keys": keys, "values": values, "query": query}


def steps(query, keys, values, words) -> dict[str, np.ndarray]:
    """Give scores, scaled scores, weights and output, as the chapter works them out by hand."""
    by_hand = worked.attention_of_one_query(query, keys, values, words, asks="it")
    *scores, scaled, weights, output = (step.value for step in by_hand.steps)
    return {
        "scores": np.array(scores),
        "scaled": scaled,
        "weights": weights,
        "output": output,
    }


def feet(query, keys) -> np.ndarray:
    """Give where the shadow of each key falls on the query's line; the origin if there is none."""
    return np.outer(keys @ query / (float(query @ query) or 1), query)


def chain(weights, values) -> np.ndarray:
    """Give the corners of the weighted values put end to end: (T + 1, 2), the last the output."""
    return np.vstack([np.zeros((1, 2)), np.cumsum(weights[:, None] * values, axis=0)])


def share(weight: float) -> str:
    """A weight in words: none is ever 0."""
    return "less than 0.01" if weight < NEAR else play.fixed(weight)


def pair(point) -> str:
    """A point in words."""
    return f"({play.number(point[0], 2)}, {play.number(point[1], 2)})"


def told(words, query, found) -> str:
    """Say who is read most and least, and what comes out."""
    weights, scores = found["weights"], found["scores"]
    output = f"The output is {pair(found['output'])}."
    if not np.any(query):
        return (
            "The query is (0, 0) and asks nothing: every score is 0, every weight "
            f"{share(weights[0])}. {output[:-1]}, the mean of the values."
        )
    most = [t for t, weight in enumerate(weights) if weight > max(weights) - NEAR]
    least = next(t for t, weight in enumerate(weights) if weight < min(weights) + 1e-9)
    angle = round(math.degrees(math.atan2(query[1], query[0]))) % 360
    read = play.listed([f"“{words[t]}” ({share(weights[t])})" for t in most])
    away = ": its key points away" if scores[least] < 0 else ""
    return (
        f"The query {pair(query)} is {play.number(np.linalg.norm(query), 2)} long and points to "
        f"{angle}°. It reads most from {read}, least from “{words[least]}” "
        f"({share(weights[least])}, score {play.number(scores[least], 2)}{away}). {output}"
    )


# --- what is drawn --------------------------------------------------------------------------------


def drawn(ident: str) -> str:
    """Give the figure in its first state."""
    numbers = given()
    words, query = numbers["words"], numbers["query"]
    found = steps(query, numbers["keys"], numbers["values"], words)
    controls = (
        play.slider("x", "first number (alive)", query[0], -MOST, MOST, 0.1)
        + play.slider("y", "second number (size)", query[1], -MOST, MOST, 0.1)
        + play.buttons(double="Twice as long", half="Half as long", turn="Turn it round",
                       zero="Ask nothing", anew="Start again")
    )  # fmt: skip
    return play.figure(
        "query",
        ident,
        title="Drag the query: the four steps at once",
        note="Drag the arrow by its tip (it is drawn at half its length), or use the sliders.",
        stage=tag("div", asking(numbers, query), table(words, found), adding(numbers, found),
                  class_="query-parts"),
        controls=controls,
        says=told(words, query, found),
        data={
            "words": words,
            "keys": numbers["keys"].tolist(),
            "values": numbers["values"].tolist(),
            "query": query.tolist(),
            "most": MOST, "reach": REACH, "side": SIDE, "outer": outer(numbers["values"]),
        },
    )  # fmt: skip


def outer(values) -> float:
    """Half the width of the plane of values, as the chapter's explorer has it."""
    return 1.4 * max(float(np.abs(values).max()), 1.0)


def picture(label: str, *inside: str, heading: str) -> str:
    """Give an SVG with a heading above it."""
    drawing = tag("svg", *inside, viewBox=f"0 0 {SIDE} {SIDE}", role="group", aria_label=label)
    return tag("div", tag("p", heading, class_="play-head"), drawing)


def asking(numbers: dict, query) -> str:
    """Draw the keys with their shadows on the query's line, and the query's arrow."""
    keys, plane, arrow = numbers["keys"], Plane(REACH, SIDE), Plane(2 * REACH, SIDE)
    shadows = feet(query, keys)
    away = shaded(query, plane)
    marks = [
        tag("polygon", points=plane.points(away), class_="away", data_part="away"),
        tag("line", **plane.ends(*plane.through(query)), class_="along", data_part="along"),
        play.origin(plane),
    ]
    for t, key in enumerate(keys):
        drop = tag("line", **plane.ends(key, shadows[t]), class_="drop", data_part=f"drop-{t}")
        foot = tag("circle", cx=plane.x(shadows[t][0]), cy=plane.y(shadows[t][1]), r=3,
                   class_="foot", data_part=f"foot-{t}")  # fmt: skip
        marks.append(tag("g", drop, foot, class_=f"ink-{t}"))
    marks += [dot(plane, key, word, t, 6) for t, (key, word) in enumerate(zip(
        keys, numbers["words"], strict=True))]  # fmt: skip
    marks.append(play.arrow(arrow, query, "query"))
    marks.append(play.handle(arrow, query, "handle"))
    names = (
        tag("text", "alive →", x=SIDE - 4, y=SIDE - 6, text_anchor="end", class_="soft"),
        tag("text", "size →", transform=f"translate(14 {SIDE - 4}) rotate(-90)", class_="soft"),
    )
    return picture("The keys, their shadows and the query", *marks, *names,
                   heading="score = the key’s shadow × the query’s length")  # fmt: skip


def shaded(query, plane: Plane) -> list:
    """Give the corners of the half of the picture in which scores are below 0."""
    if not np.any(query):
        return []
    square = plane.reach * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    corners = []
    for start, end in zip(square, np.roll(square, -1, axis=0), strict=True):
        a, b = start @ query, end @ query
        if a <= 0:
            corners.append(start)
        if a * b < 0:
            corners.append(start + (end - start) * a / (a - b))
    return corners


def dot(plane: Plane, point, word: str, t: int, radius: float) -> str:
    """Draw a word's point with its name beside it."""
    x, y, side = plane.x(point[0]), plane.y(point[1]), 1 if point[0] >= 0 else -1
    return tag(
        "g",
        tag("circle", cx=x, cy=y, r=radius, class_="dot"),
        tag(
            "text",
            word,
            x=x + 9 * side,
            y=y - 8,
            class_="halo",
            text_anchor="start" if side > 0 else "end",
        ),
        class_=f"ink-{t}",
    )


def table(words, found) -> str:
    """Write the steps, a row a step and a column a word."""
    names = (tag("th", word, scope="col", class_=f"ink-{t}") for t, word in enumerate(words))
    head = tag("tr", tag("td"), *names)
    body = []
    for step, heading in (("scores", "q · k"), ("scaled", "÷ √2")):
        cells = (
            tag("td", play.fixed(value), data_part=f"{step}-{t}")
            for t, value in enumerate(found[step])
        )
        body.append(tag("tr", tag("th", heading, scope="row"), *cells))
    cells = []
    for t, weight in enumerate(found["weights"]):
        bar = tag("span", class_="bar", style=f"--share: {weight:.4f}", data_part=f"bar-{t}")
        written = tag("span", play.fixed(weight), data_part=f"weights-{t}")
        cells.append(tag("td", bar, written, class_=f"ink-{t}"))
    body.append(tag("tr", tag("th", "weight", scope="row"), *cells, class_="weights"))
    return tag("table", tag("thead", head), tag("tbody", *body), class_="query-steps",
               aria_label="From scores to weights")  # fmt: skip


def adding(numbers: dict, found) -> str:
    """Draw the values put end to end, and the output within their hull."""
    values, words = numbers["values"], numbers["words"]
    plane, corners = Plane(outer(values), SIDE), chain(found["weights"], values)
    marks = [tag("polygon", points=plane.points(hull(values)), class_="hull"), play.origin(plane)]
    for t, (value, word) in enumerate(zip(values, words, strict=True)):
        marks.append(dot(plane, value, word, t, 4))
    for t in range(len(words)):
        line = tag("line", **plane.ends(corners[t], corners[t + 1]), class_="link",
                   data_part=f"link-{t}")  # fmt: skip
        marks.append(tag("g", line, class_=f"ink-{t}"))
    x, y = plane.x(found["output"][0]), plane.y(found["output"][1])
    star = " ".join(f"{at(a)},{at(b)}" for a, b in STAR)
    marks.append(
        tag("polygon", points=star, class_="star", data_part="star",
            transform=f"translate({at(x)} {at(y)})")
    )  # fmt: skip
    return picture("The values, weighted and put end to end", *marks,
                   heading="output ★ = the weighted values, end to end")  # fmt: skip
