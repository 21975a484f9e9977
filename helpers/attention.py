"""Scaled dot-product attention that shows its working, and the mask of what may read what.

Axes: T_q queries and T_k keys (token positions), D the width of a query and of a key, D_v the
width of a value. Any leading batch and head axes ride along.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from helpers.checks import at_least, check_input, check_same_dtype, checked


@dataclass(frozen=True, kw_only=True)
class AttentionSteps:
    """Every intermediate of one attention computation.

    Shapes:
        scores, scaled, weights: (..., T_q, T_k), a row a query, a column a key.
        output: (..., T_q, D_v).
    """

    scores: Float[Tensor, "*batch Tq Tk"]
    scaled: Float[Tensor, "*batch Tq Tk"]
    weights: Float[Tensor, "*batch Tq Tk"]
    output: Float[Tensor, "*batch Tq Dv"]


@checked
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
    (..., T_q, T_k), if given, is part of what ``scaled`` holds.
    Range: each row of ``weights`` sums to 1, and is 0 where the mask is False.
    Raises: ValueError when shapes do not fit, or when mask and attn_bias leave a query no key.
    Source: Vaswani et al. 2017, equation 1.
    """
    _check_shapes(q, k, v)
    shape = (*torch.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
    if mask is not None:
        _check_mask(mask, shape)
    if attn_bias is not None:
        _check_attn_bias(attn_bias, mask, shape)
    return attend(q, k, v, mask=mask, attn_bias=attn_bias)


def attend(
    q: Float[Tensor, "*#batch Tq D"],
    k: Float[Tensor, "*#batch Tk D"],
    v: Float[Tensor, "*#batch Tk Dv"],
    *,
    mask: Bool[Tensor, "*#mask Tq Tk"] | None = None,
    attn_bias: Float[Tensor, "*#attn_bias Tq Tk"] | None = None,
) -> AttentionSteps:
    """`attention_steps` without its checks, as every model of the book runs it.

    A query that may read no key gets nan. Of float16 the scores are in float32: a product of long
    rows passes float16's largest number. Shapes: as in `attention_steps`.
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
    return AttentionSteps(scores=scores, scaled=scaled, weights=weights, output=weights @ v)


@checked
def causal_mask(
    length: int, queries: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "Tq T"]:
    """True where token t (row) may read token s (column): s ≤ t.

    Shapes: returns (T, T), or the rows of the last `queries` tokens alone, (T_q, T).
    Raises: ValueError when ``length`` is not positive, or ``queries`` not in 1..length.
    """
    at_least(1, length=length)
    queries = length if queries is None else queries
    if not 1 <= queries <= length:
        raise ValueError(f"queries must lie in 1..length={length}, got {queries}")
    return torch.ones(queries, length, dtype=torch.bool, device=device).tril(length - queries)


class KVCache:
    """The keys and values that an attention has met so far: the key/value cache."""

    def __init__(self):
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[-2]

    def extend(
        self, k: Float[Tensor, "*batch Tnew D"], v: Float[Tensor, "*batch Tnew Dv"]
    ) -> tuple[Float[Tensor, "*batch T D"], Float[Tensor, "*batch T Dv"]]:
        """Put new rows behind those kept, and give them all: (..., T, D) and (..., T, D_v).

        Raises: ValueError where they are of another number of sequences than those kept.
        """
        if self.k is not None and self.v is not None:
            if k.shape[:-2] != self.k.shape[:-2]:
                raise ValueError(
                    f"{len(k)} sequences cannot go on where {len(self.k)} are remembered: inside "
                    "`kv_cache` each call goes on with the same ones"
                )
            k, v = torch.cat([self.k, k], dim=-2), torch.cat([self.v, v], dim=-2)
        self.k, self.v = k, v
        return k, v


@checked
class SelfAttention(nn.Module):
    """Tokens of one sequence read one another, in H heads of width D = C / H side by side.

    qk_transform(x, offset): applied to queries and keys (2, B, H, T, D), whose first row has
    position offset (RoPE, QK-norm). attn_bias(H, T_q, T_k): added to the scaled scores (ALiBi).
    Shapes: forward (B, T, C) to (B, T, C). With causal=True a token reads itself and what
    came before it.
    Raises: ValueError where width is not a multiple of heads.
    Source: Vaswani et al. 2017, section 3.2.2.
    """

    kv_cache: KVCache | None = None  # set by `kv_cache`
    recorded: list[Tensor] | None = None  # set by `record_attention`

    def __init__(
        self,
        width: int,
        heads: int = 1,
        *,
        causal: bool = True,
        bias: bool = True,
        qk_transform: Callable[[Tensor, int], Tensor] | None = None,
        attn_bias: Callable[[int, int, int], Tensor] | None = None,
    ):
        super().__init__()
        if heads < 1 or width < 1 or width % heads:
            raise ValueError(f"width={width} must be a positive multiple of heads={heads}")
        self.heads, self.causal, self.qk_transform, self.attn_bias = (
            heads,
            causal,
            qk_transform,
            attn_bias,
        )
        self.qkv = nn.Linear(width, 3 * width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x_BTC: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Let each token gather from the tokens that it may read."""
        check_input(self.qkv.weight, 3, x_BTC=x_BTC)
        B, T, C = x_BTC.shape
        if not T:
            raise ValueError(f"x_BTC of shape {(B, T, C)} must have at least one token")
        qkv_BT3HD = self.qkv(x_BTC).view(B, T, 3, self.heads, C // self.heads)
        qkv_3BHTD = qkv_BT3HD.permute(2, 0, 3, 1, 4)
        q_BHTD, k_BHTD, v_BHTD = qkv_3BHTD
        offset = 0 if self.kv_cache is None else len(self.kv_cache)
        if self.qk_transform is not None:
            q_BHTD, k_BHTD = self.qk_transform(qkv_3BHTD[:2], offset)
        if self.kv_cache is not None:
            k_BHTD, v_BHTD = self.kv_cache.extend(k_BHTD, v_BHTD)
        keys = offset + T
        mask_TT = causal_mask(keys, T, device=x_BTC.device) if self.causal else None
        bias_HTT = (
            None if self.attn_bias is None else self.attn_bias(self.heads, T, keys).to(q_BHTD)
        )
        steps = attend(q_BHTD, k_BHTD, v_BHTD, mask=mask_TT, attn_bias=bias_HTT)
        if self.recorded is not None:
            self.recorded.append(steps.weights.detach())
        return self.out(steps.output.transpose(1, 2).reshape(B, T, C))


@contextmanager
@checked
def kv_cache(module: nn.Module) -> Iterator[None]:
    """Let each causal attention in a module remember keys and values, until this ends.

    Inside, a call gives the module the tokens that come next, and none that it had before.
    Raises: ValueError where an attention is not causal, or a norm is over positions: later tokens
    would change what is kept; inside, where a call has another number of sequences.
    """
    layers = _attentions(module)
    if not all(layer.causal for layer in layers):
        raise ValueError("each attention of module must be causal for its keys to be kept")
    if norms := over_positions(module):
        raise ValueError(
            f"module has {norms[0]}, by which each new token changes those before it: nothing of "
            "them can be kept"
        )
    for layer in layers:
        layer.kv_cache = KVCache()
    try:
        yield
    finally:
        for layer in layers:
            layer.kv_cache = None


def cache_length(module: nn.Module) -> int:
    """How many tokens the attentions in a module remember; 0 where nothing is kept."""
    return max([0, *(len(layer.kv_cache or ()) for layer in _attentions(module))])


def over_positions(module: nn.Module) -> list[str]:
    """The parts of a module, by class, in which a token changes those before it: some norms."""
    found = (part for part in module.modules() if getattr(part, "over_positions", False))
    return sorted({type(part).__name__ for part in found})


def _attentions(module: nn.Module) -> list[SelfAttention]:
    return [part for part in module.modules() if isinstance(part, SelfAttention)]


@contextmanager
@checked
def record_attention(module: nn.Module) -> Iterator[list[Float[Tensor, "B H Tq Tk"]]]:
    """Let each attention in a module note its weights, in the order of the calls, until this ends.

    Gives the list that they are added to: after one call of a model, a map for each layer.
    """
    layers = _attentions(module)
    recorded: list[Tensor] = []
    for layer in layers:
        layer.recorded = recorded
    try:
        yield recorded
    finally:
        for layer in layers:
            layer.recorded = None


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    found = "q is {}, k is {}, v is {}".format(*(tuple(part.shape) for part in (q, k, v)))
    check_same_dtype(q=q, k=k, v=v)
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must have the same width D to be compared: {found}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must hold one row per key each: {found}")
    if 0 in (*q.shape, *k.shape, *v.shape):
        raise ValueError(f"q, k and v must not be empty: {found}")
    try:
        torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    except RuntimeError:
        raise ValueError(f"the leading (batch and head) axes must fit one another: {found}") from (
            None
        )


def _check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless a mask fits scores of this shape and leaves each query a key."""
    try:
        alone = (~mask.broadcast_to(shape).any(dim=-1)).nonzero().tolist()
    except RuntimeError:
        raise ValueError(
            f"mask must fit the scores' shape {shape}, one entry per query and key"
        ) from None
    if alone:
        raise ValueError(
            f"mask lets query {alone[0]} read no key; softmax over nothing has no answer, "
            "so leave each query at least one key (itself, say)"
        )


def _check_attn_bias(attn_bias: Tensor, mask: Tensor | None, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless a attn_bias fits scores of this shape and leaves each query a key."""
    if (attn_bias.isnan() | attn_bias.isposinf()).any():
        raise ValueError("attn_bias must hold finite numbers, or -inf where a query may not read")
    try:
        open_to = (attn_bias > float("-inf")).broadcast_to(shape)
    except RuntimeError:
        raise ValueError(
            f"attn_bias of shape {tuple(attn_bias.shape)} must fit the scores' shape {shape}"
        ) from None
    alone = (~(open_to if mask is None else open_to & mask).any(dim=-1)).nonzero().tolist()
    if alone:
        raise ValueError(
            f"attn_bias leaves query {alone[0]} no key: a score of it must not be -inf"
        )
