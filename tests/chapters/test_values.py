"""Numbers of one's own: of a thousand students' questions each has one right answer."""

import sys

import numpy as np
import pytest
from support import NOTEBOOKS, chapter

from helpers.chapters import judges
from helpers.exercises import VALUES, Diagnosis, NumericNearMisses, check, judged
from helpers.exercises.values import drawn, filled, template

CHECKS = judges()
NAMES = sorted(VALUES)
values = sys.modules["helpers.exercises.values"]
STUDENTS = [f"student {n}" for n in range(1000)]


def is_right(name, answer, own):
    return judged(lambda plain: CHECKS[name](plain, **own), answer).state == "Right"


def question(name):
    sources = (c.source for p in NOTEBOOKS if p.stem[:2] == name[:2] for c in chapter(p).cells)
    return next(text for text in sources if f"> **Exercise {name[3:]}.**" in text)


@pytest.mark.parametrize("name", NAMES)
def test_answer_is_right_with_ones_own_values_alone(name):
    of = [drawn(name, "course", student) for student in STUDENTS]
    rights = [VALUES[name].right(**own) for own in of]
    assert all(is_right(name, right, own) for right, own in zip(rights, of, strict=True))
    assert is_right(name, VALUES[name].right(**VALUES[name].book), {})
    if isinstance(CHECKS[name], NumericNearMisses):
        assert all(is_right(name, 1.001 * n, own) for n, own in zip(rights, of, strict=True))
        assert not any(is_right(name, 2 * n, own) for n, own in zip(rights, of, strict=True))
    alike = [is_right(name, VALUES[name].right(**VALUES[name].book), own) for own in of]
    assert not any(alike)
    pairs = zip([*rights[1:], rights[0]], of, strict=True)
    others = [is_right(name, right, own) for right, own in pairs]
    assert np.mean(others) <= 0.25, name


@pytest.mark.parametrize("name", NAMES)
def test_question_is_the_books_with_other_values(name):
    text = question(name)
    pattern = template(name, text)
    assert filled(name, pattern, {}) == text
    texts = {filled(name, pattern, drawn(name, "course", student)) for student in STUDENTS[:50]}
    assert len(texts) > 5 or isinstance(CHECKS[name], Diagnosis)
    assert not any("{" + key + "}" in one for one in texts for key in VALUES[name].book)


def test_check_of_a_course_waits_for_its_numbers(monkeypatch):
    right = VALUES["05.4"].right
    with monkeypatch.context() as patch:
        patch.setattr(values, "_mine", {"course": "", "student": ""})
        assert check("05.4", right(**VALUES["05.4"].book)).state == "Right"
        assert check("05.4", (1.0, 2.0), course="c").state == "Not yet"
        for student, state in (("", "Not yet"), (" Ann", "Right")):
            values.numbers_of(student, course="c")
            assert check("05.4", right(**drawn("05.4", "c", "ann")), course="c").state == state


def test_question_before_its_chapter_is_imported_waits_for_it(monkeypatch):
    entry, of_ann = VALUES["05.4"], {"course": "c", "student": "annbefore"}
    with monkeypatch.context() as patch:
        patch.setattr(values, "_mine", of_ann)
        patch.delitem(VALUES, "05.4")
        assert values.question("05.4", "{first}").data == values.NOBODY
        patch.setitem(VALUES, "05.4", entry)
        assert values.mine("05.4")["first"]
