"""The similarity plane of chapter 02: measures, winners and sentences against exact arithmetic."""

import cmath
import math
from fractions import Fraction

import numpy as np
import playing
import pytest
import torch
from play import figures
from playing import check, computed, fixed, listed, number, press, sentence

from helpers.similarity import MEASURES, similarities

GIVEN = figures.plane()
NAMES, SPOKEN, START = GIVEN["names"], GIVEN["spoken"], np.array(GIVEN["vectors"], dtype=float)
MOST, REACH, SIDE, MIDDLE = 9, 7.5, 360, 2  # of an entry; of the picture
opened_once, figure, on_phone = playing.fixtures("plane")


def states() -> list[tuple[np.ndarray, np.ndarray]]:
    """A query and three points: anywhere, on a lattice and on rays where ties are common, edges."""
    spread = playing.points(0, 220, 10, 8).reshape(-1, 4, 2)
    rng = np.random.default_rng(1)
    lattice = rng.integers(-3, 4, (360, 4, 2)).astype(float)
    rays = rng.integers(-3, 4, (80, 4, 2)) * 1.0
    rays[:, 1:] = rays[:, 1:2] * np.array([1, 3, 7])[None, :, None]  # one direction, three lengths
    edges = [
        [[0, 0], [1, 2], [0, 0], [-1, 1]],
        [[4, 2], [0, 0], [0, 0], [0, 0]],
        [[1e6, 0], [-1e6, 0], [1e6, 1], [0, 1e6]],
        [[3, 1], [-3, -1], [6, 2], [3, 1]],
        [[0.1, 0], [0.1, 0.1], [-0.1, 0], [1, 0]],
    ]
    every = [*spread, *lattice, *rays, *np.array(edges, dtype=float), START]
    return [(state[0], state[1:]) for state in every]


def arguments() -> list[list]:
    return [[q.tolist(), points.tolist()] for q, points in states()]


def hold() -> None:
    """Every measure at every state is the helpers'; where there is no direction, no cosine is."""
    found = computed("plane", "measured", arguments())
    for (q, points), got in zip(states(), found, strict=True):
        lengths = np.linalg.norm(points, axis=1)
        np.testing.assert_allclose(got["length"], lengths, rtol=1e-12)
        for measure in MEASURES:
            expected = similarities(torch.tensor(q), torch.tensor(points), measure=measure)
            expected = expected.numpy() * (-1 if measure == "euclid" else 1)
            for value, wanted, length in zip(got[measure], expected, lengths, strict=True):
                if measure == "cosine" and (length == 0 or not q.any()):
                    assert value is None
                else:
                    assert abs(value - wanted) <= 1e-9 * max(1, abs(wanted)), (measure, q, points)


def test_measures_are_those_of_the_helpers():
    hold()


def exactly(q, points) -> dict[str, list[int]]:
    """The winners in exact arithmetic: squares in place of roots, fractions in place of floats."""
    q, *points = ([Fraction(x) for x in vector] for vector in (q, *points))
    dots = [sum(a * b for a, b in zip(q, point, strict=True)) for point in points]
    squares = [sum(x * x for x in point) for point in points]
    signed = [
        None if not any(q) or not square else dot * abs(dot) / square
        for dot, square in zip(dots, squares, strict=True)
    ]
    apart = [-sum((a - b) ** 2 for a, b in zip(q, point, strict=True)) for point in points]
    won = {}
    for measure, values in zip(MEASURES, (dots, signed, apart), strict=True):
        known = [value for value in values if value is not None]
        won[measure] = [n for n, value in enumerate(values) if known and value == max(known)]
    return won


def hold_winners() -> None:
    measured = computed("plane", "measured", arguments())
    won = computed("plane", "winners", [[found] for found in measured])
    for (q, points), found in zip(states(), won, strict=True):
        assert found == exactly(q, points), (q, points)


