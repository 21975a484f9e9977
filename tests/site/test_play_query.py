"""The dragged query of chapter 05: what the page computes is held to the oracle and to torch."""

import math
import re

import numpy as np
import playing
import pytest
import torch
import torch.nn.functional as F
from play import query as figure_of

from helpers import numerics
from helpers.figures.attention_by_hand import hull, inside

WHERE = "notebooks/05_attention_by_hand.html"
GIVEN = figure_of.given()
WORDS, KEYS, VALUES = GIVEN["words"], GIVEN["keys"], GIVEN["values"]


def states() -> np.ndarray:
    """Queries: anywhere, nearly nothing, huge, along and against a key, square to a difference."""
    edges = [[0, 0], [1e-9, 0], [1e5, -1e5], [0, 2], [2, 0], [-4, 4], [1e-300, 0]]
    edges += [sign * 3 * key for key in KEYS for sign in (1, -1)]
    edges += [[-(a - b)[1], (a - b)[0]] for a in KEYS for b in KEYS]  # equal scores for two
    return np.vstack([playing.points(0, 220, 4), np.array(edges, dtype=float)])


def hold(page) -> None:
    """Scores, weights and output at every state, for the chapter's keys and for wider ones."""
    rng = np.random.default_rng(1)
    wide = [(rng.standard_normal(5), *rng.standard_normal((2, 7, 5))) for _ in range(40)]
    cases = [(q, KEYS, VALUES) for q in states()] + wide
    found = playing.computed(page, "query", "steps", [[p.tolist() for p in c] for c in cases])
    for (q, keys, values), steps in zip(cases, found, strict=True):
        scores = np.array([math.fsum(q * key) for key in keys])
        weights = numerics.attention_weights(q[None], keys)[0]
        size = max(1.0, np.abs(scores).max())
        np.testing.assert_allclose(steps["scores"], scores, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(steps["weights"], weights, rtol=0, atol=1e-9)
        with_torch = F.scaled_dot_product_attention(*map(torch.tensor, (q[None], keys, values)))[0]
        np.testing.assert_allclose(steps["output"], with_torch, rtol=0, atol=1e-9)


def test_steps_are_those_of_the_oracle_and_of_torch(page):
    playing.load(page, "query")
    hold(page)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("score / Math.sqrt(query.length)", "score"),
        ("score / Math.sqrt(query.length)", "score / query.length"),
        ("Math.sqrt(query.length)", "Math.sqrt(keys.length)"),
        ("const weights = softmax(scaled)", "const weights = softmax(scores)"),
        ("dot(weights, values.map", "dot(weights, keys.map"),
        ("dot(query, key));", "Math.abs(dot(query, key)));"),
    ],
)
def test_mistakes_that_people_make_are_found(page, right, wrong):
    playing.load(page, "query", (right, wrong))
    with pytest.raises(AssertionError):
        hold(page)


def test_no_query_gets_out_of_the_hull_and_nothing_gives_the_mean(page):
    playing.load(page, "query")
    found = playing.computed(
        page, "query", "steps", [[q.tolist(), KEYS.tolist(), VALUES.tolist()] for q in states()]
    )
    corners = hull(VALUES)
    assert all(inside(corners, steps["output"]) for steps in found)
    (nothing,) = playing.computed(
        page, "query", "steps", [[[0, 0], KEYS.tolist(), VALUES.tolist()]]
    )
    np.testing.assert_allclose(nothing["output"], VALUES.mean(axis=0), atol=1e-12)


def test_shadows_lie_on_the_querys_line_and_square_to_the_key(page):
    playing.load(page, "query")
    asked = [q for q in states() if 1e-6 < np.abs(q).max() < 100]
    found = playing.computed(page, "query", "feet", [[q.tolist(), KEYS.tolist()] for q in asked])
    for q, feet in zip(asked, np.array(found), strict=True):
        length = np.linalg.norm(q)
        np.testing.assert_allclose(feet[:, 0] * q[1] - feet[:, 1] * q[0], 0, atol=1e-9 * length)
        np.testing.assert_allclose((KEYS - feet) @ q, 0, atol=1e-9 * length)
        np.testing.assert_allclose(feet @ q, KEYS @ q, atol=1e-9 * length)
    (none,) = playing.computed(page, "query", "feet", [[[0, 0], KEYS.tolist()]])
    assert np.array_equal(none, np.zeros((5, 2)))


