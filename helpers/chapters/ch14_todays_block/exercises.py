"""Checks for chapter 14, today's block."""

import numpy as np
import torch.nn.functional as F

from helpers import exercises as ex
from helpers import minillama
from helpers.exercises import check as check
from helpers.exercises.pieces import drawn, piece


def _rms_norm(x, gain, eps):
    return gain * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


def _tokens():
    """Tokens, gains and an ε that is large enough to be seen."""
    rng = np.random.default_rng(14)
    for T, C in ((3, 4), (2, 5)):
        yield rng.standard_normal((T, C)) + 0.5, 1 + rng.random(C), 0.1


ex.near_misses(
    "14.1",
    _rms_norm,
    _tokens(),
    {
        "This is LayerNorm: the mean is subtracted.": (
            lambda x, gain, eps: _rms_norm(x - x.mean(axis=-1, keepdims=True), gain, eps)
        ),
        "You divide by the mean square; its root is missing.": (
            lambda x, gain, eps: gain * x / ((x**2).mean(axis=-1, keepdims=True) + eps)
        ),
        "ε is added to the RMS; it belongs under the root.": (
            lambda x, gain, eps: gain * x / (((x**2).mean(axis=-1, keepdims=True)) ** 0.5 + eps)
        ),
        "You divide by the length, the root of the sum of squares.": (
            lambda x, gain, eps: gain * x / np.sqrt((x**2).sum(axis=-1, keepdims=True) + eps)
        ),
        "The mean is taken over all tokens; each token has one of its own.": (
            lambda x, gain, eps: gain * x / np.sqrt((x**2).mean() + eps)
        ),
        "The mean is over the tokens, for each number; take it over the numbers of a token.": (
            lambda x, gain, eps: gain * x / np.sqrt((x**2).mean(axis=0) + eps)
        ),
        "The gain is missing.": lambda x, gain, eps: _rms_norm(x, 1.0, eps),
        "ε is missing.": lambda x, gain, eps: _rms_norm(x, gain, 0.0),
    },
    numpy=True,
)

ex.near_misses(
    "14.2",
    lambda L, G, D, T, each: 2 * L * G * D * T * each,
    [(31, 7, 61, 101, 3), (30, 3, 64, 100, 1)],  # primes: no two mistakes make the same number
    {
        "That is keys or values. Both are kept.": lambda L, G, D, T, each: L * G * D * T * each,
        "Queries aren't kept: of a token there are keys and values.": (
            lambda L, G, D, T, each: 3 * L * G * D * T * each
        ),
        "This counts numbers and not bytes.": lambda L, G, D, T, each: 2 * L * G * D * T,
        "Each layer has keys and values of its own.": (
            lambda L, G, D, T, each: 2 * G * D * T * each
        ),
        "This is one token. The cache holds all of them.": (
            lambda L, G, D, T, each: 2 * L * G * D * each
        ),
        "Scores aren't kept, so nothing grows with the square of T.": (
            lambda L, G, D, T, each: 2 * L * G * D * T**2 * each
        ),
    },
    "For L={L}, G={G}, D={D}, T={T} and each={each} yours is {found:,.0f}: not right.",
)


def _to_halves(W, H):
    rows = W.reshape(H, -1, 2, W.shape[1])
    return rows.transpose(0, 2, 1, 3).reshape(W.shape)


def _weights():
    """Weights of query layers with two and three heads, of widths 4 and 6."""
    rng = np.random.default_rng(143)
    for H, D, C in ((2, 4, 3), (3, 6, 2)):
        yield rng.standard_normal((H * D, C)).round(2), H


ex.near_misses(
    "14.3",
    _to_halves,
    _weights(),
    {
        "Nothing has moved.": lambda W, H: 1 * W,
        "You reorder across heads; each head keeps its rows.": lambda W, H: _to_halves(W, 1),
        "This is the way back, from halves to neighbours.": (
            lambda W, H: W.reshape(H, 2, -1, W.shape[1]).transpose(0, 2, 1, 3).reshape(W.shape)
        ),
        "The second numbers of the pairs come first.": (
            lambda W, H: (
                W.reshape(H, -1, 2, W.shape[1])[:, :, ::-1].transpose(0, 2, 1, 3).reshape(W.shape)
            )
        ),
        "You exchange the two numbers of each pair, and leave the pairs where they are.": (
            lambda W, H: W.reshape(H, -1, 2, W.shape[1])[:, :, ::-1].reshape(W.shape)
        ),
        "You reorder the heads; the rows within a head are to move.": (
            lambda W, H: W.reshape(H, -1, W.shape[1])[::-1].reshape(W.shape)
        ),
    },
    numpy=True,
)


