"""A misconception of chapter 5: what a query asks."""

import numpy as np

from helpers import example
from helpers.corrections import corrects
from helpers.numerics import softmax


@corrects(
    claim="A word's query asks how relevant this word is to the others.",
    says="“How important is this word for the rest of the sentence?”",
    why="It's the other way round. A query asks what its word wants from the others, and it "
    "sets one row of the weights. How much the others read the word is a column, which the word's "
    "key decides.",
    section="What does a word ask of the others?",
)
def whose_weights_a_query_sets() -> str:
    """Which rows of the weights move when the query, or the key, of one word changes."""
    q, k = example.X @ example.W_Q, example.X @ example.W_K
    more = np.eye(5)[4][:, None]  # for "it" alone

    def rows_moved(q: np.ndarray, k: np.ndarray) -> str:
        moved = np.abs(softmax(q @ k.T) - before).max(axis=1) > 1e-9
        return ", ".join(f"*{word}*" for word, row in zip(example.WORDS, moved, strict=True) if row)

    before = softmax(q @ k.T)
    return (
        f"Another query for *it* changes the weights of {rows_moved(q + more, k)}. Another key for "
        f"*it* changes the weights of {rows_moved(q, k + more)}."
    )
