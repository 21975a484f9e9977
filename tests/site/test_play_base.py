"""What the figures that a reader moves have in common, and what holds for every one of them."""

import math
import re
from pathlib import Path

import numpy as np
import play
import playing
import pytest
from book_play import PLACES
from bs4 import BeautifulSoup
from chapters import ROOT
from test_pages import CONTRAST, WIDE

from book.paper import document
from helpers import numerics

FIGURES = [(f"{where}.html", name) for where, places in PLACES.items() for _, name in places]
EVERY = pytest.mark.parametrize(("where", "name"), FIGURES, scope="module")


# --- numbers and arithmetic -----------------------------------------------------------------------


def values() -> list[float]:
    """Numbers of every size, ties that decimal notation cannot tell, and zeros of both signs."""
    rng = np.random.default_rng(0)
    spread = rng.standard_normal(400) * 10.0 ** rng.integers(-6, 7, 400)
    ties = [sign * n / 2**k for n in range(1, 42, 2) for k in range(1, 7) for sign in (1, -1)]
    edges = [0.0, -0.0, -0.001, 0.005, -0.005, 1.005, 99.995, -1e-12, 1e12, 2.675, 0.1 + 0.2]
    return [*spread.tolist(), *ties, *edges, *map(float, range(-12, 12))]


def in_page(page, function: str, states: list[list]) -> list:
    return page.evaluate("([f, states]) => states.map(s => Play[f](...s))", [function, states])


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 4])
def test_numbers_are_written_as_python_writes_them(page, digits):
    playing.load(page)
    states = [[x, digits] for x in values()]
    assert in_page(page, "fixed", states) == [play.fixed(x, digits) for x, _ in states]
    assert in_page(page, "number", states) == [play.number(x, digits) for x, _ in states]


def test_attributes_and_factors_are_written_as_python_writes_them(page):
    playing.load(page)
    for function in ("at", "factor"):
        found = in_page(page, function, [[x] for x in values()])
        assert found == [getattr(play, function)(x) for x in values()]


@pytest.mark.parametrize(
    ("value", "written"),
    [(-1.5, "−1.50"), (0.125, "0.12"), (0.375, "0.38"), (-0.004, "0.00"), (-0.0, "0.00")],
)
def test_fixed(value, written):
    assert play.fixed(value) == written


def test_a_product_is_written_as_the_chapter_prints_it(page):
    playing.load(page)
    assert play.product([2, 0], [-0.9, 0.3]) == "2 · (−0.9) + 0 · 0.3"
    pairs = playing.points(1, 80, 3, 4).round(2).reshape(40, 2, 4).tolist()
    assert in_page(page, "product", pairs) == [play.product(a, b) for a, b in pairs]


def test_words_are_listed(page):
    playing.load(page)
    words = {"": [], "a": ["a"], "a and b": ["a", "b"], "a, b and c": ["a", "b", "c"]}
    assert in_page(page, "listed", [[w] for w in words.values()]) == list(words)
    assert [play.listed(w) for w in words.values()] == list(words)


def test_softmax_is_the_oracles(page):
    playing.load(page)
    rng = np.random.default_rng(0)
    rows = [(rng.standard_normal(rng.integers(1, 9)) * scale).tolist()
            for scale in (0.1, 1, 10, 1e3) for _ in range(60)]  # fmt: skip
    rows += [[0.0] * 5, [1e300, -1e300], [-745.0, -746.0], [3.0, 3.0, -math.inf]]
    found = page.evaluate(
        "rows => rows.map(row => Play.softmax(row.map(x => x ?? -Infinity)))",
        [[None if x == -math.inf else x for x in row] for row in rows],
    )
    for row, weights in zip(rows, found, strict=True):
        np.testing.assert_allclose(weights, numerics.softmax(np.array(row)), rtol=0, atol=1e-12)


def test_points_snap_and_stay_inside(page):
    playing.load(page)
    states = [[0.3000000001, 0.1], [-0.04, 0.1], [1.25, 0.5], [7.0, 1.0]]
    found = in_page(page, "snap", states)
    assert found == [0.3, 0, 1.5, 7]
    assert not any(math.copysign(1, x) < 0 for x in found)
    assert in_page(page, "clamp", [[5, -1, 2], [-5, -1, 2], [1, -1, 2]]) == [2, -1, 1]


