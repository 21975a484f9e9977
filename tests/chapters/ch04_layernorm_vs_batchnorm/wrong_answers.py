"""Chapter 04: what learners write before they have it, and what the check should tell them."""

import numpy as np
from torch.nn import functional as F

from helpers import minigpt
from helpers.chapters import judges

spike = np.zeros(16)
spike[3] = 1.0

batch_norm, of_the_past = (judges()[name].right for name in ("04.2", "04.7"))


def peeking_at_first(x):
    """Leaks from the second token only: poking the last one alone does not show it."""
    return np.vstack([of_the_past(x)[:1] + 0.1 * x[1], of_the_past(x)[1:]])


class LayerNorm(minigpt.LayerNorm):
    def forward(self, x_BTC):  # of each position and feature, over the batch
        x = F.batch_norm(x_BTC.flatten(1), None, None, training=True, eps=self.eps)
        return self.weight * x.view_as(x_BTC) + self.bias


RIGHT = {
    "04.5": [spike],
}

WRONG = {
    "04.2": [(lambda *given: batch_norm(*given)[0], "three things back")],
    "04.4": [(0.0018, "within a percent"), (0.5, "the output has 1")],
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
        (peeking_at_first, "It leaks"),
        (lambda x: 2 * of_the_past(x), "Does a token count itself?"),
    ],
    "04.8": [(LayerNorm, "over the batch")],
}
