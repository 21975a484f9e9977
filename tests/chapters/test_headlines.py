"""Headline numbers: each is where it is said to be, and a run that is too far from it fails."""

import copy
from types import SimpleNamespace

import pytest
from support import NOTEBOOKS, ROOT, chapter, script

from book.headlines import expected, headlines

plugin = script(ROOT / "tests" / "count_cells.py")
BY_STEM = {path.stem: path for path in NOTEBOOKS}


def just_run(one):
    """What the plugin sees of a cell that shows again what it has stored."""
    path = BY_STEM[one.notebook]
    cell = next(cell for cell in chapter(path).cells if cell.id == one.cell)
    shown = copy.deepcopy(cell.outputs)
    return SimpleNamespace(cell=cell, path=path, test_outputs=shown, user_properties=[])


def show(item, one, number):
    """Let a cell show another number."""
    before, _, after = one.text.partition("#")
    for output in item.test_outputs:
        holder = output if "text" in output else output["data"]
        for kind in ("text", "text/markdown", "text/plain"):
            if kind in holder:
                words = " ".join(holder[kind].split()) + " "
                holder[kind] = words.replace(
                    before + expected(one) + after, before + number + after
                )


def test_every_chapter_has_one_and_none_has_many():
    named = [one.notebook for one in headlines()]
    assert sorted(set(named)) == sorted(BY_STEM)
    assert max(named.count(stem) for stem in BY_STEM) <= 2
    assert len({one.what for one in headlines()}) == len(named)


@pytest.mark.parametrize("one", headlines(), ids=lambda one: one.what)
def test_a_number_may_be_as_far_as_the_page_says_and_no_further(one):
    item = just_run(one)
    plugin.hold_headlines(item)
    assert item.user_properties == [(one.what, expected(one))]
    assert 0 < one.tolerance <= 0.05 * abs(float(expected(one)))
    for times, passes in ((0.9, True), (1.5, False), (-1.5, False)):
        item = just_run(one)
        show(item, one, f"{float(expected(one)) + times * one.tolerance:.6f}")
        if passes:
            plugin.hold_headlines(item)
        else:
            with pytest.raises(AssertionError, match="expected"):
                plugin.hold_headlines(item)


def test_a_number_that_is_gone_is_missed():
    one = headlines()[0]
    item = just_run(one)
    item.test_outputs.clear()
    with pytest.raises(ValueError, match="is not in the output of counted"):
        plugin.hold_headlines(item)
