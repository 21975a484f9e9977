"""The bigram model: counts and their entropy, tables made of them, and the loss."""

import numpy as np
from jaxtyping import Float, Int, Integer, Real
from torch import Tensor
from torch.nn import functional as F

from helpers import numerics

ABC_TABLE = np.array([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4], [0.2, 0.3, 0.5]])
ABC_TABLE.setflags(write=False)

Ids = Integer[Tensor, " N"] | Integer[np.ndarray, " N"]  # signed or not
Table = Real[np.ndarray, "V V"] | Real[Tensor, "V V"]


# --------------------------------------------------------------- counts


def count_bigrams(ids: Ids, vocab_size: int) -> Int[np.ndarray, "V V"]:
    """Count how often token j comes right after token i: entry [i, j], int64.

    ids: one row of N tokens, which has N - 1 pairs of neighbours. Raises ValueError where an
    id lies outside 0..V-1. Shapes: ids (N,) give (V, V).

    >>> count_bigrams(np.array([0, 1, 1, 0]), 2).tolist()
    [[0, 1], [1, 1]]
    """
    ids = _numpy(ids).astype(np.int64)
    if ids.size and not 0 <= ids.min() <= ids.max() < vocab_size:
        raise ValueError(f"ids reach from {ids.min()} to {ids.max()}, outside 0..{vocab_size - 1}")
    pairs = ids[:-1] * vocab_size + ids[1:]
    return np.bincount(pairs, minlength=vocab_size**2).reshape(vocab_size, vocab_size)


def conditional_entropy(counts: Table) -> float:
    """Give the least loss, in nats per transition, that any bigram table has on these counts.

    The entropy of each row, weighted by how often the row occurs; 0 to log V. Raises
    ValueError for counts that are negative or all zero. Shapes: counts (V, V).
    """
    counts = _counts(counts)
    seen = counts[counts.sum(axis=1) > 0]
    rows = seen.sum(axis=1)
    return float(rows @ numerics.entropy(seen / rows[:, None]) / rows.sum())


def smoothed(counts: Table, add: float = 1.0) -> Float[np.ndarray, "V V"]:
    """Turn counts into P(next = j | current = i), with `add` put on every count first.

    add=1 is Laplace's rule; add=0 is maximum likelihood. Rows sum to 1. A row that was
    never seen is uniform for every `add`, so for 0 too. Raises ValueError where add or a
    count is negative. Shapes: counts (V, V) to (V, V).
    """
    if add < 0:
        raise ValueError(f"add={add} must be at least 0")
    added = _counts(counts) + add
    totals = added.sum(axis=1, keepdims=True)
    return np.divide(added, totals, out=np.full_like(added, 1 / len(added)), where=totals > 0)


def cross_entropy_of(probabilities: Table, counts: Table) -> float:
    """Loss of a table on data with these counts: mean of -log P over transitions, in nats.

    It is inf where a pair that occurs has probability 0; a pair that does not occur costs
    nothing. Raises ValueError where rows do not sum to 1. Shapes: probabilities and counts (V, V).
    """
    probabilities, counts = _stochastic(probabilities), _counts(counts)
    occurs = counts > 0
    with np.errstate(divide="ignore"):
        log_p = np.log(probabilities[occurs])
    return float(-(counts[occurs] @ log_p) / counts.sum())


# ----------------------------------------------------------------- loss


def loss(logits_BTV: Float[Tensor, "B T V"], targets_BT: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Cross-entropy: mean over all positions of -log P(target), in nats.

    Raises ValueError where shapes do not fit, IndexError where a target lies outside 0..V-1.

    >>> import torch
    >>> round(loss(torch.zeros(1, 2, 4), torch.tensor([[0, 3]])).item(), 3)  # log 4
    1.386
    """
    if logits_BTV.shape[:2] != targets_BT.shape:  # transposed targets would be as many
        raise ValueError(f"targets_BT must have shape {tuple(logits_BTV.shape[:2])}")
    return F.cross_entropy(logits_BTV.flatten(0, 1), targets_BT.flatten().long())


def _numpy(x: np.ndarray | Tensor) -> np.ndarray:
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        return (x.double() if x.is_floating_point() else x).numpy()  # NumPy has no bfloat16
    return np.asarray(x)


def _counts(counts: Table) -> Float[np.ndarray, "V V"]:
    counts = _numpy(counts).astype(np.float64)
    if not (counts >= 0).all() or not counts.any():
        raise ValueError("counts must be at least 0 everywhere, and one of them above 0")
    return counts


def _stochastic(table: Table) -> Float[np.ndarray, "V V"]:
    table = _numpy(table).astype(np.float64)
    sums = table.sum(axis=1)
    if not ((table >= 0).all() and (abs(sums - 1) <= numerics.SUM_TOLERANCE).all()):
        raise ValueError(f"each row of a table of probabilities must sum to 1, not to {sums}")
    return table
