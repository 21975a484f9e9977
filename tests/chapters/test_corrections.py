"""Corrections: their form, and that they compute what the stored snapshot of the page holds.

Where a correction is new or changed, compute it once by an independent route, say so in the
commit's body, and store what the page shows: ``python tests/chapters/test_corrections.py``.
"""

import inspect
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers.chapters import CHAPTERS, corrections
from helpers.corrections import number, shown

CORRECTIONS = corrections()
SNAPSHOT = Path(__file__).with_name("corrections.json")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ROUNDING = 1.1e-3  # relative: one unit in the last of four digits, where the first is a 1


@pytest.fixture(scope="module")
def snapshot() -> dict[str, str]:
    return json.loads(SNAPSHOT.read_text("utf-8"))


def test_the_snapshot_holds_all_corrections(snapshot):
    assert list(snapshot) == [correction.slug for correction in CORRECTIONS]


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_the_computed_column_is_the_stored_one(correction, snapshot):
    """Word for word, and each number up to the rounding that the page shows it with."""
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    computed, stored = correction.shown(), snapshot[correction.slug]
    assert NUMBER.sub("#", computed) == NUMBER.sub("#", stored)
    found, wanted = (np.array(NUMBER.findall(text), dtype=float) for text in (computed, stored))
    np.testing.assert_allclose(found, wanted, rtol=ROUNDING)
    assert torch.equal(torch.get_rng_state(), torch_before), "no global generator is drawn from"
    assert (np.random.get_state()[1] == numpy_before).all()  # noqa: NPY002


def test_several_dozen_with_slugs_of_their_own():
    slugs = {correction.slug for correction in CORRECTIONS}
    assert len(slugs) == len(CORRECTIONS) >= 85
    assert all(re.fullmatch(r"c\d\d(-[a-z0-9]+)+", slug) for slug in slugs)
    assert len({c.claim for c in CORRECTIONS}) == len(CORRECTIONS)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.stem)
def test_inputs_of_examples_are_read_only(chapter):
    found = vars(chapter.module("corrections") or object).items()
    for name, value in found:
        if name.isupper() and isinstance(value, np.ndarray):
            assert value.dtype == np.float64, name
            assert not value.flags.writeable, name


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_form(correction, snapshot):
    assert correction.claim.endswith(".")
    assert correction.why.endswith(".")
    assert correction.right.__doc__
    assert len(inspect.signature(correction.right).parameters) == 0
    for text in (correction.claim, correction.says, correction.why, snapshot[correction.slug]):
        assert text.count("$") % 2 == text.count("`") % 2 == 0  # it is parsed as Markdown
        assert "\n" not in text


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


if __name__ == "__main__":
    said = {correction.slug: correction.shown() for correction in CORRECTIONS}
    SNAPSHOT.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", "utf-8")
