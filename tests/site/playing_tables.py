"""What the two figures of tables should show, and the hands that walk them (test_play.py)."""

import functools
import itertools
from typing import ClassVar

import numpy as np
import playing
import torch
from play import figures
from playing import (
    Tells,
    check,
    fill,
    keys,
    listed,
    many,
    number,
    press,
    product,
    texts,
)

from helpers.attention import attention_steps


def cell(figure, grid: str, row: int, column: int):
    return figure.locator(f'[data-grid="{grid}"][data-at="{row},{column}"][tabindex]')


def go(figure, hand: str, grid: str, row: int, column: int) -> None:
    """Choose a cell: by click, by tap, or by arrow keys from the tab stop of its grid."""
    wanted = cell(figure, grid, row, column)
    if hand != "keyboard":
        wanted.click() if hand == "mouse" else wanted.tap()
        return
    stop = figure.locator(f'[data-grid="{grid}"][tabindex="0"]')
    r, c = map(int, stop.get_attribute("data-at").split(","))
    stop.focus()
    keys(figure, *["ArrowDown"] * (row - r), *["ArrowUp"] * (r - row))
    keys(figure, *["ArrowRight"] * (column - c), *["ArrowLeft"] * (c - column))


SCORE = "for sum for sca"  # how the lines begin that compute a score; and a row of weights
ROW = "for pow wei pow wei axi )"


