"""Figures in light and dark, on a telephone, and large."""

import re
from pathlib import Path

import pytest
from postprocess import explorers, figures


def light_of(colour: str) -> float:
    ones = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in ones)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((light_of(one), light_of(other)))
    return (high + 0.05) / (low + 0.05)


# --- light and dark -------------------------------------------------------------------------------


def drawn(html_root) -> list[Path]:
    found = {
        (page.parent / source).resolve()
        for page in html_root.glob("notebooks/*.html")
        for source in re.findall(r'<img\b[^>]*src="([^"]*\.svg)"', page.read_text("utf-8"))
    }
    assert len(found) > 40
    return sorted(found)


@pytest.mark.parametrize("mode", [0, 1])
def test_text_and_lines_can_be_read_in_both_modes(html_root, mode):
    """Of every colour that a picture has from the page; what is fainter only guides the eye."""
    for file in drawn(html_root):
        svg = file.read_text("utf-8")
        assert svg.count(figures.MARK) == 1, file
        tables = re.findall(r":root\{([^}]*)\}", svg)
        inks = dict(re.findall(r"--c(\w{6}):(#\w{6})", tables[mode]))
        ground = figures.GROUND[mode]
        texts = set(re.findall(r"<(?:g|text)\b[^>]*fill: ?var\(--c(\w{6})\)", svg)) | {"000000"}
        for name in texts - {"ffffff"}:
            assert contrast(inks[name], ground) >= 4.5, (file.name, name)
        for name in set(re.findall(r"stroke: ?var\(--c(\w{6})\)", svg)):
            guide = light_of(f"#{name}") > light_of("#969696") and f"#{name}" not in figures.INKS
            assert guide or contrast(inks[name], ground) >= 3, (file.name, name)


def test_heat_maps_and_pale_areas_follow_the_dark(html_root):
    maps = 0
    for svg in (file.read_text("utf-8") for file in drawn(html_root)):
        maps += "<image" in svg
        assert svg.count("<image") == svg.count('<image class="map"')
        assert re.search(r"dark\)\{.*?\.map\{filter:invert", svg)
        _, dark = (
            dict(re.findall(r"(--c\w{6}):(#\w{6})", table))
            for table in re.findall(r":root\{([^}]*)\}", svg)
        )
        for area in re.findall(r"<path [^>]*fill: ?(?:var\()?(--c\w{6}|#\w{6})", svg):
            assert light_of(dark.get(area, area)) < 0.5, "it glares"
    assert maps > 8


# --- on a telephone -------------------------------------------------------------------------------


def panels(*spans: tuple[float, float], width: float) -> list[str]:
    axes = "".join(
        f'<g id="axes_{n}"><g id="patch_{n}"><path d="M {a} 90 L {b} 90 L {b} 10 L {a} 10 z "/></g>'
        for n, (a, b) in enumerate(spans, start=1)
    )
    return explorers.panel_boxes(f'<svg viewBox="0 0 {width} 100">{axes}</svg>')


@pytest.fixture
def telephone(page):
    page.set_viewport_size({"width": 390, "height": 844})
    return page


def test_a_figure_opens_large(visit, telephone):
    problems = visit("notebooks/08_residual_add_and_norm.html")
    telephone.locator("figure a.enlarge:visible").first.click()
    telephone.wait_for_url("**/_images/*.svg")
    assert problems == []


def test_panels_are_stacked_with_the_slider_on_the_screen(visit, telephone):
    """Chapter 5's star, in the last panel, is seen as the slider moves; so is the first panel."""
    problems = visit("notebooks/05_attention_by_hand.html")
    explorer = telephone.locator("figure.explore:has(.explore-panels)").first
    explorer.scroll_into_view_if_needed()
    pictures = explorer.locator(".explore-panels img")
    slider = explorer.locator("input").first
    explorer.locator("xpath=self::*[@data-at]").wait_for(state="attached")
    before = [picture.get_attribute("src") for picture in pictures.all()]
    assert len(before) > 1
    assert len(set(before)) == len(before)
    assert not explorer.locator(":scope > img").is_visible(), "they stand in its place"
    for picture in (pictures.first, pictures.last):
        picture.evaluate("e => e.scrollIntoView({ block: 'start', behavior: 'instant' })")
        telephone.evaluate("scrollBy({ top: -60, behavior: 'instant' })")
        box, control = picture.bounding_box(), slider.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= control["y"]
        assert control["y"] + control["height"] <= 844
        assert box["width"] <= 390
        share = box["width"] / float(picture.get_attribute("width"))
        assert share > 0.75, "8 points are 8 pixels and more"
    slider.focus()
    telephone.keyboard.press("ArrowRight")
    telephone.wait_for_function(
        "([e, before]) => e.src !== before", arg=[pictures.last.element_handle(), before[-1]]
    )
    assert problems == []


def test_on_a_wide_page_panels_stand_side_by_side(visit, page):
    visit("notebooks/05_attention_by_hand.html")
    explorer = page.locator("figure.explore").first
    assert explorer.locator(":scope > img").is_visible()
    assert not explorer.locator(".explore-panels").is_visible()
    assert not page.locator("a.enlarge").first.is_visible()


# --- one measure ----------------------------------------------------------------------------------

EDGES = """() => [...new Set([...document.querySelectorAll("article :is(section > p, " +
    "div.cell_input, blockquote.callout, form.predict, section > h2)")]
    .filter(e => e.checkVisibility()).map(e => Math.round(e.getBoundingClientRect().right)))]"""
BROKEN = """() => {
    const found = [], walk = document.createTreeWalker(document.querySelector("article"), 4);
    for (let node; (node = walk.nextNode());) {
        if (!node.parentElement.closest("td, th")) continue;
        const ranges = node.data.matchAll(/\\d\\S*\\s[…±×]\\s\\S+(\\s[…×]\\s\\S+)*/g);
        for (const { index, 0: words } of ranges) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + words.length);
            const tops = [...range.getClientRects()].map(box => Math.round(box.top));
            if (new Set(tops).size > 1) found.push(words);
        }
    }
    return found;
}"""


@pytest.mark.parametrize("stem", ["05_attention_by_hand", "09_prenorm_vs_postnorm"])
def test_text_and_cells_share_one_right_edge(visit, page, stem):
    visit(f"notebooks/{stem}.html")
    assert len(page.evaluate(EDGES)) == 1


@pytest.mark.parametrize(
    "where",
    ["notebooks/08_residual_add_and_norm", "notebooks/09_prenorm_vs_postnorm", "book/results"],
)
def test_a_table_breaks_no_range(visit, telephone, where):
    visit(f"{where}.html")
    assert telephone.evaluate(BROKEN) == []


@pytest.mark.parametrize("stem", ["08_residual_add_and_norm", "09_prenorm_vs_postnorm"])
def test_the_bar_has_the_whole_title(visit, telephone, stem):
    visit(f"notebooks/{stem}.html")
    title = telephone.locator("article h1").evaluate(
        "h1 => h1.firstChild.textContent && h1.innerText"
    )
    telephone.locator("article h2").nth(2).scroll_into_view_if_needed()
    bar = telephone.locator(".bar-title")
    bar.wait_for(state="visible")
    shown = " ".join(bar.inner_text().split()).removeprefix("To the top of ")
    assert shown == " ".join(title.rstrip("#").split())
    assert bar.evaluate("e => e.scrollHeight <= e.clientHeight + 1 && e.clientHeight <= 48")
