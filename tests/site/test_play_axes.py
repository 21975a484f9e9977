"""The axis picker of chapter 04: its numbers held to torch, its figure used as a reader does."""

import itertools
from functools import cache

import numpy as np
import playing
import pytest
import torch
import torch.nn.functional as F
from play import figures
from playing import check, computed, factor, fixed, listed, many, number, press, sentence

from helpers import probes
from helpers.norms import NORMS, NormSpec, normalise_over

opened_once, figure, on_phone = playing.fixtures("axes")
EPSILONS = (1e-12, 1e-5, 1e-2, 1.0)
CLOSE = 1e-9

SENTENCES = [["because", "it", "was", "too", word] for word in ("wide", "narrow")]
FIVE = ["layer norm", "RMS norm", "batch norm", "instance norm", "group norm"]


# --- the pure functions ---------------------------------------------------------------------------


def as_script(point: NormSpec, width: int) -> dict:
    return {"over": point.over, "groups": point.groups or width, "centred": point.centred}


def blocks(rng) -> list[np.ndarray]:
    """Blocks of many shapes: ordinary, whole numbers, far from 0, tiny, constant by parts."""
    found = []
    for shape in itertools.product((1, 2, 3), (1, 2, 5), (1, 4, 6)):
        x = rng.normal(size=shape)
        found += [x, rng.integers(-3, 4, shape).astype(float), x + 1000, 1e-3 * x]
        found += [np.full(shape, 0.1), np.broadcast_to(x[:, :, :1], shape).copy()]
    return found


def states() -> list[tuple[np.ndarray, NormSpec, float]]:
    rng, found = np.random.default_rng(0), []
    for x in blocks(rng):
        width = x.shape[-1]
        groups = [g for g in (1, 2, 3, width) if width % g == 0]
        for over in ("", "B", "T", "BT"):
            point = NormSpec(
                over=over, groups=int(rng.choice(groups)), centred=bool(rng.integers(2))
            )
            found.append((x, point, float(rng.choice(EPSILONS))))
    return found


@cache
def norms_at_states() -> list[tuple]:
    """Each state, and what helpers.norms has there."""
    return [
        (*state, normalise_over(torch.from_numpy(state[0]), state[1], eps=state[2]))
        for state in states()
    ]


def wrong_at() -> list[str]:
    """The states at which the script's norm is not that of helpers.norms."""
    at_states = norms_at_states()
    sent = [[x.tolist(), as_script(point, x.shape[-1]), eps] for x, point, eps, _ in at_states]
    found = []
    got_at = computed("axes", "normalised", sent)
    for (x, point, eps, wanted), got in zip(at_states, got_at, strict=True):
        shape = x.shape
        statistics = (
            np.prod([n for axis, n in zip("BT", shape[:2], strict=True) if axis not in point.over])
            * point.groups
        )
        parts = ("mean", "variance", "output")
        same = all(
            np.allclose(got[part], getattr(wanted, part), rtol=CLOSE, atol=1e-8) for part in parts
        )
        if not same or got["statistics"] != statistics:
            found.append(f"{shape} {point} {eps}")
    return found


def test_norm_is_python_s_at_many_states():
    assert len(states()) >= 600
    assert wrong_at() == []


@pytest.mark.parametrize("name", NORMS)
def test_five_norms_are_torch_s(name):
    """Held to torch's own functions, which know of axes by other words."""
    x_NBTC = np.random.default_rng(1).normal(size=(20, 2, 5, 4)) * 3 + 1

    def flip(f):  # torch wants features in the middle
        return lambda x: f(x.mT).mT

    theirs = {
        "layer": lambda x: F.layer_norm(x, (4,), eps=1e-5),
        "RMS": lambda x: F.rms_norm(x, (4,), eps=1e-5),
        "batch": flip(lambda x: F.batch_norm(x, None, None, training=True, eps=1e-5)),
        "instance": flip(lambda x: F.instance_norm(x, eps=1e-5)),
        "group": flip(lambda x: F.group_norm(x, 2, eps=1e-5)),
    }[name]
    sent = [[x.tolist(), as_script(NORMS[name], 4), 1e-5] for x in x_NBTC]
    for x, got in zip(x_NBTC, computed("axes", "normalised", sent), strict=True):
        np.testing.assert_allclose(got["output"], theirs(torch.from_numpy(x)), atol=CLOSE)