def test_the_plane_is_one_in_both_languages(page):
    playing.load(page)
    for reach, side, middle in ((2.1, 300, 0), (7.5, 360, 2.0)):
        plane = play.Plane(reach, side, middle)
        for a, b in playing.points(0, 30, reach).tolist():
            found = page.evaluate(
                """([reach, side, middle, a, b]) => {
                    const plane = Play.plane({ reach, side, middle });
                    const way = plane.through([a, b]), none = plane.through([0, 0]);
                    return [plane.x(a), plane.y(b), plane.points([[a, b], [b, a]]), way, none];
                }""",
                [reach, side, middle, a, b],
            )
            assert found[:2] == pytest.approx([plane.x(a), plane.y(b)], abs=1e-9)
            assert found[2] == plane.points([(a, b), (b, a)])
            np.testing.assert_allclose(found[3], plane.through((a, b)), atol=1e-9)
            assert found[4] == plane.through((0, 0)) == [[0, 0], [0, 0]]


@pytest.mark.parametrize("plane", [play.Plane(2.1, 300), play.Plane(7.5, 360, 2.0)])
def test_a_line_through_the_origin_ends_at_the_edge(plane):
    low, high = plane.middle - plane.reach, plane.middle + plane.reach
    for way in [*playing.points(0, 60, 1), (1, 0), (0, -3), (-1e-9, 1)]:
        ends = np.array(plane.through(way))
        assert ends.min() >= low - 1e-9
        assert ends.max() <= high + 1e-9
        assert (np.isclose(ends, low) | np.isclose(ends, high)).any(axis=1).all()
        np.testing.assert_allclose(ends[:, 0] * way[1] - ends[:, 1] * way[0], 0, atol=1e-9)
        assert ends[0] @ way < 0 < ends[1] @ way


# --- Python's side --------------------------------------------------------------------------------


def test_an_element_is_written():
    assert play.tag("line", x1=2.5, y2=-0.001, class_="a", data_part="b", hidden=True, x=None) == (
        '<line x1="2.5" y2="0" class="a" data-part="b" hidden></line>'
    )
    assert play.tag("p", "<b>x</b>", title='"<"') == '<p title="&quot;&lt;&quot;"><b>x</b></p>'


def test_what_a_cell_assigns_is_read_from_it():
    words, keys = play.from_cell("notebooks/05_attention_by_hand", "code-005", "words", "keys")
    assert words[0] == "fox"
    assert keys.shape == (5, 2)
    for cell, name in (("code-005", "nothing"), ("nowhere", "words")):
        with pytest.raises(KeyError):
            play.from_cell("notebooks/05_attention_by_hand", cell, name)


def test_data_cannot_end_its_script():
    html = play.figure("x", "i", title="t", stage="", says="s", data={"a": "</script><b>"})
    script = BeautifulSoup(html, "html.parser").select_one("script.play-data")
    assert "<" not in script.string
    assert not BeautifulSoup(html, "html.parser").select("b")


# --- the pages ------------------------------------------------------------------------------------


def test_figures_stand_where_they_are_placed_and_only_their_pages_load_scripts(html_root):
    assert FIGURES
    wanted = {where: [name for _, name in places] for where, places in PLACES.items()}
    for file in html_root.rglob("*.html"):
        where, text = file.relative_to(html_root).as_posix(), file.read_text("utf-8")
        names = re.findall(r'<figure class="play"[^>]*\sdata-play="(\w+)"', text)
        if where.removesuffix(".html") in wanted:
            assert names == wanted[where.removesuffix(".html")]
        loaded = [Path(s).name.partition("?")[0]
                  for s in re.findall(r'<script\b[^>]*\ssrc="([^"]+)"', text)]  # fmt: skip
        scripts = [script for script in loaded if script.startswith("play")]
        assert scripts == ["play.js", *(f"play-{n}.js" for n in dict.fromkeys(names))] * bool(names)
        assert ("/play.css" in text) == bool(names), where


