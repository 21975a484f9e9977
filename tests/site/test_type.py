"""What look.css promises of type and edges, asked of the browser."""

import pytest

SIZES = """() => {
    const size = s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize);
    const caption = ".bd-article figure > figcaption .caption-text";
    return [size(caption), size(".bd-article section section > p")];
}"""
EDGES = """() => {
    const shown = s => [...document.querySelectorAll(`.bd-article ${s}`)].filter(e =>
        e.checkVisibility() && !e.parentElement.closest("details, figure, blockquote"));
    const right = e => Math.round(e.getBoundingClientRect().right);
    const text = right(shown("section > h2")[0]), whole = right(shown("div.cell_input")[0]);
    const boxes = "form.predict, details.reveal, blockquote.callout, details:not([class])";
    return boxes.split(", ").flatMap(s => shown(s).map(e => [s, right(e)]))
        .filter(([, edge]) => Math.abs(edge - text) > 1 && Math.abs(edge - whole) > 1);
}"""
WORDS = """() => {
    const family = e => getComputedStyle(e).fontFamily;
    const sans = family(document.querySelector(".bd-article table, .bd-article summary"));
    const words = "text, label, legend, .play-title, .play-note";
    return [...document.querySelectorAll(`figure.play :is(${words})`)]
        .filter(e => family(e) !== sans).map(e => e.outerHTML.slice(0, 80));
}"""


@pytest.mark.parametrize("chapter", ["03_bigram_table", "05_attention_by_hand"])
def test_captions_boxes_and_words_in_figures(page, visit, chapter):
    """Captions are smaller than text; boxes end where text or code does; words as in tables."""
    visit(f"notebooks/{chapter}.html")
    caption, text = page.evaluate(SIZES)
    assert 12 <= caption <= 0.85 * text
    assert page.evaluate(EDGES) == []
    assert page.evaluate(WORDS) == []


def test_tables_start_where_text_starts_and_have_no_upright_rules(page, visit):
    visit("book/results.html")
    found = page.evaluate("""() => {
        const left = e => e.getBoundingClientRect().left;
        const text = left(document.querySelector(".bd-article section > p"));
        const wide = e => parseFloat(getComputedStyle(e).borderLeftWidth);
        return [...document.querySelectorAll(".bd-article table.table")]
            .filter(e => e.checkVisibility())
            .filter(e => Math.abs(left(e) - text) > 1 || [...e.querySelectorAll("td")].some(wide))
            .length;
    }""")
    assert found == 0


LEGIBLE = """() => [...document.querySelectorAll("figure.explore")].filter(e => e.checkVisibility())
    .map(e => e.querySelector(".explore-picture")).map(window => {
        const picture = window.querySelector("img");
        const moves = window.scrollWidth > window.clientWidth + 1;
        return [picture.clientWidth / Number(picture.getAttribute("width")),
                moves === (window.tabIndex === 0)];
    })"""


@pytest.mark.parametrize("chapter", ["02_similarity_geometry", "04_layernorm_vs_batchnorm"])
def test_explorers_are_not_shrunk_until_nobody_can_read_them(page, visit, chapter):
    """On a telephone wide ones are moved sideways, by a finger or the arrow keys."""
    page.set_viewport_size({"width": 390, "height": 800})
    visit(f"notebooks/{chapter}.html")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))")
    found = page.evaluate(LEGIBLE)
    assert len(found) > 1
    for share, reachable in found:
        assert share > 0.7
        assert reachable
    assert page.evaluate("document.documentElement.scrollWidth") == 390
