"""Pages as readers meet them who do not use a mouse, or do not see: what axe does not look at."""

from itertools import pairwise

import pytest

HEADINGS = """() => [...document.querySelectorAll(
    "main :is(h1, h2, h3, h4, h5, h6, [role=heading])")].filter(e => e.checkVisibility()).map(e =>
    [Number(e.ariaLevel || e.tagName[1]), e.textContent.trim().slice(0, 40)])"""
TABLES = """() => [...document.querySelectorAll("table:not([role=presentation])")].filter(table => {
    const heads = [...table.querySelectorAll("th")];
    return !heads.length || heads.some(head => !/^(col|row)(group)?$/.test(head.scope));
}).map(table => table.outerHTML.slice(0, 200))"""
OPEN = "() => { for (const folded of document.querySelectorAll('details')) folded.open = true }"
UNSEEN = """() => {
    const all = document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex='0']");
    const unseen = [];
    for (const e of all) {
        if (!e.checkVisibility({ visibilityProperty: true }) || e.disabled) continue;
        e.focus({ preventScroll: true });
        if (document.activeElement !== e) continue;
        const style = getComputedStyle(e);
        const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        if (!e.matches(":focus-visible") || !outlined) unseen.push(e.outerHTML.slice(0, 120));
    }
    return [all.length, unseen.slice(0, 8)];
}"""
GROUNDS = """() => {
    const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
    const ground = e => {
        for (; e; e = e.parentElement) {
            const colour = rgb(getComputedStyle(e).backgroundColor);
            if (colour.length === 3 || colour[3] > 0.99) return colour;
        }
        return [255, 255, 255];
    };
    return [...document.querySelectorAll(".bd-article img:not(.themed)")]
        .filter(e => e.checkVisibility() && light(ground(e)) < 220)
        .map(e => [e.src.slice(-60), ground(e)]);
}"""
READING = ["book/index.html", "book/glossary.html", "notebooks/05_attention_by_hand.html",
           "notebooks/12_inside_the_gpt.html", "search.html"]  # fmt: skip

SHOWN = """link => {
    const { top, height } = link.getBoundingClientRect();
    return top >= 0 && height > 10;
}"""


def test_headings_and_tables(visit, page, path):
    visit(path)
    page.evaluate(OPEN)
    levels = page.evaluate(HEADINGS)
    assert levels[0][0] == 1
    for (above, _), (level, words) in pairwise(levels):
        assert level <= above + 1, f"a level is left out before {words!r}"
    assert page.evaluate(TABLES) == [], "a table without heads, or a head that does not say of what"


def test_figures_stand_on_a_light_card_in_the_dark(visit, page, path):
    page.emulate_media(color_scheme="dark")
    visit(path)
    page.evaluate(OPEN)
    assert page.evaluate(GROUNDS) == []


def test_skip_link_leads_to_the_text(visit, page, path):
    visit(path)
    if path == "search.html":  # its field has the focus from the start
        page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    link = page.locator("#pst-skip-link a")
    assert link.evaluate("link => link === document.activeElement")
    page.wait_for_function(SHOWN, arg=link.element_handle())  # it slides in
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("!!document.activeElement.closest('main')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("where", READING)
def test_focus_is_seen(visit, page, where, scheme):
    page.emulate_media(color_scheme=scheme)
    visit(where)
    page.evaluate(OPEN)
    page.keyboard.press("Tab")
    count, unseen = page.evaluate(UNSEEN)
    assert count > 20
    assert unseen == []


def test_a_focus_that_is_not_seen_is_found(visit, page):
    visit("book/index.html")
    page.add_style_tag(content=".bd-article a:focus-visible { outline: none !important }")
    page.keyboard.press("Tab")
    assert page.evaluate(UNSEEN)[1]
