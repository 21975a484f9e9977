"""Misconceptions of chapter 7: what a head sees, and what knows the order."""

import numpy as np

from helpers.corrections import corrects, number
from helpers.numerics import softmax


@corrects(
    claim="Each head gets its own slice of the embedding.",
    says="“The embedding is split into H parts, and each head attends within its part.”",
    why="The projections are what is split. A head has a few columns of W_Q, W_K and W_V to "
    "itself, and each of those columns reads the whole embedding.",
    section="How do several heads make one output?",
)
def heads_read_all_features() -> str:
    """Number of features of an embedding that the query of one head depends on."""
    C, H = 8, 4
    W_Q, x = np.random.default_rng(0).standard_normal((C, C)), np.zeros(C)
    by_feature = [((x + one) @ W_Q).reshape(H, -1)[0] for one in np.eye(C)]
    read = sum(bool(query.any()) for query in by_feature)
    return (
        f"With {C} features and {H} heads, the query of the first head has {C // H} numbers, and "
        f"it depends on {read} features."
    )


@corrects(
    claim="Without positions, a Transformer has no sense of order.",
    says="“To a Transformer a sentence is a set of words.”",
    why="That's true of an encoder, in which every token reads every other. A causal mask is an "
    "order of its own, since each token reads one token more than the one before. With two layers, "
    "a token can tell in which order the tokens before it came.",
    section="Does a causal mask tell the order?",
)
def order_from_the_mask() -> str:
    """How far the last token's output moves when the first two of six change places."""
    rng = np.random.default_rng(0)
    x_TC, layers = rng.standard_normal((6, 8)), rng.standard_normal((2, 3, 8, 8)) / np.sqrt(8)

    def moved(depth: int, mask_TT: np.ndarray) -> str:
        outputs = []
        for order in ([0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5]):
            y_TC = x_TC[order]
            for W_Q, W_K, W_V in layers[:depth]:
                scores_TT = (y_TC @ W_Q) @ (y_TC @ W_K).T / np.sqrt(8)
                y_TC = y_TC + softmax(np.where(mask_TT, scores_TT, -np.inf)) @ y_TC @ W_V
            outputs.append(y_TC[-1])
        return number(np.abs(outputs[0] - outputs[1]).max().round(9))

    causal, open_ = np.tri(6, dtype=bool), np.ones((6, 6), dtype=bool)
    return (
        "The first two of six tokens change places, and there are no positions. The output at the "
        f"last token moves by {moved(2, open_)} after two layers without a mask. With a causal "
        f"mask it moves by {moved(1, causal)} after one layer and by {moved(2, causal)} after two."
    )
