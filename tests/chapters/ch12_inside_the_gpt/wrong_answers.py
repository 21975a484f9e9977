"""Chapter 12: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch12_inside_the_gpt.exercises import BUGS


def stripe(weights, offset, start=0):
    return np.diagonal(np.asarray(weights), -offset, axis1=1, axis2=2)[:, start:]


def exchanged(x_here, x_there, what):
    x = np.array(x_here)
    x[what] = np.asarray(x_there)[what]
    return x


def in_place(x_here, x_there, place):
    x_here[place] = x_there[place]
    return x_here


RIGHT = {
    "12.1": lambda w: torch.tensor(w).float().diagonal(-1, 1, 2).mean(-1),
    "12.2": lambda w, n: [float(stripe(w, n - 1, 1)[h].mean()) for h in range(len(w))],
    "12.3": BUGS,
    "12.4": lambda a, b, place: (
        torch.tensor(a)
        .float()
        .index_copy(0, torch.tensor([place]), torch.tensor(b[place : place + 1]).float())
    ),
    "12.5": (torch.tensor([0.94, 0.04, 0.02]), [[4.0, 2.0], [3.0, 0.0], [6.0, 6.0]]),
}

ALSO_RIGHT = {
    "12.5": [
        ([0.9, 0.05, 0.05], [[0, 0], [1, 0], [-1, 0]]),
        ([0.9999, 0.00005, 0.00005], [[1, 0], [2, 0], [0, 0]]),
        ([0.998, 0.001, 0.001], [[1, 0], [1.05, 0], [0.95, 0]]),
    ],
}

WRONG = {
    "12.1": [
        (lambda w: np.diagonal(w, 1, axis1=1, axis2=2).mean(-1), "the token after"),
        (lambda w: stripe(w, 1).sum(-1), "sums, not means"),
        (lambda w: stripe(w, 1).sum(-1) / w.shape[-1], "divided by T"),
        (lambda w: stripe(w, 0).mean(-1), "on the token itself"),
        (lambda w: np.full(len(w), stripe(w, 1).mean()), "one a head"),
        (lambda w: stripe(w, 1).mean(), "should have shape"),
        (lambda w: stripe(w, 1).max(-1), "the numbers are not"),
    ],
    "12.2": [
        (lambda w, n: stripe(w, n).mean(-1), "the same letter"),
        (lambda w, n: stripe(w, n - 1).mean(-1), "not begun again"),
        (lambda w, n: stripe(w, n - 1, 1).sum(-1), "sums, not means"),
        (lambda w, n: stripe(w, n - 1, 1).sum(-1) / w.shape[-1], "divided by T"),
        (lambda w, n: stripe(w, n + 1).mean(-1), "before the letter"),
        (lambda w, n: stripe(w, n - 1, 1).mean(), "should have shape"),
        (lambda w, n: stripe(w, n - 1, 1).max(-1), "numbers are not"),
    ],
    "12.3": [
        (dict.fromkeys(BUGS, "the wrong head"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "of the 4"),
        ({**BUGS, "Dan": "no zeros"}, "'no zeros' is not one of the 4"),
        (["the wrong head"] * 4, "Give a dictionary"),
    ],
    "12.4": [
        (in_place, "Work on a copy"),
        (lambda a, b, p: exchanged(b, a, p), "everything but"),
        (lambda a, b, p: b.copy(), "everything"),
        (lambda a, b, p: a.copy(), "nothing was exchanged"),
        (lambda a, b, p: exchanged(a, b, slice(p, None)), "after it"),
        (lambda a, b, p: exchanged(a, b, slice(0, p + 1)), "before it"),
        (lambda a, b, p: exchanged(a, b, (slice(None), p % a.shape[1])), "a column"),
        (lambda a, b, p: (a + b) / 2, "numbers are not"),
        (lambda a, b, p: b[p], "should have shape"),
    ],
    "12.5": [
        (([0.9, 0.05, 0.05], [[1.0, 1.0]] * 3), "changes nothing, either"),
        (([0.9, 0.05, 0.05], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), "changes the output"),
        (([0.5, 0.25, 0.25], [[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), "nine tenths"),
        (([0.9, 0.09, 0.01], [[1.0, 0.0], [1.00001, 0.0], [1.0, 0.0]]), "too little to be told"),
        (([0.9, 0.1, 0.1], [[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), "sum to 1"),
        (([1.0, 0.0, 0.0], [[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), "positive"),
        (([0.9, 0.05, 0.05], [1.0, 2.0, 0.0]), "should have shape"),
        (np.eye(3), "as a tuple"),
    ],
}
