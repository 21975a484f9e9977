"""Scaled dot-product attention that shows its working, the causal mask, and a layer of heads.

Axes: T_q queries and T_k keys (token positions), D the width of a query and of a key, D_v the
width of a value. There may be any leading axes (batch, heads).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class AttentionSteps:
    """The steps of one attention computation: `scaled` has the bias, and not yet the mask.

    Shapes:
        scores, scaled, weights: (..., T_q, T_k), one row per query, one column per key.
        output: (..., T_q, D_v).
    """

    scores: Float[Tensor, "*batch Tq Tk"]
    scaled: Float[Tensor, "*batch Tq Tk"]
    weights: Float[Tensor, "*batch Tq Tk"]
    output: Float[Tensor, "*batch Tq Dv"]


def attend(
    q: Float[Tensor, "*#batch Tq D"],
    k: Float[Tensor, "*#batch Tk D"],
    v: Float[Tensor, "*#batch Tk Dv"],
    *,
    mask: Bool[Tensor, "*#mask Tq Tk"] | None = None,
    attn_bias: Float[Tensor, "*#attn_bias Tq Tk"] | None = None,
    dropout: float = 0.0,
) -> AttentionSteps:
    """softmax(q kᵀ / √D + attn_bias) v, as every model of the book runs it.

    A query that may read no key gets nan. Scores of float16 are computed in float32: a product of
    long rows exceeds float16's largest number. dropout: the fraction of weights that the output
    leaves out; `weights` has them all. Shapes: as in `attention_steps`.
    """
    if q.dtype == torch.float16:
        q, k = q.float(), k.float()
    scores = q @ k.mT
    scaled = scores / q.shape[-1] ** 0.5
    if attn_bias is not None:
        scaled = scaled + attn_bias
    masked = scaled
    if mask is not None:
        masked = scaled + torch.where(mask, 0.0, -torch.inf).to(scaled.dtype)
    weights = masked.softmax(dim=-1).to(v.dtype)
    output = nn.functional.dropout(weights, dropout) @ v
    return AttentionSteps(scores=scores, scaled=scaled, weights=weights, output=output)


def attention_steps(
    q: Float[Tensor, "*#batch Tq D"],
    k: Float[Tensor, "*#batch Tk D"],
    v: Float[Tensor, "*#batch Tk Dv"],
    *,
    mask: Bool[Tensor, "*#mask Tq Tk"] | None = None,
    attn_bias: Float[Tensor, "*#attn_bias Tq Tk"] | None = None,
) -> AttentionSteps:
    """softmax(q kᵀ / √D + attn_bias) v, with each step kept.

    Shapes: q (..., T_q, D), k (..., T_k, D), v (..., T_k, D_v); ``mask`` (..., T_q, T_k) is
    True where a query may read a key, and None where every query may read every key; ``attn_bias``
    (..., T_q, T_k), if given, is part of ``scaled``.
    Range: each row of ``weights`` sums to 1, and is 0 where the mask is False.
    Raises: ValueError when mask and attn_bias leave a query no key.
    Source: Vaswani et al. 2017, equation 1.

    >>> x = torch.zeros(2, 4)
    >>> attention_steps(x, x, x, mask=causal_mask(2)).weights.tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    steps = attend(q, k, v, mask=mask, attn_bias=attn_bias)
    hidden = steps.scaled.isneginf() if mask is None else steps.scaled.isneginf() | ~mask
    if keyless := hidden.all(dim=-1).nonzero().tolist():
        raise ValueError(
            f"mask and attn_bias leave query {keyless[0]} no key: softmax over nothing has no "
            "answer, so let each query read at least one key (itself, say)"
        )
    return steps


def causal_mask(
    length: int, queries: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "Tq T"]:
    """True where token t (row) may read token s (column): s ≤ t.

    Shapes: returns (T, T), or the rows of the last `queries` tokens alone, (T_q, T).
    Raises: ValueError unless 1 ≤ queries ≤ length.

    >>> causal_mask(3, 2).tolist()
    [[True, True, False], [True, True, True]]
    """
    queries = length if queries is None else queries
    if not 1 <= queries <= length:
        raise ValueError(f"queries={queries} must lie in 1..length={length}")
    return torch.ones(queries, length, dtype=torch.bool, device=device).tril(length - queries)