def test_the_chain_ends_at_the_output(page):
    playing.load(page, "query")
    rng = np.random.default_rng(0)
    cases = [(rng.dirichlet(np.ones(5)), rng.standard_normal((5, 2))) for _ in range(50)]
    found = playing.computed(page, "query", "chain", [[p.tolist() for p in c] for c in cases])
    for (weights, values), corners in zip(cases, found, strict=True):
        np.testing.assert_allclose(corners, figure_of.chain(weights, values), atol=1e-12)
        np.testing.assert_allclose(corners[-1], weights @ values, atol=1e-12)


def test_shade_covers_what_scores_below_zero(page):
    """A place is in the shaded polygon exactly if a key there would score less than 0."""
    playing.load(page, "query")
    asked = [q for q in states()[:60] if np.abs(q).max() > 0.1]
    found = playing.computed(page, "query", "away", [[q.tolist(), 2.1] for q in asked])
    places = playing.points(3, 40, 2.1)
    for q, corners in zip(asked, found, strict=True):
        np.testing.assert_allclose(corners, figure_of.shaded(q, figure_of.Plane(2.1, 300)))
        for place in places[np.abs(places @ q) > 1e-6]:
            assert inside(corners, place) == (place @ q < 0)
    assert playing.computed(page, "query", "away", [[[0, 0], 2.1]]) == [[]]


def test_sentences_are_pythons(page):
    playing.load(page, "query")
    asked = states()
    asked = asked[np.abs(asked).max(axis=1) < 100]
    expected = [figure_of.told(WORDS, q, figure_of.steps(q, KEYS, VALUES, WORDS)) for q in asked]
    found = page.evaluate(
        """([words, keys, values, states]) => states.map(q =>
            Play.compute.query.told(words, q, Play.compute.query.steps(q, keys, values)))""",
        [WORDS, KEYS.tolist(), VALUES.tolist(), asked.tolist()],
    )
    assert found == expected
    assert len(set(found)) > 200


def test_stretching_keeps_the_direction_and_stays_in_the_picture(page):
    playing.load(page, "query")
    cases = [[q.tolist(), times, 4.0] for q in playing.points(0, 60, 4) for times in (2, 0.5, -1)]
    for (q, times, most), long in zip(
        cases, playing.computed(page, "query", "stretched", cases), strict=True
    ):
        assert np.abs(long).max() <= most
        expected = np.array(q) * times
        fits = most / np.abs(expected).max()
        np.testing.assert_allclose(long, expected * min(1, fits), atol=1e-12)
    assert playing.computed(page, "query", "stretched", [[[0, 0], 2, 4], [[1, -2], 0, 4]]) == [
        [0, 0], [0, 0]
    ]  # fmt: skip


# --- on the page ----------------------------------------------------------------------------------


@pytest.fixture
def figure(page, site_url):
    return playing.opened(page, f"{site_url}/{WHERE}", "query")


def at(figure) -> np.ndarray:
    """The query, as the handle tells it to a screen reader."""
    told = figure.locator("[data-part=handle]").get_attribute("aria-valuetext")
    return np.array(playing.read(told))


def check_shown(figure) -> np.ndarray:
    """Sentence, table, sliders and picture are those of the query that the handle tells."""
    q = at(figure)
    steps = figure_of.steps(q, KEYS, VALUES, WORDS)
    assert playing.sentence(figure) == figure_of.told(WORDS, q, steps)
    names, *shown = [row[1:] for row in playing.rows(figure)]
    assert names == WORDS
    assert shown == [
        [figure_of.play.fixed(value) for value in steps[name]]
        for name in ("scores", "scaled", "weights")
    ]
    values = [float(figure.locator(f'input[name="{name}"]').input_value()) for name in "xy"]
    np.testing.assert_allclose(values, q)
    plane = figure_of.Plane(figure_of.outer(VALUES), figure_of.SIDE)
    star = figure.locator("[data-part=star]").get_attribute("transform")
    drawn = [float(x) for x in re.findall(r"-?[\d.]+", star)]
    expected = [plane.x(steps["output"][0]), plane.y(steps["output"][1])]
    np.testing.assert_allclose(drawn, expected, atol=0.011)
    return q


