"""The built site, read from a disk with no server, as it comes out of the archive of `make zip`."""

import pytest
from looks import LOADED, faces

PAGES = [
    "index.html",
    "book/index.html",
    "book/glossary.html",
    "book/number-by-number.html",
    "notebooks/04_layernorm_vs_batchnorm.html",
    "notebooks/05_attention_by_hand.html",
    "notebooks/12_inside_the_gpt.html",
]
DRAWN = """async () => {
    for (const image of document.images) image.loading = "eager";
    const broken = [];
    for (const image of document.querySelectorAll("img[src]")) { // panels get theirs when shown
        await image.decode().catch(() => broken.push(image.src.slice(0, 120)));
    }
    return broken;
}"""


@pytest.fixture
def open_file(page, html_root, watched):
    """Return a function that opens a file of the site, and gives what goes wrong on it."""

    def go(name: str) -> list[str]:
        problems = watched(page, f"{html_root.as_uri()}/")
        page.goto(f"{html_root.as_uri()}/{name}", wait_until="load")
        if name == "index.html":  # leads on at once
            page.wait_for_url("**/book/index.html")
        return problems

    return go


@pytest.mark.parametrize("name", PAGES)
def test_page_reads_well_from_a_disk(open_file, page, name):
    problems = open_file(name)
    assert page.locator("h1").count() == 1
    assert page.evaluate(DRAWN) == []
    assert problems == []  # of the page, not of the inspector that is asked for its faces
    text = "article p:not(:has([href*=colab]))"
    assert {face.split()[0] for face in faces(page, text)} == {"Literata"}
    formulas = page.locator(".math")
    assert formulas.count() == page.locator(".math mjx-container").count()


def test_explorer_moves_and_prediction_opens_from_a_disk(open_file, page):
    problems = open_file("notebooks/05_attention_by_hand.html")
    explorer = page.locator("figure.explore").first
    explorer.scroll_into_view_if_needed()
    explorer.locator("img").first.evaluate(LOADED)  # what is left while it comes has failed
    before = explorer.locator(".explore-says").inner_text()
    slider = explorer.locator("input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowRight")
    explorer.locator("xpath=self::*[@data-at]").wait_for(state="attached")
    assert explorer.locator(".explore-says").inner_text() != before
    form = page.locator("form.predict").first
    form.locator("input").first.check()
    form.get_by_role("button").click()
    page.locator("details.reveal[open]").first.wait_for()
    assert problems == []


def test_search_works_from_a_disk(open_file, page):
    problems = open_file("search.html?q=softmax")
    page.wait_for_selector("#search-results li a")
    assert problems == []
