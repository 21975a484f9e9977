"""Scaled dot-product attention that shows its working.

Axes: T_q queries and T_k keys (token positions), D the width of a query and of a key, D_v the
width of a value. There may be any leading axes (batch, heads).
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class AttentionSteps:
    """The steps of one attention computation: `scaled` has not yet the mask.

    Shapes:
        scores, scaled, weights: (..., T_q, T_k), one row per query, one column per key.
        output: (..., T_q, D_v).
    """

    scores: Float[Tensor, "*batch Tq Tk"]
    scaled: Float[Tensor, "*batch Tq Tk"]
    weights: Float[Tensor, "*batch Tq Tk"]
    output: Float[Tensor, "*batch Tq Dv"]


def attention_steps(
    q: Float[Tensor, "*#batch Tq D"],
    k: Float[Tensor, "*#batch Tk D"],
    v: Float[Tensor, "*#batch Tk Dv"],
    *,
    mask: Bool[Tensor, "*#mask Tq Tk"] | None = None,
) -> AttentionSteps:
    """softmax(q kᵀ / √D) v, with each step kept.

    Shapes: q (..., T_q, D), k (..., T_k, D), v (..., T_k, D_v); ``mask`` (..., T_q, T_k) is
    True where a query may read a key, and None where every query may read every key.
    Range: each row of ``weights`` sums to 1, and is 0 where the mask is False.
    Raises: ValueError when the mask leaves a query no key.
    Source: Vaswani et al. 2017, equation 1.

    >>> x = torch.zeros(2, 4)
    >>> attention_steps(x, x, x, mask=torch.ones(2, 2, dtype=torch.bool).tril()).weights.tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    scores = q @ k.mT
    scaled = masked = scores / q.shape[-1] ** 0.5
    if mask is not None:
        if keyless := (~mask).all(dim=-1).nonzero().tolist():
            raise ValueError(
                f"mask leaves query {keyless[0]} no key: softmax over nothing has no answer, so "
                "let each query read at least one key (itself, say)"
            )
        masked = torch.where(mask, scaled, -torch.inf)
    weights = masked.softmax(dim=-1)
    return AttentionSteps(scores=scores, scaled=scaled, weights=weights, output=weights @ v)
