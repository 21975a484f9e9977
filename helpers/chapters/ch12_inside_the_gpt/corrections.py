"""A misconception of chapter 12: what an attention pattern is evidence of."""

import numpy as np

from helpers import example
from helpers.corrections import corrects, number
from helpers.numerics import softmax


@corrects(
    claim="The attention weights show what the model has understood.",
    says="“*It* looks at *stream*, so the model knows that the stream was too wide.”",
    why="In a GPT *it* comes before the word that decides, and the mask hides that word. So the "
    "row of *it* is the same with *wide* and with *tired*. A pattern shows where a head reads. "
    "Whether an answer rests on it has to be tested, by taking the head out.",
    section="What can “it” know?",
)
def the_row_of_it() -> str:
    """Change of the weights of "it" and of the word after, when a still later word changes."""
    rng = np.random.default_rng(0)
    wide = np.concatenate([example.X, rng.standard_normal((3, 3))])  # was too wide
    tired = wide.copy()
    tired[-1] = rng.standard_normal(3)

    def weights(x_TC: np.ndarray) -> np.ndarray:
        scores_TT = (x_TC @ example.W_Q) @ (x_TC @ example.W_K).T / np.sqrt(2)
        return softmax(np.where(np.tri(8, dtype=bool), scores_TT, -np.inf))

    moved_T = np.abs(weights(wide) - weights(tired)).max(axis=1)
    return (
        f"After the five words of the running example come three more, of which we exchange the "
        f"last. Under the mask the weights of *it* move by {number(moved_T[4])}, and those of the "
        f"exchanged word by up to {number(moved_T[-1])}."
    )
