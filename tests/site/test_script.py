"""The page's script says and draws what helpers/explore says and draws in a kernel."""

import re
from pathlib import Path

import pytest

from helpers.explore import Prediction
from helpers.explore.predictions import Choice, Number

ASSETS = Path(__file__).parents[2] / "book/_assets"
SCRIPT = "".join((ASSETS / f"{part}.js").read_text("utf-8") for part in ("book", "predictions"))


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
        assert page.locator("details.reveal[open]").count() == 1
        return page.locator("body")

    yield lock
    page.close()


@pytest.mark.parametrize("choice", ["two", "three *and* `a`", "four"])
def test_choices(locked, choice):
    wrong = {"two": "Too *few*.", "four": "Too `many`."}
    prediction = Choice("How many?", ["two", "three *and* `a`", "four"], wrong)
    shown = locked(
        prediction,
        "three *and* `a`",
        lambda page: page.get_by_label(re.sub(r"[*`]", "", choice)).check(),
    )
    prediction.lock(choice)
    kernel = prediction._verdict("three *and* `a`", "")
    assert f"<p>{shown.locator('.reveal-guess').inner_html()}</p>" in kernel


@pytest.mark.parametrize(
    ("answer", "guess"), [(8.0, 8.5), (8.0, 64), (8.0, 4.2), (8.0, -3), (0.0, 0.05), (0.0, 0.2)]
)
def test_numbers(locked, answer, guess):
    prediction = Number("How many?", {64: "Added up.", 4: "One key."})
    shown = locked(prediction, answer, lambda page: page.get_by_role("spinbutton").fill(str(guess)))
    prediction.lock(guess)
    assert shown.locator(".reveal-guess").inner_text() == prediction.reply(answer)
    kernel = re.search(r"translate\(([\d.]+)\)", prediction._drawn(answer, guess))[1]
    page = shown.locator(".reveal svg .guess").get_attribute("transform")
    page = float(page.removeprefix("translate(").removesuffix(")"))
    assert page == pytest.approx(float(kernel), abs=0.06)


@pytest.mark.parametrize("opened", ["", "open"])
def test_a_result_is_named_by_what_it_is(browser, opened):
    prediction = Choice("How many?", ["two", "three"], {"two": "Too few."})
    result = prediction._result("three", "").replace("<details", f"<details {opened}")
    page = browser.new_page()
    page.set_content(f"{prediction._form()}{result}<script>{SCRIPT}</script>")
    names = ["The result", "Show the result"] if opened else ["Show the result", "The result"]
    summary = page.locator("summary")
    assert summary.text_content() == names[0]
    summary.click()
    page.wait_for_function(
        "name => document.querySelector('summary').textContent === name", arg=names[1]
    )
    page.close()
