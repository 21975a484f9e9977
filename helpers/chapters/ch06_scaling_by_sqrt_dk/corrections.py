"""A misconception of chapter 6: which root it is."""

import numpy as np

from helpers.corrections import corrects


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
