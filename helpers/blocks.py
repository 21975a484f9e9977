"""The parts of a Transformer layer: feed-forward, residual with norm, and the block of both.

Modules take device and dtype as torch's do (factory).
"""

from collections.abc import Callable
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor, nn

from helpers.attention import SelfAttention
from helpers.norms import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm

NORMS: dict[str, Callable[..., nn.Module]] = {
    "layer": LayerNorm,
    "rms": RMSNorm,
    "batch": BatchNorm,
    "instance": InstanceNorm,
    "group": GroupNorm,
    "none": nn.Identity,
}
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "relu2": lambda: SquaredReLU(),
    "none": nn.Identity,
}
PLACEMENTS = ("pre", "post")


class SquaredReLU(nn.Module):
    """max(x, 0)². Source: So et al. 2021, section 3."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Entry by entry; shapes stay."""
        return x.relu().square()


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, applied to each token by itself.

    Shapes: forward (..., C) to (..., C), through hidden features, 4 C unless given.
    Raises: ValueError for an activation that is not in ACTIVATIONS.
    Source: Vaswani et al. 2017, equation 2 (with ReLU); Hendrycks and Gimpel 2016 for GELU.
    """

    def __init__(
        self, width: int, hidden: int | None = None, *, activation: str = "gelu", **factory: Any
    ):
        super().__init__()
        hidden = 4 * width if hidden is None else hidden
        self.up = nn.Linear(width, hidden, **factory)
        self.activation = _choice(ACTIVATIONS, activation=activation)()
        self.down = nn.Linear(hidden, width, **factory)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Up to the hidden features, through the activation, and down again."""
        return self.down(self.activation(self.up(x)))


class AddNorm(nn.Module):
    """A sub-layer with its residual connection and its norm.

    Post-norm (2017): norm(x + f(x)). Pre-norm: x + f(norm(x)). With residual=False the
    summand x is left out. dropout: the fraction of f's output that is dropped in training.
    Shapes: forward (..., C) to (..., C), as the sub-layer's.
    Raises: ValueError for a placement that is not in PLACEMENTS.
    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, figure 1.
    """

    def __init__(
        self,
        sublayer: nn.Module,
        norm: nn.Module,
        *,
        placement: str,
        residual: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        if placement not in PLACEMENTS:
            raise ValueError(f"placement={placement!r} must be one of {', '.join(PLACEMENTS)}")
        self.sublayer, self.norm, self.dropout = sublayer, norm, nn.Dropout(dropout)
        self.placement, self.residual = placement, residual

    def forward(self, x: Float[Tensor, "*batch C"], *more: Tensor) -> Float[Tensor, "*batch C"]:
        """Run the sub-layer, its residual and its norm in the order of the placement.

        more: what the sub-layer takes beside x.
        """
        residual = x if self.residual else 0.0
        if self.placement == "pre":
            return residual + self.dropout(self.sublayer(self.norm(x), *more))
        return self.norm(residual + self.dropout(self.sublayer(x, *more)))


class Block(nn.Module):
    """One layer of a Transformer: attention between tokens, then a feed-forward on each.

    dropout: the fraction dropped in training of attention weights and of what each sub-layer adds.
    attention: a sub-layer to use in place of plain self-attention.
    Shapes: forward (B, T, C) to (B, T, C); `valid` (B, T) is False where a token is padding, which
    no other token then reads (norms over positions still count it).
    Raises: ValueError for a name that is not in NORMS, ACTIVATIONS or PLACEMENTS, and where
    width is not a multiple of heads.

    >>> Block(8).feed_forward.sublayer.up
    Linear(in_features=8, out_features=32, bias=True)
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        *,
        placement: str = "pre",
        norm: str = "layer",
        activation: str = "gelu",
        residual: bool = True,
        causal: bool = True,
        dropout: float = 0.0,
        attention: nn.Module | None = None,
        **factory: Any,
    ):
        super().__init__()
        make_norm = _choice(NORMS, norm=norm)
        options: dict[str, Any] = {"placement": placement, "residual": residual, "dropout": dropout}
        attention = attention or SelfAttention(
            width, heads, causal=causal, dropout=dropout, **factory
        )
        feed_forward = FeedForward(width, activation=activation, **factory)
        self.attention = AddNorm(attention, make_norm(width, **factory), **options)
        self.feed_forward = AddNorm(feed_forward, make_norm(width, **factory), **options)

    def forward(
        self, x_BTC: Float[Tensor, "B T C"], valid: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T C"]:
        """Attention, then feed-forward, each with its residual and norm."""
        more = () if valid is None else (valid,)
        return self.feed_forward(self.attention(x_BTC, *more))


def _choice(choices: dict, **named: str):
    """The entry that the one keyword names. Raises: ValueError that lists the names."""
    [(argument, name)] = named.items()
    if name not in choices:
        raise ValueError(f"{argument}={name!r} must be one of {', '.join(choices)}")
    return choices[name]