def test_winners_are_the_exact_ones_ties_included():
    hold_winners()
    won = [exactly(q, points) for q, points in states()]
    for measure in MEASURES:
        assert sum(len(one[measure]) > 1 for one in won) > 20, "too few ties to tell"
    assert sum(len({tuple(w) for w in one.values()}) == 3 for one in won) > 20


def expected_sentence(q, points, n: int) -> str:
    """The sentence that should stand below the figure."""
    won, (asks, *words) = exactly(q, points), NAMES
    named = [listed([words[m] for m in won[measure]]) or "none" for measure in MEASURES]
    by = ", ".join(f"by {SPOKEN[m]} {name}" for m, name in zip(MEASURES, named, strict=True))
    verdict = ("All three agree", "Two of three agree", "All three disagree")[len(set(named)) - 1]
    said, word, point = f"Most like {asks}: {by}. {verdict}. ", words[n], points[n]
    lost = "is (0, 0): it has no direction, so no angle and no cosine."
    if not point.any() or not q.any():
        return f"{said}{(asks if point.any() else word).capitalize()} {lost}"
    turn, length = cmath.phase(complex(*point) / complex(*q)), np.linalg.norm(point)
    shadow = q @ point / length
    said += f"Between {asks} and {word} are {number(abs(math.degrees(turn)), 1)}°. "
    if shadow <= 1e-9:
        return f"{said}The shadow points away from {word}: the shorter {word}, the nearer."
    said += f"The shadow of {asks} on the line of {word} is {fixed(shadow)} long, {word} "
    wanted = f"a {'longer' if length < shadow else 'shorter'} {word}"
    wanted = "no other length" if abs(length - shadow) < 0.005 else wanted
    return f"{said}{fixed(length)}: {wanted} would lie nearer."


def test_sentences():
    cases = [(q, points, n % 3) for n, (q, points) in enumerate(states())]
    given = {"names": NAMES, "spoken": SPOKEN}
    found = computed("plane", "sentence", [[given, q.tolist(), p.tolist(), n] for q, p, n in cases])
    assert found == [expected_sentence(*case) for case in cases]
    for end in ("no cosine.", "the nearer.", "a longer", "a shorter", "no other length"):
        assert any(end in words for words in found), end


def places(point) -> list[float]:
    """Where a point stands on the SVG."""
    return [
        (point[0] - MIDDLE + REACH) * SIDE / 2 / REACH,
        (MIDDLE + REACH - point[1]) * SIDE / 2 / REACH,
    ]


# --- on the page ----------------------------------------------------------------------------------


def vectors(figure) -> np.ndarray:
    """The query and the words, as their handles tell them to a screen reader."""
    handles = figure.locator(".play-handle").evaluate_all(
        "all => all.map(e => e.getAttribute('aria-valuetext'))"
    )
    return np.array([playing.read(words) for words in handles])


def check_shown(figure, compared: int) -> np.ndarray:
    """Sentence, table and picture are those of the vectors that the handles tell."""
    q, *points = found = vectors(figure)
    assert sentence(figure) == expected_sentence(q, points, compared)
    (measures,) = computed("plane", "measured", [[q.tolist(), [p.tolist() for p in points]]])
    won, table = exactly(q, points), playing.rows(figure)
    for n in range(3):
        values = (measures[m][n] for m in ("length", *MEASURES))
        assert table[n + 1][1:] == ["none" if v is None else fixed(v) for v in values]
    assert table[4][2:] == [listed([NAMES[n + 1] for n in won[m]]) or "none" for m in MEASURES]
    marked = figure.evaluate("f => [...f.querySelectorAll('.won')].map(e => e.dataset.part)")
    assert sorted(marked) == sorted(f"{m}-{n}" for m in MEASURES for n in won[m])
    ends = [float(figure.locator("[data-part=apart]").get_attribute(a)) for a in ("x2", "y2")]
    np.testing.assert_allclose(ends, places(points[compared]), atol=0.011)
    return found


