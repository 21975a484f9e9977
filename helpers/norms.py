"""Layer, RMS, batch, instance and group norm: one operation, and a choice of axes.

The modules of layer and RMS norm are minigpt.LayerNorm and minillama.RMSNorm.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

EPS = 1e-5  # what torch's LayerNorm and BatchNorm add to the variance


@dataclass(frozen=True, kw_only=True)
class Normalised:
    """Every intermediate of one normalisation.

    `normalise` keeps the axes of the statistics, with length 1; `normalise_over` repeats them to
    the shape of the input, so that each number has its own mean and variance beside it.
    """

    mean: Float[Tensor, "..."]
    variance: Float[Tensor, "..."]
    output: Float[Tensor, "..."]


def normalise(
    x: Float[Tensor, "..."], axes: tuple[int, ...], *, eps: float = EPS, centred: bool = True
) -> Normalised:
    """(x - mean) / √(variance + eps), the mean and the biased variance taken over `axes`.

    Shapes: x any; mean and variance have x's shape with the given axes of length 1.
    With centred=False the mean counts as 0, so that the variance is the mean square: RMSNorm.
    Raises: ValueError without axes.
    Source: Ba, Kiros and Hinton 2016, equation 3; Ioffe and Szegedy 2015, algorithm 1.

    >>> normalise(torch.tensor([[1.0, 3.0]]), (-1,), eps=0.0).output
    tensor([[-1.,  1.]])
    """
    if not axes:
        raise ValueError("axes must name at least one axis to average over")
    mean = x.mean(dim=axes, keepdim=True)
    if not centred:
        mean = torch.zeros_like(mean)
    variance = (x - mean).square().mean(dim=axes, keepdim=True)
    return Normalised(mean=mean, variance=variance, output=(x - mean) / torch.sqrt(variance + eps))


# --- modules --------------------------------------------------------------------------------


class BatchNorm(nn.Module):
    """Each feature to mean 0 and variance 1 over all tokens of the batch, then weight and bias.

    In train mode the statistics are the batch's, and running averages of them are kept, of the
    variance with n - 1 in place of n; in eval mode the running averages are used.
    Shapes: forward (..., C) to (..., C). Raises: ValueError in train mode for a single token.
    Source: Ioffe and Szegedy 2015, algorithms 1 and 2; momentum as torch counts it.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, width: int, *, eps: float = EPS, momentum: float = 0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Normalise with the batch's statistics in train mode, with the running ones in eval."""
        mean_C, variance_C = self.running_mean, self.running_var
        if self.training:
            rows_NC = x.reshape(-1, x.shape[-1])
            n = len(rows_NC)
            if n < 2:
                raise ValueError(f"train mode needs at least 2 tokens, not {n}")
            mean_C = rows_NC.mean(dim=0)
            variance_C = (rows_NC - mean_C).square().mean(dim=0)
            unbiased_C = variance_C.detach() * n / (n - 1)
            self.running_mean.lerp_(mean_C.detach().to(self.running_mean), self.momentum)
            self.running_var.lerp_(unbiased_C.to(self.running_var), self.momentum)
        output = (x - mean_C) / torch.sqrt(variance_C + self.eps)
        return self.weight * output + self.bias


class GroupNorm(nn.Module):
    """Groups of features to mean 0 and variance 1 over the tokens of their own sequence.

    Shapes: forward (B, T, C) to (B, T, C). Source: Wu and He 2018, with T in place of the image.
    Raises: ValueError where groups do not divide width; in train mode where a group is one number.
    """

    def __init__(self, width: int, groups: int = 4, *, eps: float = EPS):
        super().__init__()
        if width % groups:
            raise ValueError(f"groups={groups} must divide width={width}")
        self.eps, self.spec = eps, NormSpec(over="T", groups=groups)
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x_BTC: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Normalise each group of features along its sequence, then scale and shift features."""
        if self.training and x_BTC.shape[1] == 1 and x_BTC.shape[2] == self.spec.groups:
            raise ValueError("train mode needs at least 2 numbers in a group, not 1")
        return self.weight * normalise_over(x_BTC, self.spec, eps=self.eps).output + self.bias


class InstanceNorm(GroupNorm):
    """Each feature to mean 0 and variance 1 over the tokens of its own sequence: a group of one.

    Shapes: forward (B, T, C) to (B, T, C). Source: Ulyanov, Vedaldi and Lempitsky 2016.
    """

    def __init__(self, width: int, *, eps: float = EPS):
        super().__init__(width, width, eps=eps)


# --- norms by the axes that they average over ------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NormSpec:
    """What a norm averages over: some of the axes B and T, and features in a number of groups.

    groups=1 averages all features of a token together, groups=None each feature by itself.
    """

    over: str
    groups: int | None
    centred: bool = True


NORMS = {
    "layer": NormSpec(over="", groups=1),
    "RMS": NormSpec(over="", groups=1, centred=False),
    "batch": NormSpec(over="BT", groups=None),
    "instance": NormSpec(over="T", groups=None),
    "group": NormSpec(over="T", groups=2),
}


def normalise_over(
    x_BTC: Float[Tensor, "B T C"], spec: NormSpec, *, eps: float = EPS
) -> Normalised:
    """Normalise a block over the axes that `spec` names.

    Shapes: x (B, T, C); mean, variance and output have that shape too.
    Source: Wu and He 2018, section 3, which names the norms by the sets they average over.
    """
    B, T, C = x_BTC.shape
    groups = C if spec.groups is None else spec.groups
    axes = tuple("BT".index(letter) for letter in spec.over)
    parts_BTGF = x_BTC.view(B, T, groups, C // groups)
    found = normalise(parts_BTGF, (*axes, 3), eps=eps, centred=spec.centred)
    return Normalised(
        mean=found.mean.expand_as(parts_BTGF).reshape(B, T, C),
        variance=found.variance.expand_as(parts_BTGF).reshape(B, T, C),
        output=found.output.reshape(B, T, C),
    )
