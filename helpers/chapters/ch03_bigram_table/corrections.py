"""A misconception of chapter 3: what a trained table holds."""

import numpy as np

from helpers.corrections import corrects, vector
from helpers.numerics import softmax

COUNTED = np.array([0.25, 0.5, 0.25])  # what follows A in the chapter's first text


@corrects(
    claim="An entry of a trained bigram table is a probability, or its logarithm.",
    says="“`table[i, j]` is the probability that j comes after i.”",
    why="The table holds logits, and softmax turns a row of them into probabilities. Adding a "
    "constant to a row changes no probability, so the loss leaves that constant open. Gradient "
    "descent from zeros keeps the sum of the row at 0.",
    section="Where do the logits go?",
)
def entry_is_a_logit() -> str:
    """A row of logits trained from zeros, beside its probabilities and their logarithms."""
    row = np.zeros(3)
    for _ in range(200):
        row -= softmax(row) - COUNTED
    return (
        f"For the probabilities {vector(COUNTED)}, whose logarithms are {vector(np.log(COUNTED))}, "
        f"a row that begins at zeros is trained to {vector(row)}."
    )
