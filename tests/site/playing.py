"""What the tests of the figures that a reader moves (book/_ext/play/) have in common."""

import re

import numpy as np
import play
from bs4 import BeautifulSoup
from looks import bring_to_middle, swipe
from play import figures

from helpers import worked
from helpers.chapters import CHAPTERS

FIGURES = {w["figure"]: f"{c.docname}.html" for c in CHAPTERS for w in c.widgets}
for name in ("gpt", "watch", "reward", "chat-talk", "chat-why"):
    del FIGURES[name]
DESK = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
PHONE = {"viewport": {"width": 390, "height": 740}, "has_touch": True}
WIDE = """() => [document.documentElement.scrollWidth,
    [...document.querySelectorAll("figure.play *, .gpt *")].filter(e => e.checkVisibility()
        && !e.closest(".visually-hidden") && e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.outerHTML.slice(0, 80))]"""
SHOWN = """([width, scheme]) => innerWidth === width
    && document.documentElement.dataset.theme === scheme"""


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


def many(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"


class Tells(tuple):
    """Equals a sentence that has these words and numbers, one after another."""

    def __new__(cls, *words):
        return super().__new__(cls, words)

    def __eq__(self, said):
        return re.search(".*?".join(map(re.escape, self)), said, re.DOTALL) is not None

    __hash__ = None


# --- what is shown --------------------------------------------------------------------------------


def drawn(name: str, states: list[dict], **changes) -> list[BeautifulSoup]:
    """What a figure's script draws of each state, in Node, its data changed as said."""
    call = f"(data, states) => states.map(state => Play.still('{name}', 'it', data, state))"
    data = figures.FIGURES[name].data() | changes
    return [BeautifulSoup(html, "html.parser") for html in play.evaluated(name, call, data, states)]


def text(element) -> str:
    return re.sub(r"\s+", " ", element.get_text()).strip()


def texts(shown: BeautifulSoup, selector: str) -> list[str]:
    return [text(element) for element in shown.select(selector)]


def rows(shown: BeautifulSoup, selector: str = "table") -> list[list[str]]:
    """The words of each cell of a table, row by row."""
    return [[text(cell) for cell in row.select("th, td")] for row in shown.select(f"{selector} tr")]


def read(words: str) -> list[float]:
    """The numbers in a text that has true minus signs."""
    return [float(found.replace("−", "-")) for found in re.findall(r"[−-]?\d+(?:\.\d+)?", words)]


def points(shown: BeautifulSoup) -> np.ndarray:
    """The points to drag, as their handles tell them to a screen reader."""
    return np.array([read(handle["aria-valuetext"]) for handle in shown.select(".play-handle")])


# --- on a page ------------------------------------------------------------------------------------


def alone(page, name: str):
    """Bring a figure to life in a page without anything else."""
    page.set_content(figures.html_of(name, "one"))
    for sheet in ("book-widgets.css", "play.css", f"play-{name}.css"):
        page.add_style_tag(path=play.ASSETS / sheet)
    for script in play.scripts_of(name):
        page.add_script_tag(path=play.ASSETS / script)
    return page.locator("figure.play")


def opened(page, address: str, name: str):
    """Open a page and give its figure of a name, once its script has brought it to life."""
    page.goto(address)
    figure = page.locator(f'figure.play[data-play="{name}"]')
    figure.and_(page.locator("[data-live]")).wait_for(state="attached")
    figure.scroll_into_view_if_needed()
    return figure


def seen(figure) -> BeautifulSoup:
    """What a living figure shows."""
    return BeautifulSoup(figure.inner_html(), "html.parser")


def show_in(page, width: int, scheme: str) -> None:
    """Show an open page in a window so wide, in light or dark; motion should be reduced."""
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(SHOWN, arg=[width, scheme])


def press(figure, name: str) -> None:
    figure.get_by_role("button", name=name, exact=True).click()


def check(figure, name: str) -> None:
    figure.get_by_role("radio", name=name).check()


def fill(figure, name: str, value: float) -> None:
    """Put a slider at a value."""
    figure.locator(f'input[name="{name}"]').fill(str(value))


def keys(figure, *names: str) -> None:
    for name in names:
        figure.page.keyboard.press(name)


def drag(handle, across: float, up: float) -> None:
    """Drag a handle by the mouse, by so many pixels, and move the mouse on without it."""
    bring_to_middle(handle.locator(".reach"))
    box, mouse = handle.locator(".reach").bounding_box(), handle.page.mouse
    x, y = box["x"] + box["width"] / 2 + 9, box["y"] + box["height"] / 2 + 6  # not by its middle
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + across / 2, y - up / 2)
    mouse.move(x + across, y - up)
    mouse.up()
    mouse.move(0, 0)


def drag_by_finger(handle, across: float, up: float) -> None:
    """Drag a handle by a finger, by so many pixels; the page must not scroll."""
    assert swipe(handle.page, handle.locator(".reach"), across, up) == 0
