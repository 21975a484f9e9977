"""Misconceptions of chapter 3: what a trained table holds, and when it is trained."""

import numpy as np

from helpers.corrections import corrects, number, vector
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


@corrects(
    claim="A loss that has stopped falling has converged.",
    says="“The curve is flat, so the model has learned all it can.”",
    why="A small learning rate makes any curve flat. For a bigram table there is a better test, "
    "because the counts give the least possible loss, and we know how far away we are.",
    section="Does learning end where counting does?",
)
def flat_loss() -> str:
    """Change of a loss over 500 slow steps, and what it still has to lose."""
    row, losses = np.zeros(3), []
    for _ in range(500):
        losses.append(-COUNTED @ np.log(softmax(row)))
        row -= 0.0001 * (softmax(row) - COUNTED)
    left = losses[-1] + COUNTED @ np.log(COUNTED)
    return (
        f"At a learning rate of 0.0001 the loss of one row changes by only "
        f"{number(losses[0] - losses[-1])} nats in {len(losses)} steps, and it is still "
        f"{number(left)} nats above the least possible loss."
    )
