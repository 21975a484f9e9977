"""The measurements of chapter 02: a slice of each stored part, recomputed; texts with controls."""

import pytest

from helpers.chapters import stored
from helpers.chapters.ch02_similarity_geometry import measure
from helpers.chapters.common import furthest

TOLERANCE = 0.02  # of correlations and shares, for another processor


def first_runs(part):
    return [setting["runs"][0] for setting in stored(2)[part]["settings"]]


@pytest.fixture(scope="module")
def looks():
    """Both tables of the run of seed 0, up to step 400."""
    return measure.looked_at(0, steps=400)[1]


@pytest.mark.slow
def test_lengths_are_the_stored_ones(looks):
    for made, then in zip(measure.of_looks("lengths", looks), first_runs("lengths"), strict=True):
        assert furthest(made["correlations"], then["correlations"][:3]) < TOLERANCE


@pytest.mark.slow
def test_neighbours_are_the_stored_ones(looks):
    made = measure.of_looks("neighbours", looks)
    assert len(made) == len(measure.TABLES) * len(measure.WAYS)
    for now, then in zip(made, first_runs("neighbours"), strict=False):
        assert furthest(now["right"], then["right"]) < TOLERANCE


@pytest.mark.slow
def test_controls_are_the_stored_ones():
    for made, then in zip(measure.of_controls(0, steps=25), first_runs("controls"), strict=True):
        assert made["occurrences"] == then["occurrences"]
        assert furthest(made["lengths"][0], then["lengths"][0]) < TOLERANCE


def test_text_with_controls_differs_from_the_text_only_where_it_should():
    ids, words, _ = measure.tales()
    new, copies, strewn = measure.with_controls(0)
    assert measure.with_controls(0)[0].equal(new), "a seed is a text"
    times = new.bincount()
    assert times[strewn].tolist() == [5, 20, 80, 320, 1280]
    assert copies.shape == (20, 5)
    kept = (new < len(words) + 1) & ~(copies[:, :1] == new).any(dim=0)
    assert new[kept].equal(ids[kept])
    shares = times[copies].sum(dim=0) / times[copies].sum()
    assert shares[0] > 0.45
    assert (shares[3:] < 0.08).all()
