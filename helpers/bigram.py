"""The bigram table: counts and what can be known from them, a chain with a known table, and
the same table as a torch module.
"""

from bisect import bisect_right

import numpy as np
import torch
from jaxtyping import Float, Int, Integer, Real
from torch import Tensor, nn
from torch.nn import functional as F

from helpers import numerics
from helpers.checks import at_least, checked, within

ABC_TABLE = np.array([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4], [0.2, 0.3, 0.5]])
ABC_TABLE.setflags(write=False)

Ids = Integer[Tensor, " N"] | Integer[np.ndarray, " N"]  # signed or not
Table = Real[np.ndarray, "V V"] | Real[Tensor, "V V"]


# --------------------------------------------------------------- counts


@checked
def count_bigrams(ids: Ids, vocab_size: int) -> Int[np.ndarray, "V V"]:
    """Count how often token j comes right after token i: entry [i, j], int64.

    ids: one row of N tokens, which has N - 1 pairs of neighbours. Raises ValueError where
    ids is not one row of at least two integers in 0..vocab_size-1.
    """
    ids = _numpy(ids)
    if len(ids) < 2:
        raise ValueError(f"ids must be at least two, not {len(ids)}")
    outside = np.flatnonzero((ids < 0) | (ids >= vocab_size))
    if outside.size:
        raise ValueError(
            f"ids[{outside[0]}] is {ids[outside[0]]}; with vocab_size={vocab_size} "
            f"it must lie in 0..{vocab_size - 1}"
        )
    ids = ids.astype(np.int64)
    pairs = ids[:-1] * vocab_size + ids[1:]
    return np.bincount(pairs, minlength=vocab_size**2).reshape(vocab_size, vocab_size)


@checked
def conditional_entropy(counts: Table) -> float:
    """Give the least loss, in nats per transition, that any bigram table has on these counts.

    The entropy of each row, weighted by how often the row occurs; 0 to log V. Raises
    ValueError for counts that are negative, not square, or all zero.
    """
    counts = _counts(counts)
    seen = counts[counts.sum(axis=1) > 0]
    rows = seen.sum(axis=1)
    return float(rows @ numerics.entropy(seen / rows[:, None]) / rows.sum())


@checked
def smoothed(counts: Table, add: float = 1.0) -> Float[np.ndarray, "V V"]:
    """Turn counts into P(next = j | current = i), with `add` put on every count first.

    add=1 is Laplace's rule; add=0 is maximum likelihood. Rows sum to 1. A row that was
    never seen is uniform for every `add`, so for 0 too. Raises ValueError where add is
    negative, counts are no counts, or their sums with `add` pass the largest float64.
    """
    counts = _counts(counts)
    if not 0 <= add < np.inf:
        raise ValueError(f"add={add} must be at least 0 and finite")
    with np.errstate(over="ignore"):
        added = counts + add
        totals = added.sum(axis=1, keepdims=True)
    if not np.isfinite(totals).all():
        raise ValueError(f"counts and add={add} are too large: a row of them sums to infinity")
    return np.divide(added, totals, out=np.full_like(added, 1 / len(added)), where=totals > 0)


@checked
def cross_entropy_of(probabilities: Table, counts: Table) -> float:
    """Loss of a table on data with these counts: mean of -log P over transitions, in nats.

    It is inf where a pair that occurs has probability 0; a pair that does not occur costs
    nothing. Raises ValueError where the shapes differ or rows do not sum to 1.
    """
    probabilities, counts = _stochastic(probabilities, "probabilities"), _counts(counts)
    if probabilities.shape != counts.shape:
        raise ValueError(
            f"probabilities are {probabilities.shape} and counts {counts.shape}; "
            "they must have one vocabulary"
        )
    occurs = counts > 0
    with np.errstate(divide="ignore"):
        log_p = np.log(probabilities[occurs])
    return float(-(counts[occurs] @ log_p) / counts.sum())


# ---------------------------------------------------------- known chain


@checked
class MarkovChain:
    """A chain whose table is known, so that its data have an entropy known exactly.

    table: (V, V), rows are P(next | current). `table`, `stationary` (V,) and `entropy_rate`
    (nats per transition) are float64. Raises ValueError where an entry is negative, a row
    does not sum to 1, an entry is too small for its share to be found, or the chain has several
    ends it can be caught in, and so no single stationary distribution. Shannon 1948, section 7.
    """

    def __init__(self, table: Table):
        self.table = _stochastic(table, "table").copy()
        reaches = (self.table > 0) | np.eye(len(self.table), dtype=bool)
        for _ in range(len(self.table).bit_length()):
            reaches = reaches @ reaches  # ways of up to 2, 4, 8, … transitions
        if not reaches.all(axis=0).any():
            raise ValueError(
                "table has several groups of states that are never left, so which one the "
                "chain settles in is open; some state must be reachable from every state"
            )
        self.stationary = np.zeros(len(self.table))
        lasting = reaches.all(axis=0)  # states that are come back to; the others are left for good
        self.stationary[lasting] = _stationary(self.table[np.ix_(lasting, lasting)])
        self.entropy_rate = float(self.stationary @ numerics.entropy(self.table))

    @checked
    def sample(self, n: int, generator: torch.Generator) -> Int[Tensor, " n"]:
        """Draw n states in a row, the first from the stationary distribution; int64.

        Raises ValueError for n below 1.
        """
        at_least(1, n=n)
        uniform = torch.rand(n, dtype=torch.float64, generator=generator, device=generator.device)
        # Divided by the last so that rounding leaves no gap below 1.
        ladders = np.cumsum(np.vstack([self.table, self.stationary]), axis=1)
        ladders = (ladders / ladders[:, -1:]).tolist()
        states, state = [], -1  # the last ladder is the start
        for u in uniform.tolist():
            state = bisect_right(ladders[state], u)
            states.append(state)
        return torch.tensor(states, dtype=torch.int64)


