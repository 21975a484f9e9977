"""The figures that a reader moves: one contract for all of them.

What each shows of random states is held to Python in Node, and what mouse, finger and keys make of
it on a page: sentence, numbers, marks. `playing_vectors` and `playing_tables` say what a state
should show.
"""

import math
import re

import numpy as np
import play
import playing
import pytest
from bs4 import BeautifulSoup
from looks import CLEAR
from play import figures
from playing import FIGURES, fill, press, seen
from playing_tables import Mask, Scores, go
from playing_vectors import Plane, Query

from book.paper import document
from helpers import numerics
from helpers.chapters.ch07_heads_masks_positions.lab import allowed

SHOULD = {"plane": Plane(), "query": Query(), "scores": Scores(), "mask": Mask()}
EVERY = pytest.mark.parametrize("name", FIGURES, scope="module")


def shows(name: str, figure, state: dict) -> None:
    """Hold a living figure to a state, soon: a tap is answered after it."""
    should = SHOULD[name]
    wanted = should.expected(state)
    for _ in range(50):
        if should.shown(seen(figure)) == wanted:
            return
        figure.page.wait_for_timeout(50)
    found = should.shown(seen(figure))
    for part in wanted:
        assert found[part] == wanted[part], part


# --- what is shown of a state ---------------------------------------------------------------------


@EVERY
def test_states_are_shown_as_python_has_them(name):
    should = SHOULD[name]
    states = should.states()
    for state, html in zip(states, playing.drawn(name, states), strict=True):
        found, wanted = should.shown(html), should.expected(state)
        for part in found:
            assert found[part] == wanted[part], (part, state)


@EVERY
@pytest.mark.parametrize("hand", ["mouse", "touch", "keyboard"])
def test_each_hand_moves_it_and_all_that_it_shows(browser, name, hand):
    """Each step is followed by sentence, numbers and marks; the last button takes it all back."""
    context = browser.new_context(**(playing.PHONE if hand == "touch" else playing.DESK))
    figure = playing.alone(context.new_page(), name)
    steps, should = 0, SHOULD[name]
    for state in should.reader(figure, hand):
        shows(name, figure, state)
        steps += 1
    assert steps > 3
    if should.back:
        button, parts = should.back
        press(figure, button)
        shows(name, figure, state | {part: should.first[part] for part in parts})
    context.close()


@pytest.mark.parametrize("name", ["scores", "mask"])
def test_each_grid_has_one_tab_stop_that_home_and_end_move(page, name):
    figure = playing.alone(page, name)
    for grid in {cell["data-grid"] for cell in seen(figure).select("[data-grid]")}:
        cells = figure.locator(f'[data-grid="{grid}"][tabindex]')
        rows, columns = map(int, cells.last.get_attribute("data-at").split(","))
        go(figure, "keyboard", grid, 1, 1)
        for key, at in [
            ("End", (1, columns)),
            ("ArrowRight", (1, columns)),
            ("Control+End", (rows, columns)),
            ("ArrowDown", (rows, columns)),
            ("Home", (rows, 0)),
            ("Control+Home", (0, 0)),
            ("ArrowLeft", (0, 0)),
        ]:
            page.keyboard.press(key)
            stops = figure.locator(f'[data-grid="{grid}"][tabindex="0"]')
            assert stops.evaluate_all("all => all.map(e => e.dataset.at)") == [f"{at[0]},{at[1]}"]
            assert stops.evaluate("e => e === document.activeElement")
        page.keyboard.press("Tab")
        assert page.locator(f'[data-grid="{grid}"]:focus').count() == 0


@EVERY
def test_what_has_changed_is_told_after_a_pause(page, name):
    page.clock.install(time=0)
    page.clock.pause_at(1)
    figure = playing.alone(page, name)
    next(SHOULD[name].reader(figure, "keyboard"))
    said = figure.get_by_role("status")
    assert said.text_content() == ""
    page.clock.run_for(600)
    assert said.text_content() == figure.locator(".play-says").text_content()


# --- numbers and arithmetic -----------------------------------------------------------------------


def values() -> list[float]:
    """Numbers of every size, ties that decimal notation cannot tell, and zeros of both signs."""
    rng = np.random.default_rng(0)
    spread = rng.standard_normal(400) * 10.0 ** rng.integers(-6, 7, 400)
    ties = [sign * n / 2**k for n in range(1, 42, 2) for k in range(1, 7) for sign in (1, -1)]
    edges = [0.0, -0.0, -0.001, 0.005, -0.005, 1.005, 99.995, -1e-12, 1e12, 2.675, 0.1 + 0.2]
    return [*spread.tolist(), *ties, *edges, *map(float, range(-12, 12))]


