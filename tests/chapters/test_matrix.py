"""Helpers and chapters beside other packages: what is counted, and what the stored table says."""

import json

import pytest
from packaging.requirements import Requirement
from support import ROOT, script

from book.headlines import expected, headlines

matrix = script(ROOT / "benchmarks" / "matrix.py")
STORED = json.loads((ROOT / "helpers" / "data" / "results" / "matrix.json").read_text("utf-8"))
ROWS = {row[0]: dict(zip(STORED["columns"], row, strict=True)) for row in STORED["rows"]}


def test_everything_ran_with_the_releases_that_the_table_names():
    assert list(ROWS) == matrix.NAMES
    assert max(row["versions, and when"][-10:] for row in ROWS.values()) == STORED["date"]
    for name, row in ROWS.items():
        assert row["cells that fail"] == "0", name
        assert " 0 failed" in row["helpers' tests"] or name == "colab"  # which asks cells alone
        said = row["versions, and when"].partition("; ")[0].lower().split(", ")
        versions = dict(one.split(" ") for one in said)
        for wanted in map(Requirement, matrix.NAMED[name]):
            if wanted.name in versions:
                assert wanted.specifier.contains(versions[wanted.name]), (name, wanted)
    assert ROWS["pins"]["cells that print otherwise"] == "0"


def test_headline_numbers_were_looked_for():
    """Nearly all: one that is new, or has another name now, is found by the next `make matrix`."""
    known = {one.what for one in headlines()}
    for name, found in STORED["found"].items():
        assert len(known & set(found)) >= 0.8 * len(known), name


@pytest.mark.parametrize("one", headlines(), ids=lambda one: one.what)
def test_headline_numbers_were_found_everywhere_within_their_tolerances(one):
    for name, found in STORED["found"].items():
        near = float(found.get(one.what, expected(one))) - float(expected(one))
        assert abs(near) <= one.tolerance * (1 + 1e-9), name