def _stationary(table: Float[np.ndarray, "V V"]) -> Float[np.ndarray, " V"]:
    """The distribution π = π P of a chain in which each state reaches each other.

    State after state is taken out, the way through it added to the ways round it, then put back:
    no subtraction, so that tiny probabilities count. Source: Grassmann, Taksar and Heyman 1985.
    Shares are halved as often as keeps them below 1: exact, and no ratio of them passes float64.
    """
    ways, n = table.copy(), len(table)
    with np.errstate(all="ignore"):
        for last in range(n - 1, 0, -1):
            ways[:last, last] /= ways[last, :last].sum()
            ways[:last, :last] += np.outer(ways[:last, last], ways[last, :last])
        share = np.ones(n)
        for state in range(1, n):
            share[state] = share[:state] @ ways[:state, state]
            share = np.ldexp(share, -np.frexp(share[: state + 1].max())[1])
        share /= share.sum()
    if not np.isfinite(share).all():
        raise ValueError(f"table holds {table[table > 0].min()}, which is too small to divide by")
    return share


# ---------------------------------------------------------------- model


@checked
class BigramLanguageModel(nn.Module):
    """A table of logits, one row for each token: what may come next given this one token.

    The table starts at zero: every token is then equally likely.
    """

    def __init__(self, vocab_size: int):
        super().__init__()
        at_least(1, vocab_size=vocab_size)
        start = torch.zeros(vocab_size, vocab_size)
        self.table = nn.Embedding.from_pretrained(start, freeze=False)

    @checked
    def forward(self, ids_BT: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Look up each token's row of logits."""
        within(self.table.num_embeddings, ids_BT=ids_BT)
        return self.table(ids_BT.long())

    @torch.no_grad()
    @checked
    def generate(
        self, ids_BT: Int[Tensor, "B T"], n: int, generator: torch.Generator
    ) -> Int[Tensor, "B T_plus_n"]:
        """Append n tokens to each row, each drawn from the softmax of the last one's logits."""
        at_least(0, n=n)
        if not ids_BT.shape[1]:
            raise ValueError(f"ids_BT of shape {tuple(ids_BT.shape)} must have a token a row")
        within(self.table.num_embeddings, ids_BT=ids_BT)
        for _ in range(n):
            p_BV = self(ids_BT)[:, -1].softmax(dim=-1)
            if not bool(p_BV.isfinite().all()):
                raise ValueError(
                    f"table gives logits to {ids_BT[:, -1].tolist()} that are no numbers"
                )
            next_B1 = torch.multinomial(p_BV, 1, generator=generator)
            ids_BT = torch.cat([ids_BT, next_B1], dim=1)
        return ids_BT


@checked
def loss(logits_BTV: Float[Tensor, "B T V"], targets_BT: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """Cross-entropy: mean over all positions of -log P(target), in nats.

    Raises ValueError where there is not one target for each row of logits, in their order, or none.
    """
    if logits_BTV.shape[:2] != targets_BT.shape:
        raise ValueError(
            f"targets_BT have shape {tuple(targets_BT.shape)}; logits of shape "
            f"{tuple(logits_BTV.shape)} need {tuple(logits_BTV.shape[:2])}"
        )
    if not targets_BT.numel():
        raise ValueError("targets_BT are empty: there is nothing to take the mean of")
    within(logits_BTV.shape[-1], targets_BT=targets_BT)
    return F.cross_entropy(logits_BTV.flatten(0, 1), targets_BT.flatten().long())


# ------------------------------------------------------------- checking


def _numpy(x: np.ndarray | Tensor) -> np.ndarray:
    if isinstance(x, Tensor):
        x = x.detach().cpu()
        return (x.double() if x.is_floating_point() else x).numpy()  # NumPy has no bfloat16
    return np.asarray(x)


def _counts(counts: Table) -> Float[np.ndarray, "V V"]:
    counts = _numpy(counts).astype(np.float64)
    if not (counts >= 0).all():
        raise ValueError(f"counts must be at least 0 everywhere; the smallest is {counts.min()}")
    if not 0 < counts.sum() < np.inf:
        raise ValueError(f"counts sum to {counts.sum()}; at least one pair must have been seen")
    return counts


def _stochastic(table: Table, name: str) -> Float[np.ndarray, "V V"]:
    table = _numpy(table).astype(np.float64)
    if not len(table):
        raise ValueError(f"{name} is empty; a row at least is needed")
    if not (table >= 0).all():
        raise ValueError(f"{name} must be at least 0 everywhere; the smallest is {table.min()}")
    totals = table.sum(axis=1)
    worst = np.abs(totals - 1).argmax()
    if not abs(totals[worst] - 1) <= numerics.SUM_TOLERANCE:
        raise ValueError(f"rows of {name} must sum to 1; row {worst} sums to {totals[worst]}")
    return table
