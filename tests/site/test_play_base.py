"""What the figures that a reader moves have in common, and what holds for every one of them."""

import math
import re
from pathlib import Path

import numpy as np
import play
import playing
import pytest
from bs4 import BeautifulSoup
from looks import CLEAR
from play import figures
from playing import FIGURES

from book.paper import document
from helpers import numerics

EVERY = pytest.mark.parametrize("name", FIGURES, scope="module")


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
    attributes = [playing.number(x, 2).replace("−", "-") for x in values()]
    assert shared("at", singles) == attributes
    pairs = playing.points(1, 80, 3, 4).round(2).reshape(40, 2, 4).tolist()
    assert shared("product", pairs) == [playing.product(*pair) for pair in pairs]
    assert shared("product", [[[2, 0], [-0.9, 0.3]]]) == ["2 · (−0.9) + 0 · 0.3"]
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


# --- the pages ------------------------------------------------------------------------------------


def test_figures_are_placed_and_only_their_pages_load_scripts(html_root):
    assert set(FIGURES) == set(figures.FIGURES)
    look = (html_root / "_static" / "play.css").read_text("utf-8")
    for file in html_root.rglob("*.html"):
        where, text = file.relative_to(html_root).as_posix(), file.read_text("utf-8")
        names = re.findall(r'<figure class="play"[^>]*\sdata-play="(\w+)"', text)
        assert names == [name for name, page in FIGURES.items() if page == where]
        loaded = [
            Path(s).name.partition("?")[0]
            for s in re.findall(r'<script\b[^>]*\ssrc="([^"]+)"', text)
        ]
        scripts = [script for script in loaded if script.startswith("play")]
        assert scripts == ["play.js", *(f"play-{n}.js" for n in dict.fromkeys(names))] * bool(names)
        sheets = [file.parent / s for s in re.findall(r'href="([^":?]+\.css)', text)]
        styles = [sheet.read_text("utf-8") for sheet in sheets if sheet.is_file()]
        assert any(look in style for style in styles) == bool(names), where


@EVERY
def test_figure_without_scripts_is_what_the_script_opens_with(browser, site_url, html_root, name):
    """Without scripts it is a true figure, and with them not a mark of it changes at first."""
    live = "figure => { for (const e of figure.querySelectorAll('.play-controls')) e.remove();"
    live += " return [...figure.querySelectorAll('.play-view *')].map(e => [e.tagName, "
    live += "e.getAttribute('class'), e.getAttribute('style'), e.getAttribute('d'), "
    live += "e.getAttribute('transform'), e.children.length ? '' : e.textContent]); }"
    seen = []
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
        seen.append(figure.evaluate(live))
        context.close()
    assert seen[0] == seen[1]


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
def test_figure_works_from_a_disk_and_nothing_moves_by_itself(browser, html_root, name):
    context = browser.new_context(**playing.DESK)
    page, problems, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(request.url))
    page.on("request", lambda request: asked.append(request.url))
    figure = playing.opened(page, (html_root / FIGURES[name]).as_uri(), name)
    moving, sentences = figure.evaluate(CLICK_ALL)
    assert problems == []
    context.close()
    assert not [url for url in asked if not url.startswith((html_root.as_uri(), "data:", "blob:"))]
    assert moving == 0
    assert sentences > 1, "nothing was clicked that does anything"


NAMELESS = """figure => [...figure.querySelectorAll("input, button, [role=slider], [role=button]")]
    .filter(e => {
        const text = e.textContent.trim(), label = e.getAttribute("aria-label") ?? "";
        const parts = e.querySelector(".axes-fine") ? [...e.children] : [e];
        return !(e.labels?.length || label || text)
            || (label && !parts.every(part => label.includes(part.textContent.trim())));
    }).map(e => e.outerHTML)"""
SMALL = """figure => [...figure.querySelectorAll("button, input[type=range], label, .play-handle, "
    + "[role=grid] [tabindex], .axes-blocks .axes-cell, .mask-grid .mask-cell")]
    .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
    .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"""
GROUNDS = """figure => new Set([...figure.querySelectorAll("table *, .axes-legend *, .code-line")]
    .map(e => getComputedStyle(e).backgroundColor)).size"""
CUT = """figure => [...figure.querySelectorAll(".axes-cell, .mask-cell")]
    .filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.innerText)"""


def worst_axes(figure) -> None:
    """All numbers are lit, one is changed, results have moved."""
    for name in ("sentences (B)", "words (T)"):
        playing.press(figure, name)
    figure.locator('input[name="value"]').fill("-11")


def worst_mask(figure) -> None:
    """A row is empty, most losses cheat, and as many layers are drawn as there can be."""
    playing.press(figure, "one too far")
    figure.locator('input[name="layers"]').fill("4")
    for s in range(3):
        figure.locator(".mask-cell").nth(7 + s).click()


WORST = {"axes": worst_axes, "mask": worst_mask}


@EVERY
def test_figure_has_names_fits_and_can_be_read(browser, site_url, name):
    context = browser.new_context(**playing.DESK)
    page = context.new_page()
    figure = playing.opened(page, f"{site_url}/{FIGURES[name]}", name)
    title = figure.locator(".play-title").inner_text()
    assert page.get_by_role("group", name=title, exact=True).count() == 1
    assert figure.get_by_role("status").count() == 1
    WORST.get(name, lambda figure: None)(figure)
    assert figure.evaluate(NAMELESS) == []
    for width, scheme in ((320, "light"), (320, "dark"), (1280, "dark"), (1280, "light")):
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
    still = BeautifulSoup(playing.still_of(html_root, name), "html.parser")
    assert figure.select_one(".play-says").text == still.select_one(".play-says").text
    assert len(figure.select("svg *, table *")) == len(still.select("svg *, table *"))
    assert figure.select(".play-controls, script, noscript, [role=status]") == []
    assert "On the site" in figure.select_one(".shown").text


KEYS = {
    "plane": ("[data-part=handle-1]", "ArrowLeft"),
    "axes": ('button[name="B"]', "Space"),
    "query": ("[data-part=handle]", "ArrowRight"),
    "scores": ('[tabindex="0"]', "ArrowUp"),
    "mask": ('.mask-cell[tabindex="0"]', "Space"),
}


def two_figures(page, name: str):
    """Bring two figures of one name to life in a page without anything else."""
    page.set_content(figures.html_of(name, "one") + figures.html_of(name, "two"))
    for part in ("play.js", f"play-{name}.js"):
        page.add_script_tag(path=play.ASSETS / part)
    return page.locator("figure.play").all()


@EVERY
def test_two_figures_of_one_name_are_independent(page, name):
    """Each has its own ids, radio buttons, state and sentence, which is told after a pause."""
    page.clock.install(time=0)
    page.clock.pause_at(1)
    first, second = two_figures(page, name)
    before = second.evaluate("figure => figure.outerHTML")
    selector, key = KEYS[name]
    first.locator(selector).first.focus()
    said = first.get_by_role("status")
    for _ in range(3):
        page.keyboard.press(key)
    assert said.text_content() == ""
    page.clock.run_for(600)
    said.get_by_text(playing.sentence(first)).wait_for(state="attached")
    assert playing.sentence(first) != playing.sentence(second)
    for control in first.locator("input[type=radio], button").all():
        control.evaluate("control => control.click()")
    assert second.evaluate("figure => figure.outerHTML") == before
