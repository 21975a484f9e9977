"""The mask editor of chapter 07: what it says of a mask, held to layers that really attend.

The oracle of "cheats" is no rule about masks: a stack of attention layers in float64 is run, later
words are changed, and one looks which outputs move.
"""

import functools
import itertools
import re

import numpy as np
import playing
import pytest
import torch
from playing import check, computed, many, press, sentence

from helpers import numerics
from helpers.attention import attention_steps
from helpers.chapters.ch07_heads_masks_positions.lab import allowed

opened_once, figure, on_phone = playing.fixtures("mask")
WORDS = ["The", "fox", "did", "not", "cross", "the", "stream", "because"]
T = 7
CAUSAL = np.tril(np.ones((T, T), dtype=bool))


def preset_masks() -> dict[str, np.ndarray]:
    t, s = np.indices((T, T))
    before = s < t
    before[0, 0] = True
    return {
        "causal": s <= t,
        "none at all": s >= 0,
        "one too far": s <= t + 1,
        "only what came before": before,
        "the last three": (s <= t) & (s > t - 3),
        "a prefix of three": (s <= t) | ((s < 3) & (t < 3)),
        "the first two are padding": (s <= t) & (s >= 2),
    }


PRESETS = preset_masks()


# --- the oracles ----------------------------------------------------------------------------------


def random_masks(count: int) -> list[tuple[np.ndarray, int, bool]]:
    """Masks of 1 to 7 words, sparse and dense, with empty rows among them; layers; order."""
    rng, found = np.random.default_rng(0), []
    for n in range(count):
        length = 1 + n % 7
        mask = rng.random((length, length)) < rng.choice([0.1, 0.25, 0.5, 0.8])
        if n % 3 == 0:  # a causal mask with a few holes in it
            mask = np.tril(np.ones_like(mask)) ^ (rng.random(mask.shape) < 0.08)
        found.append((mask, int(rng.integers(1, 5)), bool(n % 4 == 1)))
    return found


def attend(scaled, mask, values, after: bool):
    """One layer's attention; a row that may read nothing adds 0."""
    if after:
        return torch.softmax(scaled, dim=-1) * mask @ values
    weights = torch.softmax(scaled.masked_fill(~mask, -torch.inf), dim=-1)
    return weights.nan_to_num(0.0) @ values


@functools.cache
def tables(width: int = 6) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(4, 3, width, width, generator=generator, dtype=torch.float64) / width**0.5


def stack(mask: np.ndarray, layers: int, after: bool):
    """Layers of attention, each of which adds to its input."""
    may = torch.from_numpy(mask)

    def run(x):
        for W_q, W_k, W_v in tables()[:layers]:
            scaled = (x @ W_q) @ (x @ W_k).mT / 6**0.5
            x = x + attend(scaled, may, x @ W_v, after)
        return x

    return run


def moved_by(mask: np.ndarray, layers: int, after: bool) -> np.ndarray:
    """Entry (t, s): does the output at t move when token s is another one?"""
    length, run = len(mask), stack(mask, layers, after)
    generator = torch.Generator().manual_seed(len(mask) + layers)
    x_TC, other_TC = torch.randn(2, length, 6, generator=generator, dtype=torch.float64)
    changed_STC = x_TC.repeat(length + 1, 1, 1)  # the last one stays as it was
    changed_STC[range(length), range(length)] = other_TC
    *changed, same = run(changed_STC)
    return ((torch.stack(changed) - same).abs() > 1e-12).any(dim=-1).numpy().T


def powers(mask: np.ndarray, layers: int, after: bool) -> np.ndarray:
    """Who reads whom through so many layers, as a power of a matrix of ones and zeros."""
    sees = np.repeat(mask.any(axis=1, keepdims=True), len(mask), axis=1) if after else mask
    one = (sees | np.eye(len(mask), dtype=bool)).astype(np.int64)
    return np.linalg.matrix_power(one, layers) > 0


def first_way(mask: np.ndarray, after: bool, t: int, to: int) -> list[int]:
    """The shortest way from t to a word that it reads; of several the first in order."""
    sees = powers(mask, 1, after)
    for hops in range(1, len(mask) + 1):
        for between in itertools.product(range(len(mask)), repeat=hops - 1):
            way = [t, *between, to]
            if all(sees[a, b] for a, b in itertools.pairwise(way)):
                return way
    raise AssertionError("no way")


def judge(mask: np.ndarray, layers: int, after: bool) -> list[tuple[str, list[int]]]:
    """The verdict on each loss, and the way by which it cheats."""
    read, found = powers(mask, layers, after), []
    for t in range(len(mask)):
        later = np.flatnonzero(read[t, t + 1 :])
        if not after and not mask[t].any():
            found.append(("nothing", []))
        elif later.size:
            found.append(("cheats", first_way(mask, after, t, int(t + 1 + later[0]))))
        else:
            found.append(("honest", []))
    return found


