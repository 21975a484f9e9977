"""The inputs of the worked examples that the corrections compute with.

Each example stands here once: what is given, and, under names with PRINTED in them, what one
finds printed as its result. Nothing that can be computed from the inputs is typed, except in
the PRINTED names, whose point is that they are wrong. All arrays are float64 and read-only.
"""

import numpy as np
from jaxtyping import Float


def _given(numbers: list) -> Float[np.ndarray, "..."]:
    """Make a read-only float64 array of the numbers of an example."""
    array = np.array(numbers, dtype=np.float64)
    array.setflags(write=False)
    return array


# ------------------------------------- three tokens of width 4, with all three matrices alike

THE_CAT_SAT_TOKENS: tuple[str, ...] = ("The", "cat", "sat")
"""The three tokens, T = 3."""

THE_CAT_SAT_X: Float[np.ndarray, "3 4"] = _given(
    [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]]
)
"""Their embeddings, (T, C) = (3, 4)."""

THE_CAT_SAT_W: Float[np.ndarray, "4 4"] = _given(
    [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2], [1.3, 1.4, 1.5, 1.6]]
)
"""The one matrix (C, D) = (4, 4) that serves as W_Q, W_K and W_V."""

THE_CAT_SAT_PRINTED_QKV: Float[np.ndarray, "3 4"] = _given(
    [[0.3, 0.7, 1.1, 1.5], [0.7, 1.5, 2.3, 3.1], [1.1, 2.3, 3.5, 4.7]]
)
"""What is printed as Q, as K and as V, (T, D); it is not X times W."""

THE_CAT_SAT_PRINTED_SCORES: Float[np.ndarray, "3"] = _given([3.74, 8.74, 13.74])
"""What is printed as the scores of "The" with the three keys, (T,)."""

THE_CAT_SAT_PRINTED_WEIGHTS: Float[np.ndarray, "3"] = _given([0.02, 0.28, 0.70])
"""What is printed as the softmax of those scores, (T,)."""

THE_CAT_SAT_PRINTED_OUTPUT: Float[np.ndarray, "4"] = _given([1.0, 2.0, 3.0, 4.0])
"""What is printed as the output for "The", (D,)."""

# --------------------------------------------- six tokens of width 3, seen from the word "cat"

CAT_TOKENS: tuple[str, ...] = ("The", "cat", "sat", "on", "the", "mat")
"""The six tokens, T = 6; the query is that of the second."""

CAT_X: Float[np.ndarray, "6 3"] = _given(
    [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.5, 0.5, 0.0],
        [0.5, 0.0, 0.5],
        [0.0, 0.5, 0.5],
    ]
)
"""Their embeddings, (T, C) = (6, 3): the last three are means of two of the first three."""

CAT_QUERY: Float[np.ndarray, "3"] = _given([1.0, 0.0, 1.0])
"""The query of "cat", (D,) = (3,)."""

CAT_KEYS: Float[np.ndarray, "6 3"] = _given(
    [
        [1.0, 0.0, 0.0],
        [1.0, 0.5, 0.0],
        [0.0, 0.0, 1.0],
        [0.5, 0.5, 0.0],
        [0.5, 0.0, 0.5],
        [0.0, 0.5, 0.5],
    ]
)
"""The keys as given, (T, D): no W_K makes them from the embeddings."""

CAT_VALUES: Float[np.ndarray, "6 3"] = _given(
    [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.5],
        [0.0, 0.0, 1.0],
        [0.5, 0.5, 0.0],
        [0.5, 0.0, 0.5],
        [0.0, 0.5, 0.5],
    ]
)
"""The values as given, (T, D): no W_V makes them from the embeddings."""

CAT_PRINTED_SCORES: Float[np.ndarray, "6"] = _given([1.0, 1.0, 1.0, 0.5, 1.0, 0.5])
"""What is printed as the scores of "cat", (T,); right for the keys as given."""

CAT_PRINTED_WEIGHTS: Float[np.ndarray, "6"] = _given([0.217, 0.217, 0.217, 0.132, 0.217, 0.132])
"""What is printed as the softmax of those scores, (T,)."""

CAT_PRINTED_OUTPUT: Float[np.ndarray, "3"] = _given([0.391, 0.349, 0.499])
"""What is printed as the output for "cat", (D,)."""

# ------------------------------------------------- seven tokens with a table of weights only

SITS_TOKENS: tuple[str, ...] = ("The", "cat", "sits", "on", "the", "mat", ".")
"""The seven tokens, T = 7."""

SITS_X: Float[np.ndarray, "7 3"] = _given(
    [
        [0.2, 0.1, 0.7],
        [0.6, 0.4, 0.3],
        [0.5, 0.9, 0.2],
        [0.3, 0.7, 0.1],
        [0.2, 0.1, 0.7],
        [0.4, 0.6, 0.8],
        [0.1, 0.3, 0.4],
    ]
)
"""The first three entries of their embeddings, (T, 3); "The" and "the" share theirs."""

SITS_PRINTED_WEIGHTS: Float[np.ndarray, "7"] = _given([0.1, 0.3, 0.4, 0.1, 0.05, 0.35, 0.1])
"""What is printed as the attention weights of "cat", (T,)."""