SPECS_OF_4 = [
    NormSpec(over=over, groups=groups, centred=centred)
    for over in ("", "B", "T", "BT")
    for groups in (1, 2, 4)
    for centred in (True, False)
]


@pytest.mark.parametrize("point", SPECS_OF_4, ids=str)
def test_lit_numbers_are_those_that_the_result_depends_on(point):
    """By derivatives; where a number is its own mean the result is 0 and depends on nothing."""
    x_BTC = torch.from_numpy(np.random.default_rng(2).normal(size=(2, 3, 4)))
    alone = point.over == "" and point.groups == 4
    places = list(itertools.product(range(2), range(3), range(4)))

    def norm(x):
        return normalise_over(x, point, eps=0.01).output

    jacobian = torch.autograd.functional.jacobian(norm, x_BTC)
    sent = [[x_BTC.tolist(), as_script(point, 4), at] for at in places]
    for (b, t, c), kinds in zip(places, computed("axes", "kinds", sent), strict=True):
        moves = jacobian[b, t, c] != 0
        if alone and point.centred:
            assert not moves.any()
            moves[b, t, c] = True
        wanted = {
            (j, s): "other" if j != b else "itself" if s == t else "earlier" if s < t else "later"
            for j in range(2)
            for s in range(3)
        }
        for (j, s, d), is_read in np.ndenumerate(moves.numpy()):
            assert kinds[j][s][d] == (wanted[j, s] if is_read else None)
    (leaks,) = computed("axes", "leaks", [[x_BTC.tolist(), as_script(point, 4)]])
    found = probes.leaks(norm, x_BTC)
    assert leaks == {"future": found.future > 0, "others": found.others > 0}


# --- the figure: what it shows, computed again here -----------------------------------------------


@pytest.fixture(scope="module")
def chapter_block() -> np.ndarray:
    """The block as the chapter writes it."""
    assert figures.axes()["sentences"] == SENTENCES
    return np.array(figures.axes()["x"], dtype=float)


def place(at) -> str:
    b, t, c = at
    return f"number {c + 1} of “{SENTENCES[b][t]}” in sentence {b + 1}"


NAMES = {
    NormSpec(over="", groups=1): "layer norm",
    NormSpec(over="", groups=1, centred=False): "RMS norm",
    NormSpec(over="BT", groups=None): "batch norm",
    NormSpec(over="T", groups=None): "instance norm",
    NormSpec(over="T", groups=2): "group norm",
    NormSpec(over="B", groups=None): "batch norm, each position by itself",
    NormSpec(over="", groups=2): "group norm, each token by itself",
    NormSpec(over="T", groups=1): "group norm with one group",
}


def in_words(x, start, point: NormSpec, watched) -> str:
    """The sentence that should stand below the figure."""
    groups = point.groups or 4
    sets = (1 if "B" in point.over else 2) * (1 if "T" in point.over else 5) * groups
    size = 40 // sets
    name = NAMES.get(point, "no norm with a usual name")
    taken = f"{many(sets, 'mean')} and {many(sets, 'variance')}"
    if not point.centred:
        taken = f"{many(sets, 'mean square')}, with no mean subtracted,"
    words = [
        f"This is {name}: {taken} in all, {'' if sets == 1 else 'each '}of {many(size, 'number')}."
    ]
    if point.centred and size == 1:
        words.append("Each number is its own mean, so all results are 0.")
    others = "no other" if size == 1 else many(size - 1, "other")
    shared = "mean and variance" if point.centred else "mean square"
    words.append(f"The watched result, {place(watched)}, shares its {shared} with {others}.")
    found = probes.leaks(lambda b: normalise_over(b, point).output, torch.from_numpy(x))
    read = [
        w
        for w, leak in (("later words", found.future), ("the other sentence", found.others))
        if leak > 0
    ]
    words.append(f"Through this norm a word reads {listed(read) or 'nothing that it must not'}.")
    changed = [tuple(at) for at in np.argwhere(x != start)]
    if changed:
        before, after = (
            normalise_over(torch.from_numpy(a), point).output.numpy() for a in (start, x)
        )
        moves = int((np.abs(after - before) > 1e-9).sum())
        first = changed[0]
        what = f"{len(changed)} numbers are changed"
        if len(changed) == 1:
            now, then = number(x[first]), number(start[first])
            what = f"Number{place(first)[6:]} is {now} in place of {then}"
        by = abs(after[watched] - before[watched])
        seen = f"from {number(before[watched])} to {number(after[watched])}"
        if by < 5e-4:
            seen = "by less than 0.001, which ε lets through"
        if by <= 1e-9:
            seen = f"stays {number(after[watched])}"
        words.append(
            f"{what}: that moves {moves or 'none'} of the 40 results, the watched one {seen}."
        )
    return " ".join(words)