# --- the pure functions ---------------------------------------------------------------------------


def sent(masks, *, layers: bool = True) -> list[list]:
    return [
        [mask.tolist(), n, after] if layers else [mask.tolist(), after] for mask, n, after in masks
    ]


def cheats_wrongly(masks) -> list:
    """The masks for which the script's verdicts are not what changing later words shows."""
    wrong = []
    verdicts = computed("mask", "verdicts", sent(masks))
    for (mask, layers, after), found in zip(masks, verdicts, strict=True):
        later = np.triu(moved_by(mask, layers, after), 1)
        wanted = [
            "nothing" if not after and not row.any() else "cheats" if later[t].any() else "honest"
            for t, row in enumerate(mask)
        ]
        if [verdict["kind"] for verdict in found] != wanted:
            wrong.append((mask, layers, after))
    return wrong


def reaches_wrongly(masks) -> list:
    """The masks for which the script's reach is not what changing each word shows."""
    reach = computed("mask", "reach", sent(masks))
    return [
        masked
        for masked, found in zip(masks, reach, strict=True)
        if not np.array_equal(found, moved_by(*masked))
    ]


def test_a_loss_cheats_where_a_later_word_really_moves_it():
    masks = random_masks(420)
    assert cheats_wrongly(masks) == []
    kinds = {
        verdict["kind"] for found in computed("mask", "verdicts", sent(masks)) for verdict in found
    }
    assert kinds == {"honest", "cheats", "nothing"}


def test_reach_is_what_really_moves_and_a_power_of_the_mask():
    masks = random_masks(420)
    assert reaches_wrongly(masks) == []
    assert all(np.array_equal(moved_by(*masked), powers(*masked)) for masked in masks)


def test_weights_are_softmax_under_the_mask():
    rng = np.random.default_rng(3)
    masks = random_masks(300)
    scores = [rng.normal(size=mask.shape) * rng.choice([1, 30, 800]) for mask, _, _ in masks]
    states = [
        [scaled.tolist(), mask.tolist(), after]
        for scaled, (mask, _, after) in zip(scores, masks, strict=True)
    ]
    empty = 0
    for scaled, (mask, _, after), found in zip(
        scores, masks, computed("mask", "weights", states), strict=True
    ):
        for t, row in enumerate(found):
            if after:
                wanted = numerics.softmax(scaled[t]) * mask[t]
            elif not mask[t].any():
                assert row is None
                empty += 1
                with pytest.raises(ValueError, match="-inf all along"):
                    numerics.softmax(np.where(mask[t], scaled[t], -np.inf))
                continue
            else:
                wanted = numerics.softmax(np.where(mask[t], scaled[t], -np.inf))
            np.testing.assert_allclose(row, wanted, atol=1e-12)
    assert empty > 50


def test_masks_to_start_from_are_the_chapter_s():
    """Those of its names, by its own function; and all of them as they are called."""
    found = dict(
        zip(PRESETS, computed("mask", "preset", [[name, T] for name in PRESETS]), strict=True)
    )
    for name, mask in PRESETS.items():
        np.testing.assert_array_equal(found[name], mask, err_msg=name)
    for name in ("causal", "none at all", "one too far", "only what came before"):
        np.testing.assert_array_equal(found[name], allowed(name, T), err_msg=name)


# --- the figure: what it shows, computed again here -----------------------------------------------


def quoted(ts) -> str:
    return playing.quoted([WORDS[t] for t in ts])


def in_words(mask, layers: int, after: bool) -> str:
    """The sentence that should stand below the figure."""

    def at(n, kind):
        return [t for t, (k, _) in enumerate(judge(mask, n, after)) if k == kind]

    cheating, alone, empty = at(layers, "cheats"), at(1, "cheats"), at(layers, "nothing")
    names = [name for name, preset in PRESETS.items() if np.array_equal(preset, mask)]
    name = f"Mask “{names[0]}”" if names else "A mask of your own"
    found = (
        f"{len(cheating)} of 7 losses cheat: at {quoted(cheating)}."
        if cheating
        else "no loss cheats."
        if empty
        else "all 7 losses are honest."
    )
    words = [f"{name}, {many(layers, 'layer')}: {found}"]
    if len(cheating) != len(alone):
        words.append(f"In one layer {len(alone) or 'none'} of them would.")
    if after:
        words.append(
            "After softmax a mask hides the values only: each weight is still a share of "
            "a sum in which the scores of all words stand."
        )
    if empty:
        rows = ("The row of", "is") if len(empty) == 1 else ("The rows of", "are")
        words.append(
            f"{rows[0]} {quoted(empty)} {rows[1]} empty: softmax over nothing has no answer, and "
            "this book’s code refuses such a mask. The other verdicts are those of a layer in "
            "which such a row adds 0."
        )
    return " ".join(words)


