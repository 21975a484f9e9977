"""Initial weights: the schemes by their sources, and the initialisation of a whole model.

A weight has shape (fan_out, fan_in), as in nn.Linear: each of its fan_out outputs is a sum over
fan_in inputs.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from helpers import norms

RESIDUAL = ("out", "down", "out_proj")  # projections that add to the residual stream
FAMILIES = ("normal", "uniform", "orthogonal")
NORMS = (
    *(nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._BatchNorm),
    *(norms.LayerNorm, norms.RMSNorm, norms.BatchNorm, norms.GroupNorm),
)


FANS: dict[str, Callable[[int, int], float]] = {
    "in": lambda fan_in, fan_out: fan_in,
    "in + out": lambda fan_in, fan_out: fan_in + fan_out,
    "larger": max,
    "any": lambda fan_in, fan_out: 1.0,
}


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A way to draw a weight: a family of distributions, with variance `factor` / `fan`.

    fan: a name in FANS. init_bias: whether biases are drawn from ±1/√fan_in as nn.Linear does it;
    otherwise they start at 0.
    """

    name: str
    source: str
    factor: float = 1.0
    fan: str = "in"
    family: str = "normal"
    init_bias: bool = False

    def __post_init__(self):
        if self.family not in FAMILIES:
            raise ValueError(f"family={self.family!r} must be one of {', '.join(FAMILIES)}")

    def std(self, fan_in: int, fan_out: int) -> float:
        """Standard deviation of the entries."""
        return (self.factor / FANS[self.fan](fan_in, fan_out)) ** 0.5


LECUN = Scheme(name="LeCun", source="LeCun, Bottou, Orr and Müller 1998, equation 16")
XAVIER = Scheme(
    name="Xavier",
    source="Glorot and Bengio 2010, equation 16",
    factor=2,
    fan="in + out",
    family="uniform",
)
HE = Scheme(name="He", source="He, Zhang, Ren and Sun 2015, equation 10", factor=2)
TORCH = Scheme(
    name="torch",
    source="nn.Linear.reset_parameters: kaiming_uniform with a = √5, which is ±1/√fan_in",
    factor=1 / 3,
    family="uniform",
    init_bias=True,
)
ORTHOGONAL = Scheme(
    name="orthogonal",
    source="Saxe, McClelland and Ganguli 2014, section 3",
    fan="larger",
    family="orthogonal",
)


def fixed(std: float, name: str = "", source: str = "") -> Scheme:
    """Entries from N(0, std²) whatever the shape."""
    return Scheme(name=name or f"N(0, {std:g}²)", source=source, factor=std**2, fan="any")


GPT2 = fixed(0.02, "0.02", "Radford et al. 2018, section 4.1; kept in the code of GPT-2")
SCHEMES = (LECUN, XAVIER, HE, TORCH, GPT2, ORTHOGONAL)


def draw(
    scheme: Scheme, fan_out: int, fan_in: int, generator: torch.Generator
) -> Float[Tensor, "fan_out fan_in"]:
    """Draw one weight by a scheme, float32, on the generator's device."""
    std, shape, device = scheme.std(fan_in, fan_out), (fan_out, fan_in), generator.device
    if scheme.family == "uniform":  # the variance of U(-a, a) is a²/3
        return (torch.rand(shape, generator=generator, device=device) * 2 - 1) * std * 3**0.5
    normal = torch.randn(shape, generator=generator, device=device)
    if scheme.family == "normal":
        return normal * std
    return _orthonormal(normal) * std * max(shape) ** 0.5


def residual_factor(blocks: int) -> float:
    """The factor 1/√(2N) by which GPT-2 scales the projections that add to the residual stream.

    N blocks add 2N times, each once after attention and once after the feed-forward.
    Source: Radford et al. 2019, section 2.3, where the N under the root counts residual layers.
    """
    return (2 * blocks) ** -0.5


@dataclass(frozen=True, kw_only=True)
class InitRecord:
    """How one parameter of a model was initialised.

    name: the first name under which the model lists it; also: its other names, if it is tied.
    role: embedding, weight, residual, bias, gain, shift, or untouched.
    std: the standard deviation of the draw, 0 where all are set to one value; nan if untouched.
    """

    name: str
    role: str
    std: float
    also: tuple[str, ...] = ()