def shared(function: str, states: list[list]) -> list:
    """What one of the functions that all figures have gives for each list of arguments."""
    return play.evaluated("plane", f"states => states.map(s => Play.{function}(...s))", states)


def test_numbers_and_words_are_written_as_python_writes_them():
    for digits in range(5):
        states = [[x, digits] for x in values()]
        for function in ("fixed", "number"):
            wanted = [getattr(playing, function)(*state) for state in states]
            assert shared(function, states) == wanted, (function, digits)
    singles = [[x] for x in values()]
    assert shared("factor", singles) == [playing.factor(x) for x in values()]
    assert shared("at", singles) == [playing.number(x, 2).replace("−", "-") for x in values()]
    words = {"": [], "a": ["a"], "a and b": ["a", "b"], "a, b and c": ["a", "b", "c"]}
    assert shared("listed", [[w] for w in words.values()]) == list(words)
    found = shared("fixed", [[-1.5], [0.125], [0.375], [-0.004], [-0.0]])
    assert found == ["−1.50", "0.12", "0.38", "0.00", "0.00"]


def test_softmax_is_the_oracles():
    rng = np.random.default_rng(0)
    rows = [
        (rng.standard_normal(rng.integers(1, 9)) * scale).tolist()
        for scale in (0.1, 1, 10, 1e3)
        for _ in range(60)
    ]
    rows += [[0.0] * 5, [1e300, -1e300], [-745.0, -746.0], [3.0, 3.0, -math.inf]]
    for row, weights in zip(rows, shared("softmax", [[row] for row in rows]), strict=True):
        np.testing.assert_allclose(weights, numerics.softmax(np.array(row)), rtol=0, atol=1e-12)


# --- the chapters ---------------------------------------------------------------------------------


def test_names_of_masks_are_the_chapters():
    for name in ("causal", "none at all", "one too far", "only what came before"):
        np.testing.assert_array_equal(Mask.presets[name], allowed(name, 7), err_msg=name)


def test_code_of_the_score_is_the_chapters_and_its_lit_lines_compute():
    """The lines are run: as a whole they attend, and the two lit formulas give every score."""
    given, q, k = Scores.given, Scores.q, Scores.k
    lit = [Scores.code[n] for n in given["lines"]["score"]]
    assert [re.sub("<[^>]*>", "", line).strip() for line in given["code"]] == Scores.code
    space = {"np": np}
    exec("\n".join(figures.lines()), space)
    for function in ("attention_by_loops", "attention_by_matrices"):
        np.testing.assert_allclose(space[function](q, k, k), Scores.weights @ k, atol=1e-12)
    names = {"q_TD": q, "k_TD": k, "D": 2}
    scaled = [[eval(lit[1], names | {"t": t, "s": s}) for s in range(5)] for t in range(5)]
    np.testing.assert_allclose(scaled, Scores.scaled, atol=1e-12)
    exec(lit[3], names)
    np.testing.assert_allclose(names["scaled_TT"], Scores.scaled, atol=1e-12)


# --- the pages ------------------------------------------------------------------------------------


def test_figures_are_placed_and_only_their_pages_load_scripts(html_root):
    assert set(FIGURES) == set(figures.FIGURES)
    look = (html_root / "_static" / "play.css").read_text("utf-8")
    for file in html_root.rglob("*.html"):
        where, text = file.relative_to(html_root).as_posix(), file.read_text("utf-8")
        names = re.findall(r'<figure class="play"[^>]*\sdata-play="(\w+)"', text)
        assert names == [name for name, page in FIGURES.items() if page == where]
        loaded = re.findall(r'<script\b[^>]*\ssrc="[^"]*?(play[^/"?]*\.js)', text)
        assert loaded == list(dict.fromkeys(s for n in names for s in play.scripts_of(n)))
        sheets = [file.parent / s for s in re.findall(r'href="([^":?]+\.css)', text)]
        styles = [sheet.read_text("utf-8") for sheet in sheets if sheet.is_file()]
        assert any(look in style for style in styles) == bool(names), where