@pytest.fixture(scope="module")
def unmoved(browser, site_url, where, name):
    """Give a figure whose page is opened once, for tests that do not move it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    yield playing.opened(context.new_page(), f"{site_url}/{where}", name)
    context.close()


@EVERY
def test_script_draws_at_first_what_python_has_drawn(unmoved, html_root, where, name):
    live = unmoved.evaluate("figure => figure.outerHTML")
    assert playing.differences(playing.still_of(html_root, where, name), live) == []


@EVERY
def test_figure_is_a_true_one_where_no_script_runs(browser, site_url, where, name):
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{site_url}/{where}")
        figure = page.locator(f'figure.play[data-play="{name}"]')
        assert figure.locator(".play-says").is_visible()
        assert figure.locator(".play-stage").bounding_box()["height"] > 100
        assert figure.locator(".play-scriptless").is_visible()
        for control in figure.locator(".play-controls :is(input, button)").all():
            assert not control.is_visible()
    finally:
        context.close()


@EVERY
def test_figure_has_a_name_and_each_control_one(unmoved, where, name):
    title = unmoved.locator(".play-title").inner_text()
    assert unmoved.page.get_by_role("group", name=title, exact=True).count() == 1
    assert unmoved.get_by_role("status").count() == 1
    for control in unmoved.locator("input, button, select, [role=slider]").all():
        assert control.evaluate(
            "c => c.labels?.length || c.textContent.trim() || c.getAttribute('aria-label')"
        )


@EVERY
def test_figure_works_from_a_disk(page, html_root, where, name):
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(request.url))
    figure = playing.opened(page, (html_root / where).as_uri(), name)
    assert figure.locator(".play-says").is_visible()
    assert problems == []


@EVERY
@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (320, "light"), (1280, "dark")])
def test_figure_fits_and_can_be_read(unmoved, where, name, width, scheme):
    playing.show_in(unmoved.page, width, scheme)
    wide, beyond = unmoved.page.evaluate(WIDE)
    assert (wide, beyond) == (width, [])
    words = "figure.play :is(p, label, legend, button, caption, th, td, span, sub, output, text)"
    assert unmoved.page.evaluate(CONTRAST, words) == []


@EVERY
def test_what_is_pressed_is_large_enough(unmoved, where, name):
    playing.show_in(unmoved.page, 320, "light")
    small = unmoved.evaluate(
        """figure => [...figure.querySelectorAll(
            "button, input[type=range], label, .play-handle, [role=grid] [tabindex]")]
            .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
            .filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html)"""
    )
    assert small == []


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
def test_nothing_moves_by_itself_where_motion_is_reduced(page, site_url, where, name):
    page.emulate_media(reduced_motion="reduce")
    figure = playing.opened(page, f"{site_url}/{where}", name)
    moving, sentences = figure.evaluate(CLICK_ALL)
    assert moving == 0
    assert sentences > 1, "nothing was clicked that does anything"


@EVERY
def test_figure_on_paper(html_root, where, name):
    """Its picture and sentence stay; what one would press or drag goes."""
    entry = document.Entry(where.removesuffix(".html"), "")
    html = (html_root / where).read_text("utf-8")
    article = document.Maker(html, entry, [entry.docname]).make().article
    figure = article.select_one(f'figure.play[data-play="{name}"]')
    still = BeautifulSoup(playing.still_of(html_root, where, name), "html.parser")
    assert figure.select_one(".play-says").text == still.select_one(".play-says").text
    assert len(figure.select("svg *, table *")) == len(still.select("svg *, table *"))
    assert figure.select(".play-controls, script, noscript, [role=status]") == []
    assert "On the site" in figure.select_one(".shown").text


def test_two_figures_of_one_name_are_independent(page):
    """Each has its own ids, groups of radio buttons and state."""
    from play import plane

    playing.load(page)
    page.evaluate("html => document.body.innerHTML = html", plane.drawn("one") + plane.drawn("two"))
    page.add_script_tag(content=(ROOT / "book/_assets/play-plane.js").read_text("utf-8"))
    first, second = page.locator("figure.play").all()
    before = second.evaluate("figure => figure.outerHTML")
    first.get_by_role("radio").first.check()
    first.get_by_role("button").first.click()
    assert second.evaluate("figure => figure.outerHTML") == before
    assert first.locator(".play-says").inner_text() != second.locator(".play-says").inner_text()
