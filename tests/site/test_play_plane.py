"""The similarity plane of chapter 02: measures, winners and sentences against exact arithmetic."""

import cmath
import math
import re
from fractions import Fraction

import numpy as np
import playing
import pytest
import torch
from play import plane as figure_of

from helpers.embeddings import MEASURES, similarities

WHERE = "notebooks/02_similarity_geometry.html"
GIVEN = figure_of.given()
NAMES = [figure_of.QUERY, *figure_of.WORDS]
SPOKEN = GIVEN["spoken"]


def states() -> list[tuple[np.ndarray, np.ndarray]]:
    """A query and three points: anywhere, on a lattice and on rays where ties are common, edges."""
    spread = playing.points(0, 220, 10, 8).reshape(-1, 4, 2)
    rng = np.random.default_rng(1)
    lattice = rng.integers(-3, 4, (360, 4, 2)).astype(float)
    rays = rng.integers(-3, 4, (80, 4, 2)) * 1.0
    rays[:, 1:] = rays[:, 1:2] * np.array([1, 3, 7])[None, :, None]  # one direction, three lengths
    edges = [[[0, 0], [1, 2], [0, 0], [-1, 1]], [[4, 2], [0, 0], [0, 0], [0, 0]],
             [[1e6, 0], [-1e6, 0], [1e6, 1], [0, 1e6]], [[3, 1], [-3, -1], [6, 2], [3, 1]],
             [[0.1, 0], [0.1, 0.1], [-0.1, 0], [1, 0]]]  # fmt: skip
    chapter = [[GIVEN["query"], *GIVEN["points"]]]
    every = [*spread, *lattice, *rays, *np.array(edges, dtype=float), *np.array(chapter)]
    return [(state[0], state[1:]) for state in every]


def arguments(*, function=lambda q, points: [q.tolist(), points.tolist()]) -> list[list]:
    return [function(q, points) for q, points in states()]


def hold(page) -> None:
    """Every measure at every state is the helpers'; where there is no direction, no cosine is."""
    found = playing.computed(page, "plane", "measured", arguments())
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


def test_measures_are_those_of_the_helpers(page):
    playing.load(page, "plane")
    hold(page)


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


def hold_winners(page) -> None:
    found = page.evaluate(
        "states => states.map(([q, points]) =>"
        " Play.compute.plane.winners(Play.compute.plane.measured(q, points)))",
        arguments(),
    )
    for (q, points), won in zip(states(), found, strict=True):
        assert won == exactly(q, points), (q, points)


def test_winners_are_the_exact_ones_ties_included(page):
    playing.load(page, "plane")
    hold_winners(page)
    won = [exactly(q, points) for q, points in states()]
    for measure in MEASURES:
        assert sum(len(one[measure]) > 1 for one in won) > 20, "too few ties to tell"
    assert sum(len({tuple(w) for w in one.values()}) == 3 for one in won) > 20


@pytest.mark.parametrize(
    ("right", "wrong", "check"),
    [
        ("dot(unit(query), unit(point))", "dot(query, point)", hold),
        ("dot(unit(query), unit(point))", "dot(unit(query), point)", hold),
        ("x - query[d]", "x + query[d]", hold),
        ('measure === "euclid" ? -x : x', "x", hold_winners),
        ("values[n] >= best - near", "values[n] === best", hold_winners),
        ("x === null ? -Infinity :", "x === null ? 0 :", hold_winners),
    ],
)
def test_mistakes_that_people_make_are_found(page, right, wrong, check):
    playing.load(page, "plane", (right, wrong))
    with pytest.raises(AssertionError):
        check(page)


def test_angle_and_shadow(page):
    """Against the phase of complex numbers, and the foot against the chapter's best length."""
    playing.load(page, "plane")
    pairs = [(q, points[0]) for q, points in states()]
    found = playing.computed(page, "plane", "pair", [[q.tolist(), p.tolist()] for q, p in pairs])
    for (q, point), got in zip(pairs, found, strict=True):
        if not q.any() or not point.any():
            assert got["angle"] is None
            continue
        turn = cmath.phase(complex(*point) * complex(*q).conjugate())
        assert got["angle"] == pytest.approx(abs(math.degrees(turn)), abs=1e-9)
        size = max(1.0, np.abs(q).max())
        assert got["shadow"] == pytest.approx(np.linalg.norm(q) * math.cos(turn), abs=1e-9 * size)
        foot = np.array(got["foot"])
        assert abs((q - foot) @ point) <= 1e-9 * size * np.linalg.norm(point)
        assert abs(foot[0] * point[1] - foot[1] * point[0]) <= 1e-9 * size * np.linalg.norm(point)
        expected = figure_of.pair(q, point)
        assert got["angle"] == pytest.approx(expected["angle"], abs=1e-9)
        np.testing.assert_allclose(foot, expected["foot"], atol=1e-9 * size)


