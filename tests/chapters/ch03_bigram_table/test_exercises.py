"""Chapter 03: what fits the question is right, though the book's solution is written otherwise."""

from itertools import pairwise

import numpy as np

from helpers.chapters import judges
from helpers.exercises import check


def test_softmax_need_not_subtract_the_largest_logit():
    judges()

    def gradient(table, ids):
        p, mean = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True), np.zeros_like(table)
        for present, following in pairwise(ids):
            mean[present] += (p[present] - np.eye(len(p))[following]) / (len(ids) - 1)
        return mean

    assert check("03.2", gradient).state == "Right"