def initialise(
    model: nn.Module,
    scheme: Scheme,
    generator: torch.Generator,
    *,
    embedding: float,
    residual: float = 1.0,
    packed: Mapping[str, int] | None = None,
) -> tuple[InitRecord, ...]:
    """Initialise every parameter of a model once, and report how.

    Embeddings are drawn from N(0, embedding²), a padding row is 0; weights by the scheme. Linear
    layers whose own name is in RESIDUAL, weight and bias, are multiplied by `residual`.
    Gains are 1, shifts 0. A tied matrix counts as an embedding. `packed` names the linear layers
    that hold several in one, {"qkv": 3} unless given, as nn.MultiheadAttention does: each part has
    its own fans. Modules of unknown kinds are left as they are, and the result says so.
    Raises: ValueError where a packed weight cannot be cut into its parts.
    """
    names: dict[int, list[str]] = {}
    for name, own in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(own), []).append(name)
    done: dict[int, tuple[str, float]] = {}
    initializer = _Initializer(scheme, generator, embedding, residual, packed or {"qkv": 3})
    modules = sorted(model.named_modules(), key=lambda named: not _is_embedding(named[1]))
    for path, module in modules:
        for parameter, role, std, value in initializer.draws(path.rpartition(".")[2], module):
            if parameter is not None and id(parameter) not in done:
                with torch.no_grad():
                    parameter.copy_(value())
                done[id(parameter)] = role, std
    return tuple(
        InitRecord(name=first, also=tuple(also), role=role, std=std)
        for key, (first, *also) in names.items()
        for role, std in [done.get(key, ("untouched", math.nan))]
    )


Step = tuple[Tensor | None, str, float, Callable[[], Tensor]]  # parameter, role, std, value


@dataclass(frozen=True)
class _Initializer:
    """The initial values of a module's own parameters, by the kind of module."""

    scheme: Scheme
    generator: torch.Generator
    embedding: float
    residual: float
    packed: Mapping[str, int]

    def draws(self, own_name: str, module: nn.Module) -> Iterator[Step]:
        if _is_embedding(module):
            yield module.weight, "embedding", self.embedding, lambda: self._rows(module)
        elif isinstance(module, nn.Linear):
            residual = own_name in RESIDUAL
            factor = self.residual if residual else 1.0
            parts = self.packed.get(own_name, 1)
            yield self._weight(module.weight, "residual" if residual else "weight", parts, factor)
            yield self._bias(module.bias, module.in_features, factor)
        elif isinstance(module, nn.MultiheadAttention):
            yield self._weight(module.in_proj_weight, "weight", 3)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                yield self._weight(getattr(module, name), "weight")
            for bias in (module.in_proj_bias, module.bias_k, module.bias_v):
                yield self._bias(bias, module.embed_dim)
        else:
            if isinstance(module, NORMS):
                gain: Any = getattr(module, "weight", None)
                shift: Any = getattr(module, "bias", None)
                yield gain, "gain", 0.0, lambda: torch.ones_like(gain)
                yield shift, "shift", 0.0, lambda: torch.zeros_like(shift)

    def _rows(self, module: nn.Embedding | nn.EmbeddingBag) -> Tensor:
        table_VC = (
            torch.randn(module.weight.shape, generator=self.generator, device=self.generator.device)
            * self.embedding
        )
        if module.padding_idx is not None:
            table_VC[module.padding_idx] = 0.0
        return table_VC

    def _weight(self, weight, role: str, parts: int = 1, factor: float = 1.0) -> Step:
        if weight is None:
            return None, role, 0.0, torch.empty
        fan_out, fan_in = weight.shape
        if fan_out % parts:
            raise ValueError(f"a weight with {fan_out} outputs cannot be cut into {parts} parts")
        fan_out //= parts

        def value() -> Tensor:
            drawn = [draw(self.scheme, fan_out, fan_in, self.generator) for _ in range(parts)]
            return torch.cat(drawn) * factor

        return weight, role, self.scheme.std(fan_in, fan_out) * factor, value

    def _bias(self, bias, fan_in: int, factor: float = 1.0) -> Step:
        if bias is None or not self.scheme.init_bias:
            return bias, "bias", 0.0, lambda: torch.zeros_like(bias)

        def value() -> Tensor:
            drawn = draw(TORCH, bias.numel(), fan_in, self.generator)
            return drawn[:, 0].view_as(bias) * factor  # as a weight of the same layer

        return bias, "bias", TORCH.std(fan_in, 1) * factor, value


def _is_embedding(module: nn.Module) -> TypeGuard[nn.Embedding | nn.EmbeddingBag]:
    return isinstance(module, nn.Embedding | nn.EmbeddingBag)


def _orthonormal(normal: Tensor) -> Tensor:
    """Orthonormal rows, or columns if there are fewer, uniformly distributed: Q of a QR."""
    wide = normal.shape[0] < normal.shape[1]
    q, r = torch.linalg.qr(normal.T if wide else normal)
    q = q * r.diagonal().sign()  # without the signs it is not uniform
    return q.T if wide else q
