"""Chapter 05: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch05_attention_by_hand.exercises import BUGS, which_bug


def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def weights(query, keys):
    return softmax(keys @ query / np.sqrt(len(query)))


def attend(q, k, v):
    return softmax(q @ k.T / np.sqrt(q.shape[1])) @ v


def at_once(scores):
    return np.exp(scores) / np.exp(scores).sum()


def diagnosis():
    """Each student's mistake, found by making all four on purpose."""
    q, k, v, outputs = which_bug()
    scores, root = q @ k.T, q.shape[1] ** 0.5
    made = {
        "no scaling": softmax(scores) @ v,
        "divided by D": softmax(scores / root**2) @ v,
        "softmax down the columns": softmax(scores / root, axis=0) @ v,
        "keys in place of values": softmax(scores / root) @ k,
    }
    return {
        student: next(bug for bug, other in made.items() if np.allclose(other, output))
        for student, output in outputs.items()
    }


identity = np.eye(5)
before = np.roll(identity, -1, axis=1)


def overflowing(q, k):
    with np.errstate(all="ignore"):
        powers = np.exp(k @ q / np.sqrt(len(q)))
        return powers / powers.sum()


RIGHT = {
    "05.1": weights,
    "05.2": attend,
    "05.3": diagnosis(),
    "05.4": (np.degrees(np.arctan2(1.1, 1.0)), 8.0),
    "05.5": torch.tensor([[1.0, 0.0], [3.0, 1.0]]),
    "05.7": (30 * before, identity, identity),
}

WRONG = {
    "05.1": [
        (lambda q, k: k @ q / np.sqrt(len(q)), "making them shares"),
        (overflowing, "Right for small scores"),
        (lambda q, k: softmax(k @ q), "not scaled"),
        (lambda q, k: softmax(k @ q / len(q)), "it should be its root"),
        (lambda q, k: softmax(k @ q / np.sqrt(len(k))), "number of keys"),
        (lambda q, k: np.exp(k @ q / np.sqrt(len(q))), "sum to 1; yours sum to"),
        (lambda q, k: softmax(-k @ q), "are not those of"),
        (lambda q, k: k @ q / (k @ q).sum(), "Did you take exponentials?"),
        (lambda q, k: weights(q, k)[:, None], "should have shape (5,)"),
        (lambda q, k: softmax(q @ k), "raised ValueError"),
    ],
    "05.2": [
        (lambda q, k, v: softmax(q @ k.T / np.sqrt(q.shape[1]), axis=0) @ v, "down the columns"),
        (lambda q, k, v: softmax(q @ k.T) @ v, "not scaled"),
        (lambda q, k, v: softmax(q @ k.T / q.shape[1]) @ v, "it should be its root"),
        (lambda q, k, v: q @ k.T / np.sqrt(q.shape[1]) @ v, "without softmax"),
        (lambda q, k, v: softmax(q @ k.T / np.sqrt(q.shape[1])), "should have shape (4, 3)"),
        (lambda q, k, v: attend(q, k, v[::-1]), "Compare each step"),
        (lambda q, k, v: softmax(q @ k.T / np.sqrt(len(k))) @ v, "the wrong number"),
        (lambda q, k, v: at_once(q @ k.T / np.sqrt(q.shape[1])) @ v, "each query needs its own"),
    ],
    "05.3": [
        (dict.fromkeys(BUGS, "no scaling"), "1 of the 4 are right (Ben)"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "0 of the 4 are right"),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        ({"Ada": "no scaling"}, "an entry for each of Ada, Ben, Cleo, Dan"),
        (["no scaling"] * 4, "Give a dictionary"),
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
        (30 * before, "as a tuple (q, k, v)"),
    ],
}
