"""Two ways to encode positions: sinusoidal and ALiBi. (RoPE is `helpers.minillama.rotate`.)"""

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoidal(length: int, width: int, *, base: float = 10_000.0) -> Float[Tensor, "T C"]:
    """Sines and cosines of the position, at wavelengths from 2π to nearly base · 2π.

    Shapes: returns (T, C); entries 2k and 2k + 1 are sin and cos of t / base^(2k/C).
    Raises: ValueError where width is not even.
    Source: Vaswani et al. 2017, section 3.5.
    """
    if width % 2:
        raise ValueError(f"width={width} must be even: sines and cosines come in pairs")
    frequencies_K = base ** (-torch.arange(0, width, 2) / width)  # radians per position
    angles_TK = torch.arange(length)[:, None] * frequencies_K
    return torch.stack([angles_TK.sin(), angles_TK.cos()], dim=-1).flatten(1)


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
