"""A small GPT: its configuration, the model, and what it costs."""

from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Real

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from helpers.attention import SelfAttention, cache_length, kv_cache, over_positions
from helpers.blocks import ACTIVATIONS, NORMS, PLACEMENTS, Block
from helpers.checks import checked, within
from helpers.embeddings import NGRAM_ROWS, NGrams
from helpers.initialise import GPT2, LECUN, initialise, residual_factor
from helpers.modes import in_mode
from helpers.norms import EPS, GROUPS
from helpers.positions import Learned, Rotary, Sinusoidal, alibi

POSITIONS = ("learned", "sinusoidal", "rope", "alibi", "none")
COLDEST = 1e-30  # a temperature below it counts as 0: scores divided by less are infinite
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
    have a row in a table of the input, 1 for single tokens alone. tied: the output reads the rows
    of the input table. qk_norm: queries and keys have mean square 1 before they meet. start:
    "gpt2" draws every table from N(0, 0.02²), "fan_in" those of linear maps from N(0, 1/fan-in).
    Raises: ValueError that names the field, what came and what would be right.
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

    def __post_init__(self):
        for name in ("vocab_size", "context", "layers", "heads", "width", "ngrams"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number, at least 1")
        for name in ("tied", "qk_norm"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r} must be true or false")
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} must be one of {allowed}")
        if self.width % self.heads:
            raise ValueError(f"width={self.width} must be a multiple of heads={self.heads}")
        if self.positions == "rope" and self.width // self.heads % 2:
            raise ValueError(
                f"positions='rope' needs an even head: width={self.width}, heads={self.heads}"
            )
        if self.positions == "sinusoidal" and self.width % 2:
            raise ValueError(f"positions='sinusoidal' needs an even width, not width={self.width}")
        if self.norm == "group" and self.width % GROUPS:
            raise ValueError(f"norm='group' needs a multiple of {GROUPS}, not width={self.width}")
        if not isinstance(self.dropout, Real) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} must lie in [0, 1)")


@checked
class GPT(nn.Module):
    """Read tokens, give logits for the token after each.

    Shapes: forward (B, T) ids to (B, T, V) logits, T at most `context` with learned positions.
    With `kv_cache` a call has the whole text so far, and gives logits from `offset` on.
    Source: Radford et al. 2019, with the choices of GPTConfig.
    """

    def __init__(self, config: GPTConfig, *, generator: torch.Generator):
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
        _start(self, generator)

    @checked
    def forward(self, ids_BT: Int[Tensor, "B T"], offset: int = 0) -> Float[Tensor, "B Tnew V"]:
        """Logits for what follows each token from `offset` on; the cache knows those before it.

        Raises: ValueError where it does not: offset must be the number of tokens in the cache;
        where there is no token; on a CPU also where an id lies outside 0..V-1.
        """
        within(self.config.vocab_size, ids_BT=ids_BT)
        ids_BT = ids_BT.long()
        if offset != (known := cache_length(self)):
            raise ValueError(f"offset={offset} must be {known}, the number of tokens in the cache")
        if offset == ids_BT.shape[1]:
            raise ValueError(f"ids_BT of shape {tuple(ids_BT.shape)} must have a token more")
        x_BTC = self.embedding(ids_BT[:, offset:])
        if self.ngrams is not None:
            x_BTC = x_BTC + self.ngrams(ids_BT)[:, offset:]
        if self.position is not None:
            x_BTC = x_BTC + self.position(x_BTC.shape[1], offset)
        x_BTC = self.dropout(x_BTC)
        for block in self.blocks:
            x_BTC = block(x_BTC)
        return self.head(self.norm(x_BTC))

    @torch.no_grad()
    @checked
    def generate(
        self,
        ids_BT: Int[Tensor, "B T"],
        n: int,
        *,
        generator: torch.Generator,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float = 1.0,
        stop: int | None = None,
        cache: bool = True,
    ) -> Int[Tensor, "B N"]:
        """Write n tokens after a prompt, one at a time, and give prompt and all.

        temperature 0 takes the likeliest token. top_k keeps the k likeliest, top_p of these the
        fewest whose probabilities come to top_p, one at least; among equals the first in order of
        id. After `stop` a row goes on with `stop` alone, and
        when all rows have ended so does the text. A text longer than the context is read through
        its last `context` tokens. With cache, keys and values are kept from step to step while the
        text fits the context: the same logits, sooner. (Not with norms over positions, by which
        each new token changes those before it.)
        Raises: ValueError where the prompt is empty, n, temperature, top_k, top_p or stop make no
        sense, or the model's logits are not finite.
        Source of top_p: Holtzman et al. 2020, section 3.1.
        """
        _check_sampling(ids_BT, n, temperature, top_k, top_p, stop, self.config.vocab_size)
        context, known = self.config.context, 0
        ended_B = torch.zeros(len(ids_BT), dtype=torch.bool, device=ids_BT.device)
        with in_mode(self, training=False), ExitStack() as caching:
            cache = cache and not over_positions(self)
            if cache:
                caching.enter_context(kv_cache(self))
            for _ in range(n):
                if ids_BT.shape[1] > context:  # from here on every token's position changes
                    caching.close()
                    cache = False
                logits_BV = self(ids_BT[:, -context:], offset=known if cache else 0)[:, -1]
                known = ids_BT.shape[1]
                next_B = _draw(logits_BV, generator, temperature, top_k, top_p)
                if stop is not None:
                    next_B = next_B.where(~ended_B, stop)
                    ended_B |= next_B == stop
                ids_BT = torch.cat([ids_BT, next_B[:, None]], dim=1)
                if ended_B.all():
                    break
        return ids_BT


