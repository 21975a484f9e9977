"""Layer, batch, instance, group and RMS norm: one operation, and a choice of axes."""

from dataclasses import dataclass
from numbers import Integral

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from helpers.checks import check_input, checked

EPS = 1e-5  # what torch's LayerNorm and BatchNorm add to the variance
GROUPS = 4  # of GroupNorm, unless others are given


@dataclass(frozen=True, kw_only=True)
class Normalised:
    """Every intermediate of one normalisation.

    `normalise` keeps the axes of the statistics, with length 1; `normalise_over` repeats them to
    the shape of the input, so that each number has its own mean and variance beside it.
    """

    mean: Float[Tensor, "..."]
    variance: Float[Tensor, "..."]
    output: Float[Tensor, "..."]


@checked
def normalise(
    x: Float[Tensor, "..."], axes: tuple[int, ...], *, eps: float = EPS, centred: bool = True
) -> Normalised:
    """(x - mean) / √(variance + eps), the mean and the biased variance taken over `axes`.

    Shapes: x any; mean and variance have x's shape with the given axes of length 1.
    With centred=False the mean counts as 0, so that the variance is the mean square: RMS norm.
    Of 16-bit numbers the statistics are in float32: their squares pass float16's largest number.
    Raises: ValueError where axes are none, repeated or not axes of x, there is nothing along them,
    or eps is negative.
    Source: Ba, Kiros and Hinton 2016, equation 3; Ioffe and Szegedy 2015, algorithm 1.
    """
    _check_axes(x, axes)
    _check_filled(axes, x=x)
    _check_eps(eps)
    wide = _wide(x)
    mean = wide.mean(dim=axes, keepdim=True)
    if not centred:
        mean = torch.zeros_like(mean)
    variance = (wide - mean).square().mean(dim=axes, keepdim=True)
    output = (wide - mean) / torch.sqrt(variance + eps)
    return Normalised(mean=mean, variance=variance, output=output.to(x.dtype))


# --- norms by the axes that they average over ------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NormSpec:
    """What a norm averages over: some of the axes B and T, and features in so many groups.

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


@checked
def normalise_over(
    x_BTC: Float[Tensor, "B T C"], spec: NormSpec, *, eps: float = EPS
) -> Normalised:
    """Normalise a block over what `spec` names.

    Shapes: x (B, T, C); mean, variance and output have that shape too.
    Raises: ValueError where `over` has other letters than B and T, groups do not divide C, or x has
    nothing to average over.
    Source: Wu and He 2018, section 3, which names the norms by the sets they average over.
    """
    B, T, C = x_BTC.shape
    groups = C if spec.groups is None else spec.groups
    if not set(spec.over) <= set("BT"):
        raise ValueError(f"over={spec.over!r} may hold the letters B and T only")
    if groups < 1 or C % groups:
        raise ValueError(f"groups={groups} must divide the {C} features of x")
    axes = tuple("BT".index(letter) for letter in spec.over)
    _check_filled((*axes, 2), x_BTC=x_BTC)
    parts_BTGF = x_BTC.view(B, T, groups, C // groups)
    found = normalise(parts_BTGF, (*axes, 3), eps=eps, centred=spec.centred)
    return Normalised(
        mean=found.mean.expand_as(parts_BTGF).reshape(B, T, C),
        variance=found.variance.expand_as(parts_BTGF).reshape(B, T, C),
        output=found.output.reshape(B, T, C),
    )


# --- modules --------------------------------------------------------------------------------


@checked
class LayerNorm(nn.Module):
    """Each token's vector to mean 0 and variance 1, then times weight plus bias, per feature.

    Shapes: forward (..., C) to (..., C). Source: Ba, Kiros and Hinton 2016.
    Raises: ValueError where width is below 1 or eps negative.
    """

    def __init__(self, width: int, *, eps: float = EPS):
        super().__init__()
        self.eps = _check_eps(eps)
        self.weight = nn.Parameter(torch.ones(_positive(width)))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Give weight · normalise(x, (-1,)).output + bias, by torch's one kernel for it."""
        check_input(self.weight, x=x)
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


@checked
class RMSNorm(nn.Module):
    """Each token's vector to mean square 1, then times weight, per feature; no mean, no bias.

    Shapes: forward (..., C) to (..., C). Source: Zhang and Sennrich 2019, equation 4.
    Raises: ValueError where width is below 1 or eps negative.
    """

    def __init__(self, width: int, *, eps: float = EPS):
        super().__init__()
        self.eps = _check_eps(eps)
        self.weight = nn.Parameter(torch.ones(_positive(width)))

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Give weight · normalise(x, (-1,), centred=False).output, by torch's one kernel for it."""
        check_input(self.weight, x=x)
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


