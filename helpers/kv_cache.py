"""The key/value cache: what a causal model has computed for earlier tokens is not computed again.

The models are not changed: `kv_cache` replaces two of their methods while it is open.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from helpers.attention import SelfAttention


class CachedProjection:
    """`SelfAttention.project` that keeps keys and values, and gives them with those before."""

    def __init__(self, layer: SelfAttention):
        self.layer = layer
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[-2]

    def __call__(
        self, x_BTC: Float[Tensor, "B Tnew C"]
    ) -> tuple[Float[Tensor, "B H Tnew D"], Float[Tensor, "B H T D"], Float[Tensor, "B H T D"]]:
        """Queries of the new tokens, keys and values of all tokens so far."""
        q, k, v = type(self.layer).project(self.layer, x_BTC, offset=len(self))
        if self.k is not None and self.v is not None:
            k, v = torch.cat([self.k, k], dim=-2), torch.cat([self.v, v], dim=-2)
        self.k, self.v = k, v
        return q, k, v


@contextmanager
def kv_cache(module: nn.Module) -> Iterator[None]:
    """Let each attention in a module keep its keys and values until this ends.

    Inside, an attention is given the new tokens alone. A GPT is given the whole text so far, and
    returns logits for the new tokens alone: those that it has not seen in here. Inside another
    one, a cache begins anew.
    Raises: ValueError where an attention is not causal, or a norm averages over positions, since
    later tokens would change what is kept.
    """
    layers = [part for part in module.modules() if isinstance(part, SelfAttention)]
    if not all(layer.causal for layer in layers):
        raise ValueError("each attention of module must be causal for its keys to be kept")
    if norms := norms_over_positions(module):
        raise ValueError(f"module has {norms[0]}, through which later tokens change earlier ones")
    gpts = [part for part in module.modules() if layers and hasattr(part, "embed")]
    caches = [CachedProjection(layer) for layer in layers]
    with ExitStack() as replaced:
        for layer, cache in zip(layers, caches, strict=True):
            replaced.enter_context(patch.object(layer, "project", cache))
        for gpt in gpts:
            replaced.enter_context(patch.object(gpt, "forward", _forward_new(gpt, caches[0])))
        yield


def _forward_new(gpt, cache):
    """`GPT.forward` for the tokens that are not in the cache yet."""

    def forward(ids_BT: Int[Tensor, "B T"]) -> Float[Tensor, "B Tnew V"]:
        if ids_BT.shape[1] <= len(cache):
            raise ValueError(f"ids_BT must be longer than the {len(cache)} tokens in the cache")
        return gpt.logits(gpt.embed(ids_BT)[:, len(cache) :])

    return forward


def norms_over_positions(module: nn.Module) -> list[str]:
    """The classes of the norms in a module through which later tokens change earlier ones."""
    found = (part for part in module.modules() if getattr(part, "over_positions", False))
    return sorted({type(part).__name__ for part in found})
