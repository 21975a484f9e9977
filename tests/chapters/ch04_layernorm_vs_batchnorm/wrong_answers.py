"""Chapter 04: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters.ch04_layernorm_vs_batchnorm.exercises import BUGS


def layer(x, gamma, beta, eps):
    off = x - x.mean(axis=-1, keepdims=True)
    return gamma * off / np.sqrt((off**2).mean(axis=-1, keepdims=True) + eps) + beta


def in_torch(x, gamma, beta, eps):
    x, gamma, beta = map(torch.tensor, (x, gamma, beta))
    return torch.nn.functional.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def with_std(x, gamma, beta, eps, ddof=0):
    off = x - x.mean(axis=-1, keepdims=True)
    return gamma * off / (x.std(axis=-1, keepdims=True, ddof=ddof) + eps) + beta


def over(axis):
    def norm(x, gamma, beta, eps):
        off = x - x.mean(axis=axis, keepdims=True)
        return gamma * off / np.sqrt((off**2).mean(axis=axis, keepdims=True) + eps) + beta

    return norm


def unbiased(x, gamma, beta, eps):
    off = x - x.mean(axis=-1, keepdims=True)
    return gamma * off / np.sqrt(x.var(axis=-1, keepdims=True, ddof=1) + eps) + beta


def rms(x, gamma, beta, eps):
    return gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) + beta


def batch(x, mean, variance, momentum, *, ddof=1, out_ddof=0, axis=0, running=False, swap=False):
    off = x - x.mean(axis=axis, keepdims=True)
    out = off / np.sqrt(x.var(axis=axis, keepdims=True, ddof=out_ddof) + 1e-5)
    if running:
        out = (x - mean) / np.sqrt(variance + 1e-5)
    m = 1 - momentum if swap else momentum
    new_mean = (1 - m) * mean + m * x.mean(axis=0)
    return out, new_mean, (1 - m) * variance + m * x.var(axis=0, ddof=ddof)


def of_the_past(*, until=1, eps=1e-5, axis=None, ddof=0, outside=False):
    def norm(x):
        rows = []
        for t in range(len(x)):
            seen = x[: max(t + until, 1)]
            off = x[t] - seen.mean(axis=axis)
            variance = seen.var(axis=axis, ddof=ddof)
            rows.append(off / (variance**0.5 + eps if outside else (variance + eps) ** 0.5))
        return np.stack(rows)

    return norm


def not_divided(x):
    return np.stack([x[t] - x[: t + 1].mean() for t in range(len(x))])


def peeking_at_first(x):
    """Leaks from the second token only: poking the last one alone does not show it."""
    rows = of_the_past()(x)
    rows[0] = rows[0] + 0.1 * x[1]
    return rows


spike = np.zeros(16)
spike[3] = 1.0

RIGHT = {
    "04.1": in_torch,
    "04.2": batch,
    "04.3": dict(BUGS),
    "04.4": (1e-5 / 3) ** 0.5,
    "04.5": spike,
    "04.7": of_the_past(),
}

WRONG = {
    "04.1": [
        (unbiased, "divided by n − 1"),
        (with_std, "outside the root"),
        (lambda x, g, b, e: layer(x, g, b, 0.0), "ε plays no part"),
        (rms, "mean was not subtracted"),
        (over(None), "One mean for the whole array"),
        (lambda x, g, b, e: over(-2 if x.ndim > 1 else -1)(x, g, b, e), "down the columns"),
        (lambda x, g, b, e: layer(x, 1.0, 0.0, e), "γ and β play no part"),
        (lambda x, g, b, e: layer(x, g, 0.0, e), "One of γ and β"),
        (lambda x, g, b, e: layer(x, g, g * b, e), "the shift comes last"),
        (lambda x, g, b, e: layer(x, b, g, e), "the numbers are not right"),
        (lambda x, g, b, e: with_std(x, g, b, e, ddof=1), "the numbers are not right"),
        (lambda x, g, b, e: layer(x, g, b, e).ravel()[:6], "should have shape"),
    ],
    "04.2": [
        (lambda *a: batch(*a, ddof=0), "towards the one divided by n"),
        (lambda *a: batch(*a, out_ddof=1), "for the memory only"),
        (lambda *a: batch(*a, axis=1), "That is layer norm"),
        (lambda *a: batch(*a, running=True), "uses the running statistics"),
        (lambda *a: batch(*a, swap=True), "keeps a share of momentum"),
        (lambda *a: batch(*a)[:2], "three things back"),
        (lambda *a: batch(*a)[0], "three things back"),
        (lambda x, m, v, k: (batch(x, m, v, k)[0], m, v), "has not moved"),
        (lambda x, m, v, k: batch(x, m, v, 0.1), "running mean is not right"),
        (lambda x, m, v, k: batch(x, m, v, 1.0), "forgotten all earlier"),
        (
            lambda x, m, v, k: ((x - x.mean(0)) / (x.std(0) + 1e-5), *batch(x, m, v, k)[1:]),
            "inside the root",
        ),
        (
            lambda x, m, v, k: ((x - x.mean(0)) / x.std(0), *batch(x, m, v, k)[1:]),
            "inside the root",
        ),
    ],
    "04.3": [
        (dict.fromkeys(BUGS, "divided by n - 1"), "1 of the 4 are right"),
        (dict(zip(BUGS, reversed(list(BUGS.values())), strict=True)), "of the 4 are right"),
        ({**BUGS, "Dan": "wrong sign"}, "'wrong sign' is not one of the 4"),
        (["mean not subtracted"] * 4, "Give a dictionary"),
    ],
    "04.4": [
        (1e-5, "for ε outside the root"),
        (1e-5 / 3, "or its square"),
        (1e-5**0.5, "the output has 0.707"),
        (0.0018, "within a percent"),
        (0.00185, "within a percent"),
        (0.5, "the output has 1"),
        (-0.0018, "is positive"),
    ],
    "04.5": [
        (np.array([1.7e308] * 15 + [-1.7e308]), "overflows"),
        (np.arange(16.0), "has size 1.63"),
        (np.ones(16), "All numbers are equal"),
        (np.eye(16), "should have shape (16,)"),
        (np.r_[np.zeros(14), 100, 100], "has size 2.65"),
        (np.r_[np.zeros(15), 1e-3], "so small that ε decides"),
        (np.r_[np.zeros(15), np.inf], "finite numbers"),
    ],
    "04.7": [
        (lambda x: (x - x.mean()) / np.sqrt(x.var() + 1e-5), "It leaks"),
        (lambda x: (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), "It leaks"),
        (of_the_past(until=2), "It leaks"),
        (peeking_at_first, "It leaks"),
        (lambda x: layer(x, 1.0, 0.0, 1e-5), "This is layer norm"),
        (of_the_past(until=0), "Does a token count itself?"),
        (of_the_past(axis=0), "Each feature was averaged by itself"),
        (of_the_past(outside=True), "ε stands outside"),
        (of_the_past(eps=0.0), "ε plays no part"),
        (of_the_past(ddof=1), "divided by n − 1"),
        (lambda x: x[:, :1], "should have shape"),
        (not_divided, "did not divide"),
    ],
}
