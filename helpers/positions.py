"""Four ways to encode positions: sinusoidal, learned, rotary (RoPE) and ALiBi."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

BASE = 10_000.0  # the ratio of the longest wavelength to the shortest, where there are waves


def sinusoidal(
    length: int,
    width: int,
    *,
    base: float = BASE,
    device: torch.device | str | None = None,
) -> Float[Tensor, "T C"]:
    """Sines and cosines of the position, at wavelengths from 2π to nearly base · 2π.

    Shapes: returns (T, C); entries 2k and 2k + 1 are sin and cos of t / base^(2k/C).
    Raises: ValueError where width is not even.
    Source: Vaswani et al. 2017, section 3.5.
    """
    positions_T = torch.arange(length, device=device)
    angles_TK = positions_T[:, None] * _frequencies(width, base, device=device)
    return torch.stack([angles_TK.sin(), angles_TK.cos()], dim=-1).flatten(1)


class Sinusoidal(nn.Module):
    """The rows of `sinusoidal` for the given positions; nothing is trained.

    Shapes: forward(T, offset) gives (T, C).
    Raises: ValueError where width is not even.
    """

    def __init__(self, width: int, *, base: float = BASE, **factory: Any):
        super().__init__()
        self.width, self.base = width, base
        like = sinusoidal(1, width, base=base).to(**factory)
        self.register_buffer("like", like, persistent=False)

    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "T C"]:
        """The positions offset, …, offset + length - 1."""
        length, device = offset + length, self.like.device
        rows_TC = sinusoidal(length, self.width, base=self.base, device=device)
        return rows_TC[offset:].to(self.like)


class Learned(nn.Module):
    """A trained row for each of `context` positions, and none beyond.

    Shapes: forward(T, offset) gives (T, C).
    Raises: ValueError where a position lies beyond the context.
    Source: Gehring et al. 2017, section 3.1.
    """

    def __init__(self, context: int, width: int, **factory: Any):
        super().__init__()
        self.rows = nn.Embedding(context, width, **factory)

    def forward(self, length: int, offset: int = 0) -> Float[Tensor, "T C"]:
        """The rows of the positions offset, …, offset + length - 1."""
        if offset + length > self.rows.num_embeddings:
            raise ValueError(
                f"a text of {offset + length} tokens is longer than the context: only "
                f"{self.rows.num_embeddings} positions are learned"
            )
        return self.rows.weight[offset : offset + length]


class Rotary(nn.Module):
    """Rotate each pair of entries of a query or key by an angle that grows with its position.

    Shapes: forward (..., T, D) to (..., T, D). Pair k is (entry k, entry k + D/2), and rotates
    by t / base^(2k/D) at position t = offset + row. A dot product of two rotated vectors
    depends on their positions through the difference alone. The angles have at least 32 bits,
    whatever the dtype of x and the module.
    Raises: ValueError where width is not even.
    Source: Su et al. 2021, equation 15; the pairing in halves is that of later models.
    """

    def __init__(self, width: int, *, base: float = BASE):
        super().__init__()
        self.width, self.base = width, base
        self.frequencies = _frequencies(width, base)  # no buffer, which a cast would round

    def forward(
        self, x: Float[Tensor, "*batch T D"], offset: int = 0
    ) -> Float[Tensor, "*batch T D"]:
        """Rotate the vectors at positions offset, offset + 1, …"""
        positions_T = torch.arange(offset, offset + x.shape[-2], device=x.device)
        wide = torch.promote_types(x.dtype, torch.float32)
        frequencies_K = _frequencies(self.width, self.base, device=x.device, dtype=wide)
        angles_TK = positions_T[:, None] * frequencies_K
        cos_TK, sin_TK = angles_TK.cos().to(x.dtype), angles_TK.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat(
            [first * cos_TK - second * sin_TK, first * sin_TK + second * cos_TK], dim=-1
        )


def alibi_slopes(heads: int) -> Float[Tensor, " H"]:
    """How steeply each head's scores fall with distance: 2^(-8h/H) for h = 1, …, H.

    Where H is no power of 2, the slopes are those of the next power below, and then every other
    one of the next power above. Shapes: returns (H,).
    Source: Press, Smith and Lewis 2022, section 3, and the code of the paper for other H.
    """
    below = 2 ** (heads.bit_length() - 1)
    slopes = 2.0 ** (-8 * torch.arange(1, below + 1) / below)
    between = 2.0 ** (-8 * torch.arange(1, 2 * below, 2) / (2 * below))
    return torch.cat([slopes, between[: heads - below]])


def alibi(heads: int, queries: int, keys: int) -> Float[Tensor, "H Tq Tk"]:
    """The bias on the scaled scores: minus slope times distance back, per head.

    Shapes: returns (H, T_q, T_k); the queries are the last T_q of the T_k positions. Keys that
    come later than the query, which a causal mask hides, get 0.
    Source: Press, Smith and Lewis 2022, section 3.
    """
    distance = torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)
    return -alibi_slopes(heads)[:, None, None] * distance.clamp(min=0)


def _frequencies(width: int, base: float, **options: Any) -> Float[Tensor, " K"]:
    """base^(-2k/width) for k = 0, …, width/2 - 1: radians per position. Options: of arange."""
    if width % 2:
        raise ValueError(f"width={width} must be even: sines and cosines come in pairs")
    return base ** (-torch.arange(0, width, 2, **options) / width)
