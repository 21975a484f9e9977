"""What the tests of the figures that a reader moves (book/_ext/book_play.py) have in common."""

import re
from pathlib import Path

import numpy as np
from bs4 import BeautifulSoup, Tag
from chapters import ROOT

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
BY_SCRIPT = re.compile("tabindex|role|aria-.*|data-live")  # what only a figure that moves has


def opened(page, address: str, name: str, nth: int = 0):
    """Open a page and give its figure of a name, once its script has brought it to life."""
    page.goto(address)
    figure = page.locator(f'figure.play[data-play="{name}"]').nth(nth)
    figure.and_(page.locator("[data-live]")).wait_for(state="attached")
    figure.scroll_into_view_if_needed()
    return figure


def show_in(page, width: int, scheme: str) -> None:
    """Show an open page in a window so wide, in light or dark; motion should be reduced."""
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("is => document.documentElement.dataset.theme === is", arg=scheme)


def computed(page, name: str, function: str, states: list[list]) -> list:
    """What one of a figure's pure functions gives for each list of arguments."""
    call = "([name, function_, states]) => states.map(s => Play.compute[name][function_](...s))"
    return page.evaluate(call, [name, function, states])


def sentence(figure) -> str:
    return figure.locator(".play-says").inner_text()


def read(words: str) -> list[float]:
    """The numbers in a text that has true minus signs."""
    return [float(found.replace("−", "-")) for found in re.findall(r"−?\d+(?:\.\d+)?", words)]


def rows(figure, selector: str = ".play-stage table") -> list[list[str]]:
    """The words of each cell of a table, row by row."""
    return figure.locator(selector).evaluate(
        "t => [...t.rows].map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )


def parts(html: str) -> list[tuple[str, dict[str, str], str]]:
    """All that is seen of a figure, controls left out: name, attributes and own words of each."""
    figure = BeautifulSoup(html, "html.parser").select_one("figure.play")
    for unseen in figure.select(".play-controls, .play-said, noscript, script"):
        unseen.decompose()
    return [(tag.name, _attributes(tag), _own_words(tag)) for tag in figure.select("*")]


def _attributes(tag: Tag) -> dict[str, str]:
    written = {name: " ".join(v) if isinstance(v, list) else v for name, v in tag.attrs.items()}
    return {name: value.strip() for name, value in written.items() if not BY_SCRIPT.fullmatch(name)}


def _own_words(tag: Tag) -> str:
    return " ".join("".join(tag.find_all(string=True, recursive=False)).split())


def differences(still: str, live: str, allowed: float = 0.011) -> list[str]:
    """Where two states of a figure differ; numbers in attributes may by so much."""
    first, second = parts(still), parts(live)
    found = [] if len(first) == len(second) else [f"{len(first)} elements, then {len(second)}"]
    for (kind, was, said), (now_kind, now, says) in zip(first, second, strict=False):
        if (kind, said) != (now_kind, says):
            found.append(f"<{kind}> {said!r}, then <{now_kind}> {says!r}")
        for name in sorted(was.keys() | now.keys()):
            if not _alike(was.get(name), now.get(name), allowed):
                found.append(f"<{kind}> {name}: {was.get(name)!r}, then {now.get(name)!r}")
    return found


def _alike(was: str | None, now: str | None, allowed: float) -> bool:
    if was is None or now is None or NUMBER.sub("#", was) != NUMBER.sub("#", now):
        return was == now
    pairs = zip(NUMBER.findall(was), NUMBER.findall(now), strict=True)
    return all(abs(float(a) - float(b)) <= allowed for a, b in pairs)


def still_of(html_root: Path, where: str, name: str) -> str:
    """A page's figure as Python has drawn it."""
    soup = BeautifulSoup((html_root / where).read_text("utf-8"), "html.parser")
    return str(soup.select_one(f'figure.play[data-play="{name}"]'))


def drag(page, handle, across: float, up: float) -> None:
    """Drag a handle by the mouse, by so many pixels."""
    box = handle.locator(".reach").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across / 2, y - up / 2)
    page.mouse.move(x + across, y - up)
    page.mouse.up()


def swipe(page, handle, across: float, up: float) -> None:
    """Drag a handle by a finger, by so many pixels."""
    box = handle.locator(".reach").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    hand = page.context.new_cdp_session(page)
    for kind, share in (("touchStart", 0), ("touchMove", 0.5), ("touchMove", 1), ("touchEnd", 1)):
        finger = {"x": x + across * share, "y": y - up * share}
        points = [] if kind == "touchEnd" else [finger]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def points(seed: int, count: int, reach: float, width: int = 2) -> np.ndarray:
    """Random points, a row each, that are the same on every run."""
    return np.random.default_rng(seed).uniform(-reach, reach, (count, width))


def load(page, name: str = "", change: tuple[str, str] = ("", "")) -> None:
    """Load a figure's script into an empty page, with one piece of it replaced by another."""
    page.set_content("<!doctype html><title>no figure</title>")
    for part in ("play.js", f"play-{name}.js") if name else ("play.js",):
        script = (ROOT / "book" / "_assets" / part).read_text("utf-8")
        if change[0] and part != "play.js":
            assert script.count(change[0]) >= 1, f"{part} does not hold {change[0]!r}"
            script = script.replace(*change)
        page.add_script_tag(content=script)
