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
