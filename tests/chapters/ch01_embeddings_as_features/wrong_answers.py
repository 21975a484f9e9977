"""Chapter 01: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch01_embeddings_as_features.exercises import BUGS


def one_hot(table, ids):
    return (ids[..., None] == np.arange(len(table))).astype(float)


def lookup(table, ids):
    return one_hot(table, ids) @ table


def added(ids, upstream, V):
    gradient = np.zeros((V, upstream.shape[1]))
    np.add.at(gradient, ids, upstream)
    return gradient


def overwritten(ids, upstream, V):
    gradient = np.zeros((V, upstream.shape[1]))
    gradient[ids] += upstream
    return gradient


def averaged(ids, upstream, V):
    counts = np.maximum(np.bincount(ids, minlength=V), 1)
    return added(ids, upstream, V) / counts[:, None]


def moved(rows, old, new, start=None):
    start = rows.mean(axis=0) if start is None else start
    return np.array([rows[old.index(w)] if w in old else start for w in new])


def moved_in_place(rows, old, new):
    rows *= 2
    return moved(rows, old, new)


def survivors_mean(rows, old, new):
    return moved(rows, old, new, rows[[old.index(w) for w in new if w in old]].mean(axis=0))


def appended(rows, old, new):
    return np.concatenate([rows, np.zeros((len(new) - len(old), rows.shape[1]))])


RIGHT = {
    "01.1": lambda table, ids: torch.tensor(one_hot(table, ids) @ np.asarray(table)),
    "01.2": lambda ids, upstream, V: (ids == np.arange(V)[:, None]).astype(float) @ upstream,
    "01.3": dict(BUGS),
    "01.4": torch.tensor([2, 5, 1]),
    "01.5": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1),
    "01.7": lambda rows, old, new: moved(rows, old, new).astype(np.float32).tolist(),
}

WRONG = {
    "01.1": [
        (lambda table, ids: table[ids], "use a product instead"),
        (lambda table, ids: np.take(table, ids, axis=0), "use a product instead"),
        (one_hot, "These are the one-hot vectors"),
        (lambda table, ids: np.eye(ids.max() + 1)[ids] @ table, "raised ValueError"),
        (lambda table, ids: lookup(table, ids.ravel()), "in one long list"),
        (lambda table, ids: lookup(table, ids - 1), "the numbers are not"),
        (lambda table, ids: lookup(table, (ids - 1) % len(table)), "the row before its own"),
        (lambda table, ids: lookup(table, (ids + 1) % len(table)), "the row after its own"),
        (lambda table, ids: lookup(table, ids).swapaxes(0, 1), "should have shape"),
        (lambda table, ids: one_hot(table, ids).sum(axis=1) @ table, "should have shape"),
    ],
    "01.2": [
        (overwritten, "overwrites what was there"),
        (averaged, "do they take turns"),
        (lambda ids, upstream, V: added(ids, upstream, V) / len(ids), "Who asked for a mean"),
        (lambda ids, upstream, V: added(ids, upstream, V) + 1e-3, "that no token fetched"),
        (lambda ids, upstream, V: added(ids - 1, upstream, V), "that no token fetched"),
        (lambda ids, upstream, V: -added(ids, upstream, V), "not the right numbers"),
        (lambda ids, upstream, V: added(ids, np.ones_like(upstream), V), "not the right numbers"),
        (lambda ids, upstream, V: added(ids, upstream, V)[:-1], "should have shape (8, 4)"),
        (lambda ids, upstream, V: upstream, "should have shape (8, 4)"),
    ],
    "01.3": [
        (dict.fromkeys(BUGS, "mean over everything"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "0 of the 4 are right"),
        ({**BUGS, "Ada": BUGS["Ben"], "Ben": BUGS["Ada"]}, "Poke a single number"),
        ({**BUGS, "Cleo": ""}, "Still open: Cleo."),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
    ],
    "01.4": [
        ((2, 3, 4), "3 times as many as A"),
        ((4, 5, 4), "1 times as many as D"),
        ((5, 8, 4), "8 times as many as A"),
        ((2, 5, 4), "0.5 times as many as D"),
        ((1, 5, 0.5), "whole numbers"),
        ((-2, 5, -1), "whole numbers"),
        ((8, 5), "should have shape (3,)"),
    ],
    "01.5": [
        (lambda parameters: torch.optim.SGD(parameters, lr=0.1), "the claim holds"),
        (lambda parameters: torch.optim.RMSprop(parameters, lr=0.1), "the claim holds"),
        (lambda parameters: torch.optim.Adagrad(parameters, lr=0.1), "the claim holds"),
        (lambda parameters: torch.optim.Adam(parameters, lr=0.0), "the claim holds"),
        (lambda parameters: torch.optim.Adam(parameters, betas=(0.0, 0.999)), "the claim holds"),
        (lambda parameters: torch.optim.Adam, "An optimiser is asked for"),
        (
            lambda parameters: torch.optim.Adam([torch.nn.Parameter(torch.ones(8, 3))]),
            "should be given the parameters",
        ),
    ],
    "01.7": [
        (appended, "stand as before"),
        (
            lambda rows, old, new: np.concatenate([rows, rows.mean(axis=0)[None]]),
            "stand as before",
        ),
        (lambda rows, old, new: moved(rows, old, new, np.zeros(4)), "is zero"),
        (survivors_mean, "the rows that stay"),
        (lambda rows, old, new: moved(rows, old, new, np.full(4, rows.mean())), "one mean of all"),
        (lambda rows, old, new: moved(rows, old, new, np.ones(4)), "do not start with the mean"),
        (lambda rows, old, new: moved(rows[::-1], old, new), "should keep its row"),
        (lambda rows, old, new: moved(rows, old, new)[::-1], "should keep its row"),
        (lambda rows, old, new: moved(rows, old, new)[:-1], "the table should grow"),
        (lambda rows, old, new: moved(rows, old, old), "the table should grow"),
        (moved_in_place, "work on a copy"),
        (lambda rows, old, new: moved(rows, old, new)[:4], "should have shape (6, 4)"),
    ],
}
