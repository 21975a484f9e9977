"""minigpt's pieces with one thing changed, for the laboratories.

Each has the tensor names of the piece that it replaces, and draws its weights in the same order.
Axes as in minigpt.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers import minigpt
from helpers.minigpt import LayerNorm, init_weights
from helpers.minillama import RMSNorm, rotate
from helpers.norms import BatchNorm, GroupNorm, InstanceNorm
from helpers.positions import alibi, sinusoidal

NORMS: dict[str, Callable[[int], Any]] = {
    "layer": LayerNorm,
    "rms": RMSNorm,
    "batch": BatchNorm,
    "instance": InstanceNorm,
    "group": GroupNorm,
    "none": nn.Identity,
}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "none": lambda x: x,
}


class SelfAttention(minigpt.CausalSelfAttention):
    """causal=False: each token reads all. positions: "rope" turns q and k, "alibi" adds a bias."""

    def __init__(
        self, C: int, H: int = 1, dropout: float = 0.0, causal: bool = True, positions: str = ""
    ):
        super().__init__(C, H, dropout)
        self.causal, self.positions = causal, positions

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        qkv_BT3HD = self.qkv(x_BTC).unflatten(-1, (3, self.H, -1))
        q, k, v = qkv_BT3HD.permute(2, 0, 3, 1, 4)
        if self.positions == "rope":
            q, k = rotate(q, 0, 10_000), rotate(k, 0, 10_000)
        scores_BHTT = q @ k.mT / q.shape[-1] ** 0.5
        if self.positions == "alibi":
            T = x_BTC.shape[1]
            scores_BHTT = scores_BHTT + alibi(self.H, T).to(x_BTC)
        if self.causal:
            scores_BHTT = scores_BHTT + torch.full_like(scores_BHTT, -torch.inf).triu(1)
        mixed_BHTD = self.dropout(scores_BHTT.softmax(dim=-1)) @ v
        return self.out(mixed_BHTD.transpose(1, 2).flatten(2))


class FeedForward(minigpt.FeedForward):
    """With another activation, one of ACTIVATIONS."""

    def __init__(self, C: int, activation: str = "gelu"):
        super().__init__(C)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        return self.down(self.activation(self.up(x_BTC)))


class Block(minigpt.Block):
    """With norms after the sums (placement="post"), other norms, or without the sums.

    norm, activation: a name in NORMS, in ACTIVATIONS. attention: what `SelfAttention` takes.
    """

    def __init__(
        self,
        C: int,
        H: int = 1,
        dropout: float = 0.0,
        placement: str = "pre",
        norm: str = "layer",
        residual: bool = True,
        activation: str = "gelu",
        **attention: Any,
    ):
        nn.Module.__init__(self)
        self.placement, self.residual = placement, residual
        self.norm_1 = NORMS[norm](C)
        self.attention = SelfAttention(C, H, dropout, **attention)
        self.norm_2 = NORMS[norm](C)
        self.feed_forward = FeedForward(C, activation)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        for layer, norm in ((self.attention, self.norm_1), (self.feed_forward, self.norm_2)):
            kept = x_BTC if self.residual else 0.0
            if self.placement == "pre":
                x_BTC = kept + self.dropout(layer(norm(x_BTC)))
            else:
                x_BTC = norm(kept + self.dropout(layer(x_BTC)))
        return x_BTC


class Rows(nn.Module):
    """Positions that are not trained; one row of zeros, for any length, is none at all."""

    def __init__(self, rows_TC: Tensor):
        super().__init__()
        self.register_buffer("weight", rows_TC)


class GPT(minigpt.GPT):
    """minigpt's, with blocks that have one thing changed.

    positions: "learned", "sinusoidal", "rope", "alibi" or "none". tied: the output layer uses the
    embedding matrix. block: what `Block` takes. Shapes: forward (B, T) ids to (B, T, V) logits.
    """

    def __init__(self, V, T, C, H, L, dropout=0.0, positions="learned", tied=False, **block):
        nn.Module.__init__(self)
        self.T = T
        self.embedding = nn.Embedding(V, C)
        self.position = nn.Embedding(T, C)
        if positions != "learned":
            rows_TC = sinusoidal(T, C) if positions == "sinusoidal" else torch.zeros(1, C)
            self.position = Rows(rows_TC)  # type: ignore[assignment]
        block |= {"positions": positions}
        self.blocks = nn.Sequential(*(Block(C, H, dropout, **block) for _ in range(L)))
        last = block.get("norm", "layer") if block.get("placement") != "post" else "none"
        self.norm = NORMS[last](C)
        self.head = nn.Linear(C, V, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        init_weights(self)
