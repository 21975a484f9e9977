"""The dragged query of chapter 05: what the page computes is held to the oracle and to torch."""

import math

import numpy as np
import playing
import torch
import torch.nn.functional as F
from play import figures
from playing import computed, fixed, listed, number, press, sentence

from helpers import numerics
from helpers.chapters.ch05_attention_by_hand.figures import inside

GIVEN = figures.query()
WORDS, START = GIVEN["words"], GIVEN["query"]
KEYS, VALUES = np.array(GIVEN["keys"]), np.array(GIVEN["values"])
MOST, REACH, SIDE = 4, 2.1, 300  # of an entry; of the plane of keys; of both pictures
opened_once, figure, on_phone = playing.fixtures("query")


def states() -> np.ndarray:
    """Queries: anywhere, nearly nothing, huge, along and against a key, square to a difference."""
    edges = [[0, 0], [1e-9, 0], [1e5, -1e5], [0, 2], [2, 0], [-4, 4], [1e-300, 0]]
    edges += [sign * 3 * key for key in KEYS for sign in (1, -1)]
    edges += [[-(a - b)[1], (a - b)[0]] for a in KEYS for b in KEYS]  # equal scores for two
    return np.vstack([playing.points(0, 220, 4), np.array(edges, dtype=float)])


def steps(queries, keys=KEYS, values=VALUES) -> list[dict]:
    return computed(
        "query", "steps", [[np.array(part).tolist() for part in (q, keys, values)] for q in queries]
    )


def hold() -> None:
    """Scores, weights and output at every state, for the chapter's keys and for wider ones."""
    rng = np.random.default_rng(1)
    tables = [(states(), KEYS, VALUES)]
    tables += [(rng.standard_normal((6, 5)), *rng.standard_normal((2, 7, 5))) for _ in range(6)]
    for queries, keys, values in tables:
        found = steps(queries, keys, values)
        weights = numerics.attention_weights(queries, keys)
        outputs = F.scaled_dot_product_attention(*map(torch.tensor, (queries, keys, values)))
        for n, (query, got) in enumerate(zip(queries, found, strict=True)):
            scores = np.array([math.fsum(query * key) for key in keys])
            size = max(1.0, np.abs(scores).max())
            np.testing.assert_allclose(got["scores"], scores, rtol=0, atol=1e-9 * size)
            np.testing.assert_allclose(got["weights"], weights[n], rtol=0, atol=1e-9)
            np.testing.assert_allclose(got["output"], outputs[n], rtol=0, atol=1e-9)


def test_steps_are_those_of_the_oracle_and_of_torch():
    hold()


def test_outputs_stay_in_the_hull_and_zero_gives_the_mean():
    corners = np.array(GIVEN["hull"])
    assert all(inside(corners, found["output"]) for found in steps(states()))
    (nothing,) = steps([[0, 0]])
    np.testing.assert_allclose(nothing["output"], VALUES.mean(axis=0), atol=1e-12)


def share(weight: float) -> str:
    return "less than 0.01" if weight < 0.005 else fixed(weight)


def expected_sentence(q) -> str:
    """The sentence that should stand below the figure."""
    q = np.array(q, dtype=float)
    weights = numerics.attention_weights(q[None], KEYS)[0]
    scores = [math.fsum(q * key) for key in KEYS]
    output, query = (
        f"({', '.join(number(x, 2) for x in point)})" for point in (weights @ VALUES, q)
    )
    if not q.any():
        return (
            "The query is (0, 0) and asks nothing: every score is 0, every weight "
            f"{share(weights[0])}. The output is {output}, the mean of the values."
        )
    most = [t for t, weight in enumerate(weights) if weight > max(weights) - 0.005]
    least = next(t for t, weight in enumerate(weights) if weight < min(weights) + 1e-9)
    read = listed([f"“{WORDS[t]}” ({share(weights[t])})" for t in most])
    away = ": its key points away" if scores[least] < 0 else ""
    return (
        f"The query {query} is {number(np.linalg.norm(q), 2)} long and points to "
        f"{round(math.degrees(math.atan2(q[1], q[0]))) % 360}°. It reads most from {read}, least "
        f"from “{WORDS[least]}” ({share(weights[least])}, score {number(scores[least], 2)}{away}). "
        f"The output is {output}."
    )


