"""Chapter 08: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch
import torch.nn.functional as F

from helpers.chapters.ch08_residual_add_and_norm.exercises import BUGS


def normed(x, axis=-1, ddof=0):
    away = x - x.mean(axis=axis, keepdims=True)
    return away / np.sqrt(x.var(axis=axis, ddof=ddof, keepdims=True) + 1e-5)


def eps_outside(x, y):
    s = x + y
    return (s - s.mean(-1, keepdims=True)) / (s.std(-1, keepdims=True) + 1e-5)


def no_eps(x, y):
    s = x + y
    return (s - s.mean(-1, keepdims=True)) / s.std(-1, keepdims=True)


def by_variance(x, y):
    s = x + y
    return (s - s.mean(-1, keepdims=True)) / s.var(-1, keepdims=True)


def rms(x, y):
    s = x + y
    return s / np.sqrt((s**2).mean(-1, keepdims=True) + 1e-5)


def torch_s(x, W1, b1, W2, b2):
    return torch.relu(x @ W1 + b1) @ W2 + b2


def relu(x):
    return np.maximum(x, 0)


ROOTS = 18**0.25  # √3 for the first map and √6 for the second, shared out evenly

# max(a, b) = ReLU(a − b) + ReLU(b) − ReLU(−b)
W1, W2 = np.array([[1.0, 0, 0], [-1, 1, -1]]), np.array([[1.0], [1], [-1]])
ZERO3, ZERO1 = np.zeros(3), np.zeros(1)

RIGHT = {
    "08.1": lambda x, y: F.layer_norm(torch.tensor(x + y).float(), x.shape[-1:]),
    "08.2": lambda *given: torch_s(*(torch.tensor(part, dtype=torch.float32) for part in given)),
    "08.3": {student: bug.replace("−", "-") for student, bug in BUGS.items()},
    "08.4": torch.tensor(ROOTS),
    "08.5": np.full((3, 3), -1 / 3),
    "08.7": (W1, ZERO3, W2, ZERO1),
}

WRONG = {
    "08.1": [
        (lambda x, y: x + normed(y), "the sum is to be normed"),
        (lambda x, y: normed(x) + y, "You normed x before"),
        (lambda x, y: normed(y), "there is no residual"),
        (lambda x, y: x + y, "still to be normed"),
        (lambda x, y: normed(x + y, ddof=1), "n − 1"),
        (lambda x, y: normed(x + y, axis=0), "over the tokens"),
        (lambda x, y: normed(x + y, axis=2), "axis 2 is out of bounds"),
        (eps_outside, "beside the root"),
        (no_eps, "Right but for ε"),
        (by_variance, "not by its root"),
        (rms, "mean is not taken away"),
        (lambda x, y: normed(x - y), "the numbers are not"),
        (lambda x, y: normed(x + y).mean(-1), "should have shape"),
    ],
    "08.2": [
        (lambda x, W1, b1, W2, b2: (x @ W1 + b1) @ W2 + b2, "no bend"),
        (lambda x, W1, b1, W2, b2: relu((x @ W1 + b1) @ W2 + b2), "stands at the end"),
        (lambda x, W1, b1, W2, b2: relu(relu(x @ W1 + b1) @ W2 + b2), "second ReLU"),
        (lambda x, W1, b1, W2, b2: relu(x @ W1) @ W2, "The biases play no part"),
        (lambda x, W1, b1, W2, b2: relu(x @ W1) @ W2 + b2, "b1 plays no part"),
        (lambda x, W1, b1, W2, b2: x + relu(x @ W1 + b1) @ W2 + b2, "The residual"),
        (lambda x, W1, b1, W2, b2: (relu(x @ W1) + b1) @ W2 + b2, "after the ReLU"),
        (lambda x, W1, b1, W2, b2: np.tanh(x @ W1 + b1) @ W2 + b2, "the numbers are not"),
        (lambda x, W1, b1, W2, b2: relu(x @ W1 + b1), "should have shape"),
    ],
    "08.3": [
        (dict.fromkeys(BUGS, "no residual"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "of the 4 are right"),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        (["no residual"] * 4, "Give a dictionary"),
    ],
    "08.4": [
        (1e8, "too much"),
        (1.0, "too little"),
        (3**0.5, "too little"),
        (6**0.5, "too much"),
        (3.0, "too much"),
        (-ROOTS, "is positive"),
        ([1.0, 2.0], "should have shape"),
    ],
    "08.5": [
        (1e20 * np.ones((3, 3)), "rounding"),
        (np.zeros((3, 3)), "nothing is added"),
        (np.eye(3), "can still compute x"),
        (np.diag([1e-10 - 1, 1.0, 1.0]), "can still compute x"),
        (np.diag([1.0, 0.0, 0.0]), "still tells every two inputs apart"),
        (np.ones((3, 3)), "still tells every two inputs apart"),
        (np.diag([0.0, -1.0, 0.0]), "find one without"),
        (-np.ones(3), "should have shape"),
    ],
    "08.7": [
        ((np.eye(2), np.zeros(2), np.ones((2, 1)), ZERO1), "For ("),
        ((W1, ZERO3, -W2, ZERO1), "For ("),
        (
            (np.array([[1.0, 0], [-1, 1]]), np.zeros(2), np.ones((2, 1)), ZERO1),
            "where both are positive",
        ),
        (
            (np.c_[W1, [1, 1]], np.zeros(4), np.ones((4, 1)), ZERO1),
            "4 hidden neurons",
        ),
        (
            (np.array([[1.0, 0, 0], [-1, 1, -1]]), ZERO3, np.array([[-1.0], [1], [-1]])),
            "Give the four arrays",
        ),
        (
            (np.array([[1.0, 1, -1], [-1, 0, 0]]), ZERO3, np.array([[-1.0], [1], [-1]]), ZERO1),
            "the smaller",
        ),
        ((W1, np.zeros(2), W2, ZERO1), "should have shape"),
        (
            # b + 100 passes the ReLU unbent, unless b is below −100
            (np.array([[1.0, 0], [-1, 1]]), [0.0, 100.0], np.ones((2, 1)), [-100.0]),
            "Right for small numbers only",
        ),
    ],
}