class Mask:
    """Chapter 07: a mask in layers that really attend."""

    given = figures.mask()
    words: ClassVar = ["The", "fox", "did", "not", "cross", "the", "stream", "because"]
    t, s = np.indices((7, 7))
    presets: ClassVar = {
        "causal": s <= t,
        "none at all": s >= 0,
        "one too far": s <= t + 1,
        "only what came before": (s < t) | (s + t == 0),
        "the last three": (s <= t) & (s > t - 3),
        "a prefix of three": (s <= t) | ((s < 3) & (t < 3)),
        "the first two are padding": (s <= t) & (s >= 2),
    }
    first: ClassVar = {
        "mask": presets["causal"].tolist(),
        "layers": 2,
        "after": False,
        "place": [3, 4],
    }
    back = ("causal", ["mask"])

    def states(self) -> list[dict]:
        """The presets, then sparse and dense masks, with empty rows among them."""
        rng, found = np.random.default_rng(0), []
        for n in range(150):
            mask = rng.random((7, 7)) < rng.choice([0.1, 0.25, 0.5, 0.8])
            if n % 3 == 0:  # a causal mask with a few holes in it
                mask = self.presets["causal"] ^ (rng.random(mask.shape) < 0.08)
            mask = [*self.presets.values()][n] if n < 7 else mask
            layers, place = int(rng.integers(1, 5)), [n % 7, 0]
            found.append(
                {"mask": mask.tolist(), "layers": layers, "after": n % 4 == 1, "place": place}
            )
        return found

    @functools.cached_property
    def scaled(self) -> torch.Tensor:
        """The scores of the first layer, drawn as the chapter draws its random tables."""
        generator = torch.Generator().manual_seed(0)
        x_TC = torch.randn(7, 16, generator=generator, dtype=torch.float64)
        W_q, W_k, _ = torch.randn(4, 3, 16, 16, generator=generator, dtype=torch.float64)[0] / 4
        return (x_TC @ W_q) @ (x_TC @ W_k).T / 4

    def shares(self, scaled, mask, after: bool):
        """The weights of a layer; a row that may read nothing has none."""
        mask = torch.as_tensor(mask)
        if after:
            return torch.softmax(scaled, dim=-1) * mask
        return torch.softmax(scaled.masked_fill(~mask, -torch.inf), dim=-1).nan_to_num(0.0)

    def read(self, mask, layers: int, after: bool) -> np.ndarray:
        """Entry (t, s): does the output at t really move when token s is another one?"""
        generator = torch.Generator().manual_seed(5)
        tables = torch.randn(4, 3, 6, 6, generator=generator, dtype=torch.float64) / 6**0.5
        x_TC, other_TC = torch.randn(2, 7, 6, generator=generator, dtype=torch.float64)
        x = x_TC.repeat(8, 1, 1)  # the last one stays as it was
        x[range(7), range(7)] = other_TC
        for W_q, W_k, W_v in tables[:layers]:
            x = x + self.shares((x @ W_q) @ (x @ W_k).mT / 6**0.5, mask, after) @ x @ W_v
        *changed, same = x
        return ((torch.stack(changed) - same).abs() > 1e-12).any(dim=-1).numpy().T

    def way(self, sees, t: int, to: int) -> list[int]:
        """The shortest way from t to a word that it reads; of several the first in order."""
        for hops in range(1, 8):
            for between in itertools.product(range(7), repeat=hops - 1):
                way = [t, *between, to]
                if all(sees[a, b] for a, b in itertools.pairwise(way)):
                    return way
        raise AssertionError("no way")

    def judge(self, mask, layers: int, after: bool) -> list[tuple[str, list[int]]]:
        """The verdict on each loss, and the way by which it cheats."""
        read, sees, found = self.read(mask, layers, after), self.read(mask, 1, after), []
        for t in range(7):
            later = np.flatnonzero(read[t, t + 1 :])
            if not after and not mask[t].any():
                found.append(("nothing", []))
            elif later.size:
                found.append(("cheats", self.way(sees, t, int(t + 1 + later[0]))))
            else:
                found.append(("honest", []))
        return found

    def quoted(self, ts) -> str:
        return listed([f"“{self.words[t]}”" for t in ts])

    def sentence(self, mask, layers: int, after: bool, judged) -> Tells:
        def at(verdicts, kind):
            return [t for t, (k, _) in enumerate(verdicts) if k == kind]

        cheating, empty = at(judged, "cheats"), at(judged, "nothing")
        alone = at(self.judge(mask, 1, after), "cheats")
        names = [name for name, preset in self.presets.items() if np.array_equal(preset, mask)]
        found = ["no loss cheats"] if empty else ["all 7 losses are honest"]
        if cheating:
            found = [f"{len(cheating)} of 7 losses cheat", self.quoted(cheating)]
        if len(cheating) != len(alone):
            found += ["In one layer", str(len(alone) or "none")]
        found += ["After softmax"] * after
        found += [self.quoted(empty), "empty"] * bool(empty)
        return Tells(*[*names, "your own"][:1], many(layers, "layer"), *found)

    def verdict(self, t: int, kind: str, way: list[int]) -> str:
        if kind == "honest":
            return f"✓ {self.words[t + 1]} honest"
        if kind == "nothing":
            return f"? {self.words[t + 1]} no answer: it may read no word"
        past = "" if way[-1] == t + 1 else ", past it"
        return f"✗ {self.words[t + 1]} cheats: {' → '.join(self.words[s] for s in way)}{past}"

    def reason(self, mask, layers: int, after: bool, t: int, kind: str, way, read, sum_of) -> Tells:
        asked = [f"“{self.words[t]}”", f"“{self.words[t + 1]}”"]
        if kind == "nothing":
            return Tells(*asked, "no weights")
        left = [f"sum to {sum_of:.2f}"] * bool(sum_of < 0.9995)
        if t == 6:
            return Tells(*asked, "beyond the window", *left)
        if kind == "honest":
            return Tells(
                *asked,
                many(layers, "layer"),
                self.quoted(np.flatnonzero(read[t])),
                "nothing",
                *left,
            )
        hops = []
        for i, (a, b) in enumerate(itertools.pairwise(way)):
            does = f"reads “{self.words[b]}”" if mask[a, b] else f"has “{self.words[b]}” in its sum"
            hops += [f"“{self.words[a]}” {does}", *[f"layer {layers - i}"] * (len(way) > 2)]
        return Tells(*asked, *hops, *left)

    def expected(self, state: dict) -> dict:
        mask, layers, after = np.array(state["mask"], dtype=bool), state["layers"], state["after"]
        chosen, judged = state["place"][0], self.judge(mask, layers, after)
        shares, read = self.shares(self.scaled, mask, after), self.read(mask, layers, after)
        one, (kind, way) = self.read(mask, 1, after), judged[chosen]
        lit = [self.read(mask, layers - l, after)[chosen] for l in range(layers + 1)]
        places = [*way, *[way[-1]] * (layers + 1 - len(way))] if way else []  # from the top
        reason = self.reason(
            mask, layers, after, chosen, kind, way, read, shares[chosen].sum().item()
        )
        return {
            "says": self.sentence(mask, layers, after, judged),
            "cells": [
                f"{shares[t, s]:.2f}" if mask[t, s] else "○" if read[t, s] and t != s else ""
                for t, s in np.ndindex(7, 7)
            ],
            "verdicts": [self.verdict(t, *judged[t]) for t in range(7)],
            "chosen": [self.words[chosen]],
            "reason": [reason],
            "lit": np.concatenate(lit).tolist(),
            "later": sum(int(row[chosen + 1 :].sum()) for row in lit),
            "ways": sum(int(one[lit[l + 1]].sum()) for l in range(layers)),
            "taken": [(24 + 48 * t, 24 + 44 * l) for l, t in enumerate(places)][::-1],
            "pressed": [*np.argwhere(mask).tolist(), [chosen, -1]],
        }

    def shown(self, html) -> dict:
        taken = playing.read((html.select_one(".mask-taken") or {"points": ""})["points"])
        at = [one["data-at"].split(",") for one in html.select('[data-grid][aria-pressed="true"]')]
        pressed = sorted(([int(t), int(s) - 1] for t, s in at), key=lambda one: one[1] < 0)
        return {
            "says": playing.text(html.select_one(".play-says")),
            "cells": texts(html, ".mask-cell"),
            "verdicts": texts(html, "td.mask-verdict"),
            "chosen": texts(html, "tr[data-chosen] .mask-word"),
            "reason": texts(html, ".mask-chosen"),
            "lit": [dot.has_attr("data-lit") for dot in html.select(".mask-dot")],
            "later": len(html.select(".mask-dot[data-later]")),
            "ways": len(html.select(".mask-way")),
            "taken": list(zip(taken[::2], taken[1::2], strict=True)),
            **({"pressed": pressed} if at else {}),
        }

    def reader(self, figure, hand: str):
        mask, state = self.presets["causal"].copy(), self.first

        def now(**changes):
            nonlocal state
            state = state | {"mask": mask} | changes
            return state

        for t, s in ((1, 4), (5, 5), (1, 4), (2, 0), (2, 1), (2, 2)):
            go(figure, hand, "mask", t, s + 1)
            if hand == "keyboard":
                keys(figure, "Space")
            mask[t, s] ^= True
            yield now(place=[t, s + 1])
        go(figure, hand, "mask", 4, 0)
        yield now(place=[4, 0])
        figure.locator("td.mask-verdict").nth(2).click()
        yield now(place=[2, 0])
        if hand == "keyboard":
            figure.locator('input[name="layers"]').focus()
            keys(figure, "ArrowRight")
        else:
            fill(figure, "layers", 3)
        yield now(layers=3)
        check(figure, "after softmax")
        yield now(after=True)
        for name, preset in self.presets.items():
            press(figure, name)
            yield now(mask=preset)


