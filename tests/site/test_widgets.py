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


def at(page, explorer):
    """What an explorer shows: its picture, its sentence, and what its sliders say."""
    return {
        "picture": explorer.locator("img").get_attribute("src"),
        "sentence": explorer.locator(".explore-says").inner_html(),
        "says": [i.get_attribute("aria-valuetext") for i in explorer.locator("input").all()],
        "shown": explorer.locator("output").all_inner_texts(),
    }


def press(page, explorer, slider, key):
    """Press a key on a slider and wait for the explorer to have moved."""
    slider.focus()
    value = int(slider.input_value())
    explorer.evaluate("figure => { delete figure.dataset.at }")
    page.keyboard.press(key)
    assert int(slider.input_value()) != value, f"{key} does not move the slider"
    explorer.locator("xpath=self::*[@data-at]").wait_for(state="attached")


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_every_explorer_answers_the_arrow_keys(visit, page, where):
    problems = visit(where)
    for explorer in page.locator(EXPLORER).all():
        assert explorer.locator("img").get_attribute("alt")
        for slider in explorer.locator("input[type=range]").all():
            slider.scroll_into_view_if_needed()
            assert slider.is_visible()
            forth, back = "ArrowRight", "ArrowLeft"
            if slider.input_value() == slider.get_attribute("max"):
                forth, back = back, forth
            before = at(page, explorer)
            press(page, explorer, slider, forth)
            after = at(page, explorer)
            assert after["says"] != before["says"]
            assert after["shown"] == after["says"]
            assert after["picture"] != before["picture"], "the picture stays"
            assert after["picture"].startswith("data:image/svg+xml")
            press(page, explorer, slider, back)
            returned = at(page, explorer)
            for part in ("sentence", "says", "shown"):
                assert returned[part] == before[part], "going back does not lead back"
        image = explorer.locator("img")
        assert image.evaluate("image => image.complete && image.naturalWidth > 0")
    assert problems == []


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_every_explorer_says_something_else_elsewhere(visit, page, where):
    """From end to middle to end of a slider the sentence changes: it holds what was computed."""
    visit(where)
    for explorer in page.locator(EXPLORER).all():
        said = set()
        for slider in explorer.locator("input[type=range]").all():
            for place in (0, 1, 0.5):
                slider.evaluate("(s, place) => { s.value = Math.round(s.max * place) }", place)
                explorer.evaluate(
                    """figure => new Promise(done => {
                        delete figure.dataset.at
                        figure.querySelector('input').dispatchEvent(new Event('input'))
                        const look = () => figure.dataset.at ? done() : setTimeout(look, 5)
                        look()
                    })"""
                )
                said.add(explorer.locator(".explore-says").inner_text())
        assert len(said) > 1


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_explorers_of_a_page_are_independent(visit, page, where):
    visit(where)
    explorers = page.locator(EXPLORER).all()
    if len(explorers) < 2:
        pytest.skip("one explorer at most")
    first, *others = explorers
    before = [at(page, other) for other in others]
    slider = first.locator("input[type=range]").first
    full = slider.input_value() == slider.get_attribute("max")
    press(page, first, slider, "ArrowLeft" if full else "ArrowRight")
    assert [at(page, other) for other in others] == before


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


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_every_prediction_locks_and_uncovers(visit, page, where):
    problems = visit(where)
    forms = page.locator(FORM).all()
    keys = [form.get_attribute("data-key") for form in forms]
    assert len(set(keys)) == len(keys), "two questions of a page share a key"
    for form, key in zip(forms, keys, strict=True):
        reveal = page.locator(f'details.reveal[data-key="{key}"]')
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
    assert problems == []


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_nothing_is_locked_without_an_answer(visit, page, where):
    visit(where)
    for form in page.locator(f"{FORM}:not([data-kind=curve])").all():
        form.get_by_role("button").click()
        assert not is_locked(form)
    assert page.locator("details.reveal[open]").count() == 0


def told(reveal) -> dict:
    return reveal.evaluate("details => JSON.parse(details.dataset.told)")


@pytest.mark.parametrize("where", WITH_WIDGETS)
def test_every_choice_has_its_reply(visit, page, where):
    """The right choice is called right; each other one gets the reply that was written for it."""
    visit(where)
    for form in page.locator(f"{FORM}[data-kind=choice]").all():
        key = form.get_attribute("data-key")
        reveal = page.locator(f'details.reveal[data-key="{key}"]')
        known = told(reveal)
        for at_choice in range(form.locator("input[type=radio]").count()):
            choice = form.locator("input[type=radio]").nth(at_choice)
            form.evaluate(
                """form => {
                    delete form.dataset.locked
                    form.querySelector('fieldset').disabled = false
                    form.querySelector('button').disabled = false
                }"""
            )
            choice.check()
            form.get_by_role("button").click()
            verdict = reveal.locator(".reveal-guess").inner_html()
            value = choice.get_attribute("value")
            if value == known["answer"]:
                assert verdict.endswith("That is right.")
            else:
                words = re.sub(r"<[^>]*>", "", known["replies"][value])
                plain = reveal.locator(".reveal-guess").inner_text()
                assert words.split("&")[0].strip()[:40] in plain


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
