"""Chapter 05: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.numerics import softmax

identity = np.eye(5)
before = np.roll(identity, -1, axis=1)


RIGHT = {
    "05.4": [(np.degrees(np.arctan2(1.1, 1.0)), 8.0)],
    "05.5": [torch.tensor([[1.0, 0.0], [3.0, 1.0]])],
    "05.7": [(30 * before, identity, identity)],
}

WRONG = {
    "05.1": [
        (lambda q, k: np.exp(k @ q / 1e4), "sum to 1; yours sum to"),
        (lambda q, k: softmax(-k @ q), "are not those of"),
        (lambda q, k: k @ q / (k @ q).sum(), "Did you take exponentials?"),
    ],
    "05.4": [
        ((0, 8), "fox gets 0.966 and stream 0.002"),
        ((90, 8), "fox gets 0.003 and stream 0.990"),
        ((np.degrees(np.arctan2(1.1, 1.0)), 1.0), "together they take only"),
        (45, "should have shape (2,)"),
    ],
    "05.5": [
        (np.eye(3), "All your vectors are equally long"),
        (np.array([[1.0, 0.0], [0.0, 2.0]]), "every token still reads itself most"),
        (np.array([1.0, 2.0]), "at least two tokens"),
        (np.array([[1.0, np.nan], [0.0, 2.0]]), "finite"),
    ],
    "05.7": [
        ((30 * identity, identity, identity), "Token 1 reads token 1 most"),
        ((30 * np.roll(identity, 1, axis=1), identity, identity), "reads token"),
        ((3 * before, identity, identity), "but only with weight"),
        ((30 * before, identity, 2 * identity), "5 by 5 identity"),
        ((30 * before[:4], identity, identity), "should both have shape (5, D)"),
        ((1e200 * before, 1e200 * identity, identity), "Token"),
        (30 * before, "as a tuple (q, k, v)"),
    ],
}