def judged(t: int, kind: str, way: list[int]) -> str:
    if kind == "honest":
        return f"✓ {WORDS[t + 1]} honest"
    if kind == "nothing":
        return f"? {WORDS[t + 1]} no answer: it may read no word"
    past = "" if way[-1] == t + 1 else ", past it"
    return f"✗ {WORDS[t + 1]} cheats: {' → '.join(WORDS[s] for s in way)}{past}"


@functools.cache
def scaled_scores() -> torch.Tensor:
    """The scores of the first layer, drawn as the chapter draws its random tables."""
    generator = torch.Generator().manual_seed(0)
    x_TC = torch.randn(T, 16, generator=generator, dtype=torch.float64)
    W_q, W_k, _ = torch.randn(4, 3, 16, 16, generator=generator, dtype=torch.float64)[0] / 4
    return (x_TC @ W_q) @ (x_TC @ W_k).T / 4


def cells_in_words(mask, layers: int, after: bool) -> list[list[str]]:
    shares = torch.softmax(scaled_scores(), dim=-1).numpy()
    if not after:
        shares = np.exp(scaled_scores().numpy()) * mask
        shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    read = powers(mask, layers, after)
    return [
        [
            f"{shares[t, s]:.2f}" if mask[t, s] else "○" if read[t, s] and t != s else ""
            for s in range(T)
        ]
        for t in range(T)
    ]


def chosen_in_words(mask, layers: int, after: bool, t: int) -> str:
    kind, way = judge(mask, layers, after)[t]
    asked = f"“{WORDS[t]}” has to say “{WORDS[t + 1]}”."
    if kind == "nothing":
        return f"{asked} It may read no word, and has no weights."
    left = ""
    if after:
        total = torch.softmax(scaled_scores()[t], dim=-1).numpy()[mask[t]].sum()
        left = f" Its weights sum to {total:.2f}." if total < 0.9995 else ""
    if t == T - 1:
        return f"{asked} That stands beyond the window: no mask can give it away.{left}"
    if kind == "honest":
        read = quoted(np.flatnonzero(powers(mask, layers, after)[t]))
        through = many(layers, "layer")
        return f"{asked} Through {through} it has read {read}: nothing that comes later.{left}"
    hops = []
    for i, (a, b) in enumerate(itertools.pairwise(way)):
        does = f"reads “{WORDS[b]}”" if mask[a, b] else f"has “{WORDS[b]}” in its sum"
        where = f" in layer {layers - i}" if len(way) > 2 else ""
        hops.append(f"“{WORDS[a]}” {does}{where}")
    return f"{asked} It cheats: {', where '.join(hops)}.{left}"


def texts(figure, selector: str) -> list[str]:
    found = figure.locator(selector).all_inner_texts()
    return [re.sub(r"\s+", " ", text).strip() for text in found]


def held(figure, mask, layers: int, after: bool = False, chosen: int | None = None):
    """Hold all that the figure shows to Python."""
    all_cells = texts(figure, ".mask-cell")
    wanted = cells_in_words(mask, layers, after)
    assert all_cells == [text for row in wanted for text in row]
    pressed = figure.locator(".mask-cell").evaluate_all(
        "cells => cells.map(c => c.getAttribute('aria-pressed') === 'true')"
    )
    assert pressed == mask.ravel().tolist()
    verdicts = judge(mask, layers, after)
    expected = [judged(t, *verdict) for t, verdict in enumerate(verdicts)]
    assert texts(figure, "td.mask-verdict") == expected
    kinds = figure.locator(".mask-grid tbody tr").evaluate_all(
        "rows => rows.map(r => r.dataset.kind)"
    )
    assert kinds == [kind for kind, _ in verdicts]
    assert sentence(figure) == in_words(mask, layers, after)
    if chosen is not None:
        assert figure.locator("tr[data-chosen] .mask-word").inner_text() == WORDS[chosen]
        assert texts(figure, ".mask-chosen") == [chosen_in_words(mask, layers, after, chosen)]
        held_ways(figure, mask, layers, after, chosen)


