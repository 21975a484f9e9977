"""Layer, batch, instance, group and RMS norm: one operation, and a choice of axes."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

EPS = 1e-5  # what torch's LayerNorm and BatchNorm add to the variance


@dataclass(frozen=True, kw_only=True)
class Normalised:
    """Every intermediate of one normalisation; statistics keep their axes, with length 1."""

    mean: Float[Tensor, "..."]
    variance: Float[Tensor, "..."]
    output: Float[Tensor, "..."]


def normalise(
    x: Float[Tensor, "..."], axes: tuple[int, ...], *, eps: float = EPS, centred: bool = True
) -> Normalised:
    """(x - mean) / √(variance + eps), the mean and the biased variance taken over `axes`.

    Shapes: x any; mean and variance have x's shape with the given axes of length 1.
    With centred=False the mean counts as 0, so that the variance is the mean square: RMS norm.
    Raises: ValueError where axes are none, repeated or not axes of x, or eps is negative.
    Source: Ba, Kiros and Hinton 2016, equation 3; Ioffe and Szegedy 2015, algorithm 1.
    """
    _check_axes(x, axes)
    if not eps >= 0:
        raise ValueError(f"eps={eps} must not be negative")
    mean = x.mean(dim=axes, keepdim=True)
    if not centred:
        mean = torch.zeros_like(mean)
    variance = (x - mean).square().mean(dim=axes, keepdim=True)
    output = (x - mean) / torch.sqrt(variance + eps)
    return Normalised(mean=mean, variance=variance, output=output)


class LayerNorm(nn.Module):
    """Each token's vector to mean 0 and variance 1, then times gamma plus beta, per feature.

    Shapes: forward (..., C) to (..., C). Source: Ba, Kiros and Hinton 2016.
    Raises: ValueError where width is below 1.
    """

    def __init__(self, width: int, *, eps: float = EPS):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(_checked(width)))
        self.beta = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Normalise each vector, then scale and shift its features."""
        return self.gamma * normalise(x, (-1,), eps=self.eps).output + self.beta


class RMSNorm(nn.Module):
    """Each token's vector to mean square 1, then times gamma, per feature; no mean, no beta.

    Shapes: forward (..., C) to (..., C). Source: Zhang and Sennrich 2019, equation 4.
    Raises: ValueError where width is below 1.
    """

    def __init__(self, width: int, *, eps: float = EPS):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(_checked(width)))

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Divide each vector by its root mean square, then scale its features."""
        return self.gamma * normalise(x, (-1,), eps=self.eps, centred=False).output


def _checked(width: int) -> int:
    if width < 1:
        raise ValueError(f"width={width} must be at least 1")
    return width


def _check_axes(x: Tensor, axes: tuple[int, ...]) -> None:
    counted = {axis % x.ndim for axis in axes if -x.ndim <= axis < x.ndim}
    if not axes or len(counted) != len(axes):
        raise ValueError(
            f"axes={axes} must be one or more different axes of shape {tuple(x.shape)}"
        )
