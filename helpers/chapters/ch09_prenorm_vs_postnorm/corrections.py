"""A misconception of chapter 9: what post-norm normalises."""

import numpy as np

from helpers import example
from helpers.corrections import corrects, number, vector


@corrects(
    claim="Post-norm normalises the output of the sub-layer.",
    says="“In post-norm the norm is applied after attention, in pre-norm before it.”",
    why="It normalises the sum, after the addition, so that the stream itself is always "
    "normalised. Normalising the output and then adding is a third order, with other numbers and "
    "a stream that grows.",
    section="What changes when the norm moves?",
)
def the_sum_is_normed() -> str:
    """The running example's last word in both readings."""
    x, y = example.X[-1], np.array([-0.286, 0.397, 0.429])
    of_sum, of_output = ((z - z.mean()) / z.std() for z in (x + y, y))
    third = x + of_output
    return (
        f"For *it*, x = {vector(x)}, and attention's output {vector(y)}, the norm of the sum is "
        f"{vector(of_sum)}, with the variance {number(of_sum.var().round(9))}. The sum of x and "
        f"the normalised output is {vector(third)}, with the variance {number(third.var())}."
    )
