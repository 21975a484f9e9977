"""What all corrections have in common: their form, and that they compute the same on every run.

That each is right is tested in its chapter's folder, see tests/corrected.py.
"""

import inspect
import math
import re

import numpy as np
import pytest
import torch
from corrected import said

from helpers.chapters import CHAPTERS, corrections
from helpers.corrections import Correction, number, shown
from helpers.corrections.correction import collected, corrects

CORRECTIONS = corrections()


def test_several_dozen_with_slugs_of_their_own():
    slugs = {correction.slug for correction in CORRECTIONS}
    assert len(slugs) == len(CORRECTIONS) >= 85
    assert all(re.fullmatch(r"c\d\d(-[a-z0-9]+)+", slug) for slug in slugs)
    assert len({c.claim for c in CORRECTIONS}) == len(CORRECTIONS)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapter_lists_all_that_it_writes_and_no_other_does(chapter):
    if module := chapter.module("corrections"):
        assert collected(vars(module)) == module.CORRECTIONS
        assert {correction.chapter for correction in module.CORRECTIONS} == {chapter.stem[:2]}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_inputs_of_examples_are_read_only(chapter):
    found = vars(chapter.module("corrections") or object).items()
    for name, value in found:
        if name.isupper() and isinstance(value, np.ndarray):
            assert value.dtype == np.float64, name
            assert not value.flags.writeable, name


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_form(correction):
    assert correction.lines == tuple(sorted(set(correction.lines)))
    assert correction.claim.endswith(".")
    assert correction.why.endswith(".")
    assert correction.right.__doc__
    assert len(inspect.signature(correction.right).parameters) == 0
    for text in (correction.claim, correction.says, correction.why, said(correction.slug)):
        assert text.count("$") % 2 == text.count("`") % 2 == 0  # it is parsed as Markdown
        assert "\n" not in text


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_no_decimal_in_the_reason_is_typed_only_there(correction):
    known = correction.claim + correction.says + said(correction.slug)
    assert all(decimal in known for decimal in re.findall(r"\d+\.\d+", correction.why))


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_deterministic_and_leaves_the_global_generators_alone(correction):
    before = said(correction.slug)
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    assert correction.shown() == before
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert (np.random.get_state()[1] == numpy_before).all()  # noqa: NPY002


# --------------------------------------------------------------------------- number and shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.0, "8"),
        (-3, "−3"),
        (0.0, "0"),
        (1.0662243, "1.066"),
        (-0.35667, "−0.3567"),
        (4.509e-5, "4.509 × 10⁻⁵"),
        (-1.25e12 - 0.5, "−1.25 × 10¹²"),
        (20000, "20000"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "nan"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_shown():
    assert shown("as it is") == "as it is"
    assert shown(0.5) == "0.5"
    assert shown(6) == "6"
    assert shown(np.array([1.0, 0.33333])) == "(1, 0.3333)"
    assert shown(np.array([[1.0, 0.25], [-2.0, 1e-7]])) == (
        r"$\begin{bmatrix}1 & 0.25 \\ -2 & 1e-07\end{bmatrix}$"
    )
    with pytest.raises(ValueError, match="3 axes"):
        shown(np.zeros((1, 1, 1)))


def a_right_value() -> float:
    """One."""
    return 1.0


GOOD = {
    "chapter": "05",
    "document": "003",
    "lines": (1, 2),
    "claim": "One is two.",
    "says": "2",
    "right": a_right_value,
    "why": "It is one.",
}


def test_correction_and_its_decorator_agree():
    correction = Correction(**GOOD)
    rest = {name: GOOD[name] for name in ("claim", "says", "why")}
    assert corrects("05", "003", 1, 2, **rest)(a_right_value) == correction
    assert (correction.slug, correction.shown()) == ("c05-a-right-value", "1")
    assert collected({"a": 1, "b": correction}) == (correction,)
    with pytest.raises(AttributeError):
        correction.says = "3"


@pytest.mark.no_shape_check
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("chapter", "5"),
        ("chapter", "005"),
        ("document", "005"),
        ("lines", ()),
        ("lines", (0,)),
        ("lines", (1.5,)),
        ("claim", " "),
        ("says", ""),
        ("why", ""),
        ("right", lambda: 1.0),
    ],
)
def test_fields_are_checked(field, value):
    with pytest.raises(ValueError, match=field):
        Correction(**{**GOOD, field: value})
