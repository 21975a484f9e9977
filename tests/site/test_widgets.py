"""Explorers and predictions on the built pages, as a reader without a mouse meets them.

Every explorer is moved by the arrow keys, every prediction answered, locked and held to its
result. Nothing here runs a kernel: the page works from what is stored in it.
"""

import re
from pathlib import Path

import pytest

HTML = Path(__file__).parents[2] / "_build" / "html"

EXPLORER, FORM = "figure.explore", "form.predict"
WITH_WIDGETS = [
    page.relative_to(HTML).as_posix()
    for page in sorted(HTML.rglob("*.html"))
    if re.search(r'class="(?:explore|predict)"', page.read_text("utf-8"))
]


def test_every_chapter_has_widgets_on_its_page(html_root):
    chapters = sorted((html_root.parents[1] / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    assert {f"notebooks/{chapter.stem}.html" for chapter in chapters} <= set(WITH_WIDGETS)


AT = """explorer => ({
    picture: explorer.querySelector("img").getAttribute("src"),
    sentence: explorer.querySelector(".explore-says").innerHTML,
    says: [...explorer.querySelectorAll("input")].map(i => i.getAttribute("aria-valuetext")),
    shown: [...explorer.querySelectorAll("output")].map(output => output.innerText),
})"""


def at(explorer) -> dict:
    """What an explorer shows: its picture, its sentence, and what its sliders say."""
    return explorer.evaluate(AT)


def press(page, explorer, slider, key):
    """Press a key on a slider and wait for the explorer to have moved."""
    slider.focus()
    value = int(slider.input_value())
    explorer.evaluate("figure => { delete figure.dataset.at }")
    page.keyboard.press(key)
    assert int(slider.input_value()) != value, f"{key} does not move the slider"
    explorer.locator("xpath=self::*[@data-at]").wait_for(state="attached")


def answers_the_arrow_keys(page, explorer, slider, others) -> None:
    """A key leads on, another back; what the page's other explorers show stays."""
    slider.scroll_into_view_if_needed()
    assert slider.is_visible()
    forth, back = "ArrowRight", "ArrowLeft"
    if slider.input_value() == slider.get_attribute("max"):
        forth, back = back, forth
    before, beside = at(explorer), list(map(at, others))
    press(page, explorer, slider, forth)
    after = at(explorer)
    assert after["says"] != before["says"]
    assert after["shown"] == after["says"]
    assert after["picture"] != before["picture"], "the picture stays"
    assert after["picture"].startswith("data:image/svg+xml")
    assert list(map(at, others)) == beside, "another explorer has moved"
    press(page, explorer, slider, back)
    returned = at(explorer)
    for part in ("sentence", "says", "shown"):
        assert returned[part] == before[part], "going back does not lead back"


@pytest.mark.parametrize("where", [where for where in WITH_WIDGETS if "notebooks/" in where])
def test_every_explorer_answers_the_arrow_keys(visit, page, where):
    problems = visit(where)
    explorers = page.locator(EXPLORER).all()
    assert explorers
    for explorer in explorers:
        assert explorer.locator("img").get_attribute("alt")
        others = [other for other in explorers if other is not explorer]
        for slider in explorer.locator("input[type=range]").all():
            answers_the_arrow_keys(page, explorer, slider, others)
        image = explorer.locator("img")
        assert image.evaluate("image => image.complete && image.naturalWidth > 0")
    assert problems == []


def answer(page, form) -> None:
    """Give some answer, by the keyboard where that is how one would."""
    kind = form.get_attribute("data-kind")
    if kind == "choice":
        form.locator("input[type=radio]").first.check()
    elif kind == "number":
        form.locator("input[type=number]").fill("3.5")
    else:
        first = form.locator("input[type=range]").first
        first.focus()
        for _ in range(5):
            page.keyboard.press("ArrowUp")


def is_locked(form) -> bool:
    return form.locator("fieldset").evaluate("fields => fields.disabled")


def nothing_is_locked_without_an_answer(page) -> None:
    for form in page.locator(f"{FORM}:not([data-kind=curve])").all():
        form.get_by_role("button").click()
        assert not is_locked(form)
    assert page.locator("details.reveal[open]").count() == 0


def locks_and_uncovers(page, form, reveal) -> None:
    assert reveal.count() == 1
    assert reveal.get_attribute("open") is None
    assert reveal.locator(".reveal-guess").inner_text() == ""
    answer(page, form)
    form.get_by_role("button").click()
    assert is_locked(form)
    assert form.get_by_role("button").is_disabled()
    assert form.locator(".predict-locked").inner_text().startswith("Locked")
    assert reveal.get_attribute("open") is not None
    verdict = reveal.locator(".reveal-guess")
    assert verdict.is_visible()
    assert len(verdict.inner_text()) > 10
    if form.get_attribute("data-kind") != "curve":
        assert verdict.inner_text().startswith("You guessed")
    said = verdict.inner_html()
    form.evaluate("form => form.dispatchEvent(new Event('submit', {cancelable: true}))")
    assert verdict.inner_html() == said


CHOOSE = """(form, n) => {  // as if it had not been locked
    delete form.dataset.locked;
    form.querySelector("fieldset").disabled = false;
    form.querySelector("button").disabled = false;
    form.querySelectorAll("input[type=radio]")[n].click();
    form.querySelector("button").click();
}"""


def every_choice_has_its_reply(form, reveal) -> None:
    """The right choice is called right; each other one gets the reply that was written for it."""
    told = reveal.evaluate("details => JSON.parse(details.dataset.told)")
    verdict = reveal.locator(".reveal-guess")
    for n, choice in enumerate(form.locator("input[type=radio]").all()):
        form.evaluate(CHOOSE, n)
        value = choice.get_attribute("value")
        if value == told["answer"]:
            assert verdict.inner_html().endswith("That is right.")
        else:
            words = re.sub(r"<[^>]*>", "", told["replies"][value])
            assert words.split("&")[0].strip()[:40] in verdict.inner_text()


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_every_prediction_locks_and_uncovers(visit, page, where):
    problems = visit(where)
    forms = page.locator(FORM).all()
    keys = [form.get_attribute("data-key") for form in forms]
    assert len(set(keys)) == len(keys), "two questions of a page share a key"
    nothing_is_locked_without_an_answer(page)
    for form, key in zip(forms, keys, strict=True):
        reveal = page.locator(f'details.reveal[data-key="{key}"]')
        locks_and_uncovers(page, form, reveal)
        if form.get_attribute("data-kind") == "choice":
            every_choice_has_its_reply(form, reveal)
    assert problems == []


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_page_reads_without_scripts(browser, site_url, where):
    """With no script the first picture, its sentence and the folded results are still there."""
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{site_url}/{where}")
        for explorer in page.locator(EXPLORER).all():
            assert explorer.locator("img").is_visible()
            assert explorer.locator(".explore-says").inner_text()
            assert not explorer.locator(".explore-controls").is_visible()
        for reveal in page.locator("details.reveal").all():
            assert reveal.locator("summary").is_visible()
    finally:
        context.close()
