"""Numbers of one's own: of a thousand students' questions each has one right answer."""

import numpy as np
import pytest
from support import NOTEBOOKS, chapter

from helpers.chapters import judges
from helpers.exercises import VALUES, Diagnosis, judged
from helpers.exercises.values import drawn, filled, template

CHECKS = judges()
NAMES = sorted(VALUES)
STUDENTS = [f"student {n}" for n in range(1000)]


def is_right(name, answer, own):
    return judged(lambda plain: CHECKS[name](plain, **own), answer).state == "Right"


def question(name):
    sources = (c.source for p in NOTEBOOKS if p.stem[:2] == name[:2] for c in chapter(p).cells)
    return next(text for text in sources if f"> **Exercise {name[3:]}.**" in text)


@pytest.mark.parametrize("name", NAMES)
def test_answer_is_right_with_ones_own_values_alone(name):
    values, students = VALUES[name], STUDENTS
    of = [drawn(name, "course", student) for student in students]
    rights = [values.right(**own) for own in of]
    assert all(is_right(name, right, own) for right, own in zip(rights, of, strict=True))
    assert is_right(name, values.right(**values.book), {})
    alike = [is_right(name, values.right(**values.book), own) for own in of]
    others = [
        is_right(name, rights[(at + shift) % len(of)], own)
        for at, own in enumerate(of)
        for shift in range(1, 3)
    ]
    assert np.mean(alike) <= 0.25, name
    assert np.mean(others) <= 0.25, name


@pytest.mark.parametrize("name", NAMES)
def test_question_is_the_books_with_other_values(name):
    text = question(name)
    pattern = template(name, text)
    assert filled(name, pattern, {}) == text
    texts = {filled(name, pattern, drawn(name, "course", student)) for student in STUDENTS[:50]}
    assert len(texts) > 5 or isinstance(CHECKS[name], Diagnosis)
    assert not any("{" + key + "}" in one for one in texts for key in VALUES[name].book)
