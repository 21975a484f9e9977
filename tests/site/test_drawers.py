"""The lists of contents that open over the page in a narrow window: the way in and out."""

import pytest
from playwright.sync_api import expect

PAGE = "notebooks/04_layernorm_vs_batchnorm.html"
DRAWERS = {"primary": ("This book", "Contents of the book"), "secondary": ("On this page",) * 2}
WHERE = "() => document.activeElement.className"


@pytest.fixture
def opened(visit, page):
    """Return a function that opens a list by the keyboard and gives its dialog."""
    page.set_viewport_size({"width": 390, "height": 700})
    assert visit(PAGE) == []

    def go(which: str):
        page.locator(f"button.{which}-toggle").press("Enter")
        dialog = page.locator("dialog[open]")
        dialog.get_by_role("button", name="Close", exact=True).wait_for()
        return dialog

    return go


def test_a_drawer_has_a_name_and_returns_the_focus(opened, page):
    for which, (name, button) in DRAWERS.items():
        assert page.get_by_role("button", name=button, exact=True).count() == 1
        for way in ("Close", "Escape") * 2:  # and the list opens as it did before
            dialog = opened(which)
            assert dialog.get_attribute("aria-label") == name
            assert f"{which}-toggle" not in page.evaluate(WHERE)
            if way == "Close":
                close = dialog.get_by_role("button", name="Close", exact=True)
                assert min(close.bounding_box()[side] for side in ("width", "height")) >= 24
                close.click()
            else:
                page.keyboard.press("Escape")
            page.wait_for_function(f"({WHERE})().includes('{which}-toggle')")
            expect(page.locator("dialog[open], .drawer-shut")).to_have_count(0)


def test_a_link_to_a_place_on_the_page_closes_the_list(opened, page):
    dialog = opened("secondary")
    link = dialog.get_by_role("link").nth(3)
    place = link.get_attribute("href").removeprefix("#")
    link.click()
    page.wait_for_function("() => !document.querySelector('dialog[open]')")
    page.wait_for_url(f"**#{place}")
    heading = page.locator(f"section[id='{place}'] h2")
    page.wait_for_function(
        """h => {
            const { top } = h.getBoundingClientRect();
            return top >= 0 && top < innerHeight / 4;
        }""",
        arg=heading.element_handle(),
    )
    assert "toggle" not in page.evaluate(WHERE)
