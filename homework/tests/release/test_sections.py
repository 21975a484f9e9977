"""Every exercise has a section to read again, and its address leads to that heading."""

import html
import re
from urllib.parse import urldefrag

import pytest
from support import ROOT, TAUGHT, chapter, exercises

from homework.release.sections import section

HTML = ROOT / "_build" / "html"
HEADING = re.compile(r'<section[^>]*? id="([^"]*)"[^>]*>\s*<h\d>(.*?)<a class="headerlink"')


@pytest.fixture(scope="module")
def headings():
    """The headings of a built page by their anchors, as a function of its path."""
    if not (HTML / "index.html").exists():
        pytest.fail("there is no built site in _build/html; run `make book` first", pytrace=False)

    def read(page: str) -> dict[str, str]:
        found = HEADING.findall((HTML / page).read_text("utf-8"))
        return {anchor: html.unescape(re.sub("<[^>]*>", "", title)) for anchor, title in found}

    return read


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_each_task_leads_to_a_heading_of_the_built_page(notebook, headings):
    there = headings(f"notebooks/{notebook.stem}.html")
    tasks = exercises(chapter(notebook))
    assert len(tasks) >= 6
    for task in tasks:
        found = section(task)
        page, anchor = urldefrag(found.url)
        assert page == f"notebooks/{notebook.stem}.html"
        assert there.get(anchor) == found.title, task
        assert anchor not in ("exercises", "what-we-showed")


def test_the_section_stands_before_the_exercises():
    for notebook in TAUGHT:
        titles = re.findall(r"^###? (.*)$", chapter(notebook).prose, re.MULTILINE)
        taught = titles[: titles.index("Exercises")]
        assert {section(task).title for task in exercises(chapter(notebook))} <= set(taught)


def test_a_task_of_the_teachers_own_has_none():
    assert section("05.99") is section("99.1") is None