def held_ways(figure, mask, layers: int, after: bool, chosen: int):
    """Hold the drawing of layers: which dots are lit, what leads there, which way is taken."""
    kind, way = judge(mask, layers, after)[chosen]
    lit = [powers(mask, layers - l, after)[chosen] for l in range(layers + 1)]
    dots = figure.locator(".mask-dot").evaluate_all("dots => dots.map(d => 'lit' in d.dataset)")
    assert dots == np.concatenate(lit).tolist()
    later = figure.locator(".mask-dot[data-later]").count()
    assert later == sum(row[chosen + 1 :].sum() for row in lit)
    sees = powers(mask, 1, after)
    lines = sum(sees[lit[l + 1]].sum() for l in range(layers))
    assert figure.locator(".mask-way").count() == lines
    taken = figure.locator(".mask-way[data-taken]")
    assert taken.count() == (layers if kind == "cheats" else 0)
    if kind == "cheats":  # from the top: the way, and then straight down
        places = [*way, *[way[-1]] * (layers + 1 - len(way))]
        drawn = taken.evaluate_all(
            "lines => lines.map(l => ['y2', 'x2', 'x1'].map(a => +l.getAttribute(a)))"
        )
        assert [(upper, lower) for _, upper, lower in sorted(drawn)] == [
            (48 * (a + 0.5), 48 * (b + 0.5)) for a, b in itertools.pairwise(places)
        ]
    assert (
        figure.locator(".mask-ways .mask-sign").text_content()
        == {"honest": "✓", "cheats": "✗", "nothing": "?"}[kind]
    )


def cell(figure, t: int, s: int):
    return figure.locator(".mask-cell").nth(T * t + s)


def layers_to(figure, layers: int):
    figure.locator('input[name="layers"]').fill(str(layers))


@pytest.mark.parametrize("name", PRESETS)
def test_each_preset_in_each_number_of_layers(figure, name):
    press(figure, name)
    for layers in (1, 2, 4):
        layers_to(figure, layers)
        for after in (False, True):
            check(figure, "after softmax" if after else "before softmax")
            held(figure, PRESETS[name], layers, after, chosen=3)
    pressed = figure.locator(".mask-presets button[aria-pressed=true]")
    assert pressed.all_inner_texts() == [name]


def test_a_click_allows_and_forbids(figure):
    mask = CAUSAL.copy()
    for t, s in ((1, 4), (5, 5), (0, 6), (1, 4), (6, 0)):
        cell(figure, t, s).click()
        mask[t, s] ^= True
        held(figure, mask, 2, chosen=t)
    for t in range(T):
        figure.locator("td.mask-verdict").nth(t).click()
        held(figure, mask, 2, chosen=t)


def test_a_row_without_a_word_has_no_answer(figure):
    """As helpers.attention refuses it; beside it the others are judged on."""
    mask = CAUSAL.copy()
    for s in range(3):
        cell(figure, 2, s).click()
        mask[2, s] = False
    held(figure, mask, 2, chosen=2)
    assert "The row of “did” is empty" in sentence(figure)
    q = torch.ones(T, 2)
    with pytest.raises(ValueError, match=r"query \[2\] no key"):
        attention_steps(q, q, q, mask=torch.from_numpy(mask))
    check(figure, "after softmax")
    held(figure, mask, 2, after=True, chosen=2)


def test_all_by_the_keyboard(figure):
    page = figure.page
    keys, mask = page.keyboard, CAUSAL.copy()
    figure.locator(".mask-presets button").first.focus()
    for _ in range(len(PRESETS)):
        keys.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        "not may read not, weight"
    )
    for key in ("ArrowRight", "Space", "ArrowUp", "Enter", "Home", "ArrowRight", "Space"):
        keys.press(key)
    mask[3, 4], mask[2, 4], mask[2, 0] = True, True, False
    held(figure, mask, 2, chosen=2)
    for key in ("Control+Home", "Space", "ArrowDown"):
        keys.press(key)
    held(figure, mask, 2, chosen=1)
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label == f"fox: {judged(1, *judge(mask, 2, False)[1])[6:]}"
    keys.press("Tab")
    assert page.evaluate("document.activeElement.name") == "layers"
    keys.press("ArrowRight")
    held(figure, mask, 3, chosen=1)
    keys.press("Tab")
    keys.press("ArrowDown")
    held(figure, mask, 3, after=True, chosen=1)


def test_touch(on_phone):
    figure, mask = on_phone, CAUSAL.copy()
    cell(figure, 4, 6).tap()
    mask[4, 6] = True
    figure.get_by_label("cross may read stream, weight").wait_for()
    held(figure, mask, 2, chosen=4)
    press(figure, "one too far")  # a button of its own
    figure.locator(".mask-presets [aria-pressed=true]").wait_for()
    held(figure, PRESETS["one too far"], 2)


def test_names_and_states_are_told(figure):
    own = cell(figure, 1, 4)
    assert own.get_attribute("aria-label") == "fox may read cross, not allowed"
    own.click()
    assert own.get_attribute("aria-label").startswith("fox may read cross, weight 0.")
    assert cell(figure, 2, 4).get_attribute("aria-label").endswith("not allowed, but reached ○")
    assert figure.locator('input[name="layers"]').get_attribute("aria-valuetext") == "2"
