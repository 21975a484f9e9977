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


@pytest.fixture(scope="module")
def read(browser, site_url, path):
    """Give a page that is opened once, for tests that leave it as they found it but for colours."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{site_url}/{path}")
    yield page
    context.close()


def show_in(page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("is => document.documentElement.dataset.theme === is", arg=scheme)


def test_skip_link_leads_to_the_text(read, path):
    if path == "search.html":  # its field has the focus from the start
        read.evaluate("document.activeElement.blur()")
    read.keyboard.press("Tab")
    link = read.locator("#pst-skip-link a")
    assert link.evaluate("link => link === document.activeElement")
    read.wait_for_function(SHOWN, arg=link.element_handle())  # it slides in
    read.keyboard.press("Enter")
    read.keyboard.press("Tab")
    assert read.evaluate("!!document.activeElement.closest('main')")


def test_headings_and_tables(read):
    read.evaluate(OPEN)
    levels = read.evaluate(HEADINGS)
    assert levels[0][0] == 1
    for (above, _), (level, words) in pairwise(levels):
        assert level <= above + 1, f"a level is left out before {words!r}"
    assert read.evaluate(TABLES) == [], "a table without heads, or a head that does not say of what"


def test_figures_stand_on_a_light_card_in_the_dark(read):
    show_in(read, "dark")
    read.evaluate(OPEN)
    assert read.evaluate(GROUNDS) == []


@pytest.mark.parametrize("where", READING)
def test_focus_is_seen(visit, page, where):
    page.emulate_media(reduced_motion="reduce")
    visit(where)
    page.evaluate(OPEN)
    page.keyboard.press("Tab")
    for scheme in ("light", "dark"):
        show_in(page, scheme)
        count, unseen = page.evaluate(UNSEEN)
        assert count > 20
        assert unseen == [], scheme


def test_a_focus_that_is_not_seen_is_found(visit, page):
    visit("book/index.html")
    page.add_style_tag(content=".bd-article a:focus-visible { outline: none !important }")
    page.keyboard.press("Tab")
    assert page.evaluate(UNSEEN)[1]
