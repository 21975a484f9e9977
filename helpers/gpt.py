"""A small GPT: its configuration, and the model."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from helpers import sampling
from helpers.attention import SelfAttention
from helpers.blocks import ACTIVATIONS, NORMS, PLACEMENTS, Block
from helpers.embeddings import check_ids
from helpers.initialise import GPT2, LECUN, initialise, residual_factor
from helpers.ngrams import NGrams
from helpers.norms import EPS
from helpers.positions import Learned, Rotary, Sinusoidal, alibi

POSITIONS = ("learned", "sinusoidal", "rope", "alibi", "none")
CHOICES = {
    "norm": tuple(NORMS),
    "placement": PLACEMENTS,
    "positions": POSITIONS,
    "activation": tuple(ACTIVATIONS),
    "start": ("gpt2", "fan_in"),
}


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """What a GPT is made of; it checks itself.

    vocab_size V, context T, layers L, heads H, width C. ngrams: up to how many tokens together
    have a row in an embedding matrix of their own, 1 for none. tied: the output layer uses the
    embedding matrix. qk_norm: queries and keys are normalised to mean square 1. start: the initial
    weights; "gpt2" draws every matrix from N(0, 0.02²), "fan_in" linear layers from N(0, 1/fan-in).
    dropout: of the embeddings and of what each sub-layer adds; attention_dropout: of attention
    weights.
    Raises: ValueError that names the field, its value and what is allowed.
    """

    vocab_size: int
    context: int = 64
    layers: int = 4
    heads: int = 4
    width: int = 128
    norm: str = "layer"
    placement: str = "pre"
    positions: str = "learned"
    ngrams: int = 1
    activation: str = "gelu"
    tied: bool = True
    qk_norm: bool = False
    start: str = "gpt2"
    dropout: float = 0.0
    attention_dropout: float = 0.0

    def __post_init__(self):
        for name in ("vocab_size", "context", "layers", "heads", "width", "ngrams"):
            if (value := getattr(self, name)) < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        for name, allowed in CHOICES.items():
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"{name}={value!r} must be one of {allowed}")
        if self.width % self.heads:
            raise ValueError(f"width={self.width} must be a multiple of heads={self.heads}")
        paired = {"rope": self.width // self.heads, "sinusoidal": self.width}
        if paired.get(self.positions, 0) % 2:
            raise ValueError(
                f"positions={self.positions!r} pairs features: width={self.width} and "
                f"heads={self.heads} must leave it an even number"
            )
        for name in ("dropout", "attention_dropout"):
            if not 0 <= (value := getattr(self, name)) < 1:
                raise ValueError(f"{name}={value} must lie in [0, 1)")


class GPT(nn.Module):
    """Read tokens, return logits for the token after each.

    device, dtype: where the parameters are, and as what; they are drawn in float32 by `generator`
    alone, and torch's own random state stays.
    Shapes: forward (B, T) ids to (B, T, V) logits, T at most `context` with learned positions.
    `valid` (B, T) is False where a token is padding, which no other token then reads, though it
    has a position. Texts padded at their ends need none: no token reads a later one.
    Raises: ValueError where an id lies outside 0..V-1 (on a CPU), or a text is longer than learned
    positions reach.
    Source: Radford et al. 2019, with the choices of GPTConfig.

    >>> gpt = GPT(GPTConfig(vocab_size=9), generator=torch.Generator())
    >>> gpt(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 9])
    """

    generate = sampling.generate  # model.generate(ids, n, generator=…)

    @torch.random.fork_rng([])  # modules of torch draw weights that are not kept
    def __init__(
        self,
        config: GPTConfig,
        *,
        generator: torch.Generator,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.ngrams = _ngrams(config)
        self.position = _positions(config)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.layers))
        self.norm = NORMS[config.norm if config.placement == "pre" else "none"](config.width)
        self.head = nn.Linear(config.width, config.vocab_size, bias=False)
        if config.tied:
            self.head.weight = self.embedding.weight
        _init_weights(self, generator)
        self.to(device, dtype)

    def forward(
        self, ids_BT: Int[Tensor, "B T"], valid: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits for what follows each token."""
        return self.logits(self.embed(ids_BT), valid)

    def embed(self, ids_BT: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        """The stream (B, T, C) below the first block: embeddings, plus positions if added here."""
        check_ids(ids_BT, self.config.vocab_size)
        ids_BT = ids_BT.long()
        x_BTC = self.embedding(ids_BT)
        if self.ngrams is not None:
            x_BTC = x_BTC + self.ngrams(ids_BT)
        if self.position is not None:
            x_BTC = x_BTC + self.position(ids_BT.shape[1])
        return self.dropout(x_BTC)

    def logits(
        self, x_BTC: Float[Tensor, "B T C"], valid: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits (B, T, V) from the stream (B, T, C): the blocks, the final norm, the head."""
        for block in self.blocks:
            x_BTC = block(x_BTC, valid)
        return self.head(self.norm(x_BTC))


class QKTransform(nn.Module):
    """What is done to queries and keys before their dot product: QK-norm, rotation, or both.

    Shapes: forward (..., T, D) to (..., T, D), the first row at position offset.
    Source: Henry et al. 2020 for the norm (here without its learned scale); Su et al. 2021.
    """

    def __init__(self, width: int, *, qk_norm: bool, rope: bool):
        super().__init__()
        self.qk_norm = qk_norm
        self.rotary = Rotary(width) if rope else None

    def forward(self, x: Float[Tensor, "*batch T D"], offset: int) -> Float[Tensor, "*batch T D"]:
        """Normalise, then rotate, as asked for."""
        if self.qk_norm:
            x = F.rms_norm(x, x.shape[-1:], eps=EPS)
        return x if self.rotary is None else self.rotary(x, offset)


def _init_weights(gpt: GPT, generator: torch.Generator) -> None:
    """Draw the weights. N-gram tables start at 0, and so does an untied head: then the first loss
    is log V.
    """
    config = gpt.config
    scheme, embedding = GPT2, 0.02
    if config.start == "fan_in":  # a tied matrix is a linear layer, too
        scheme, embedding = LECUN, config.width**-0.5 if config.tied else 1.0
    residual = residual_factor(config.layers)
    initialise(gpt, scheme, generator, embedding=embedding, residual=residual)
    zeros = [] if gpt.ngrams is None else [table.weight for table in gpt.ngrams.tables]
    for weight in zeros if config.tied else [*zeros, gpt.head.weight]:
        nn.init.zeros_(weight)


def _block(config: GPTConfig) -> Block:
    rope, qk_transform = config.positions == "rope", None
    if config.qk_norm or rope:
        qk_transform = QKTransform(config.width // config.heads, qk_norm=config.qk_norm, rope=rope)
    attn_bias = alibi if config.positions == "alibi" else None
    return Block(
        config.width,
        config.heads,
        placement=config.placement,
        norm=config.norm,
        activation=config.activation,
        dropout=config.dropout,
        attention=SelfAttention(
            config.width,
            config.heads,
            dropout=config.attention_dropout,
            qk_transform=qk_transform,
            attn_bias=attn_bias,
        ),
    )


def _ngrams(config: GPTConfig) -> NGrams | None:
    if config.ngrams == 1:
        return None
    return NGrams(config.vocab_size, config.width, longest=config.ngrams)


def _positions(config: GPTConfig) -> nn.Module | None:
    """What is added to the embeddings, if positions are encoded there."""
    if config.positions == "learned":
        return Learned(config.context, config.width)
    return Sinusoidal(config.width) if config.positions == "sinusoidal" else None
