"""Exercises of chapter 12 that have many right answers: more of them than one are called right."""

import pytest
from chapters.ch12_inside_the_gpt.wrong_answers import ALSO_RIGHT

from helpers.exercises import check

pytestmark = pytest.mark.no_shape_check  # as for a reader, who is told by the check alone


@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, cases in ALSO_RIGHT.items() for at in range(len(cases))]
)
def test_other_right_answers_are_called_right(name, at):
    verdict = check(name, ALSO_RIGHT[name][at])
    assert verdict.state == "Right", verdict.message
