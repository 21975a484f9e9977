"""Corrections for chapter 15: what is said of caches, tiles, 16 and 4 bits, drafts and batches."""

import numpy as np
import torch

from helpers.corrections import corrects, number

SHORT, LONG = 1_000, 100_000
"""Tokens of the conversations that are compared."""


@corrects(
    claim="With a KV cache every token takes the same work, however long the text is.",
    says="The cache is said to make each step constant in the length of the text.",
    why="The new query is compared with every key and mixes every value, and all of them are read "
    "from memory for it (Shazeer 2019).",
)
def a_cache_is_read_for_every_token() -> str:
    """Numbers that one step reads, for Llama 3 8B, in a short text and in a long one."""
    of_a_token, weights = 2 * 32 * 8 * 128, 8e9
    short, long = (of_a_token * T / weights for T in (SHORT, LONG))
    return (
        f"In Llama 3 8B a step reads {number(100 * short)} % as many numbers from the cache as "
        f"from the weights after {SHORT:,} tokens, and {number(100 * long)} % after {LONG:,}."
    )


@corrects(
    claim="FlashAttention is faster because it approximates attention.",
    says="It is listed with sparse and linear attention, which compute something else.",
    why="It computes the same scores and the same softmax, tile by tile, and saves the way of the "
    "scores to memory and back (Dao et al. 2022).",
)
def tiles_are_exact() -> str:
    """Largest difference of attention by tiles and of attention, in double precision."""
    q, k, v = np.random.default_rng(0).standard_normal((3, 64, 8))
    scores = q @ k.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    whole = weights / weights.sum(axis=1, keepdims=True) @ v
    m, s, o = np.full((64, 1), -np.inf), 0.0, 0.0
    for at in range(0, 64, 16):
        tile = q @ k[at : at + 16].T
        new = np.maximum(m, tile.max(axis=1, keepdims=True))
        kept, w = np.exp(m - new), np.exp(tile - new)
        m, s, o = new, kept * s + w.sum(axis=1, keepdims=True), kept * o + w @ v[at : at + 16]
    exact = np.abs(o / s - whole).max() < 1e-12
    return f"Over 64 keys in tiles of 16 the outputs agree to 1e-12: {exact}."


@corrects(
    claim="bf16 is the more precise of the two 16-bit formats, and so training in it is stable.",
    says="Stability is put down to precision.",
    why="It has fewer digits than fp16. What it has more of is range, so that gradients neither "
    "overflow nor vanish (Kalamkar et al. 2019).",
)
def bf16_has_range() -> str:
    """The next number after 1 and the largest number, in both formats."""
    half, brain = torch.finfo(torch.float16), torch.finfo(torch.bfloat16)
    return (
        f"After 1 comes 1 + {number(half.eps)} in fp16 and 1 + {number(brain.eps)} in bf16; the "
        f"largest numbers are {number(half.max)} and {number(brain.max)}."
    )


@corrects(
    claim="A model quantised to 4 bits takes half a byte for each weight.",
    says="Sizes are given as parameters divided by two.",
    why="Every block stores its scale, and in some formats its minimum, too, and some matrices are "
    "kept in more bits.",
)
def blocks_have_heads() -> str:
    """Bits a weight of the format Q4_1, and what the difference comes to for a large model."""
    bits = (2 + 2 + 16) * 8 / 32
    return (
        f"Q4_1 takes {number(bits)} bits a weight. For 70 billion weights that is "
        f"{number(70 * bits / 8)} GB and not {number(70 * 4 / 8)}."
    )


@corrects(
    claim="Speculative decoding buys speed with quality, since a small model writes.",
    says="The text is taken for a mixture of what the two models would write.",
    why="A rejected token is replaced by a draw from what the draft lacks, so that what is written "
    "has exactly the target's probabilities (Leviathan et al. 2023).",
)
def drafts_change_nothing() -> str:
    """Largest difference between the target's probabilities and those of what is written."""
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(50), size=2)
    accepted, lacking = np.minimum(p, q), np.maximum(p - q, 0)
    written = accepted + (1 - accepted.sum()) * lacking / lacking.sum()
    exact = np.abs(written - p).max() < 1e-12
    return (
        f"For two random distributions over 50 tokens {number(100 * accepted.sum())} % of drafts "
        f"are accepted, and what is written has the target's probabilities to 1e-12: {exact}."
    )


@corrects(
    claim="Averaging the mean losses of micro-batches gives the loss of the whole batch.",
    says="Gradient accumulation divides each mean loss by the number of micro-batches.",
    why="A mean of means counts a token of a short micro-batch more than one of a long one. The "
    "losses of all tokens must be added up and divided once.",
)
def a_mean_of_means() -> str:
    """Both, for 10 tokens with a mean loss of 2 and 90 tokens with a mean loss of 1."""
    tokens, means = np.array([10, 90]), np.array([2.0, 1.0])
    return (
        f"The mean of the means is {number(means.mean())}, the mean over all tokens "
        f"{number(tokens @ means / tokens.sum())}."
    )
