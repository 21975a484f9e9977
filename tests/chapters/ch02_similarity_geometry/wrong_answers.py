"""Chapter 02: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters import judges

rows = np.array([[10.0, 1.0], [10.0, -1.0], [11.0, 4.0]])
push = np.array([10.0, 0.0])

cosines, distances = (judges()[name].right for name in ("02.1", "02.2"))

RIGHT = {
    "02.4": [torch.tensor([0.3, 1.0])],
    "02.5": [(torch.tensor(rows), push.tolist())],
}

WRONG = {
    "02.1": [(lambda *given: 5 * cosines(*given), "No cosine is larger than 1")],
    "02.2": [(lambda dots: distances(dots) + np.eye(len(dots)), "your diagonal is not 0")],
    "02.4": [
        ((4.0, 2.0), "pond is one of them: river by dot, brook by cosine, pond by Euclid"),
        ((1.0, 1.0), "pond is one of them"),
        ((-3.0, -3.0), "sand by dot, sand by cosine, sand by Euclid: not three"),
        ((30.0, 100.0), "outside the map"),
        ((0.0, 0.0), "no direction"),
        ((0.7, 0.7 * 9 + 0.0), "not three different"),
        (90, "should have shape (2,)"),
        ((-0.1, 0.9), "two words are level"),
    ],
    "02.5": [
        ((rows, push * 0), "c is zero"),
        ((rows, push * 0.01), "is nearest to row 0 before and after"),
        ((rows[:2], push), "at least three rows"),
        ((rows, np.array([1.0, 2.0, 3.0])), "c should have shape (2,)"),
        ((rows, rows[0]), "A row of zeros"),
        ((np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]]), push), "equally near"),
        ((rows * np.nan, push), "finite"),
        (rows, "Give a tuple of two"),
    ],
}
