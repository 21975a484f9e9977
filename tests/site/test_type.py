"""What look.css promises of type and edges, asked of the browser."""

import pytest
from looks import faces

SIZES = """() => {
    const size = s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize);
    const caption = ".bd-article figure > figcaption .caption-text";
    return [size(caption), size(".bd-article section section > p")];
}"""
FOOT = """() => ["section > p", ".stamp", ".prev-next-area"].map(s =>
    document.querySelector(`main ${s}`).getBoundingClientRect().left)"""
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
    """Text has its face on the first visit; boxes end where text or code does."""
    visit(f"notebooks/{chapter}.html")
    for words in ("h1", "p ~ p", "p > strong", "p > em"):  # the first leads to Colab
        assert {face.split()[0] for face in faces(page, f"article {words}")} == {"Literata"}, words
    caption, text = page.evaluate(SIZES)
    assert 12 <= caption <= 0.85 * text
    assert page.evaluate(EDGES) == []
    assert page.evaluate(WORDS) == []
    for width in (1280, 800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert len(set(page.evaluate(FOOT))) == 1, width


def test_letters_stand_as_far_apart_as_the_face_says(page, visit):
    """Small ones as large ones: not each a whole number of pixels wide, where that is the habit."""
    visit("notebooks/03_bigram_table.html")
    small, large = page.evaluate("""() => [17, 170].map(size => {
        const line = document.querySelector("article section > p")
            .appendChild(document.createElement("span"));
        line.textContent = "a large language model";
        line.style.cssText = `position: absolute; white-space: nowrap; font-size: ${size}px`;
        return line.getBoundingClientRect().width / size;
    })""")
    assert small == pytest.approx(large, rel=2e-3)


def test_what_the_theme_marks_has_the_colours_of_the_book(page, visit):
    """The way past the menu is yellow; a heading that was jumped to stands on no slab."""
    visit("notebooks/05_attention_by_hand.html#what-should-a-word-take-from-its-neighbours")
    look = "(e, what) => getComputedStyle(e)[what]"
    assert page.locator(".skip-link").evaluate(look, "backgroundColor") == "rgb(255, 210, 77)"
    heading = page.locator(":target > h2")
    assert heading.evaluate(look, "backgroundColor") == "rgba(0, 0, 0, 0)"
    assert heading.evaluate(look, "textDecorationColor") == "rgb(255, 210, 77)"


def test_no_title_leaves_a_word_alone(page, visit):
    visit("notebooks/05_attention_by_hand.html")
    titles = dict.fromkeys(
        ("article h1", "article h2", "article h3", ".navbar-brand .title", ".prev-next-title"),
        "balance",
    ) | dict.fromkeys(("nav.bd-links a", ".toc-entry a"), "pretty")
    for title, wrap in titles.items():
        found = page.locator(title).first.evaluate("e => getComputedStyle(e).textWrap")
        assert found == wrap, title


def test_a_word_with_a_hyphen_in_a_title_stays_on_one_line(page, visit):
    visit("notebooks/09_prenorm_vs_postnorm.html")
    for width in (1280, 800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        words = page.locator("article h1 .whole")
        assert words.all_inner_texts() == ["Pre-norm", "post-norm"]
        lines = words.evaluate_all("all => all.map(e => e.getClientRects().length)")
        assert lines == [1, 1], width


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