def test_among_equal_lengths_all_three_agree(page):
    playing.load(page, "plane")
    for q, points in states()[:220]:
        even = playing.computed(page, "plane", "ofLength", [[p.tolist(), 5.0] for p in points])
        np.testing.assert_allclose(np.linalg.norm(even, axis=1), 5)
        won = figure_of.winners(figure_of.measured(q, np.array(even)))
        assert won["dot"] == won["cosine"] == won["euclid"]
    assert playing.computed(page, "plane", "ofLength", [[[0, 0], 5.0]]) == [[0, 0]]


def test_sentences_are_pythons(page):
    playing.load(page, "plane")
    cases = [(q, points, n % 3) for n, (q, points) in enumerate(states())]
    found = page.evaluate(
        """([names, spoken, cases]) => cases.map(([q, points, n]) =>
            Play.compute.plane.told({ names, spoken }, q, points, n))""",
        [NAMES, SPOKEN, [[q.tolist(), points.tolist(), n] for q, points, n in cases]],
    )
    assert found == [figure_of.told(SPOKEN, *case) for case in cases]
    ends = ("no cosine.", "the nearer.", "a longer", "a shorter", "no other length")
    for end in ends:
        assert any(end in words for words in found), end


def test_places_in_the_picture_are_pythons(page):
    playing.load(page, "plane")
    plane = figure_of.PLANE
    for q, points in states()[:60]:
        found = page.evaluate(
            """([plane_, arc, q, point]) => {
                const plane = Play.plane(plane_), c = Play.compute.plane;
                const { x, y } = c.labelAt(plane, q);
                return [c.arc(plane, q, point, arc), [x, y]];
            }""",
            [vars(plane), figure_of.ARC, q.tolist(), points[0].tolist()],
        )
        drawn, label = found
        wanted = figure_of.arc(plane, q, points[0])
        numbers = [[float(x) for x in re.findall(r"-?[\d.]+", d)] for d in (drawn, wanted)]
        np.testing.assert_allclose(*numbers, atol=0.011)
        np.testing.assert_allclose(label, figure_of.label_at(plane, q), atol=1e-9)


# --- on the page ----------------------------------------------------------------------------------


@pytest.fixture
def figure(page, site_url):
    return playing.opened(page, f"{site_url}/{WHERE}", "plane")


def vectors(figure) -> np.ndarray:
    """The query and the words, as their handles tell them to a screen reader."""
    told = [
        figure.locator(f"[data-part=handle-{n}]").get_attribute("aria-valuetext") for n in range(4)
    ]
    return np.array(
        [[float(x.replace("−", "-")) for x in re.findall(r"−?[\d.]+", t)] for t in told]
    )


def check_shown(figure, compared: int) -> np.ndarray:
    """Sentence, table and picture are those of the vectors that the handles tell."""
    q, *points = found = vectors(figure)
    assert playing.sentence(figure) == figure_of.told(SPOKEN, q, points, compared)
    measures = figure_of.measured(q, np.array(points))
    won = figure_of.winners(measures)
    shown = playing.rows(figure)
    for n in range(3):
        expected = [figure_of.written(measures[m][n]) for m in ("length", *MEASURES)]
        assert shown[n + 1][1:] == expected
    named = [figure_of.play.listed([NAMES[n + 1] for n in won[m]]) or "none" for m in MEASURES]
    assert shown[4][2:] == named
    marked = figure.evaluate("f => [...f.querySelectorAll('.won')].map(e => e.dataset.part)")
    assert sorted(marked) == sorted(f"{m}-{n}" for m in MEASURES for n in won[m])
    ends = [float(figure.locator("[data-part=apart]").get_attribute(a)) for a in ("x2", "y2")]
    plane, (x, y) = figure_of.PLANE, points[compared]
    np.testing.assert_allclose(ends, [plane.x(x), plane.y(y)], atol=0.011)
    return found


def unit(figure) -> float:
    return figure.locator("svg").bounding_box()["width"] / (2 * figure_of.PLANE.reach)


