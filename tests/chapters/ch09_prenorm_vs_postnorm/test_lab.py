"""Chapter 9's measurements: runs that learn, and both orders by hand."""

import numpy as np
import pytest

from helpers import bigram
from helpers.chapters.ch09_prenorm_vs_postnorm import lab
from helpers.chapters.lab import characters, counted_losses


def test_a_run_learns_where_it_ends_clearly_below_the_letter_frequencies():
    level = counted_losses()["unigram"]
    pairs = bigram.count_bigrams(characters().validation, len(characters().tokenizer.vocab))
    counted = np.bincount(characters().train, minlength=len(pairs)) + 1
    frequencies = np.tile(counted / counted.sum(), (len(pairs), 1))
    assert level == pytest.approx(bigram.cross_entropy_of(frequencies, pairs))
    assert lab.learnt(level + np.array([-0.1, -0.04, 0.1])) == 1


def test_by_hand_both_orders_add_and_norm_in_their_order():
    post, pre = lab.by_hand(*np.array([[1.0, 2, -1], [0, 0, 3], [1, 1, 1]]))
    np.testing.assert_allclose(post["x + y"], [1, 2, 2])
    output = post[r"\text{output}"]
    np.testing.assert_allclose([output.mean(), output.var()], [0, 1], atol=1e-12)
    assert pre[r"f\text{ reads}"] == pytest.approx(np.array([1, 4, -5]) / 14**0.5)
    np.testing.assert_allclose(pre[r"\text{output} = x + y"], [2, 3, 0])
