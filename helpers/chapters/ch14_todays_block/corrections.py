"""Corrections for chapter 14: what is often said of today's block."""

import numpy as np

from helpers import example
from helpers.corrections import corrects, number, shown
from helpers.corrections.arrays import rms, standardised

LLAMA_3_70B = {"C": 8_192, "H": 64, "G": 8}
"""Width, heads and key-value heads (Grattafiori et al. 2024)."""

MIXTRAL = {"V": 32_000, "C": 4_096, "H": 32, "G": 8, "L": 32, "hidden": 14_336}
"""Sizes of Mixtral 8x7B (Jiang et al. 2024), whose head is not tied."""


def _billions(count: float) -> str:
    return f"{count / 1e9:.1f} billion"


@corrects(
    claim="RMSNorm is LayerNorm without the bias β.",
    says="“RMSNorm simply drops the bias term of LayerNorm.”",
    why="It drops the mean as well, and the mean matters more: RMSNorm divides by the root of the "
    "mean square, LayerNorm first subtracts the mean. The two agree where a token's numbers sum "
    "to 0.",
)
def rms_norm_keeps_the_mean() -> str:
    """Both norms of the running example's last word, with γ = 1 and β = 0."""
    x = example.X[-1]
    return (
        f"Of {shown(x)} LayerNorm without β makes {shown(standardised(x))} and RMSNorm "
        f"{shown(x / rms(x))}."
    )


@corrects(
    claim="Whether RoPE pairs neighbours or halves is a matter of notation.",
    says="“The two implementations of rotary embeddings are equivalent.”",
    why="They are equivalent for weights that were trained with them. The same weights under the "
    "other pairing give other scores, unless the rows of the query and key matrices are reordered.",
)
def pairings_differ() -> str:
    """The score of one query and one key, two positions apart, in both pairings."""
    q, k = np.array([1.0, 2.0, 3.0, 4.0]), np.array([4.0, 3.0, 2.0, 1.0])
    turn = np.exp(1j * 2 * np.array([1.0, 0.1]))
    scores = []
    for order in ([0, 2, 1, 3], [0, 1, 2, 3]):  # first numbers of the pairs, then second ones
        (a, b), (c, d) = q[order].reshape(2, 2), k[order].reshape(2, 2)
        scores.append(float(((a + 1j * b) * turn * (c - 1j * d)).real.sum()))
    return (
        f"For q = {shown(q)} two positions after k = {shown(k)}, with angles of 1 and 0.1 per "
        f"position, the score is {number(scores[0])} with neighbours and {number(scores[1])} "
        "with halves."
    )


@corrects(
    claim="With 8 key-value heads for 64 heads, attention has an eighth of the parameters and "
    "computes an eighth of the scores.",
    says="“GQA reduces the cost of attention by the number of query heads per group.”",
    why="The cache falls to an eighth, and so do the matrices that make keys and values. Those for "
    "queries and for the output stay, and every head of queries still has a pattern of its own.",
)
def what_groups_save() -> str:
    """Parameters of attention, bytes of the cache and scores in one layer of Llama 3 70B."""
    C, H, G = LLAMA_3_70B.values()
    fraction = (2 * C * C + 2 * C * C // H * G) / (4 * C * C)
    return (
        f"In Llama 3 70B attention keeps {number(100 * fraction)} % of its parameters, "
        f"{number(100 * G / H)} % of the cache and all {H} patterns of a layer."
    )


@corrects(
    claim="SwiGLU makes the feed-forward network half as large again, since it has three matrices "
    "in place of two.",
    says="“SwiGLU adds a third weight matrix and therefore 50 % more parameters.”",
    why="The hidden width is lowered to make up for it, from 4C to about 8C/3, and is then often "
    "rounded up to a multiple that suits the hardware.",
)
def three_smaller_matrices() -> str:
    """Feed-forward parameters of a block of Llama 7B (2023) beside those of 4C and GELU."""
    C, hidden = 4_096, 11_008
    return (
        f"Llama 7B has C = {C} and {hidden} hidden numbers: 3 · {C} · {hidden} parameters are "
        f"{number(3 * hidden / (8 * C))} times the 8 · C² of two matrices of width 4C."
    )


@corrects(
    claim="A mixture of eight experts of 7 billion parameters has 56 billion, of which each token "
    "uses 14 billion.",
    says="“Mixtral 8x7B is eight models of 7B parameters.”",
    why="Only the feed-forward networks come eight times. Attention, norms and embeddings are "
    "there once.",
)
def eight_times_seven() -> str:
    """All parameters of Mixtral 8x7B, and those that one token uses, from its sizes."""
    V, C, H, G, L, hidden = MIXTRAL.values()
    once = 2 * V * C + L * (2 * C * C + 2 * C * C // H * G + 2 * C + 8 * C) + C
    expert = L * 3 * C * hidden
    return (
        f"{_billions(once + 8 * expert)} in all, and {_billions(once + 2 * expert)} for each token."
    )