def test_it_opens_with_the_chapters_words_and_three_answers(figure):
    found = check_shown(figure, figure_of.FIRST)
    np.testing.assert_array_equal(found, [GIVEN["query"], *GIVEN["points"]])
    assert "All three disagree" in playing.sentence(figure)


@pytest.mark.parametrize("n", range(4))
def test_every_tip_can_be_dragged_and_the_others_stay(page, figure, n):
    before = vectors(figure)
    handle = figure.locator(f"[data-part=handle-{n}]")
    step = unit(figure)
    playing.drag(page, handle, -1.5 * step, -3 * step)
    compared = n - 1 if n else figure_of.FIRST
    after = check_shown(figure, compared)
    np.testing.assert_allclose(after[n] - before[n], [-1.5, -3], atol=0.2)
    np.testing.assert_array_equal(np.delete(after, n, 0), np.delete(before, n, 0))
    assert figure.get_by_role("radio", name=NAMES[n]).is_checked()
    playing.drag(page, handle, 900, 0)
    assert check_shown(figure, compared)[n][0] == figure_of.MOST


def test_a_finger_drags_a_tip_and_does_not_scroll(browser, site_url):
    context = browser.new_context(viewport={"width": 390, "height": 740}, has_touch=True)
    try:
        page = context.new_page()
        figure = playing.opened(page, f"{site_url}/{WHERE}", "plane")
        handle = figure.locator("[data-part=handle-1]")
        handle.scroll_into_view_if_needed()
        before, scrolled = vectors(figure), page.evaluate("scrollY")
        playing.swipe(page, handle, -50, -60)
        after = check_shown(figure, 0)
        assert (after[1] < before[1] - 1).all()
        assert page.evaluate("scrollY") == scrolled
    finally:
        context.close()


def test_arrow_keys_move_a_tip(page, figure):
    figure.locator("[data-part=handle-3]").focus()
    for key, expected in [
        ("ArrowLeft", [7.9, 6]), ("Shift+ArrowUp", [7.9, 7]), ("ArrowDown", [7.9, 6.9])
    ]:  # fmt: skip
        page.keyboard.press(key)
        np.testing.assert_allclose(check_shown(figure, 2)[3], expected, atol=1e-9)
    for _ in range(5):
        page.keyboard.press("Shift+ArrowUp")
    assert check_shown(figure, 2)[3].tolist() == [7.9, figure_of.MOST]


def test_sliders_move_what_is_chosen(page, figure):
    for n, name in enumerate(NAMES):
        figure.get_by_role("radio", name=name).check()
        slider = figure.locator('input[name="x"]')
        before = vectors(figure)
        assert float(slider.input_value()) == before[n][0]
        slider.focus()
        page.keyboard.press("ArrowRight")
        after = check_shown(figure, max(n - 1, 0) if n else figure_of.FIRST)
        np.testing.assert_allclose(after - before, np.eye(4)[n][:, None] * [0.1, 0], atol=1e-9)
        assert slider.get_attribute("aria-valuetext") == figure_of.play.fixed(after[n][0])


def test_length_counts_for_two_of_the_three(figure):
    """Pond twice as long: its dot product doubles, its cosine stays, its distance grows."""
    before = playing.rows(figure)[2]
    figure.get_by_role("button", name="Twice as long").click()
    check_shown(figure, 1)
    length, dot, cosine, apart = (
        (float(a), float(b)) for a, b in zip(before[1:], playing.rows(figure)[2][1:], strict=True)
    )
    assert length[1] == pytest.approx(2 * length[0], abs=0.011)
    assert dot[1] == 2 * dot[0]
    assert cosine[1] == cosine[0]
    assert apart[1] > apart[0]
    figure.get_by_role("button", name="Half as long").click()
    assert playing.rows(figure)[2] == before


def test_one_length_makes_them_agree_and_start_again_undoes_it(figure):
    figure.get_by_role("button", name="Give all words one length").click()
    assert "All three agree" in playing.sentence(figure)
    assert {row[1] for row in playing.rows(figure)[1:4]} == {f"{figure_of.EVEN:.2f}"}
    figure.get_by_role("button", name="Start again").click()
    np.testing.assert_array_equal(check_shown(figure, 1), [GIVEN["query"], *GIVEN["points"]])


def test_a_query_of_zero_has_no_cosine(page, figure):
    figure.get_by_role("radio", name="stream").check()
    for name in "xy":
        figure.locator(f'input[name="{name}"]').fill("0")
    check_shown(figure, 1)
    assert "no cosine" in playing.sentence(figure)
    assert [row[3] for row in playing.rows(figure)[1:4]] == ["none"] * 3
