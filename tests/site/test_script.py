"""The page's script says and draws what helpers/explore says and draws in a kernel."""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers.explore import Curve, Prediction
from helpers.explore.predictions import Choice, Number, Sketch
from helpers.explore.sketches import plot_of

SCRIPT = (Path(__file__).parents[2] / "book/_assets/book.js").read_text("utf-8")
CURVE = Curve([1, 4, 16], (0, 10), ("÷1", "÷√D"), "D", "keys")


@pytest.fixture
def locked(browser):
    """Give what the page shows after a guess was locked, and what a kernel would show."""
    page = browser.new_page()

    def lock(prediction: Prediction, answer, fill):
        page.set_content(
            f'<div class="cell">{prediction._form()}</div>'
            f'<div class="cell">{prediction._result(answer, "Since.")}</div>'
            f"<script>{SCRIPT}</script>"
        )
        fill(page)
        page.get_by_role("button").click()
        return page.locator("details.reveal[open]")

    yield lock
    page.close()


@pytest.mark.parametrize("choice", ["two", "three *and* `a`", "four"])
def test_choices(locked, choice):
    wrong = {"two": "Too *few*.", "four": "Too `many`."}
    prediction = Choice("How many?", ["two", "three *and* `a`", "four"], wrong)
    reveal = locked(prediction, "three *and* `a`", lambda page: page.get_by_label(
        re.sub(r"[*`]", "", choice)).check())  # fmt: skip
    prediction.lock(choice)
    kernel = prediction._verdict("three *and* `a`", "")
    assert f"<p>{reveal.locator('.reveal-guess').inner_html()}</p>" in kernel


@pytest.mark.parametrize(
    ("answer", "guess"), [(8.0, 8.5), (8.0, 64), (8.0, 4.2), (8.0, -3), (0.0, 0.05), (0.0, 0.2)]
)
def test_numbers(locked, answer, guess):
    prediction = Number("How many?", {64: "Added up.", 4: "One key."})
    reveal = locked(
        prediction, answer, lambda page: page.get_by_role("spinbutton").fill(str(guess))
    )
    prediction.lock(guess)
    assert reveal.locator(".reveal-guess").inner_text() == prediction.reply(answer)
    kernel = re.search(r'class="guess" x="([\d.]+)"', prediction._drawn(answer, guess))[1]
    page = float(reveal.locator("svg .guess").get_attribute("x"))
    assert page == pytest.approx(float(kernel), abs=0.06)


def test_curves(locked):
    prediction = Sketch("How many?", CURVE)
    heights = [2.5, 5, 10, 0, 7.5, 1.2]

    def fill(page):
        for slider, height in zip(page.locator("input[type=range]").all(), heights, strict=True):
            slider.evaluate(
                """(slider, height) => {
                    slider.value = height
                    slider.dispatchEvent(new Event('input', {bubbles: true}))
                }""",
                height,
            )

    reveal = locked(prediction, {"÷1": [9, 5, 1], "÷√D": [9, 8, 7]}, fill)
    drawn = [line.get_attribute("points") for line in reveal.locator("polyline.guess").all()]
    kernel = re.findall(
        r'class="guess"[^>]*points="([^"]*)"',
        plot_of(CURVE, guess={"÷1": heights[:3], "÷√D": heights[3:]}),
    )
    numbers = [[float(x) for x in re.findall(r"[\d.]+", line)] for line in drawn]
    expected = [[float(x) for x in re.findall(r"[\d.]+", line)] for line in kernel]
    np.testing.assert_allclose(numbers, expected, atol=0.06)


def with_what_follows(browser, opened: str = ""):
    """Open a page with a question, its result and what follows, the result `opened` or not."""
    prediction = Choice("How many?", ["two", "three"], {"two": "Too few."})
    result = prediction._result("three", "").replace("<details", f"<details {opened}")
    page = browser.new_page()
    page.set_content(
        "<style>.veiled { display: none }</style>"
        f'<div class="cell">{prediction._form()}</div>'
        f'<div class="cell"><p id="code">code</p><div>{result}</div></div>'
        '<div class="cell"><p id="figure">a figure</p></div>'
        '<p id="text">text</p><div class="cell"><p id="later">later</p></div>'
        f"<script>{SCRIPT}</script>"
    )
    return page


def test_what_follows_waits_until_the_result_is_open(browser):
    page = with_what_follows(browser)
    seen = {name: page.locator(f"#{name}").is_visible() for name in ("code", "figure", "text")}
    assert seen == {"code": False, "figure": False, "text": True}
    assert page.locator("#later").is_visible()
    page.get_by_text("Show the result").click()
    for name in ("figure", "code"):  # a details element tells of its opening a moment later
        page.locator(f"#{name}").wait_for(state="visible", timeout=5000)
    summary = page.locator("details.reveal > summary")
    assert summary.text_content() == "The result"
    summary.click()
    page.wait_for_function("document.querySelector('summary').textContent === 'Show the result'")
    page.close()


def test_a_result_that_was_opened_early_hides_nothing(browser):
    page = with_what_follows(browser, opened="open")
    assert page.locator("#figure").is_visible()
    assert page.locator("details.reveal > summary").text_content() == "The result"
    page.close()