def working(x, point: NormSpec, watched) -> list[str]:
    """The three lines in which the watched result is written out."""
    found = normalise_over(torch.from_numpy(x), point)
    b, t, c = watched
    groups = point.groups or 4
    part = np.arange(4) * groups // 4 == c * groups // 4
    rows = np.s_[:] if "B" in point.over else np.s_[b : b + 1]
    columns = np.s_[:] if "T" in point.over else np.s_[t : t + 1]
    values = x[rows, columns][:, :, part].ravel()
    mean, variance, y = (a[watched].item() for a in (found.mean, found.variance, found.output))

    def total(terms):
        return " + ".join([*terms[:3], "…", terms[-1]] if len(terms) > 6 else terms)

    squares = f"({total([f'{factor(v - mean)}²' for v in values])}) / {len(values)}"
    off = f"({number(x[watched])} − {factor(mean)})" if point.centred else number(x[watched])
    return [
        f"mean = ({total([factor(v) for v in values])}) / {len(values)} = {number(mean)}"
        if point.centred
        else "mean: not subtracted",
        f"{'variance' if point.centred else 'mean square'} = {squares} = {number(variance)}",
        f"result = {off} / √({number(variance)} + 0.00001) = {number(y)}",
    ]


def shown(figure, side: str) -> list[dict]:
    return figure.locator(f'[data-side="{side}"] td .axes-cell').evaluate_all(
        "cells => cells.map(c => ({ ...c.dataset, text: c.innerText.trim(),"
        " pressed: c.getAttribute('aria-pressed') }))"
    )


def held(figure, x, start, point: NormSpec, watched):
    """Hold all that the figure shows to Python."""
    output, before = (normalise_over(torch.from_numpy(a), point).output.numpy() for a in (x, start))
    assert [cell["text"] for cell in shown(figure, "x")] == [number(v) for v in x.ravel()]
    results = shown(figure, "y")
    assert [cell["text"] for cell in results] == [fixed(v) for v in output.ravel()]
    by = (output - before).ravel()
    assert [cell.get("moved") for cell in results] == [
        None if abs(v) <= 1e-9 else "up" if v > 0 else "down" for v in by
    ]
    at = int(np.ravel_multi_index(watched, x.shape))
    assert [i for i, cell in enumerate(results) if cell["pressed"] == "true"] == [at]
    lines = figure.locator(".axes-working p").all_inner_texts()
    assert lines == working(x, point, watched)
    assert sentence(figure) == in_words(x, start, point, watched)


def cell(figure, side: str, at):
    return figure.locator(f'[data-side="{side}"] td .axes-cell').nth(
        int(np.ravel_multi_index(at, (2, 5, 4)))
    )


def test_each_choice_of_axes_is_shown_as_python_has_it(figure, chapter_block):
    x, watched, over = chapter_block, (0, 2, 3), ""
    walk = [("sentences (B)", "B"), ("words (T)", "T"), ("sentences (B)", "B"), ("words (T)", "T")]
    for centred in (True, False):
        for button, axis in walk:
            press(figure, button)
            over = "".join(a for a in "BT" if (a in over) != (a == axis))
            for said, groups in (("all four", 1), ("two and two", 2), ("each by itself", None)):
                check(figure, said)
                held(figure, x, x, NormSpec(over=over, groups=groups, centred=centred), watched)
        press(figure, "subtract the mean")
    assert figure.locator(".axes-find li").all_inner_texts() == [f"✓ {name}" for name in FIVE]


