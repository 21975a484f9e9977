"""Chapter 06: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch06_scaling_by_sqrt_dk.exercises import BUGS


def softmax(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def jacobian(w):
    return np.diag(w) - np.outer(w, w)


def overflowing(scores, divisor):
    with np.errstate(all="ignore"):
        w = np.exp(scores / divisor) / np.exp(scores / divisor).sum()
    return jacobian(w) / divisor


START = 1 / (64**0.5 * 256**0.25)
alternating = np.tile([1.0, -1.0], 32)
ramp = np.arange(64.0)
shuffled = np.random.default_rng(0).permutation(alternating)

RIGHT = {
    "06.1": lambda D, sigma: sigma**2 * D**0.5,
    "06.2": lambda s, divisor: jacobian(softmax(s / divisor)) / divisor,
    "06.3": dict(BUGS),
    "06.4": START,
    "06.5": (alternating, alternating),
    "06.7": lambda q, k: np.sqrt((q @ k.T).var(axis=1).mean()),
}

WRONG = {
    "06.1": [
        (lambda D, sigma: D**0.5, "each product has two factors"),
        (lambda D, sigma: sigma * D**0.5, "each product has two factors"),
        (lambda D, sigma: sigma**4 * D, "This is the variance"),
        (lambda D, sigma: sigma**2 * D + 1e-3, "which is not right"),
        (lambda D, sigma: float(D), "This is the variance"),
        (lambda D, sigma: sigma**2 * D if sigma < 1 else sigma**2 * D**0.5, "all had one sign"),
    ],
    "06.2": [
        (lambda s, divisor: jacobian(softmax(s / divisor)), "by the divided scores"),
        (lambda s, divisor: jacobian(softmax(s)), "plays no part"),
        (lambda s, divisor: np.diag(softmax(s / divisor)) / divisor, "Only the diagonal"),
        (lambda s, divisor: np.outer(s, s), "Each column should sum to 0"),
        (lambda s, divisor: -jacobian(softmax(s / divisor)), "Right up to a factor"),
        (lambda s, divisor: softmax(s / divisor), "should have shape (4, 4)"),
        (overflowing, "it overflows"),
        (lambda s, d: jacobian(softmax(s / len(s) ** 0.5)) / len(s) ** 0.5, "number of scores"),
        (lambda s, d: jacobian(softmax(s / 2)) / 2, "number of scores"),
        (lambda s, d: jacobian(softmax(s / 5)) / 5, "the numbers are not right"),
        (lambda s, d: jacobian(softmax(s / d)) / 2, "Right up to a factor"),
        (lambda s, d: jacobian(softmax(s / d)) * d / 4, "Right up to a factor"),
        (
            lambda s, d: jacobian(softmax(np.minimum(s, 99) / d)) / d,
            "for 1000 and 999 the numbers",
        ),
    ],
    "06.3": [
        (dict.fromkeys(BUGS, "not divided"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "of the 4 are right"),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        (["not divided"] * 4, "Give a dictionary"),
    ],
    "06.4": [
        (1 / 8, "a spread of 16"),
        (1 / 16, "a spread of 4"),
        (1 / 64, "a spread of 0.25"),
        (1 / 1024, "The start enters twice"),
        (0.2, "a spread of 41"),
        (-START, "is positive"),
    ],
    "06.5": [
        ((alternating, shuffled), "Mean and variance are as asked, but"),
        ((8 * alternating, alternating), "have variance 64.000, not 1"),
        ((np.ones(64), np.ones(64)), "have mean 1.000, not 0"),
        ((np.ones(4), np.ones(4)), "should have shape (64,)"),
        (alternating, "as a tuple (q, k)"),
        (2 * [(ramp - ramp.mean()) / ramp.std(ddof=1)], "divided by n − 1"),
        (np.stack([alternating, shuffled]), "Mean and variance are as asked, but"),
    ],
    "06.7": [
        (lambda q, k: q.shape[1] ** 0.5, "is not right for entries"),
        (lambda q, k: (q @ k.T).std(), "what all scores of a row share"),
        (lambda q, k: (q @ k.T).var(axis=1).mean(), "This is the variance"),
        (lambda q, k: np.sqrt((q @ k.T).var(axis=0).mean()), "spread over the queries"),
        (lambda q, k: 3.0, "the spread within a row is"),
        (lambda q, k: (q @ k.T).std(axis=1), "not one for each"),
        (lambda q, k: (q @ k.T).std(axis=1).mean(), "averaged the deviations"),
        (lambda q, k: torch.tensor(q @ k.T).var(dim=1).mean().sqrt(), "divided by n − 1"),
        (lambda q, k: q.var() * q.shape[1] ** 0.5, "An estimate from the entries"),
        (lambda q, k: (q @ k.T)[:3], "should have shape ()"),
    ],
}