@checked
def parameter_count(config: GPTConfig) -> int:
    """How many numbers are trained, a tied table counted once, from the sizes alone.

    Of a block: 12 C² of weights (4 C² in attention, 8 C² in the feed-forward), 9 C of their
    biases, and what its two norms have. Tables of n-grams have at most NGRAM_ROWS rows each.
    """
    C, V = config.width, config.vocab_size
    norm = {"layer": 2 * C, "rms": C, "batch": 2 * C, "instance": 2 * C, "group": 2 * C, "none": 0}
    block = 12 * C**2 + 9 * C + 2 * norm[config.norm]
    final = norm[config.norm] if config.placement == "pre" else 0
    tables = V * C * (1 if config.tied else 2)
    tables += config.context * C if config.positions == "learned" else 0
    tables += sum(min((V + 1) ** n, NGRAM_ROWS) * C for n in range(2, config.ngrams + 1))
    return config.layers * block + final + tables


@checked
def flops_per_token(config: GPTConfig) -> int:
    """Floating-point operations to train on one token of a full context, matrix products alone.

    A product of a vector with an n × m matrix is n·m multiplications and as many additions. A
    token meets 12 C² weights a block and C·V in the output; in attention its query meets T keys
    and its weights T values, C numbers each, whether or not a mask takes half of them away. The
    backward pass makes two products of each one: 3 · 2 · (L (12 C² + 2 T C) + C V) in all.
    Source: the count of Kaplan et al. 2020, section 2.1, with the attention and output terms.
    """
    C, T = config.width, config.context
    return 6 * (config.layers * (12 * C**2 + 2 * T * C) + C * config.vocab_size)


class QueryKey(nn.Module):
    """What is done to queries and keys before they meet: mean square 1, rotation, or both.

    Shapes: forward (..., T, D) to (..., T, D), the first row at position offset.
    Source: Henry et al. 2020 for the norm (here without its learned scale); Su et al. 2021.
    """

    def __init__(self, width: int, *, normed: bool, rotated: bool):
        super().__init__()
        self.normed = normed
        self.rotary = Rotary(width) if rotated else None

    def forward(self, x: Float[Tensor, "*batch T D"], offset: int) -> Float[Tensor, "*batch T D"]:
        """Normalise, then rotate, as asked for."""
        if self.normed:
            x = F.rms_norm(x, x.shape[-1:], eps=EPS)
        return x if self.rotary is None else self.rotary(x, offset)


