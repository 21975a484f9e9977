"""Slides of a lecture: what a class works out comes before what comes out, and all of it fits."""

import subprocess
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from book.slides import __main__ as slides

CHAPTERS = sorted(Path(slides.ROOT, "notebooks").glob("*.ipynb"))
AFTER = {"predict": {"result"}, "task": {"task", "key"}, "spot": {"answer"}}
TOO_LARGE = """() => [...document.querySelectorAll(".slides > section")].filter(slide => {
    Reveal.slide(...Object.values(Reveal.getIndices(slide)));
    const room = Reveal.getSlidesElement().getBoundingClientRect();
    return slide.scrollWidth > 1280 || [...slide.querySelectorAll("p, li, pre, img")].some(part => {
        const { right, bottom } = part.getBoundingClientRect();
        return right > room.right + 1 || bottom > room.bottom + 1;
    });
}).map(slide => slide.innerText)"""


@pytest.mark.parametrize("notebook", CHAPTERS, ids=lambda file: file.stem[:2])
def test_an_answer_waits_for_the_next_slide(notebook):
    cells = slides.slides(nbformat.read(notebook, as_version=4).cells)
    shown = [cell["metadata"]["slideshow"] for cell in cells]
    kinds = [one["data"]["kind"] for one in shown if one["slide_type"] == "slide"]
    assert (kinds[0], kinds[-1]) == ("title", "saw")
    assert all(then in AFTER.get(kind, {then}) for kind, then in pairwise(kinds))


@pytest.fixture(scope="module")
def reveal():
    try:
        slides.reveal_js().close()
    except subprocess.CalledProcessError:
        pytest.skip("reveal.js could not be fetched")


@pytest.mark.parametrize("notebook", CHAPTERS, ids=lambda file: file.stem[:2])
def test_slides_fit_and_need_no_network(notebook, reveal, page, watched, tmp_path):
    file = tmp_path / "slides.html"
    file.write_text(slides.document(notebook), "utf-8")
    problems = watched(page, file.as_uri())
    page.goto(file.as_uri())
    page.wait_for_function("Reveal.isReady()")
    assert 8 <= page.evaluate("Reveal.getTotalSlides()") <= 25
    assert page.evaluate(TOO_LARGE) == []
    assert not page.get_by_text("$$").count()
    assert problems == []
