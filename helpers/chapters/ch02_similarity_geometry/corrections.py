"""A misconception of chapter 2: what is left of lengths after a norm."""

import numpy as np

from helpers.corrections import corrects, number


@corrects(
    claim="With LayerNorm before it, attention compares directions only, much like a cosine.",
    says="“Normalising makes attention look at directions rather than at magnitudes.”",
    why="LayerNorm makes the inputs equally long. Attention compares queries and keys, and W_Q "
    "and W_K stretch some directions more than others, so the keys have different lengths again. "
    "For scores that are cosines we'd have to normalise the queries and keys themselves.",
    section="Does a norm make attention compare directions?",
)
def keys_have_lengths_again() -> str:
    """Ratio of longest to shortest key, and how often score and cosine prefer another key."""
    ratios, others = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x_NC = rng.standard_normal((32, 64))
        x_NC -= x_NC.mean(axis=1, keepdims=True)
        x_NC /= x_NC.std(axis=1, keepdims=True)
        q_ND, k_ND = x_NC @ (rng.standard_normal((2, 64, 16)) / 8)
        lengths_N = np.linalg.norm(k_ND, axis=1)
        ratios.append(lengths_N.max() / lengths_N.min())
        scores_NN = q_ND @ k_ND.T
        others.append((scores_NN.argmax(axis=1) != (scores_NN / lengths_N).argmax(axis=1)).mean())
    return (
        f"For 32 normalised inputs, we draw W_Q and W_K at random 20 times. The longest key is "
        f"{number(min(ratios))} to {number(max(ratios))} times as long as the shortest, and for "
        f"{100 * np.mean(others):.0f} % of the queries the key with the largest score isn't the "
        "one with the largest cosine."
    )
