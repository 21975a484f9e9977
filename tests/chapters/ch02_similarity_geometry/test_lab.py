"""The measurements of chapter 02: a slice of each stored part, recomputed."""

import pytest

from helpers.chapters.ch02_similarity_geometry import lab
from helpers.chapters.lab import max_difference

TOLERANCE = 0.02  # of correlations and shares, for another processor


def first_run(part, **wanted):
    return lab.PARTS[part].runs(**wanted)[0]


@pytest.mark.nightly
@pytest.mark.parametrize("optimizer", lab.RATES)
def test_lengths_are_the_stored_ones(optimizer):
    for table in lab.TABLES:
        made = lab.one_length(0, table=table, optimizer=optimizer, steps=400)
        then = first_run("lengths", table=table, optimizer=optimizer)
        assert max_difference(made["correlations"], then["correlations"][:3]) < TOLERANCE


@pytest.mark.nightly
@pytest.mark.parametrize("table", lab.TABLES)
def test_neighbours_are_the_stored_ones(table):
    for way in lab.WAYS:
        made = lab.one_search(0, table=table, by=way, steps=400, until=400)
        then = first_run("neighbours", table=table, by=way, steps=400)
        assert max_difference(made["right"], then["right"]) < 2 * TOLERANCE


@pytest.mark.nightly
def test_cloud_is_the_stored_one():
    made = lab.one_cloud(0, table="input rows", steps=400, until=400)
    name = "all three, cosine and Euclid"
    assert max_difference(made[name], first_run("cloud")[name]) < TOLERANCE


def test_keys_of_equal_length_have_one_order():
    assert lab.other_best(64, 16, 32, 0, qk_norm=True) == pytest.approx((0, 1))
    other, ratio = lab.other_best(64, 4, 64, 0)
    assert other > 0.3
    assert ratio > 1.5
