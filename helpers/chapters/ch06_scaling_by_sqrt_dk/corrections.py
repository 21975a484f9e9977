"""Misconceptions of chapter 6: which root it is, and what the division is for."""

import numpy as np

from helpers.corrections import corrects, number
from helpers.numerics import softmax


@corrects(
    claim="The scores are divided by the root of the model's width, √d_model.",
    says="`scores / math.sqrt(n_embd)`",
    why="A score is a sum of as many products as a head is wide, so the head's width belongs "
    "under the root. The two are the same only in a model with a single head.",
    section="How large does a dot product get?",
)
def the_width_of_the_head() -> str:
    """Deviation of the scores of an untrained head of GPT-2's widths, over both roots."""
    rng = np.random.default_rng(0)
    x_TC = rng.standard_normal((256, 768))
    W_Q, W_K = rng.standard_normal((2, 768, 64)) / 768**0.5
    spread = ((x_TC @ W_Q) @ (x_TC @ W_K).T).std()
    return (
        f"With 768 numbers for a word and 64 for a head, the scores of an untrained head have the "
        f"standard deviation {spread:.1f}. Divided by √64 it is {spread / 8:.1f}, and divided by "
        f"√768 it would be {spread / 768**0.5:.1f}."
    )


def _typical_gradient(D: int, keys: int, divisor: float) -> float:
    """Median over 200 random queries of the norm of the derivative of the weights by a query."""
    rng = np.random.default_rng([D, keys])
    q_QD, k_KD = rng.standard_normal((200, D)), rng.standard_normal((keys, D))
    weights_QK = softmax(q_QD @ k_KD.T / divisor)
    norms = [np.linalg.norm(w[:, None] * (k_KD - w @ k_KD)) / divisor for w in weights_QK]
    return float(np.median(norms))


@corrects(
    claim="Without the division softmax saturates, and the gradient vanishes.",
    says="“Large scores push softmax into regions where it has almost no gradient.”",
    why="With two keys it does. But a query reads many keys, and among many the winner nearly "
    "always has a rival close behind, so that the weights still move. Whether the gradient "
    "vanishes depends on the width and on the number of keys.",
    section="What is left of the gradient?",
)
def gradient_without_division() -> str:
    """Median norm of ∂w/∂q, undivided and ÷ √D, for few keys and many."""
    parts = []
    for D, keys in ((64, 128), (1024, 16)):
        plain, root = (number(_typical_gradient(D, keys, s)) for s in (1.0, D**0.5))
        parts.append(f"{plain} undivided and {root} divided by √D at width {D} with {keys} keys")
    return (
        f"We take the derivative of a query's weights with respect to the query. Its norm is "
        f"typically {', and '.join(parts)}."
    )
