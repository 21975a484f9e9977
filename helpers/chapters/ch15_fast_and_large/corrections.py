"""Misconceptions of chapter 15: what is said of tiles and drafts."""

import numpy as np

from helpers.corrections import corrects, number


@corrects(
    claim="FlashAttention is faster because it approximates attention.",
    says="It is listed with sparse and linear attention, which do compute something else.",
    why="It computes the same scores and the same softmax, tile by tile. What it saves is "
    "writing the scores to memory and reading them back (Dao et al. 2022).",
    section="Can softmax be computed tile by tile?",
)
def tiles_are_exact() -> str:
    """Largest difference of attention by tiles and of attention, in double precision."""
    q, k, v = np.random.default_rng(0).standard_normal((3, 64, 8))
    weights = np.exp(q @ k.T)
    whole = weights / weights.sum(axis=1, keepdims=True) @ v
    m, s, o = np.full((64, 1), -np.inf), 0.0, 0.0
    for at in range(0, 64, 16):
        tile = q @ k[at : at + 16].T
        new = np.maximum(m, tile.max(axis=1, keepdims=True))
        kept, w = np.exp(m - new), np.exp(tile - new)
        m, s, o = new, kept * s + w.sum(axis=1, keepdims=True), kept * o + w @ v[at : at + 16]
    apart = number(np.abs(o / s - whole).max().round(9))
    return f"Over 64 keys, attention in tiles of 16 differs from attention all at once by {apart}."


@corrects(
    claim="Speculative decoding buys speed with quality, since a small model writes.",
    says="“The text is a mixture of what the two models would write.”",
    why="Where the large model rejects a token, the token is replaced by a draw from what the "
    "draft lacks. What is written has exactly the large model's probabilities (Leviathan et al. "
    "2023).",
    section="Can a small model write for a large one?",
)
def drafts_change_nothing() -> str:
    """Largest difference between the target's probabilities and those of what is written."""
    p, q = np.random.default_rng(0).dirichlet(np.ones(50), size=2)
    accepted, lacking = np.minimum(p, q), np.maximum(p - q, 0)
    written = accepted + (1 - accepted.sum()) * lacking / lacking.sum()
    return (
        f"Of two random distributions over 50 tokens, one drafts for the other. "
        f"{100 * accepted.sum():.0f} % of the drafts are accepted, and the probabilities of what "
        f"is written differ from the large model's by {number(np.abs(written - p).max().round(9))}."
    )
