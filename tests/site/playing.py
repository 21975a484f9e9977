"""What the tests of the figures that a reader moves (book/_ext/play/) have in common.

What a figure computes is tested without a page, in Node (`computed`); what it shows, on a page that
a module opens once and in which each test finds the figure as it opens (`fixtures`).
"""

import re

import numpy as np
import play
import pytest
from bs4 import BeautifulSoup
from looks import bring_to_middle, swipe

from helpers import worked
from helpers.chapters import CHAPTERS

FIGURES = {w["figure"]: f"{c.docname}.html" for c in CHAPTERS for w in c.widgets}
del FIGURES["gpt"]
DESK = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
WIDE = """() => [document.documentElement.scrollWidth,
    [...document.querySelectorAll("figure.play *, .gpt *")].filter(e => e.checkVisibility()
        && !e.closest(".visually-hidden") && e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.outerHTML.slice(0, 80))]"""
SHOWN = """([width, scheme]) => innerWidth === width
    && document.documentElement.dataset.theme === scheme"""
PHONE = {"viewport": {"width": 390, "height": 740}, "has_touch": True}


# --- what is computed -----------------------------------------------------------------------------


def computed(name: str, function: str, states: list) -> list:
    """What one of a figure's pure functions gives for each list of arguments."""
    call = f"states => states.map(s => Play.compute.{name}.{function}(...s))"
    return play.evaluated(name, call, states)


def points(seed: int, count: int, reach: float, width: int = 2) -> np.ndarray:
    """Random points, a row each, that are the same on every run."""
    return np.random.default_rng(seed).uniform(-reach, reach, (count, width))


# --- what should be written -----------------------------------------------------------------------


def signed(text: str) -> str:
    """A number in Python's notation with a true minus sign, and none before a zero."""
    return text.replace("-", "−") if text.strip("-0.") else text.lstrip("-")


def fixed(value: float, digits: int = 2) -> str:
    return signed(f"{float(value):.{digits}f}")


def number(value: float, digits: int = 3) -> str:
    return signed(worked.number(value, digits))


def factor(value: float) -> str:
    return f"({number(value)})" if number(value).startswith("−") else number(value)


def product(left, right) -> str:
    return " + ".join(f"{factor(a)} · {factor(b)}" for a, b in zip(left, right, strict=True))


def listed(words) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def quoted(words) -> str:
    return listed([f"“{word}”" for word in words])


def many(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


# --- on the page ----------------------------------------------------------------------------------


def opened(page, address: str, name: str):
    """Open a page and give its figure of a name, once its script has brought it to life."""
    page.goto(address)
    return shown(page, name)


def shown(page, name: str):
    """Give the figure of a name in an open page, once it lives."""
    figure = page.locator(f'figure.play[data-play="{name}"]')
    figure.and_(page.locator("[data-live]")).wait_for(state="attached")
    figure.scroll_into_view_if_needed()
    return figure


def fixtures(name: str):
    """Give three fixtures: an open page, its figure as it opens, and the figure on a telephone."""

    @pytest.fixture(scope="module")
    def opened_once(browser, site_url):
        context = browser.new_context(**DESK)
        page = context.new_page()
        opened(page, f"{site_url}/{FIGURES[name]}", name)
        yield page
        context.close()

    @pytest.fixture
    def figure(opened_once, html_root):
        page, still = opened_once, still_of(html_root, name)
        page.mouse.move(0, 0)
        page.locator(f'figure.play[data-play="{name}"]').evaluate(
            "(figure, html) => (figure.outerHTML = html)", still
        )
        page.add_script_tag(path=html_root / "_static" / f"play-{name}.js")
        return shown(page, name)

    @pytest.fixture
    def on_phone(browser, site_url):
        context = browser.new_context(**PHONE)
        yield opened(context.new_page(), f"{site_url}/{FIGURES[name]}", name)
        context.close()

    return opened_once, figure, on_phone


def still_of(html_root, name: str) -> str:
    """A page's figure as the build has drawn it."""
    soup = BeautifulSoup((html_root / FIGURES[name]).read_text("utf-8"), "html.parser")
    return str(soup.select_one(f'figure.play[data-play="{name}"]'))


def show_in(page, width: int, scheme: str) -> None:
    """Show an open page in a window so wide, in light or dark; motion should be reduced."""
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(SHOWN, arg=[width, scheme])


def sentence(figure) -> str:
    return figure.locator(".play-says").inner_text()


def press(figure, name: str) -> None:
    figure.get_by_role("button", name=name, exact=True).click()


def check(figure, name: str) -> None:
    figure.get_by_role("radio", name=name).check()


def read(words: str) -> list[float]:
    """The numbers in a text that has true minus signs."""
    return [float(found.replace("−", "-")) for found in re.findall(r"[−-]?\d+(?:\.\d+)?", words)]


def rows(figure, selector: str = ".play-stage table") -> list[list[str]]:
    """The words of each cell of a table, row by row."""
    return figure.locator(selector).evaluate(
        "t => [...t.rows].map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )


def drag(handle, across: float, up: float) -> None:
    """Drag a handle by the mouse, by so many pixels."""
    bring_to_middle(handle.locator(".reach"))
    box, mouse = handle.locator(".reach").bounding_box(), handle.page.mouse
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + across / 2, y - up / 2)
    mouse.move(x + across, y - up)
    mouse.up()


def drag_by_finger(handle, across: float, up: float) -> None:
    """Drag a handle by a finger, by so many pixels; the page must not scroll."""
    assert swipe(handle.page, handle.locator(".reach"), across, up) == 0
