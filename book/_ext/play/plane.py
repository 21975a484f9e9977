"""The similarity plane of chapter 02: a query and three words to drag, and three measures.

The words and their places are those that the chapter works out by hand. One word at a time is
compared with the query in the picture: the angle between the two, the distance between their tips,
and the shadow of the query on the word's line, whose length the chapter shows to be the best length
of the word by distance.
"""

from __future__ import annotations

import math

import numpy as np
import torch

import play
from helpers.embeddings import MEASURES, similarities
from play import Plane, fixed, number, tag

CHAPTER, CELL = "notebooks/02_similarity_geometry", "code-005"
QUERY, WORDS = "stream", ("brook", "pond", "river")
FIRST = 1  # the word that is compared at first
LEAST, MOST = -5.0, 9.0  # of an entry
PLANE = Plane(7.5, 360, 2.0)  # most of the room is where the words are
ARC = 1.7  # radius of the arc that shows the angle
TIE = 1e-9  # measures this close, for their size, are the same
EVEN = 5.0  # the length that all can be given


def given() -> dict:
    """Give the query, the three words, and the colour that each has in the chapter's figures."""
    names, points, query, spoken = play.from_cell(
        CHAPTER, CELL, "names", "points", "stream", "spoken"
    )
    places = [names.index(word) for word in WORDS]
    return {"query": query, "points": points[places], "inks": places, "spoken": spoken}


def measured(query, points) -> dict[str, list]:
    """Give each measure for each point, the distance as a distance; without direction no cosine."""
    q, table = torch.as_tensor(query), torch.as_tensor(np.asarray(points))
    found = {m: similarities(q, table, measure=m).tolist() for m in MEASURES}
    found["euclid"] = [-value for value in found["euclid"]]
    lengths = [math.hypot(*point) for point in points]
    flat = not np.any(query)
    found["cosine"] = [
        None if flat or length == 0 else cosine
        for cosine, length in zip(found["cosine"], lengths, strict=True)
    ]
    return {**found, "length": lengths}


def winners(found: dict[str, list]) -> dict[str, list[int]]:
    """Give, by each measure, which points are most alike: several where they tie, or none."""
    won = {}
    for measure in MEASURES:
        sign = -1 if measure == "euclid" else 1
        values = {n: sign * x for n, x in enumerate(found[measure]) if x is not None}
        best = max(values.values(), default=0.0)
        near = TIE * max(1.0, abs(best))
        won[measure] = [n for n, value in values.items() if value >= best - near]
    return won


def pair(query, point) -> dict[str, float | list | None]:
    """Give the angle between two vectors in degrees, and the query's shadow on the point's line."""
    length = math.hypot(*point)
    across = query[0] * point[1] - query[1] * point[0]
    dot = float(np.dot(query, point))
    flat = length == 0 or not np.any(query)
    return {
        "angle": None if flat else math.degrees(math.atan2(abs(across), dot)),
        "shadow": dot / length if length else None,
        "foot": [dot * x / length**2 if length else 0.0 for x in point],
    }


# --- what is said ---------------------------------------------------------------------------------


def told(spoken: dict[str, str], query, points, compared: int) -> str:
    """Say who is most like the query by each measure, and how the compared word stands."""
    found = measured(query, points)
    won = winners(found)
    named = {m: play.listed([WORDS[n] for n in won[m]]) or "none" for m in MEASURES}
    by = ", ".join(f"by {spoken[m]} {named[m]}" for m in MEASURES)
    answers = len(set(named.values()))
    verdict = ("All three agree", "Two of three agree", "All three disagree")[answers - 1]
    return f"Most like {QUERY}: {by}. {verdict}. {standing(query, points[compared], compared)}"


def standing(query, point, compared: int) -> str:
    """Say how one word stands to the query, and what would bring it nearer."""
    word, stands = WORDS[compared], pair(query, point)
    length, shadow = math.hypot(*point), stands["shadow"]
    if length == 0:
        return f"{word.capitalize()} is (0, 0): it has no direction, so no angle and no cosine."
    if stands["angle"] is None:
        return f"{QUERY.capitalize()} is (0, 0): it has no direction, so no angle and no cosine."
    between = f"Between {QUERY} and {word} are {number(stands['angle'], 1)}°. "
    if shadow <= TIE:
        return f"{between}The shadow points away from {word}: the shorter {word}, the nearer."
    size = f"The shadow of {QUERY} on the line of {word} is {fixed(shadow)} long, {word} "
    size += f"{fixed(length)}: "
    if abs(length - shadow) < 0.005:
        return f"{between}{size}no other length would lie nearer."
    return f"{between}{size}a {'longer' if length < shadow else 'shorter'} {word} would lie nearer."


# --- what is drawn --------------------------------------------------------------------------------


def drawn(ident: str) -> str:
    """Give the figure in its first state."""
    numbers = given()
    query, points, spoken = numbers["query"], numbers["points"], numbers["spoken"]
    moved = FIRST + 1
    controls = (
        play.choices(ident, "moved", "The sliders move", (QUERY, *WORDS), moved)
        + play.slider("x", "first number", points[FIRST][0], LEAST, MOST, 0.1)
        + play.slider("y", "second number", points[FIRST][1], LEAST, MOST, 0.1)
        + play.buttons(double="Twice as long", half="Half as long",
                       even="Give all words one length", anew="Start again")
    )  # fmt: skip
    return play.figure(
        "plane",
        ident,
        title="Three measures in one plane",
        note="Drag any tip. For the word that you took last the picture shows its angle to stream "
        "(arc), its distance (dashed) and the shadow of stream on its line (grey).",
        stage=tag("div", picture(numbers), table(numbers), class_="plane-parts"),
        controls=controls,
        says=told(spoken, query, points, FIRST),
        data={
            "names": [QUERY, *WORDS], "query": query.tolist(), "points": points.tolist(),
            "spoken": spoken, "first": FIRST, "least": LEAST, "most": MOST, "reach": PLANE.reach,
            "side": PLANE.side, "middle": PLANE.middle,
            "arc": ARC, "even": EVEN,
        },
    )  # fmt: skip


