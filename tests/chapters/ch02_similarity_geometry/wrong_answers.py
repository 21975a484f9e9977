"""Chapter 02: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch02_similarity_geometry.exercises import BUGS, which_bug


def cosines(query, table):
    return table @ query / np.linalg.norm(table, axis=1) / np.linalg.norm(query)


def in_float32(query, table):
    query, table = (torch.tensor(x, dtype=torch.float32) for x in (query, table))
    return torch.nn.functional.cosine_similarity(table, query[None], dim=1)


def squares(dots):
    return np.diag(dots)[:, None] + np.diag(dots)[None] - 2 * dots


def distances(dots):
    return np.sqrt(np.clip(squares(dots), 0, None))


def unit(x, axis=1):
    return x / np.linalg.norm(x, axis=axis, keepdims=True)


def diagnosis():
    """Each student's mistake, found by making all four on purpose."""
    x, outputs = which_bug()
    lengths = np.linalg.norm(x, axis=1)
    about_mean = unit(x - x.mean(axis=0))
    made = {
        "centred the rows' cloud first": about_mean @ about_mean.T,
        "columns made length 1, not rows": unit(x, axis=0) @ unit(x, axis=0).T,
        "divided by squared lengths": x @ x.T / np.outer(lengths**2, lengths**2),
        "divided by one length only": x @ x.T / lengths[:, None],
    }
    return {
        student: next(bug for bug, other in made.items() if np.allclose(other, output))
        for student, output in outputs.items()
    }


rows = np.array([[10.0, 1.0], [10.0, -1.0], [11.0, 4.0]])
push = np.array([10.0, 0.0])
both = np.array([1.0, -1.0, 1.0, -1.0])

RIGHT = {
    "02.1": in_float32,
    "02.2": distances,
    "02.3": diagnosis(),
    "02.4": torch.tensor([0.3, 1.0]),
    "02.5": (torch.tensor(rows), push.tolist()),
    "02.7": torch.tensor(np.array([3 * both + 3, both - 1]), dtype=torch.float32),
}

WRONG = {
    "02.1": [
        (lambda q, t: t @ q, "both lengths are still in them"),
        (lambda q, t: t @ q / np.linalg.norm(q), "lengths of the rows were not"),
        (lambda q, t: t @ q / np.linalg.norm(t, axis=1), "length of the query was not"),
        (lambda q, t: cosines(q, t) / np.linalg.norm(t, axis=1) / np.linalg.norm(q), "squares"),
        (lambda q, t: 1 - cosines(q, t), "one less the cosine"),
        (lambda q, t: np.arccos(cosines(q, t)), "angles themselves"),
        (lambda q, t: t @ q / np.linalg.norm(t) / np.linalg.norm(q), "Mind the axis"),
        (lambda q, t: t @ q / np.linalg.norm(t, axis=0) / np.linalg.norm(q), "raised ValueError"),
        (lambda q, t: -cosines(q, t), "the numbers are not"),
        (lambda q, t: cosines(q, t) ** 2, "the numbers are not"),
        (lambda q, t: 5 * cosines(q, t), "No cosine is larger than 1"),
        (lambda q, t: cosines(q, t)[:, None], "should have shape (6,)"),
    ],
    "02.2": [
        (lambda d: squares(d), "squared distances"),
        (lambda d: np.emath.sqrt(squares(d)).real * np.where(squares(d) < 0, np.nan, 1), "a nan"),
        (lambda d: np.sqrt(np.maximum(squares(d) + d, 0)), "how often does the dot product"),
        (lambda d: np.sqrt(np.maximum(squares(d) + 4 * d, 0)), "sign of the middle term"),
        (lambda d: -distances(d), "never negative"),
        (
            lambda d: np.sqrt(
                np.maximum(np.diag(d)[:, None] ** 0.5 + np.diag(d) ** 0.5 - 2 * d, 0)
            ),
            "holds squared lengths already",
        ),
        (lambda d: distances(d) + np.eye(len(d)), "your diagonal is not 0"),
        (lambda d: distances(d) * 1.01, "the numbers are not"),
        (lambda d: distances(d)[0], "should have shape (5, 5)"),
    ],
    "02.3": [
        (dict.fromkeys(BUGS, "divided by one length only"), "1 of the 4 are right (Ada)"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "0 of the 4 are right"),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        ({"Ada": "divided by one length only"}, "an entry for each of Ada, Ben, Cleo, Dan"),
    ],
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
    "02.7": [
        (np.array([both, both]), "do not stand at a right angle"),
        (np.eye(4)[:2], "after LayerNorm their entries still differ"),
        (np.array([both + 1, -both + 1]), "opposite"),
        (np.array([both, np.ones(4)]), "All entries of one vector are equal"),
        (np.array([both, 0 * both]), "vector of zeros"),
        (np.array([both + 1, both - 0.9]), "do not stand at a right angle"),
        (both, "should have shape (2, 4)"),
    ],
}
