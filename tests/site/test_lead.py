"""Where the focus is after a guess was locked, and what a drawing says that one can do."""

import pytest

SEEN = """() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
}"""
PLACE = "() => document.activeElement.closest('.predict-locked a, details.reveal[open] > summary')"


@pytest.mark.parametrize("opened", [False, True])
def test_the_focus_is_seen_after_each_guess(visit, page, opened):
    assert visit("notebooks/04_layernorm_vs_batchnorm.html") == []
    places = set()
    for form in page.locator("form.predict:not([data-kind=curve])").all():
        reveal = page.locator(f"details.reveal[data-key='{form.get_attribute('data-key')}']")
        if opened:
            reveal.locator("summary").press("Enter")
        field = form.locator("input").first
        field.focus()
        page.keyboard.press("3" if field.get_attribute("type") == "number" else "Space")
        form.get_by_role("button").press("Enter")
        page.wait_for_function(PLACE)
        assert page.evaluate(SEEN)
        places.add(page.evaluate("() => document.activeElement.tagName"))
    assert places == {"A", "SUMMARY"}


def test_a_drawing_says_what_to_do(visit, page):
    visit("notebooks/02_similarity_geometry.html")
    form = page.locator("form.predict[data-kind=curve]").first
    lines = form.locator("svg .guess").count()
    words = f"Drag the dashed {'lines' if lines > 1 else 'line'} up or down, or move the sliders."
    assert form.get_by_text(words, exact=True).is_visible()
    for slider in form.locator("input").all():
        assert slider.bounding_box()["height"] >= 24
