"""The oracle: softmax, entropy and attention in NumPy float64.

Attention and the bigram table are held against these few functions, so they are written
for plainness: one formula each, no torch, no speed.
"""

import math

import numpy as np
from jaxtyping import Bool, Float, Real

# What a reduction returns: an array, or NumPy's own float where nothing is left to index.
Reduced = Float[np.ndarray, "..."] | float

SUM_TOLERANCE = 1e-6  # how far the sum of a distribution may lie from 1


def _shifted(scores: Real[np.ndarray, "..."], axis: int) -> Float[np.ndarray, "..."]:
    """The scores less the largest along `axis`, so that no exponential overflows."""
    scores = np.asarray(scores, dtype=np.float64)
    largest = scores.max(axis=axis, keepdims=True)
    if np.isneginf(largest).any():
        raise ValueError("scores are -inf all along the axis somewhere: one must be finite")
    return scores - largest


def softmax(scores: Real[np.ndarray, "*shape"], axis: int = -1) -> Float[np.ndarray, "*shape"]:
    """Exponentials of the scores, divided by their sum along `axis`.

    Same shape, entries in [0, 1] that sum to 1 along `axis`. Raises ValueError where all
    scores along `axis` are -inf, since nothing is then left to choose from.

    >>> softmax(np.array([0.0, 0.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    exponentials = np.exp(_shifted(scores, axis))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _probabilities(p: Real[np.ndarray, "..."], axis: int) -> Float[np.ndarray, "..."]:
    """`p` in float64. Raises ValueError where it is not a distribution along `axis`."""
    p = np.asarray(p, dtype=np.float64)
    if not ((p >= 0).all() and (abs(p.sum(axis=axis) - 1) <= SUM_TOLERANCE).all()):
        raise ValueError(f"p must be at least 0 everywhere and sum to 1 along axis {axis}")
    return p


def entropy(p: Real[np.ndarray, "..."], axis: int = -1) -> Reduced:
    """Mean surprise of the distribution `p` in nats: minus the sum of p log p, 0 log 0 being 0.

    p: probabilities along `axis`; the result lacks that axis and lies in [0, log V].
    Raises ValueError where p is negative or does not sum to 1. Shannon 1948, section 6.

    >>> round(float(entropy(np.array([0.5, 0.5]))), 3)  # log 2
    0.693
    """
    p = _probabilities(p, axis)
    # Adding 0 turns the -0.0 of a certain outcome into 0.0.
    return -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=axis) + 0.0


def attention_weights(
    q: Real[np.ndarray, "*lead Tq D"],
    k: Real[np.ndarray, "*lead Tk D"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*lead Tq Tk"]:
    """Softmax over the keys of q·k/√D, one query and one key at a time.

    mask: True where a query may read a key; it broadcasts to (..., T_q, T_k). Raises
    ValueError for a query that may read no key. Vaswani et al. 2017, equation 1.
    """
    q, k = np.asarray(q, dtype=np.float64), np.asarray(k)
    weights = np.zeros((*q.shape[:-1], k.shape[-2]))
    mask = np.broadcast_to(True if mask is None else mask, weights.shape)
    for index in np.ndindex(q.shape[:-1]):
        lead, query = index[:-1], q[index]
        readable = [j for j in range(k.shape[-2]) if mask[(*index, j)]]
        if not readable:
            raise ValueError(f"mask lets the query at {index} read no key: it needs one")
        scores = [
            sum(a * b for a, b in zip(query, k[(*lead, j)], strict=True)) / math.sqrt(len(query))
            for j in readable
        ]
        exponentials = [math.exp(score - max(scores)) for score in scores]
        for j, exponential in zip(readable, exponentials, strict=True):
            weights[(*index, j)] = exponential / math.fsum(exponentials)
    return weights


def attention(
    q: Real[np.ndarray, "*lead Tq D"],
    k: Real[np.ndarray, "*lead Tk D"],
    v: Real[np.ndarray, "*lead Tk Dv"],
    mask: Bool[np.ndarray, "..."] | None = None,
) -> Float[np.ndarray, "*lead Tq Dv"]:
    """Scaled dot-product attention by loops: each query's weighted sum of the values.

    Arguments and errors are those of `attention_weights`; v has one row for each key.
    Vaswani et al. 2017, equation 1.
    Shapes: q (..., T_q, D), k (..., T_k, D), v (..., T_k, D_v) give (..., T_q, D_v).

    >>> attention(np.zeros((1, 2)), np.eye(2), np.array([[2.0], [4.0]]))
    array([[3.]])
    """
    weights = attention_weights(q, k, mask)
    output = np.zeros((*weights.shape[:-1], v.shape[-1]))
    for index in np.ndindex(weights.shape):
        output[index[:-1]] += weights[index] * v[(*index[:-2], index[-1])]
    return output