def test_sentences():
    asked = states()
    asked = asked[np.abs(asked).max(axis=1) < 100]
    given = zip(asked.tolist(), steps(asked), strict=True)
    found = computed("query", "sentence", [[WORDS, q, got] for q, got in given])
    assert found == [expected_sentence(q) for q in asked]
    assert len(set(found)) > 200


# --- on the page ----------------------------------------------------------------------------------


def at(figure) -> np.ndarray:
    """The query, as the handle tells it to a screen reader."""
    words = figure.locator("[data-part=handle]").get_attribute("aria-valuetext")
    return np.array(playing.read(words))


def check_shown(figure) -> list[float]:
    """Sentence, table, sliders and picture are those of the query that the handle tells."""
    q = at(figure)
    (found,) = steps([q])
    assert sentence(figure) == expected_sentence(q)
    names, *shown = [row[1:] for row in playing.rows(figure)]
    assert names == WORDS
    assert shown == [
        [fixed(value) for value in found[name]] for name in ("scores", "scaled", "weights")
    ]
    values = [float(figure.locator(f'input[name="{name}"]').input_value()) for name in "xy"]
    np.testing.assert_allclose(values, q)
    star = playing.read(figure.locator("[data-part=star]").get_attribute("transform"))
    reach = 1.4 * max(np.abs(VALUES).max(), 1)
    expected = (np.array([1, -1]) * found["output"] / reach + 1) * SIDE / 2
    np.testing.assert_allclose(star, expected, atol=0.011)
    return q.tolist()


def test_it_opens_with_the_query_of_the_chapter(figure):
    assert check_shown(figure) == START


def test_the_mouse_drags_the_tip(figure):
    handle, picture = figure.locator("[data-part=handle]"), figure.locator("svg").first
    unit = picture.bounding_box()["width"] / (4 * REACH)
    playing.drag(handle, 1.5 * unit, -1.0 * unit)
    np.testing.assert_allclose(check_shown(figure), [1.5, 1.0], atol=0.11)
    playing.drag(handle, 500, 500)
    assert check_shown(figure) == [4, 4]
    figure.page.mouse.move(0, 0)
    assert at(figure).tolist() == [4, 4]


def test_a_finger_drags_the_tip(on_phone):
    before = at(on_phone)
    playing.drag_by_finger(on_phone.locator("[data-part=handle]"), 40, 60)
    assert (np.array(check_shown(on_phone)) > before + 0.5).all()


def test_arrow_keys_move_the_tip(figure):
    figure.locator("[data-part=handle]").focus()
    for key, expected in [
        ("ArrowRight", [0.1, 2]),
        ("Shift+ArrowRight", [1.1, 2]),
        ("ArrowUp", [1.1, 2.1]),
        ("Shift+ArrowDown", [1.1, 1.1]),
        ("ArrowLeft", [1, 1.1]),
    ]:
        figure.page.keyboard.press(key)
        np.testing.assert_allclose(check_shown(figure), expected, atol=1e-9)
    for _ in range(6):
        figure.page.keyboard.press("Shift+ArrowRight")
    assert check_shown(figure)[0] == MOST


def test_native_sliders_move_the_tip_and_tell_their_value(figure):
    for d, name in enumerate("xy"):
        slider = figure.locator(f'input[name="{name}"]')
        slider.focus()
        figure.page.keyboard.press("ArrowLeft")
        assert slider.get_attribute("aria-valuetext") == fixed(check_shown(figure)[d])
    np.testing.assert_allclose(at(figure), [-0.1, 1.9], atol=1e-9)


def test_buttons_and_what_length_does(figure):
    """A longer query is more decided, and none gives the mean."""

    def weights() -> list[float]:
        return [float(words) for words in playing.rows(figure)[3][1:]]

    before = weights()
    for button, expected in {
        "Twice as long": [0, 4],
        "Half as long": [0, 2],
        "Turn it round": [0, -2],
        "Ask nothing": [0, 0],
    }.items():
        press(figure, button)
        assert check_shown(figure) == expected
        if button == "Twice as long":
            assert max(weights()) > max(before) + 0.1
    assert weights() == [0.2] * 5
    assert "the mean of the values" in sentence(figure)
    press(figure, "Start again")
    assert check_shown(figure) == START