def inks(numbers: dict) -> list[str]:
    """The classes of colour: the query's, and those of the words."""
    return ["ink", *(f"ink-{place}" for place in numbers["inks"])]


def picture(numbers: dict) -> str:
    """Draw the vectors, and how one of them stands to the query."""
    plane, query, points = PLANE, numbers["query"], numbers["points"]
    vectors, compared = [query, *points], points[FIRST]
    foot = pair(query, compared)["foot"]
    marks = [
        rule(plane),
        play.origin(plane),
        tag("line", **plane.ends(*plane.through(compared)), class_="along", data_part="along"),
        tag("line", **plane.ends(query, foot), class_="drop", data_part="drop"),
        tag("line", **plane.ends((0, 0), foot), class_="shadow", data_part="shadow"),
        tag("line", **plane.ends(query, compared), class_="apart", data_part="apart"),
    ]
    marks += [
        tag("g", play.arrow(plane, vector, f"vector-{n}"), class_=ink)
        for n, (vector, ink) in enumerate(zip(vectors, inks(numbers), strict=True))
    ]
    marks.append(tag("path", d=arc(plane, query, compared), class_="arc", data_part="arc"))
    for n, (name, vector, ink) in enumerate(
        zip((QUERY, *WORDS), vectors, inks(numbers), strict=True)
    ):
        x, y = label_at(plane, vector)
        marks.append(
            tag("text", name, x=x, y=y, text_anchor="middle", class_=f"halo {ink}",
                data_part=f"name-{n}")
        )  # fmt: skip
    marks += [
        tag("g", play.handle(plane, vector, f"handle-{n}"), class_=ink)
        for n, (vector, ink) in enumerate(zip(vectors, inks(numbers), strict=True))
    ]
    return tag("svg", *marks, viewBox=f"0 0 {PLANE.side} {PLANE.side}", role="group",
               aria_label="The query and the words in the plane")  # fmt: skip


def rule(plane: Plane) -> str:
    """Draw the lines of the whole numbers."""
    low, high = plane.middle - plane.reach, plane.middle + plane.reach
    places = np.arange(math.ceil(low), high)
    lines = [((place, low), (place, high)) for place in places]
    lines += [((low, place), (high, place)) for place in places]
    return tag("g", *(tag("line", **plane.ends(*line)) for line in lines), class_="line")


def arc(plane: Plane, query, point) -> str:
    """Give the path of the arc from the query's direction to that of the point, the shorter way."""
    if not np.any(query) or not np.any(point):
        return ""
    turns = 1 if query[0] * point[1] - query[1] * point[0] < 0 else 0  # 1: clockwise
    start, end = ([ARC * x / math.hypot(*v) for x in v] for v in (query, point))
    radius = play.at(plane.x(ARC) - plane.x(0))
    a, b = (f"{play.at(plane.x(x))} {play.at(plane.y(y))}" for x, y in (start, end))
    return f"M{a}A{radius} {radius} 0 0 {turns} {b}"


def label_at(plane: Plane, vector) -> tuple[float, float]:
    """Give the place of a vector's name: beyond its tip, and inside the picture."""
    length = math.hypot(*vector)
    ways = [x / length for x in vector] if length else [0.0, -1.0]
    x = plane.x(vector[0]) + 30 * ways[0]
    y = plane.y(vector[1]) - 22 * ways[1] + 5
    return min(max(x, 22.0), plane.side - 22.0), min(max(y, 13.0), plane.side - 4.0)


def table(numbers: dict) -> str:
    """Write lengths and measures, a row a word, the most alike of each column marked."""
    found = measured(numbers["query"], numbers["points"])
    won, columns = winners(found), ("length", *MEASURES)
    heads = ("", "length", *(numbers["spoken"][m] for m in MEASURES))
    head = tag(
        "tr", *(tag("th" if text else "td", text, scope="col" if text else None) for text in heads)
    )
    body = []
    for n, word in enumerate(WORDS):
        cells = [tag("th", word, scope="row", class_=f"ink-{numbers['inks'][n]}")]
        for column in columns:
            best = n in won.get(column, ())
            cells.append(
                tag("td", written(found[column][n]), class_="won" if best else "not",
                    data_part=f"{column}-{n}")
            )  # fmt: skip
        body.append(tag("tr", *cells))
    foot = [tag("th", "most alike", scope="row"), tag("td")]
    for m in MEASURES:
        named = play.listed([WORDS[n] for n in won[m]]) or "none"
        foot.append(tag("td", named, data_part=f"won-{m}"))
    caption = tag("caption", said_of_query(numbers["query"]), data_part="caption")
    return tag("table", caption, tag("thead", head), tag("tbody", *body),
               tag("tfoot", tag("tr", *foot)), class_="plane-measures")  # fmt: skip


def written(value: float | None) -> str:
    """A measure in the table."""
    return "none" if value is None else fixed(value)


def said_of_query(query) -> str:
    """Say where the query is and how long."""
    place = ", ".join(number(x, 2) for x in query)
    return f"{QUERY} is ({place}), {fixed(math.hypot(*query))} long"
