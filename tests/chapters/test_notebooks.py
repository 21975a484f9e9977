"""The stored chapters: run, clean, complete."""

import json

import pytest
from support import NOTEBOOKS, ROOT, Chapter
from support import chapter as read

from chapters import rules
from chapters.rules import RULES

LEAST_COMPARED = 0.85


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def chapter(request):
    return read(request.param)


def broken(chapter: Chapter) -> dict[str, list[str]]:
    """The rules that a chapter breaks, each with the complaints."""
    complaints = {name: rule(chapter) for name, rule in RULES.items()}
    return {name: found for name, found in complaints.items() if found}


def test_chapter_keeps_the_rules(chapter):
    assert broken(chapter) == {}


def test_every_cell_is_run_and_nearly_all_output_compared(chapter):
    marked = {cell.id: rules._untested(cell) for cell in chapter.code}
    assert not [ident for ident, marks in marked.items() if rules.SKIPPED in marks]
    with_output = [cell.id for cell in chapter.code if cell.outputs]
    compared = [ident for ident in with_output if not marked[ident]]
    assert len(compared) >= LEAST_COMPARED * len(with_output)


@pytest.mark.parametrize("page", sorted(ROOT.glob("book/recap-*.md")), ids=lambda page: page.stem)
def test_a_recap_says_what_its_chapters_measured(page):
    text = page.read_text("utf-8")
    held = [rules.held(read(path)) for path in NOTEBOOKS if path.stem in text]
    assert rules.typed(text, set().union(*held)) == []


def test_stamps_name_all_chapters_and_no_other():
    stamps = ROOT / "book" / "outputs.json"
    known = json.loads(stamps.read_text("utf-8")) if stamps.exists() else {}
    assert sorted(known) == [path.stem for path in NOTEBOOKS], "run `make notebooks ONLY=NN`"
    for stamp in known.values():
        assert set(stamp) == {"cells", "computed", "device", "seconds", "versions"}