@EVERY
def test_figure_without_scripts_is_what_the_script_opens_with(browser, site_url, name):
    """Without scripts it is a true figure, and with them not a mark of it changes at first."""
    live = "figure => { for (const e of figure.querySelectorAll('.play-controls')) e.remove();"
    live += " return [...figure.querySelectorAll('.play-view *')].map(e => [e.tagName, "
    live += "e.getAttribute('class'), e.getAttribute('style'), e.getAttribute('d'), "
    live += "e.getAttribute('transform'), e.children.length ? '' : e.textContent]); }"
    marks = []
    for runs in (False, True):
        context = browser.new_context(java_script_enabled=runs, **playing.DESK)
        page = context.new_page()
        page.goto(f"{site_url}/{FIGURES[name]}")
        figure = page.locator(f'figure.play[data-play="{name}"]')
        assert figure.locator(".play-says").is_visible()
        assert figure.locator(".play-stage").bounding_box()["height"] > 100
        assert figure.locator(".play-scriptless").is_visible() != runs
        controls = figure.locator(".play-controls :is(input, button)").all()
        assert {control.is_visible() for control in controls} <= {runs}
        marks.append(figure.evaluate(live))
        context.close()
    assert marks[0] == marks[1]


CLICK_ALL = """figure => {
    const says = new Set(), moving = [];
    for (const e of figure.querySelectorAll("button, input, td[tabindex], [role=button]")) {
        e.click();
        says.add(figure.querySelector(".play-says").textContent);
        moving.push(document.getAnimations().length);
    }
    return [Math.max(...moving), says.size];
}"""


@EVERY
def test_figure_works_from_a_disk_and_nothing_moves_by_itself(browser, html_root, watched, name):
    context = browser.new_context(**playing.DESK)
    page = context.new_page()
    problems = watched(page, html_root.as_uri())
    figure = playing.opened(page, (html_root / FIGURES[name]).as_uri(), name)
    moving, sentences = figure.evaluate(CLICK_ALL)
    context.close()
    assert problems == []
    assert moving == 0
    assert sentences > 1, "nothing was clicked that does anything"


NAMELESS = """figure => [...figure.querySelectorAll("input, button, [role=slider], [role=button]")]
    .filter(e => {
        const text = e.textContent.trim(), label = e.getAttribute("aria-label") ?? "";
        return !(e.labels?.length || label || text)
            || (label && !label.includes(text));
    }).map(e => e.outerHTML)"""
SMALL = """figure => [...figure.querySelectorAll("button, input[type=range], label, .play-handle, "
    + "[data-grid][tabindex]:not(.mask-word)")]
    .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
    .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"""
GROUNDS = """figure => new Set([...figure.querySelectorAll("table *, .code-line")]
    .map(e => getComputedStyle(e).backgroundColor)).size"""
CUT = """figure => [...figure.querySelectorAll(".mask-cell")]
    .filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.innerText)"""


def worst(figure, name: str) -> None:
    """Bring a table to where it is fullest: all is lit, results have moved, a row is empty."""
    if name == "mask":
        press(figure, "one too far")
        fill(figure, "layers", 4)
        for s in range(3):
            go(figure, "mouse", "mask", 1, s + 1)


@EVERY
def test_figure_has_names_fits_and_can_be_read(browser, site_url, name):
    context = browser.new_context(**playing.DESK)
    page = context.new_page()
    figure = playing.opened(page, f"{site_url}/{FIGURES[name]}", name)
    title = figure.locator(".play-title").inner_text()
    assert page.get_by_role("group", name=title, exact=True).count() == 1
    assert figure.get_by_role("status").count() == 1
    worst(figure, name)
    assert figure.evaluate(NAMELESS) == []
    for width, scheme in ((320, "light"), (390, "dark"), (1280, "dark"), (1280, "light")):
        playing.show_in(page, width, scheme)
        assert page.evaluate(playing.WIDE) == [width, []]
        assert page.evaluate(CLEAR, f'[data-play="{name}"]') == []
        assert figure.evaluate(SMALL) == []
        assert figure.evaluate(CUT) == []
    grounds = figure.evaluate(GROUNDS)
    page.emulate_media(forced_colors="active")
    assert figure.evaluate(GROUNDS) == grounds, "what colours tell, where colours are forced"
    context.close()


@EVERY
def test_figure_on_paper(html_root, name):
    """Its picture and sentence stay; what one would press or drag goes."""
    html = (html_root / FIGURES[name]).read_text("utf-8")
    article = document.Page(html, {"file": FIGURES[name].removesuffix(".html")}, []).article
    figure = article.select_one(f'figure[data-play="{name}"]')
    still = BeautifulSoup(html, "html.parser").select_one(f'figure[data-play="{name}"]')
    assert figure.select_one(".play-says").text == still.select_one(".play-says").text
    assert len(figure.select("svg *, table *")) == len(still.select("svg *, table *"))
    assert figure.select(".play-controls, script, noscript, [role=status]") == []
    assert "On the site" in figure.select_one(".shown").text
