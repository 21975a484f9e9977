"""One score taken apart, in chapter 05: each of the 25, what lights up with it, and its code."""

import re

import numpy as np
import playing
import pytest
import torch
from play import number, source_of
from play import scores as figure_of

from helpers.attention import attention_steps

WHERE = "notebooks/05_attention_by_hand.html"
NUMBERS = figure_of.given()
WORDS, QUERIES, KEYS = NUMBERS["words"], NUMBERS["queries"], NUMBERS["keys"]
FOUND = figure_of.computed(QUERIES, KEYS)
CELLS = [(t, s) for t in range(5) for s in range(5)]


def hold(page) -> None:
    """Scores, scaled scores and weights of the chapter and of other shapes are attention_steps'."""
    rng = np.random.default_rng(0)
    cases = [(QUERIES, KEYS), (0 * QUERIES, KEYS), (1e4 * QUERIES, KEYS), (QUERIES, -KEYS)]
    for _ in range(60):
        T, D = rng.integers(1, 7, 2)
        cases.append((rng.standard_normal((T + 1, D)) * 3, rng.standard_normal((T, D))))
    found = playing.computed(page, "scores", "all", [[q.tolist(), k.tolist()] for q, k in cases])
    for (queries, keys), got in zip(cases, found, strict=True):
        q, k = torch.tensor(queries), torch.tensor(keys)
        steps = attention_steps(q, k, torch.zeros(len(keys), 1, dtype=torch.float64))
        for name in ("scores", "scaled", "weights"):
            expected = getattr(steps, name).numpy()
            size = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(got[name], expected, rtol=0, atol=1e-9 * size)


def test_all_scores_are_those_of_the_helpers(page):
    playing.load(page, "scores")
    hold(page)
    for name in ("scores", "scaled", "weights"):
        steps = attention_steps(*map(torch.tensor, (QUERIES, KEYS, KEYS)))
        np.testing.assert_allclose(FOUND[name], getattr(steps, name), atol=1e-12)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("score / Math.sqrt(keys[0].length)", "score"),
        ("Math.sqrt(keys[0].length)));", "keys[0].length));"),
        ("weights: scaled.map(softmax)",
         "weights: scaled.map((row, t) => row.map((_, s) => softmax(scaled.map((r) => r[s]))[t]))"),
        ("queries.map((query) => keys.map((key) => dot(query, key)))",
         "keys.map((key) => queries.map((query) => dot(query, key)))"),
    ],
)  # fmt: skip
def test_mistakes_that_people_make_are_found(page, right, wrong):
    playing.load(page, "scores", (right, wrong))
    with pytest.raises((AssertionError, TypeError)):
        hold(page)


def test_what_is_said_is_pythons_for_every_cell(page):
    playing.load(page, "scores")
    data = {"words": WORDS, "queries": QUERIES.tolist(), "keys": KEYS.tolist()}
    found = page.evaluate(
        """data => {
            const { all, ofScore, ofRow, notes } = Play.compute.scores;
            const found = all(data.queries, data.keys), told = {};
            data.words.forEach((_, t) => data.words.forEach((_, s) => (told[`${t} ${s}`] = [
                ofScore(data, found, t, s), ofRow(data, found, t), notes(data, found, t, s)])));
            return told;
        }""",
        data,
    )
    for t, s in CELLS:
        of_score, of_row, notes = found[f"{t} {s}"]
        assert of_score == figure_of.of_score(NUMBERS, FOUND, t, s)
        assert of_row == figure_of.of_row(NUMBERS, FOUND, t)
        assert notes == figure_of.notes(NUMBERS, FOUND, t, s)
        assert of_row.endswith("sum to 1.")


# --- the code -------------------------------------------------------------------------------------


def test_code_is_that_of_the_chapter_and_the_lit_lines_compute(html_root):
    code = figure_of.lines()
    assert "\n".join(code).startswith(source_of(figure_of.CHAPTER, figure_of.LOOPS).rstrip())
    lit = [code[n].strip() for n in figure_of.found_in(code, figure_of.OF_A_SCORE)]
    assert lit[1] == "sum(q_TD[t, d] * k_TD[s, d] for d in range(D)) / D**0.5"
    assert lit[3] == "scaled_TT = q_TD @ k_TD.T / q_TD.shape[1] ** 0.5"
    space = {"np": np}
    exec("\n".join(code), space)
    for function in ("attention_by_loops", "attention_by_matrices"):
        output = space[function](QUERIES, KEYS, KEYS)
        np.testing.assert_allclose(output, FOUND["weights"] @ KEYS, atol=1e-12)
    scaled = [[eval(lit[1], {"q_TD": QUERIES, "k_TD": KEYS, "D": 2, "t": t, "s": s})
               for s in range(5)] for t in range(5)]  # fmt: skip
    np.testing.assert_allclose(scaled, FOUND["scaled"], atol=1e-12)


def test_a_line_that_is_gone_is_missed():
    with pytest.raises(ValueError, match="begins with 'sum"):
        figure_of.found_in(["for t in range(3):"], figure_of.OF_A_SCORE)


# --- on the page ----------------------------------------------------------------------------------


@pytest.fixture
def figure(page, site_url):
    return playing.opened(page, f"{site_url}/{WHERE}", "scores")


def lit(figure) -> set[str]:
    return set(figure.evaluate(
        "f => [...f.querySelectorAll('.lit')].map(e => e.dataset.part)"))  # fmt: skip


def of_code(names: set[str]) -> list[str]:
    code = figure_of.lines()
    numbers = sorted(int(name.partition("-")[2]) for name in names if name.startswith("line-"))
    return [code[n].strip() for n in numbers]


