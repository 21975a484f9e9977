"""Chapter 08: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers import minigpt

# max(a, b) = ReLU(a − b) + ReLU(b) − ReLU(−b)
W1, W2 = np.array([[1.0, 0, 0], [-1, 1, -1]]), np.array([[1.0], [1], [-1]])
ZERO3, ZERO1 = np.zeros(3), np.zeros(1)


class FeedForward(minigpt.FeedForward):
    forward = torch.no_grad()(minigpt.FeedForward.forward)


RIGHT = {
    "08.5": [np.full((3, 3), -1 / 3)],
    "08.7": [(W1, ZERO3, W2, ZERO1)],
}

WRONG = {
    "08.4": [(1.0, "too little"), (3.0, "too much"), (1e8, "too much")],
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
    "08.2": [(FeedForward, "gets no gradient")],
}
