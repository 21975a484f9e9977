"""One score taken apart, in chapter 05: each of the 25, what lights up with it, and its code."""

import re

import numpy as np
import playing
import pytest
import torch
from play import figures
from playing import computed, number, product, sentence

from helpers.attention import attention_steps

GIVEN = figures.scores()
WORDS, QUERIES, KEYS = GIVEN["words"], np.array(GIVEN["queries"]), np.array(GIVEN["keys"])
CODE = [line.strip() for line in figures.lines()]
CELLS = [(t, s) for t in range(5) for s in range(5)]
opened_once, figure, on_phone = playing.fixtures("scores")


def steps(queries, keys):
    """Scores, scaled scores and weights by the helpers."""
    nothing = torch.zeros(len(keys), 1, dtype=torch.float64)
    return attention_steps(torch.tensor(queries), torch.tensor(keys), nothing)


FOUND = {
    name: getattr(steps(QUERIES, KEYS), name).numpy() for name in ("scores", "scaled", "weights")
}


def hold() -> None:
    """Scores, scaled scores and weights of the chapter and of other shapes are attention_steps'."""
    rng = np.random.default_rng(0)
    cases = [(QUERIES, KEYS), (0 * QUERIES, KEYS), (1e4 * QUERIES, KEYS), (QUERIES, -KEYS)]
    for _ in range(60):
        T, D = rng.integers(1, 7, 2)
        cases.append((rng.standard_normal((T + 1, D)) * 3, rng.standard_normal((T, D))))
    found = computed("scores", "all", [[q.tolist(), k.tolist()] for q, k in cases])
    for case, got in zip(cases, found, strict=True):
        for name in FOUND:
            expected = getattr(steps(*case), name).numpy()
            size = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(got[name], expected, rtol=0, atol=1e-9 * size)


def test_all_scores_are_those_of_the_helpers():
    hold()


def of_score(t: int, s: int) -> str:
    """The sentence that should stand below a score."""
    score, scaled, weight = (number(part[t, s]) for part in FOUND.values())
    return (
        f"What “{WORDS[t]}” asks of “{WORDS[s]}”: its row of Q times the other’s column of Kᵀ, "
        f"{product(QUERIES[t], KEYS[s])} = {score}. Divided by √2 that is {scaled}, of which "
        f"softmax along the row makes the weight {weight}."
    )


def of_row(t: int) -> str:
    """The sentence that should stand below a row of scores."""
    weights = [f"“{w}” {number(x)}" for w, x in zip(WORDS, FOUND["weights"][t], strict=True)]
    return (
        f"All that “{WORDS[t]}” asks: the scores of its row, divided by √2, go through softmax "
        f"together and become its weights, {playing.listed(weights)}. They sum to 1."
    )


def notes(t: int, s: int) -> dict[str, str]:
    """What should stand behind the lines of code."""
    return {
        "t": f"t = {t}: {WORDS[t]}",
        "s": f"s = {s}: {WORDS[s]}",
        "sum": f"{number(FOUND['scores'][t, s])} / 1.414 = {number(FOUND['scaled'][t, s])}",
        "weights": ", ".join(number(weight) for weight in FOUND["weights"][t]),
    }


def test_what_is_said_of_every_score_and_row():
    (found,) = computed("scores", "all", [[GIVEN["queries"], GIVEN["keys"]]])
    asked = [[GIVEN, found, t, s] for t, s in CELLS]
    assert computed("scores", "ofScore", asked) == [of_score(t, s) for t, s in CELLS]
    assert computed("scores", "ofRow", asked) == [of_row(t) for t, _ in CELLS]
    assert computed("scores", "notes", asked) == [notes(t, s) for t, s in CELLS]


# --- the code -------------------------------------------------------------------------------------


def test_code_is_that_of_the_chapter_and_the_lit_lines_compute():
    code = figures.lines()
    lit = [CODE[n] for n in GIVEN["lines"]["score"]]
    assert lit[1] == "sum(q_TD[t, d] * k_TD[s, d] for d in range(D)) / D**0.5"
    assert lit[3] == "scaled_TT = q_TD @ k_TD.T / q_TD.shape[1] ** 0.5"
    assert [re.sub("<[^>]*>", "", line).strip() for line in GIVEN["code"]] == CODE
    space = {"np": np}
    exec("\n".join(code), space)
    for function in ("attention_by_loops", "attention_by_matrices"):
        output = space[function](QUERIES, KEYS, KEYS)
        np.testing.assert_allclose(output, FOUND["weights"] @ KEYS, atol=1e-12)
    scaled = [
        [eval(lit[1], {"q_TD": QUERIES, "k_TD": KEYS, "D": 2, "t": t, "s": s}) for s in range(5)]
        for t in range(5)
    ]
    np.testing.assert_allclose(scaled, FOUND["scaled"], atol=1e-12)
    with pytest.raises(ValueError, match="begins with 'sum"):
        figures.found_in(["for t in range(3):"], figures.OF_A_SCORE)


# --- on the page ----------------------------------------------------------------------------------


