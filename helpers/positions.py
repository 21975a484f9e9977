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


def alibi(heads: int, length: int) -> Float[Tensor, "H T T"]:
    """The bias on the scaled scores: minus distance back, times the slope 2^(-8h/H) of head h.

    Shapes: returns (H, T, T). Later keys, which a causal mask hides, get 0.
    Source: Press, Smith and Lewis 2022, section 3, where H is a power of 2.
    """
    slopes_H = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
    distance_TT = torch.arange(length)[:, None] - torch.arange(length)
    return -slopes_H[:, None, None] * distance_TT.clamp(min=0)
