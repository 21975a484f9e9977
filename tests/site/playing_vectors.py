"""What the two figures of vectors should show, and the hands that move them (test_play.py)."""

import cmath
import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
import playing
import pytest
import torch
import torch.nn.functional as F
from play import figures
from playing import Tells, check, fill, fixed, keys, listed, number, points, press, rows, seen

from helpers import numerics
from helpers.similarity import MEASURES, similarities

ARROWS = {
    "ArrowRight": (0.1, 0),
    "Shift+ArrowLeft": (-1, 0),
    "ArrowUp": (0, 0.1),
    "ArrowDown": (0, -0.1),
    "ArrowLeft": (-0.1, 0),
    "Shift+ArrowDown": (0, -1),
    "Shift+ArrowRight": (1, 0),
    "Shift+ArrowUp": (0, 1),
}


def moved(figure, hand: str, n: int, reach: float, most: float):
    """Move the n-th point by mouse, finger or keys, and give each point where it should be."""
    handle, point = figure.locator(".play-handle").nth(n), points(seen(figure))[n]
    if hand == "keyboard":
        handle.focus()
        for key, way in (*ARROWS.items(), *[("Shift+ArrowUp", (0, 1))] * 9):
            keys(figure, key)
            point = np.minimum(point + way, most).round(9)
            yield point
        return
    unit, way = figure.locator("svg").first.bounding_box()["width"] / (2 * reach), [-0.9, -1.4]
    {"mouse": playing.drag, "touch": playing.drag_by_finger}[hand](handle, *(unit * np.array(way)))
    after = points(seen(figure))[n]
    np.testing.assert_allclose(after - point, way, atol=0.15)
    yield after
    if hand == "mouse":
        playing.drag(handle, 1000, 0)
        yield np.array([most, after[1]])


class Query:
    """Chapter 05: the four steps of one query."""

    given = figures.query()
    words, keys, values = given["words"], np.array(given["keys"]), np.array(given["values"])
    first: ClassVar = {"query": given["query"]}
    back = ("Start again", ["query"])

    def states(self) -> list[dict]:
        """Anywhere, nearly nothing, large, along and against a key, square to a difference."""
        edges = [[0, 0], [1e-9, 0], [90, -90], [0, 2], [2, 0], [-4, 4]]
        edges += [(sign * 3 * key).tolist() for key in self.keys for sign in (1, -1)]
        edges += [[-(a - b)[1], (a - b)[0]] for a in self.keys for b in self.keys]  # equal scores
        spread = np.random.default_rng(0).uniform(-4, 4, (220, 2)).tolist()
        return [{"query": list(map(float, query))} for query in spread + edges]

    def sentence(self, q, scores, weights, output) -> Tells:
        def said(t: int) -> str:
            share = "less than 0.01" if weights[t] < 0.005 else fixed(weights[t])
            return f"“{self.words[t]}” ({share}"

        output, query = (f"({', '.join(number(x, 2) for x in point)})" for point in (output, q))
        if not q.any():
            return Tells("(0, 0)", "weight 0.20", output)
        most = [t for t, weight in enumerate(weights) if weight > max(weights) - 0.005]
        least = next(t for t, weight in enumerate(weights) if weight < min(weights) + 1e-9)
        angle = f"{round(math.degrees(math.atan2(q[1], q[0]))) % 360}°"
        away = ["away"] * bool(scores[least] < 0)
        lowest = [said(least), number(scores[least], 2), *away]
        return Tells(query, number(np.linalg.norm(q), 2), angle, *map(said, most), *lowest, output)

    def expected(self, state: dict) -> dict:
        q = np.array(state["query"], dtype=float)
        tables = (torch.tensor(part) for part in (q[None], self.keys, self.values))
        (output,) = F.scaled_dot_product_attention(*tables).numpy()
        scores = np.array([math.fsum(q * key) for key in self.keys])
        weights = numerics.attention_weights(q[None], self.keys)[0]
        feet = np.outer(scores, q) / max(q @ q, 1e-300)
        star = (np.array([1, -1]) * output / (1.4 * np.abs(self.values).max()) + 1) * 150
        return {
            "says": self.sentence(q, scores, weights, output),
            "table": [[fixed(x) for x in row] for row in (scores, scores / 2**0.5, weights)],
            "star": pytest.approx(star.tolist(), abs=0.011),
            "shadows": pytest.approx(
                ((np.array([1, -1]) * feet / 2.1 + 1) * 150).ravel(), abs=0.011
            ),
            "all of the shade below 0": True,
            "query": pytest.approx(q),
            "sliders": pytest.approx(q),
        }

    def shown(self, html) -> dict:
        star = playing.read(html.select_one(".star")["transform"])
        q = np.array([float(slider["value"]) for slider in html.select("input")])
        shade = np.array(playing.read(html.select_one(".away")["points"])).reshape(-1, 2) - 150
        feet = [float(foot[side]) for foot in html.select(".foot") for side in ("cx", "cy")]
        return {
            "says": playing.text(html.select_one(".play-says")),
            "table": [row[1:] for row in rows(html)[1:]],
            "star": star,
            "shadows": feet,
            "all of the shade below 0": bool((shade * [1, -1] @ q <= 0.05 * max(abs(q))).all()),
            **({"query": points(html)[0]} if html.select("[data-handle]") else {}),
            "sliders": q,
        }

    def reader(self, figure, hand: str):
        for point in moved(figure, hand, 0, 4.2, 4):
            yield {"query": point}
        press(figure, "Start again")
        if hand == "keyboard":
            for d, name in enumerate("xy"):
                figure.locator(f'input[name="{name}"]').focus()
                keys(figure, "ArrowLeft")
                yield {"query": [-0.1, 2] if d == 0 else [-0.1, 1.9]}
            return
        fill(figure, "x", 1.5)
        yield {"query": [1.5, 2]}
        steps = {"Twice as long": [3, 4], "Half as long": [1.5, 2], "Turn it round": [-1.5, -2]}
        for button, query in (*steps.items(), ("Ask nothing", [0, 0])):
            press(figure, button)
            yield {"query": query}