def _halves(x_BHTD, first, base):
    """RoPE for pairs (i, i + D/2), as Hugging Face's, with the pairs side by side."""
    return minillama.rotate(x_BHTD.unflatten(-1, (2, -1)).mT.flatten(-2), first, base)


def _across_heads(x_BHTD, first, base):
    return minillama.rotate(x_BHTD.transpose(1, 2), first, base).transpose(1, 2)


def _grouped(
    turned="qk", *, rotate=minillama.rotate, divisor=None, dealt=False, masked=True, join=None
):
    """The forward of grouped-query attention, or one with a mistake."""
    join = join or (lambda self, mixed: self.out(mixed.transpose(1, 2).flatten(2)))

    def forward(self, x_BTC):
        layers = self.query, self.key, self.value
        q, k, v = (layer(x_BTC).unflatten(-1, (-1, self.D)).transpose(1, 2) for layer in layers)
        q, k, v = (
            rotate(x, 0, self.base) if name in turned else x
            for name, x in zip("qkv", (q, k, v), strict=True)
        )
        if divisor:
            q = q * self.D**0.5 / divisor(x_BTC.shape[-1])
        share = q.shape[1] // k.shape[1]
        repeat = (
            (lambda x: x.repeat(1, share, 1, 1))
            if dealt
            else (lambda x: x.repeat_interleave(share, dim=1))
        )
        mixed = F.scaled_dot_product_attention(q, repeat(k), repeat(v), is_causal=masked)
        return join(self, mixed)

    return forward


piece(
    "14.4",
    minillama.GroupedQueryAttention,
    [drawn(minillama.GroupedQueryAttention, (24, 6, 2, 100), 2, 5, 24, scale=0.3)],
    {
        "Nothing is rotated, so it has no positions.": _grouped(""),
        "Queries are rotated and keys are not.": _grouped("q"),
        "Keys are rotated and queries are not.": _grouped("k"),
        "Values are rotated, too. Positions belong into the scores alone.": _grouped("qkv"),
        "Which queries share a head of keys? Neighbours do, in yours every other one.": (
            _grouped(dealt=True)
        ),
        "Each token reads what follows it.": _grouped(masked=False),
        "The layer `out` plays no part.": (
            _grouped(join=lambda self, mixed: mixed.transpose(1, 2).flatten(2))
        ),
        "Your RoPE pairs i with i + D/2. Here it pairs neighbours, 2i and 2i + 1.": (
            _grouped(rotate=_halves)
        ),
        "`rotate` takes the last axis but one for the positions. In yours these are the heads.": (
            _grouped(rotate=_across_heads)
        ),
        "The scores are not divided by √D.": _grouped(divisor=lambda C: 1.0),
        "The scores are divided by √C; the D of √D is the width of one head.": (
            _grouped(divisor=lambda C: C**0.5)
        ),
        "What you give to `out` mixes tokens. Which axes does the reshaping join?": (
            _grouped(
                join=lambda self, mixed: self.out(mixed.reshape(len(mixed), mixed.shape[2], -1))
            )
        ),
        "The input is added; the block does that, outside of this piece.": (
            lambda self, x_BTC: x_BTC + _grouped()(self, x_BTC)
        ),
    },
)


def _silu(z):
    return z / (1 + np.exp(-z))


BUGS = {
    "Ada": ("silu on the product", lambda x, gate, up: _silu((x @ gate) * (x @ up))),
    "Ben": ("gate and up exchanged", lambda x, gate, up: _silu(x @ up) * (x @ gate)),
    "Cleo": ("added", lambda x, gate, up: _silu(x @ gate) + x @ up),
    "Dan": ("sigmoid for silu", lambda x, gate, up: x @ up / (1 + np.exp(-(x @ gate)))),
}
which_bug = ex.diagnosis(
    "14.5",
    BUGS,
    "Compute each of the four mistakes for one token, and compare with the first rows.",
    145,
    lambda rng: [rng.standard_normal(shape).round(1) for shape in ((3, 2), (2, 3), (2, 3))],
)

ex.explanation(
    "14.6",
    "Names and shapes say nothing about what is done with the numbers. Which numbers RoPE pairs, "
    "its base, the ε of the norms and the activation aren't in the matrices, and a wrong choice "
    "raises no error. He should compare logits on a text with those of the program the checkpoint "
    "comes from, or at least the loss on ordinary text.",
    "Names and shapes don't say how the numbers are used.",
    "An example, such as the pairing or the base of RoPE, the ε, or the activation.",
    "Compare logits, or the loss on a text, with the original program.",
)

ex.spoken(
    "14.5",
    "Where x · up is far below 0, what do you expect of each of your four outputs?",
    "silu(u) is nearly 0 there, so it nearly vanishes with gate and up exchanged, and with silu on "
    "the product where x · gate is positive. Added, u itself is left; with sigmoid, a share of it.",
)