class Scores:
    """Chapter 05: one score taken apart."""

    given = figures.scores()
    words, q, k = given["words"], np.array(given["queries"]), np.array(given["keys"])
    code: ClassVar = [line.strip() for line in figures.lines()]
    first: ClassVar = {"chosen": [4, 2], "peeked": None}
    back = None
    found = attention_steps(torch.tensor(q), torch.tensor(k), torch.tensor(k))
    scores, scaled, weights = found.scores.numpy(), found.scaled.numpy(), found.weights.numpy()

    def states(self) -> list[dict]:
        return [{"chosen": [t, s], "peeked": None} for t in range(5) for s in range(-1, 5)] + [
            {"chosen": [1, 1], "peeked": [3, 0]}
        ]

    def expected(self, state: dict) -> dict:
        t, s = state["peeked"] or state["chosen"]
        whole, row = s < 0, [number(weight) for weight in self.weights[t]]
        score, scaled, weight = (number(a[t, s]) for a in (self.scores, self.scaled, self.weights))
        terms = product(self.q[t], self.k[s])
        says = Tells(self.words[t], self.words[s], f"{terms} = {score}", scaled, weight)
        if whole:
            says = Tells(
                self.words[t], *(f"“{w}” {x}" for w, x in zip(self.words, row, strict=True))
            )
        columns = range(5) if whole else [s]
        notes = (
            [", ".join(row)]
            if whole
            else [f"{score} / 1.414 = {scaled}", f"s = {s}: {self.words[s]}"]
        )
        return {
            "says": says,
            "keys": [[number(x) for x in row] for row in self.k.T],
            "rows": [
                [self.words[n], *map(number, [*self.q[n], *self.scores[n]])] for n in range(5)
            ],
            "lit words": [self.words[n] for n in columns] + [self.words[t]],
            "lit keys": [number(x) for x in self.k[columns].T.ravel()],
            "lit row": [*map(number, self.q[t]), *(number(self.scores[t, n]) for n in columns)],
            "sum": f"q{self.words[t]} · k{self.words[s]} = {terms} = {score}",
            "lines": (ROW if whole else SCORE).split(),
            "notes": [f"t = {t}: {self.words[t]}", *notes],
            "chosen": [f"{state['chosen'][0]},{state['chosen'][1] + 1}"],
        }

    def shown(self, html) -> dict:
        table = playing.rows(html)
        return {
            "says": playing.text(html.select_one(".play-says")),
            "keys": [row[1:] for row in table[1:3]],
            "rows": table[4:],
            "lit words": texts(html, ".word.lit"),
            "lit keys": texts(html, ".key.lit"),
            "lit row": texts(html, ".query.lit, .score.lit"),
            "sum": playing.text(html.select_one(".scores-sum")),
            "lines": [line[:3].partition(" ")[0] for line in texts(html, ".code-line.lit .words")],
            "notes": texts(html, ".code-line.lit .note"),
            **(
                {"chosen": [one["data-at"] for one in html.select("[aria-selected]")]}
                if html.select("[data-grid]")
                else {}
            ),
        }

    def reader(self, figure, hand: str):
        for t, column in ((3, 2), (3, 5), (0, 1), (1, 0), (1, 1)):
            go(figure, hand, "scores", t, column)
            yield {"chosen": [t, column - 1], "peeked": None}
        if hand == "mouse":
            cell(figure, "scores", 4, 4).hover()
            yield {"chosen": [1, 0], "peeked": [4, 3]}
            figure.locator(".play-title").hover()
            yield {"chosen": [1, 0], "peeked": None}