def test_mouse_watches_one_result_and_the_slider_moves_another_s_number(figure, chapter_block):
    x, point = chapter_block.copy(), NormSpec(over="BT", groups=None)
    press(figure, "sentences (B)")
    press(figure, "words (T)")
    check(figure, "each by itself")
    cell(figure, "y", (0, 1, 2)).click()
    held(figure, x, chapter_block, point, (0, 1, 2))
    cell(figure, "x", (1, 4, 2)).click()
    x[1, 4, 2] += 5
    figure.locator('input[name="value"]').fill(str(x[1, 4, 2]))
    held(figure, x, chapter_block, point, (0, 1, 2))
    press(figure, "Back to the chapter’s numbers")
    held(figure, chapter_block, chapter_block, point, (0, 1, 2))


def test_the_other_sentence_moves_batch_norm_not_layer_norm(figure, chapter_block):
    """The question of the chapter, by the slider that stands there from the start."""
    x, watched = chapter_block.copy(), (0, 2, 3)
    figure.locator('input[name="value"]').fill("9")
    x[1, 4, 3] = 9
    held(figure, x, chapter_block, NormSpec(over="", groups=1), watched)
    assert "the watched one stays" in sentence(figure)
    press(figure, "sentences (B)")
    press(figure, "words (T)")
    check(figure, "each by itself")
    held(figure, x, chapter_block, NormSpec(over="BT", groups=None), watched)
    assert "the watched one from" in sentence(figure)


def test_all_by_the_keyboard(figure, chapter_block):
    page = figure.page
    keys, x = page.keyboard, chapter_block.copy()
    figure.locator('button[name="B"]').focus()
    keys.press("Space")
    keys.press("Tab")
    keys.press("Enter")  # words (T)
    keys.press("Tab")
    keys.press("Enter")  # the mean is not subtracted
    held(figure, x, x, NormSpec(over="BT", groups=1, centred=False), (0, 2, 3))
    keys.press("Tab")
    keys.press("ArrowUp")  # two and two
    point = NormSpec(over="BT", groups=2, centred=False)
    keys.press("Tab")
    for key in ("Home", "ArrowUp", "ArrowUp"):  # from 1.4.3 in sentence 2
        keys.press(key)
    held(figure, x, chapter_block, point, (0, 2, 3))
    keys.press("Tab")
    for key in ("Control+End", "ArrowLeft", "ArrowUp"):
        keys.press(key)
    held(figure, x, chapter_block, point, (1, 3, 2))
    keys.press("Tab")
    assert page.evaluate("document.activeElement.name") == "value"
    keys.press("Home")
    x[1, 2, 0] = -12
    held(figure, x, chapter_block, point, (1, 3, 2))
    keys.press("Tab")
    keys.press("Enter")
    held(figure, chapter_block, chapter_block, point, (1, 3, 2))


def test_touch(on_phone, chapter_block):
    """A tap watches, or chooses the number that the slider moves."""
    figure, x, point = on_phone, chapter_block.copy(), NormSpec(over="T", groups=1)
    cell(figure, "y", (0, 0, 1)).tap()
    figure.locator('[data-side="y"] td:nth-child(2) [data-own]').wait_for()
    figure.get_by_role("button", name="words (T)", exact=True).tap()
    figure.locator('button[name="T"][aria-pressed="true"]').wait_for()
    cell(figure, "x", (0, 3, 1)).tap()
    figure.locator('input[name="value"]').fill("-4")
    x[0, 3, 1] -= 4
    figure.get_by_label("number 2 of “too” in sentence 1: −4, changed from 0").wait_for()
    assert figure.locator(".axes-working p").all_inner_texts() == working(x, point, (0, 0, 1))
    assert sentence(figure) == in_words(x, chapter_block, point, (0, 0, 1))
    assert [c["text"] for c in shown(figure, "x")] == [number(v) for v in x.ravel()]


def test_names_and_values_are_told(figure):
    own = cell(figure, "x", (0, 4, 3))
    assert own.get_attribute("aria-label") == "number 4 of “wide” in sentence 1: 12"
    own.focus()
    figure.locator('input[name="value"]').fill("11")
    assert own.get_attribute("aria-label").endswith(": 11, changed from 12")
    value = figure.locator('input[name="value"]')
    assert value.get_attribute("aria-valuetext") == "11"
    result = cell(figure, "y", (0, 4, 3)).get_attribute("aria-label")
    assert result.startswith("result of number 4 of “wide” in sentence 1: ")
    assert ", before " in result
