"""A misconception of chapter 8: what attention does and does not."""

import numpy as np

from helpers import example
from helpers.corrections import corrects, number
from helpers.numerics import softmax


def _attention(x_TC: np.ndarray) -> np.ndarray:
    """What the running example's first head makes of a sentence."""
    scores_TT = (x_TC @ example.W_Q) @ (x_TC @ example.W_K).T / np.sqrt(2)
    return softmax(scores_TT) @ x_TC @ example.W_V


@corrects(
    claim="Attention is linear, so without the feed-forward network a Transformer is linear.",
    says="“It only takes weighted sums. All non-linearity is in the feed-forward network.”",
    why="The sum is linear in the values as long as the weights stay the same. But the weights are "
    "a softmax of products of the input with itself, so they change with the input. Only a token "
    "that has nobody else to read is mapped linearly.",
    section="What does the feed-forward network add?",
)
def attention_is_not_linear() -> str:
    """How far attention to twice the input is from twice the attention, for five words and one."""
    missed = []
    for x_TC in (example.X, example.X[:1]):
        once, twice = 2 * _attention(x_TC), _attention(2 * x_TC)
        missed.append(number(100 * np.linalg.norm(twice - once) / np.linalg.norm(once)))
    return (
        f"If we double the five words of the running example, attention's output misses the "
        f"doubled output by {missed[0]} % of its length. With the first word alone it misses it by "
        f"{missed[1]} %."
    )
