"""Common misconceptions: each is answered as stored, and by a section that its chapter has.

Where one is new or changed, compute it once by an independent route, say so in the commit's body,
and store what the page shows: ``python tests/chapters/test_corrections.py``.
"""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from myst_parser.mdit_to_docutils.base import default_slugify

from helpers.chapters import corrections
from helpers.corrections import number, vector

CORRECTIONS = corrections()
SNAPSHOT = Path(__file__).with_name("corrections.json")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def snapshot() -> dict[str, str]:
    return json.loads(SNAPSHOT.read_text("utf-8"))


def test_the_snapshot_holds_all_corrections(snapshot):
    assert list(snapshot) == [correction.slug for correction in CORRECTIONS]


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_what_is_computed_is_what_is_stored(correction, snapshot):
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    computed = correction.right()
    assert computed == snapshot[correction.slug]
    assert torch.equal(torch.get_rng_state(), torch_before), "no global generator is drawn from"
    assert (np.random.get_state()[1] == numpy_before).all()  # noqa: NPY002
    for text in (correction.claim, correction.says, correction.why, computed):
        assert text.count("$") % 2 == text.count("`") % 2 == 0  # it is parsed as Markdown
        assert "\n" not in text


def test_few_enough_to_read_and_each_with_an_anchor_of_its_own():
    assert len({c.slug for c in CORRECTIONS}) == len(CORRECTIONS) <= 35


def headings(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    prose = "\n".join("".join(c["source"]) + "\n" for c in cells if c["cell_type"] == "markdown")
    return re.findall(r"^#+ (.*)$", prose, re.MULTILINE)


def test_each_section_that_is_named_is_in_its_chapter():
    """Those of the corrections, and those of the folded table."""
    found = {path.name: headings(path) for path in ROOT.glob("notebooks/[0-9][0-9]_*.ipynb")}
    of_chapter = {int(name[:2]): of_one for name, of_one in found.items()}
    assert [c.slug for c in CORRECTIONS if c.section not in of_chapter[c.chapter]] == []
    page = (ROOT / "book" / "corrections.md").read_text("utf-8")
    links = re.findall(r"\(\.\./notebooks/([^)#]+)#([^)]+)\)", page)
    assert [(name, at) for name, at in links if at not in map(default_slugify, found[name])] == []
    assert len(links) > 50


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.0, "8"),
        (-3, "−3"),
        (1.0662243, "1.07"),
        (-0.35667, "−0.357"),
        (4.509e-5, "4.51 × 10⁻⁵"),
        (-1.25e12 - 0.5, "−1.25 × 10¹²"),
        (20000, "20000"),
        (-math.inf, "−∞"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_vector():
    assert vector(np.array([1.0, -0.33333, -1e-12])) == "(1, −0.333, 0)"


if __name__ == "__main__":
    said = {correction.slug: correction.right() for correction in CORRECTIONS}
    SNAPSHOT.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", "utf-8")
