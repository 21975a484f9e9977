"""Chapter 06: what learners write before they have it, and what the check should tell them."""

import numpy as np

from helpers.chapters import judges

alternating = np.tile([1.0, -1.0], 32)
ramp = np.arange(64.0)
shuffled = np.random.default_rng(0).permutation(alternating)

jacobian = judges()["06.2"].right

RIGHT = {
    "06.5": [(alternating, alternating)],
}

WRONG = {
    "06.2": [
        (lambda s, divisor: np.outer(s, s), "Each column should sum to 0"),
        (lambda s, divisor: -jacobian(s, divisor), "Right up to a factor"),
        (lambda s, divisor: jacobian(s, 5), "the numbers are not right"),
    ],
    "06.5": [
        ((alternating, shuffled), "Mean and variance are as asked, but"),
        ((8 * alternating, alternating), "have variance 64.000, not 1"),
        ((np.ones(64), np.ones(64)), "have mean 1.000, not 0"),
        ((np.ones(4), np.ones(4)), "should have shape (64,)"),
        (alternating, "as a tuple (q, k)"),
        (2 * [(ramp - ramp.mean()) / ramp.std(ddof=1)], "divided by n − 1"),
    ],
}