def unit(figure) -> float:
    return figure.locator("svg").bounding_box()["width"] / (2 * REACH)


def test_it_opens_with_the_chapters_words_and_three_answers(figure):
    found = check_shown(figure, 1)
    np.testing.assert_array_equal(found, START)
    assert "All three disagree" in sentence(figure)


@pytest.mark.parametrize("n", range(4))
def test_every_tip_can_be_dragged_and_the_others_stay(figure, n):
    before = vectors(figure)
    handle = figure.locator(f"[data-part=handle-{n}]")
    step = unit(figure)
    playing.drag(handle, -1.5 * step, -3 * step)
    compared = n - 1 if n else 1
    after = check_shown(figure, compared)
    np.testing.assert_allclose(after[n] - before[n], [-1.5, -3], atol=0.2)
    np.testing.assert_array_equal(np.delete(after, n, 0), np.delete(before, n, 0))
    assert figure.get_by_role("radio", name=NAMES[n]).is_checked()
    playing.drag(handle, 900, 0)
    assert check_shown(figure, compared)[n][0] == MOST


def test_a_finger_drags_a_tip(on_phone):
    before = vectors(on_phone)
    playing.drag_by_finger(on_phone.locator("[data-part=handle-1]"), -50, -60)
    assert (check_shown(on_phone, 0)[1] < before[1] - 1).all()


def test_arrow_keys_move_a_tip(figure):
    figure.locator("[data-part=handle-3]").focus()
    for key, expected in [
        ("ArrowLeft", [7.9, 6]),
        ("Shift+ArrowUp", [7.9, 7]),
        ("ArrowDown", [7.9, 6.9]),
    ]:
        figure.page.keyboard.press(key)
        np.testing.assert_allclose(check_shown(figure, 2)[3], expected, atol=1e-9)
    for _ in range(5):
        figure.page.keyboard.press("Shift+ArrowUp")
    assert check_shown(figure, 2)[3].tolist() == [7.9, MOST]


def test_sliders_move_what_is_chosen(figure):
    for n, name in enumerate(NAMES):
        check(figure, name)
        slider = figure.locator('input[name="x"]')
        before = vectors(figure)
        assert float(slider.input_value()) == before[n][0]
        slider.focus()
        figure.page.keyboard.press("ArrowRight")
        after = check_shown(figure, max(n - 1, 0) if n else 1)
        np.testing.assert_allclose(after - before, np.eye(4)[n][:, None] * [0.1, 0], atol=1e-9)
        assert slider.get_attribute("aria-valuetext") == fixed(after[n][0])


def test_length_counts_for_two_of_the_three(figure):
    """Pond twice as long: its dot product doubles, its cosine stays, its distance grows."""
    before = playing.rows(figure)[2]
    press(figure, "Twice as long")
    check_shown(figure, 1)
    length, dot, cosine, apart = (
        (float(a), float(b)) for a, b in zip(before[1:], playing.rows(figure)[2][1:], strict=True)
    )
    assert length[1] == pytest.approx(2 * length[0], abs=0.011)
    assert dot[1] == 2 * dot[0]
    assert cosine[1] == cosine[0]
    assert apart[1] > apart[0]
    press(figure, "Half as long")
    assert playing.rows(figure)[2] == before


def test_one_length_makes_them_agree_and_start_again_undoes_it(figure):
    press(figure, "Give all words one length")
    assert "All three agree" in sentence(figure)
    assert {row[1] for row in playing.rows(figure)[1:4]} == {"5.00"}
    press(figure, "Start again")
    np.testing.assert_array_equal(check_shown(figure, 1), START)


def test_a_query_of_zero_has_no_cosine(figure):
    check(figure, "stream")
    for name in "xy":
        figure.locator(f'input[name="{name}"]').fill("0")
    check_shown(figure, 1)
    assert "no cosine" in sentence(figure)
    assert [row[3] for row in playing.rows(figure)[1:4]] == ["none"] * 3