def lit(figure) -> set[str]:
    return set(figure.evaluate("f => [...f.querySelectorAll('.lit')].map(e => e.dataset.part)"))


def of_code(names: set[str]) -> list[str]:
    numbers = sorted(int(name.partition("-")[2]) for name in names if name.startswith("line-"))
    return [CODE[n] for n in numbers]


def check_shown(figure, t: int, s: int) -> None:
    """One score is lit, with the row and the column, the sum and the lines that make it."""
    names = lit(figure)
    table = {name for name in names if not name.startswith("line-")}
    assert table == {
        f"score-{t}-{s}",
        f"row-{t}",
        f"column-{s}",
        f"query-{t}-0",
        f"query-{t}-1",
        f"key-{s}-0",
        f"key-{s}-1",
    }
    assert [line[:8] for line in of_code(names)] == ["for t in", "sum(q_TD", "for s in", "scaled_T"]
    assert sentence(figure) == of_score(t, s)
    written = " ".join(figure.locator(".scores-sum").inner_text().split())
    products = product(QUERIES[t], KEYS[s])
    assert written.endswith(f"= {products} = {number(FOUND['scores'][t, s])}")
    said = notes(t, s)
    for name in ("t", "s", "sum"):
        note = figure.locator(f"[data-part=note-{name}]")
        assert (note.is_visible(), note.inner_text()) == (True, said[name])


def cell(figure, t: int, s: int):
    return figure.locator(f"[data-part=score-{t}-{s}]")


def test_the_table_is_q_and_k_and_their_product_under_headers(figure):
    shown = playing.rows(figure, "table")
    keys = np.array([playing.read(" ".join(row[1:])) for row in shown[1:3]]).T
    body = [playing.read(" ".join(row[1:])) for row in shown[4:]]
    queries, scores = np.array(body)[:, :2], np.array(body)[:, 2:]
    np.testing.assert_allclose(keys, KEYS)
    np.testing.assert_allclose(queries, QUERIES)
    np.testing.assert_allclose(scores, queries @ keys.T, atol=5e-4)
    assert [row[0] for row in shown[4:]] == shown[0][1:] == WORDS
    table = figure.locator("table")
    assert table.get_attribute("role") == "grid"
    assert table.locator("thead th[scope=col]").count() == 5 + 1 + 2
    assert table.locator("tbody th[scope=row]").count() == 5
    assert table.locator('[tabindex="0"]').count() == 1


def test_a_mouse_lights_and_leaving_brings_the_chosen_back(figure):
    chosen = (4, 2)
    for at in CELLS[::3]:
        check_shown(figure, *chosen)
        cell(figure, *at).hover()
        check_shown(figure, *at)
        figure.locator(".play-title").hover()
        check_shown(figure, *chosen)
        cell(figure, *at).click()
        figure.locator(".play-title").hover()
        chosen = at


def test_a_tap_chooses(on_phone):
    cell(on_phone, 1, 3).tap()
    on_phone.locator('[data-part="score-1-3"][aria-selected]').wait_for()
    check_shown(on_phone, 1, 3)
    chosen = on_phone.locator("[aria-selected]")
    assert chosen.evaluate_all("all => all.map(e => e.dataset.part)") == ["score-1-3"]


def test_arrow_keys_walk_the_scores_from_one_tab_stop(figure):
    cell(figure, 4, 2).focus()
    check_shown(figure, 4, 2)
    for key, (t, s) in [
        ("ArrowUp", (3, 2)),
        ("ArrowRight", (3, 3)),
        ("End", (3, 4)),
        ("ArrowRight", (3, 4)),
        ("Control+End", (4, 4)),
        ("ArrowDown", (4, 4)),
        ("ArrowLeft", (4, 3)),
    ]:
        figure.page.keyboard.press(key)
        check_shown(figure, t, s)
        focused = figure.page.evaluate("document.activeElement.dataset.part")
        assert focused == f"score-{t}-{s}"
        assert figure.locator('table [tabindex="0"]').count() == 1
    figure.page.keyboard.press("Tab")
    assert not figure.page.evaluate("document.activeElement.matches('table *')")


def test_a_word_at_the_left_lights_its_row_and_the_softmax(figure):
    figure.locator("[data-part=row-1]").click()
    names = lit(figure)
    assert {f"score-1-{s}" for s in range(5)} <= names
    assert {f"key-{s}-{d}" for s in range(5) for d in range(2)} <= names
    assert not {f"score-{t}-{s}" for t, s in CELLS if t != 1} & names
    lines = of_code(names)
    assert "weights = powers / powers.sum()" in lines
    assert not any(line.startswith("sum(") for line in lines)
    assert sentence(figure) == of_row(1)
    note = figure.locator("[data-part=note-weights]")
    assert [float(x) for x in note.inner_text().split(", ")] == pytest.approx(
        FOUND["weights"][1], abs=5e-4
    )
    assert not figure.locator(".scores-sum").is_visible()
    figure.page.keyboard.press("ArrowRight")
    check_shown(figure, 1, 0)