def _start(gpt: GPT, generator: torch.Generator) -> None:
    """Draw the weights. Tables of n-grams start at 0, and so does a head of its own: then the
    first loss is log V.
    """
    config = gpt.config
    scheme, embedding = GPT2, 0.02
    if config.start == "fan_in":  # a tied table is a linear map, too
        scheme, embedding = LECUN, config.width**-0.5 if config.tied else 1.0
    residual = residual_factor(config.layers)
    initialise(gpt, scheme, generator, embedding=embedding, residual=residual)
    late = [] if gpt.ngrams is None else [table.weight for table in gpt.ngrams.tables]
    for weight in late if config.tied else [*late, gpt.head.weight]:
        nn.init.zeros_(weight)


def _block(config: GPTConfig) -> Block:
    width, rotated = config.width // config.heads, config.positions == "rope"
    turned = config.qk_norm or rotated
    attention = SelfAttention(
        config.width,
        config.heads,
        qk_transform=QueryKey(width, normed=config.qk_norm, rotated=rotated) if turned else None,
        attn_bias=alibi if config.positions == "alibi" else None,
    )
    return Block(
        config.width,
        config.heads,
        placement=config.placement,
        norm=config.norm,
        activation=config.activation,
        dropout=config.dropout,
        attention=attention,
    )


def _ngrams(config: GPTConfig) -> NGrams | None:
    """What is added for tokens together, if there is anything."""
    longest = config.ngrams
    return NGrams(config.vocab_size, config.width, longest=longest) if longest > 1 else None


def _positions(config: GPTConfig) -> nn.Module | None:
    """What is added to the embeddings, if positions are told in that way."""
    if config.positions == "learned":
        return Learned(config.context, config.width)
    return Sinusoidal(config.width) if config.positions == "sinusoidal" else None


def _draw(
    logits_BV: Tensor,
    generator: torch.Generator,
    temperature: float,
    top_k: int | None,
    top_p: float,
) -> Int[Tensor, " B"]:
    cold = temperature < COLDEST
    most_B = logits_BV.amax(dim=-1).float() / (1.0 if cold else temperature)
    if not bool(most_B.isfinite().all()):
        raise ValueError(
            f"the model's logits, or these by temperature={temperature}, are nan or infinite: "
            "nothing can be drawn from them"
        )
    if cold:
        return logits_BV.argmax(dim=-1)
    if top_k is not None:
        order_BV = logits_BV.argsort(dim=-1, descending=True, stable=True)
        logits_BV = logits_BV.scatter(-1, order_BV[:, top_k:], float("-inf"))
    p_BV = (logits_BV.float() / temperature).softmax(dim=-1)
    if top_p < 1:
        falling_BV, order_BV = p_BV.sort(dim=-1, descending=True, stable=True)
        beyond_BV = falling_BV.cumsum(dim=-1) - falling_BV >= top_p  # enough without it
        beyond_BV[:, 0] = False  # be top_p too small for float32
        p_BV = p_BV.masked_fill(beyond_BV.gather(-1, order_BV.argsort(dim=-1)), 0.0)
    return torch.multinomial(p_BV.to(generator.device), 1, generator=generator)[:, 0].to(
        logits_BV.device
    )


def _check_sampling(ids_BT, n, temperature, top_k, top_p, stop, vocab_size) -> None:
    if ids_BT.ndim != 2 or 0 in ids_BT.shape:
        raise ValueError(f"ids_BT must be (B, T) with a token at least, got {tuple(ids_BT.shape)}")
    if n < 0:
        raise ValueError(f"n={n} must not be negative")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature={temperature} must be finite and not negative")
    if top_k is not None and not 1 <= top_k <= vocab_size:
        raise ValueError(f"top_k={top_k} must lie in 1..{vocab_size}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p} must lie in (0, 1]")
    if stop is not None and not 0 <= stop < vocab_size:
        raise ValueError(f"stop={stop} must lie in 0..{vocab_size - 1}")