class SelfAttention(nn.Module):
    """Tokens of one sequence read one another, in H parallel heads of width D = C / H.

    qk_transform(x, offset): applied to queries and keys (2, B, H, T, D), the first row at position
    offset (RoPE, QK-norm). attn_bias(H, T_q, T_k): added to the scaled scores (ALiBi). dropout:
    the fraction of attention weights dropped in training. factory: device, dtype, as torch's.
    Shapes: forward (B, T, C) to (B, T, C). With causal=True a token reads itself and the tokens
    before it. `valid` (B, T) is False where a token is padding, which no other token then reads.
    `kv_cache` replaces `project` for a while, `record_attention` replaces `attend`.
    Raises: ValueError where width is not a multiple of heads.
    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        *,
        causal: bool = True,
        bias: bool = True,
        dropout: float = 0.0,
        qk_transform: Callable[[Tensor, int], Tensor] | None = None,
        attn_bias: Callable[[int, int, int], Tensor] | None = None,
        **factory: Any,
    ):
        super().__init__()
        if heads < 1 or width < 1 or width % heads:
            raise ValueError(f"width={width} must be a positive multiple of heads={heads}")
        self.heads, self.causal, self.dropout = heads, causal, dropout
        self.qk_transform, self.attn_bias = qk_transform, attn_bias
        self.qkv = nn.Linear(width, 3 * width, bias=bias, **factory)
        self.out = nn.Linear(width, width, bias=bias, **factory)

    def forward(
        self, x_BTC: Float[Tensor, "B T C"], valid: Bool[Tensor, "B Tk"] | None = None
    ) -> Float[Tensor, "B T C"]:
        """Let each token gather values from the tokens that it may read."""
        output_BHTD = self.attend(*self.project(x_BTC), valid).output
        return self.out(output_BHTD.transpose(1, 2).flatten(2))

    def project(
        self, x_BTC: Float[Tensor, "B T C"], offset: int = 0
    ) -> tuple[Float[Tensor, "B H T D"], Float[Tensor, "B H T D"], Float[Tensor, "B H T D"]]:
        """Queries, keys and values, each (B, H, T, D); the first token is at position offset."""
        B, T, C = x_BTC.shape
        qkv_BT3HD = self.qkv(x_BTC).view(B, T, 3, self.heads, C // self.heads)
        qkv_3BHTD = qkv_BT3HD.permute(2, 0, 3, 1, 4)
        q_BHTD, k_BHTD, v_BHTD = qkv_3BHTD
        if self.qk_transform is not None:
            q_BHTD, k_BHTD = self.qk_transform(qkv_3BHTD[:2], offset)
        return q_BHTD, k_BHTD, v_BHTD

    def attend(
        self,
        q: Float[Tensor, "B H Tq D"],
        k: Float[Tensor, "B H Tk D"],
        v: Float[Tensor, "B H Tk D"],
        valid: Bool[Tensor, "B Tk"] | None = None,
    ) -> AttentionSteps:
        """Attention in each head (B, H, T, D); the queries are those of the last T_q tokens."""
        queries, keys = q.shape[-2], k.shape[-2]
        mask = causal_mask(keys, queries, device=q.device) if self.causal else None
        if valid is not None:  # padding reads itself at least, or it would be nan
            itself_TT = torch.eye(keys, dtype=torch.bool, device=q.device)[-queries:]
            valid_B11T = valid[:, None, None]
            mask = itself_TT | (valid_B11T if mask is None else valid_B11T & mask)
        bias_HTT = None
        if self.attn_bias is not None:
            bias_HTT = self.attn_bias(self.heads, queries, keys).to(q)
        dropout = self.dropout if self.training else 0.0
        return attend(q, k, v, mask=mask, attn_bias=bias_HTT, dropout=dropout)