@checked
class BatchNorm(nn.Module):
    """Each feature to mean 0 and variance 1 over all tokens of the batch, then weight and bias.

    In train mode the statistics are the batch's, and running means of them are kept, the variance
    there with n - 1 in place of n; in eval mode the running ones are used.
    Shapes: forward (..., C) to (..., C); `valid` (...) is False where a token is padding, which is
    normalised like the others and not counted.
    Raises: ValueError where width is below 1, eps negative, momentum not in 0..1, or, in train
    mode, fewer than two tokens count.
    Source: Ioffe and Szegedy 2015, algorithms 1 and 2; momentum as torch counts it.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, width: int, *, eps: float = EPS, momentum: float = 0.1):
        super().__init__()
        if not 0 <= momentum <= 1:
            raise ValueError(f"momentum={momentum} must lie in 0..1")
        self.eps, self.momentum = _check_eps(eps), momentum
        self.weight = nn.Parameter(torch.ones(_positive(width)))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    @property
    def over_positions(self) -> bool:
        """Whether a token changes those before it."""
        return self.training

    def forward(
        self, x: Float[Tensor, "*batch C"], valid: Bool[Tensor, "*batch"] | None = None
    ) -> Float[Tensor, "*batch C"]:
        """Normalise with the batch's statistics in train mode, with the running ones in eval."""
        check_input(self.weight, x=x)
        mean_C, variance_C = self.running_mean, self.running_var
        if self.training:
            mean_C, variance_C = masked_statistics(x, valid)
            self._remember(mean_C, variance_C, x[..., 0].numel() if valid is None else valid.sum())
        output = (x - mean_C) / torch.sqrt(variance_C + self.eps)
        return self.weight * output.to(x.dtype) + self.bias

    def _remember(self, mean_C: Tensor, variance_C: Tensor, counted: int | Tensor) -> None:
        if counted < 2:
            raise ValueError(
                f"tokens that count: {int(counted)}; in train mode at least 2 are needed"
            )
        unbiased_C = variance_C.detach() * counted / (counted - 1)
        self.running_mean.lerp_(mean_C.detach().to(self.running_mean), self.momentum)
        self.running_var.lerp_(unbiased_C.to(self.running_var), self.momentum)


@checked
class InstanceNorm(nn.Module):
    """Each feature to mean 0 and variance 1 over the tokens of its own sequence.

    Shapes: forward (B, T, C) to (B, T, C). Source: Ulyanov, Vedaldi and Lempitsky 2016.
    Raises: ValueError where width is below 1 or eps negative.
    """

    over_positions = True

    def __init__(self, width: int, *, eps: float = EPS):
        super().__init__()
        self.eps = _check_eps(eps)
        self.weight = nn.Parameter(torch.ones(_positive(width)))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x_BTC: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Normalise each feature along its sequence, then scale and shift it."""
        check_input(self.weight, 3, x_BTC=x_BTC)
        _check_filled((1,), x_BTC=x_BTC)
        return self.weight * normalise(x_BTC, (1,), eps=self.eps).output + self.bias


@checked
class GroupNorm(nn.Module):
    """Groups of features to mean 0 and variance 1 over the tokens of their own sequence.

    Shapes: forward (B, T, C) to (B, T, C). Source: Wu and He 2018, with T in place of the image.
    Raises: ValueError where width is below 1, groups do not divide it, or eps is negative.
    """

    over_positions = True

    def __init__(self, width: int, groups: int = GROUPS, *, eps: float = EPS):
        super().__init__()
        if groups < 1 or width % groups:
            raise ValueError(f"groups={groups} must divide width={width}")
        self.eps, self.spec = _check_eps(eps), NormSpec(over="T", groups=groups)
        self.weight = nn.Parameter(torch.ones(_positive(width)))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x_BTC: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        """Normalise each group of features along its sequence, then scale and shift features."""
        check_input(self.weight, 3, x_BTC=x_BTC)
        return self.weight * normalise_over(x_BTC, self.spec, eps=self.eps).output + self.bias


# --- padding --------------------------------------------------------------------------------


@checked
def masked_statistics(
    x: Float[Tensor, "*batch C"], valid: Bool[Tensor, "*batch"] | None = None
) -> tuple[Float[Tensor, " C"], Float[Tensor, " C"]]:
    """Mean and biased variance of each feature over the tokens that are valid.

    Shapes: x (..., C), valid (...), True where a token counts; None counts all.
    Raises: ValueError where valid is not boolean or has another shape, or no token is valid.
    """
    if valid is not None and valid.shape != x.shape[:-1]:
        raise ValueError(
            f"valid of shape {tuple(valid.shape)} must have one entry per token of {tuple(x.shape)}"
        )
    rows_NC = _wide(x.reshape(-1, x.shape[-1]) if valid is None else x[valid])
    if len(rows_NC) == 0:
        raise ValueError("valid is False everywhere: there is nothing to take the mean of")
    mean_C = rows_NC.mean(dim=0)
    return mean_C, (rows_NC - mean_C).square().mean(dim=0)


def _positive(width: int) -> int:
    if width < 1:
        raise ValueError(f"width={width} must be at least 1")
    return width


def _check_eps(eps: float) -> float:
    if not 0 <= eps < float("inf"):
        raise ValueError(f"eps={eps} must be finite and not negative")
    return eps


def _wide(x: Tensor) -> Tensor:
    """The same numbers in at least 32 bits."""
    return x.float() if x.dtype.itemsize < 4 else x


def _check_axes(x: Tensor, axes: tuple[int, ...]) -> None:
    there = range(-x.ndim, x.ndim)
    whole = all(isinstance(axis, Integral) and not isinstance(axis, bool) for axis in axes)
    if not axes or not whole or len({axis % x.ndim for axis in axes if axis in there}) != len(axes):
        raise ValueError(
            f"axes={axes} must be one or more different axes of shape {tuple(x.shape)}"
        )


def _check_filled(axes: tuple[int, ...], **arrays: Tensor) -> None:
    for name, x in arrays.items():
        if any(x.shape[axis] == 0 for axis in axes):
            raise ValueError(f"{name} of shape {tuple(x.shape)} has nothing to average over")