class Plane:
    """Chapter 02: three measures between a query and three words."""

    given = figures.plane()
    names, spoken = given["names"], given["spoken"]
    first: ClassVar = {"vectors": given["vectors"], "moved": 2, "compared": 1}
    back = ("Start again", ["vectors"])

    def states(self) -> list[dict]:
        """Anywhere, on a lattice and on rays where ties are common, and without direction."""
        rng = np.random.default_rng(1)
        spread, lattice = rng.uniform(-5, 9, (120, 4, 2)), rng.integers(-3, 4, (200, 4, 2))
        rays = rng.integers(-1, 2, (60, 4, 2))
        rays[:, 1:] = rays[:, 1:2] * np.array([1, 3, 7])[None, :, None]  # one direction
        edges = np.array([[[0, 0], [1, 2], [0, 0], [-1, 1]], [[4, 2], [0, 0], [0, 0], [0, 0]]])
        every = [*spread.tolist(), *(one.tolist() for one in (*lattice, *rays, *edges))]
        return [
            {"vectors": vectors, "moved": n % 4, "compared": n % 3}
            for n, vectors in enumerate(every)
        ]

    def winners(self, q, found) -> dict[str, list[int]]:
        """In exact arithmetic: squares in place of roots, fractions in place of floats."""
        q, *found = ([Fraction(x) for x in vector] for vector in (q, *found))
        dots = [sum(a * b for a, b in zip(q, point, strict=True)) for point in found]
        squares = [sum(x * x for x in point) for point in found]
        signed = [
            None if not any(q) or not square else dot * abs(dot) / square
            for dot, square in zip(dots, squares, strict=True)
        ]
        apart = [-sum((a - b) ** 2 for a, b in zip(q, point, strict=True)) for point in found]
        won = {}
        for measure, values in zip(MEASURES, (dots, signed, apart), strict=True):
            known = [value for value in values if value is not None]
            won[measure] = [n for n, value in enumerate(values) if known and value == max(known)]
        return won

    def sentence(self, named: list[str], q, point, word: str) -> Tells:
        agree = ("All three agree", "Two of three", "All three disagree")[len(set(named)) - 1]
        if not point.any() or not q.any():
            lost = (self.names[0] if point.any() else word).capitalize()
            return Tells(*named, agree, f"{lost} is (0, 0)", "no cosine")
        turn, length = cmath.phase(complex(*point) / complex(*q)), np.linalg.norm(point)
        shadow, angle = q @ point / length, f"{number(abs(math.degrees(turn)), 1)}°"
        if shadow <= 1e-9:
            return Tells(*named, agree, angle, "points away")
        wanted = "no other" if abs(length - shadow) < 0.005 else "shorter"
        wanted = "longer" if length <= shadow - 0.005 else wanted
        return Tells(*named, agree, angle, fixed(shadow), fixed(length), wanted)

    def expected(self, state: dict) -> dict:
        q, *found = vectors = np.array(state["vectors"], dtype=float)
        won = self.winners(q, found)
        named = [listed([self.names[n + 1] for n in won[m]]) or "none" for m in MEASURES]
        columns = [[fixed(np.linalg.norm(point)) for point in found]]
        for measure in MEASURES:
            values = similarities(torch.tensor(q), torch.tensor(np.array(found)), measure=measure)
            values = values.numpy() * (-1 if measure == "euclid" else 1)
            columns.append([fixed(x) for x in values])
        for n, point in enumerate(found):
            if not point.any() or not q.any():
                columns[1 + MEASURES.index("cosine")][n] = "none"
        point = found[state["compared"]]
        return {
            "says": self.sentence(named, q, point, self.names[1 + state["compared"]]),
            "table": [list(row) for row in zip(*columns, strict=True)],
            "won": [[m for m in MEASURES if n in won[m]] for n in range(3)],
            "most alike": named,
            "apart": pytest.approx(
                (np.array([q, point]) * [1, -1] + [5.5, 9.5]).ravel() * 24, abs=0.011
            ),
            "points": pytest.approx(vectors, abs=6e-4),
            "moves": [self.names[state["moved"]]],
            "sliders": pytest.approx(vectors[state["moved"]]),
        }

    def shown(self, html) -> dict:
        table, apart = rows(html), html.select_one(".apart")
        columns = ("length", *MEASURES)
        won = [
            [
                m
                for m, cell in zip(columns, row.select("td"), strict=True)
                if cell["class"] == ["won"]
            ]
            for row in html.select("tbody tr")
        ]
        return {
            "says": playing.text(html.select_one(".play-says")),
            "table": [row[1:] for row in table[1:4]],
            "won": won,
            "most alike": table[4][2:],
            "apart": [float(apart[end]) for end in ("x1", "y1", "x2", "y2")],
            **({"points": points(html)} if html.select("[data-handle]") else {}),
            "moves": playing.texts(html, "label:has([checked])"),
            "sliders": [float(slider["value"]) for slider in html.select("[type=range]")],
        }

    def reader(self, figure, hand: str):
        state = dict(self.first)
        for n in (1, 3, 0) if hand == "mouse" else (2,):
            compared = n - 1 if n else state["compared"]
            for point in moved(figure, hand, n, 7.5, 9):
                vectors = np.array(state["vectors"], dtype=float)
                vectors[n] = point
                state = {"vectors": vectors, "moved": n, "compared": compared}
                yield state
        press(figure, "Start again")
        check(figure, self.names[3])
        vectors = np.array(self.first["vectors"], dtype=float)
        if hand == "keyboard":
            figure.locator('input[name="y"]').focus()
            keys(figure, "ArrowRight")
            vectors[3] += [0, 0.1]
        else:
            fill(figure, "x", -2.5)
            vectors[3][0] = -2.5
        yield {"vectors": vectors, "moved": 3, "compared": 2}
        check(figure, self.names[0])
        press(figure, "Half as long")
        vectors[0] /= 2
        yield {"vectors": vectors, "moved": 0, "compared": 2}
        press(figure, "Twice as long")
        vectors[0] *= 2
        press(figure, "Give all words one length")
        vectors[1:] *= 5 / np.linalg.norm(vectors[1:], axis=1, keepdims=True)
        yield {"vectors": vectors, "moved": 0, "compared": 2}
        assert "All three agree" in figure.locator(".play-says").inner_text()