def test_it_opens_with_the_query_of_the_chapter(figure):
    assert check_shown(figure).tolist() == GIVEN["query"].tolist()


def test_the_mouse_drags_the_tip(page, figure):
    handle = figure.locator("[data-part=handle]")
    unit = figure.locator("svg").first.bounding_box()["width"] / (4 * figure_of.REACH)
    playing.drag(page, handle, 1.5 * unit, -1.0 * unit)
    q = check_shown(figure)
    np.testing.assert_allclose(q, [1.5, 1.0], atol=0.11)
    playing.drag(page, handle, 500, 500)
    assert check_shown(figure).tolist() == [4, 4]
    page.mouse.move(0, 0)
    assert at(figure).tolist() == [4, 4]


def test_a_finger_drags_the_tip_and_does_not_scroll(browser, site_url):
    context = browser.new_context(viewport={"width": 390, "height": 740}, has_touch=True)
    try:
        page = context.new_page()
        figure = playing.opened(page, f"{site_url}/{WHERE}", "query")
        handle = figure.locator("[data-part=handle]")
        handle.scroll_into_view_if_needed()
        before, scrolled = at(figure), page.evaluate("scrollY")
        playing.swipe(page, handle, 40, 60)
        q = check_shown(figure)
        assert q[0] > before[0] + 0.5
        assert q[1] > before[1] + 0.5
        assert page.evaluate("scrollY") == scrolled
    finally:
        context.close()


def test_a_click_beside_the_tip_sends_it_there(page, figure):
    picture = figure.locator("svg").first
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] * 0.9, "y": box["height"] / 2})
    np.testing.assert_allclose(check_shown(figure), [0.8 * 4.2, 0], atol=0.11)


def test_arrow_keys_move_the_tip(page, figure):
    figure.locator("[data-part=handle]").focus()
    for key, expected in [
        ("ArrowRight", [0.1, 2]),
        ("Shift+ArrowRight", [1.1, 2]),
        ("ArrowUp", [1.1, 2.1]),
        ("Shift+ArrowDown", [1.1, 1.1]),
        ("ArrowLeft", [1, 1.1]),
    ]:
        page.keyboard.press(key)
        np.testing.assert_allclose(check_shown(figure), expected, atol=1e-9)
    for _ in range(6):
        page.keyboard.press("Shift+ArrowRight")
    assert check_shown(figure)[0] == figure_of.MOST


def test_native_sliders_move_the_tip_and_tell_their_value(page, figure):
    for name, d in (("x", 0), ("y", 1)):
        slider = figure.locator(f'input[name="{name}"]')
        slider.focus()
        page.keyboard.press("ArrowLeft")
        q = check_shown(figure)
        assert slider.get_attribute("aria-valuetext") == figure_of.play.fixed(q[d])
    np.testing.assert_allclose(at(figure), [-0.1, 1.9], atol=1e-9)


@pytest.mark.parametrize(
    ("button", "expected"),
    [("Twice as long", [0, 4]), ("Half as long", [0, 1]), ("Turn it round", [0, -2]),
     ("Ask nothing", [0, 0])],
)  # fmt: skip
def test_buttons(figure, button, expected):
    figure.get_by_role("button", name=button).click()
    assert check_shown(figure).tolist() == expected


def test_start_again_leads_back(page, figure):
    figure.get_by_role("button", name="Ask nothing").click()
    figure.get_by_role("button", name="Start again").click()
    assert check_shown(figure).tolist() == GIVEN["query"].tolist()


def test_a_longer_query_is_more_decided_and_none_gives_the_mean(figure):
    def weights():
        return [float(words) for words in playing.rows(figure)[3][1:]]

    before = weights()
    figure.get_by_role("button", name="Twice as long").click()
    assert max(weights()) > max(before) + 0.1
    figure.get_by_role("button", name="Ask nothing").click()
    assert weights() == [0.2] * 5
    assert "the mean of the values" in playing.sentence(figure)


def test_a_screen_reader_is_told_after_a_pause(page, figure):
    said = figure.get_by_role("status")
    assert said.text_content() == ""
    figure.locator("[data-part=handle]").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert said.text_content() == ""
    said.get_by_text(playing.sentence(figure)).wait_for(state="attached")
