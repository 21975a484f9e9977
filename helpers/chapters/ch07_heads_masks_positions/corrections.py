"""A misconception of chapter 7: what a head sees."""

import numpy as np

from helpers.corrections import corrects


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