def check_shown(figure, t: int, s: int) -> None:
    """One score is lit, with the row and the column, the sum and the lines that make it."""
    names = lit(figure)
    table = {name for name in names if not name.startswith("line-")}
    assert table == {
        f"score-{t}-{s}", f"row-{t}", f"column-{s}", f"query-{t}-0", f"query-{t}-1",
        f"key-{s}-0", f"key-{s}-1",
    }  # fmt: skip
    assert [line[:8] for line in of_code(names)] == [
        "for t in", "sum(q_TD", "for s in", "scaled_T"
    ]  # fmt: skip
    assert playing.sentence(figure) == figure_of.of_score(NUMBERS, FOUND, t, s)
    written = " ".join(figure.locator(".scores-sum").inner_text().split())
    products = figure_of.play.product(QUERIES[t], KEYS[s])
    assert written.endswith(f"= {products} = {number(FOUND['scores'][t][s])}")
    notes = figure_of.notes(NUMBERS, FOUND, t, s)
    for name in ("t", "s", "sum"):
        note = figure.locator(f"[data-part=note-{name}]")
        assert (note.is_visible(), note.inner_text()) == (True, notes[name])


def cell(figure, t: int, s: int):
    return figure.locator(f"[data-part=score-{t}-{s}]")


def test_the_table_is_q_and_k_and_their_product(figure):
    shown = playing.rows(figure, "table")
    keys = np.array([playing.read(" ".join(row[1:])) for row in shown[1:3]]).T
    body = [playing.read(" ".join(row[1:])) for row in shown[4:]]
    queries, scores = np.array(body)[:, :2], np.array(body)[:, 2:]
    np.testing.assert_allclose(keys, KEYS)
    np.testing.assert_allclose(queries, QUERIES)
    np.testing.assert_allclose(scores, queries @ keys.T, atol=5e-4)
    assert [row[0] for row in shown[4:]] == shown[0][1:] == WORDS


def test_it_is_a_table_with_headers(figure):
    table = figure.locator("table")
    assert table.get_attribute("role") == "grid"
    assert table.locator("thead th[scope=col]").count() == 5 + 1 + 2
    assert table.locator("tbody th[scope=row]").count() == 5
    assert table.locator('[tabindex="0"]').count() == 1


@pytest.mark.parametrize(("t", "s"), CELLS[::3])
def test_a_mouse_lights_and_leaving_brings_the_chosen_back(page, figure, t, s):
    check_shown(figure, 4, 2)
    cell(figure, t, s).hover()
    check_shown(figure, t, s)
    figure.locator(".play-title").hover()
    check_shown(figure, 4, 2)
    cell(figure, t, s).click()
    figure.locator(".play-title").hover()
    check_shown(figure, t, s)


def test_a_tap_chooses(browser, site_url):
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    try:
        figure = playing.opened(context.new_page(), f"{site_url}/{WHERE}", "scores")
        cell(figure, 1, 3).tap()
        check_shown(figure, 1, 3)
    finally:
        context.close()


def test_arrow_keys_walk_the_scores_from_one_tab_stop(page, figure):
    cell(figure, 4, 2).focus()
    check_shown(figure, 4, 2)
    for key, (t, s) in [
        ("ArrowUp", (3, 2)), ("ArrowRight", (3, 3)), ("End", (3, 4)), ("ArrowRight", (3, 4)),
        ("Control+End", (4, 4)), ("ArrowDown", (4, 4)), ("ArrowLeft", (4, 3)),
    ]:  # fmt: skip
        page.keyboard.press(key)
        check_shown(figure, t, s)
        focused = page.evaluate("document.activeElement.dataset.part")
        assert focused == f"score-{t}-{s}"
        assert figure.locator('table [tabindex="0"]').count() == 1
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.matches('table *')")


def test_a_word_at_the_left_lights_its_row_and_the_softmax(page, figure):
    figure.locator("[data-part=row-1]").click()
    names = lit(figure)
    assert {f"score-1-{s}" for s in range(5)} <= names
    assert {f"key-{s}-{d}" for s in range(5) for d in range(2)} <= names
    assert not {f"score-{t}-{s}" for t, s in CELLS if t != 1} & names
    lines = of_code(names)
    assert "weights = powers / powers.sum()" in lines
    assert not any(line.startswith("sum(") for line in lines)
    assert playing.sentence(figure) == figure_of.of_row(NUMBERS, FOUND, 1)
    note = figure.locator("[data-part=note-weights]")
    assert [float(x) for x in note.inner_text().split(", ")] == pytest.approx(
        FOUND["weights"][1], abs=5e-4
    )
    assert not figure.locator(".scores-sum").is_visible()
    page.keyboard.press("ArrowRight")
    check_shown(figure, 1, 0)


def test_a_screen_reader_is_told_of_the_chosen_score(figure):
    cell(figure, 0, 0).focus()
    assert cell(figure, 0, 0).get_attribute("aria-selected") == "true"
    assert figure.locator("[aria-selected]").count() == 1
    figure.get_by_role("status").get_by_text(playing.sentence(figure)).wait_for(state="attached")


def test_shade_grows_with_the_score(figure):
    heat = [
        float(re.search(r"--heat: *([\d.]+)", cell(figure, t, s).get_attribute("style"))[1])
        for t, s in CELLS
    ]
    scores = [FOUND["scores"][t][s] for t, s in CELLS]
    assert np.corrcoef(heat, scores)[0, 1] == pytest.approx(1, abs=1e-3)
    assert (min(heat), max(heat)) == (0, 1)
