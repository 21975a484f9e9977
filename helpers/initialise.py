"""Initial weights: the schemes by their sources, and the initialisation of a whole model.

A weight has shape (fan_out, fan_in), as in nn.Linear: each of its fan_out outputs is a sum over
fan_in inputs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from helpers import norms

RESIDUAL = ("out", "down", "out_proj")  # projections that add to the residual stream
PACKED = {"qkv": 3}  # linear layers that hold several in one, each with fans of its own
NORMS = (
    *(nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.batchnorm._BatchNorm),
    *(norms.LayerNorm, norms.RMSNorm, norms.BatchNorm, norms.GroupNorm),
)


FANS: dict[str, Callable[[int, int], float]] = {
    "in": lambda fan_in, fan_out: fan_in,
    "in + out": lambda fan_in, fan_out: fan_in + fan_out,
    "any": lambda fan_in, fan_out: 1.0,
}


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A way to draw a weight: normal or uniform, with variance `factor` / `fan`.

    fan: a name in FANS. init_bias: whether biases are drawn from ±1/√fan_in as nn.Linear does it;
    otherwise they start at 0.
    """

    name: str
    factor: float = 1.0
    fan: str = "in"
    uniform: bool = False
    init_bias: bool = False

    def std(self, fan_in: int, fan_out: int) -> float:
        """Standard deviation of the entries."""
        return (self.factor / FANS[self.fan](fan_in, fan_out)) ** 0.5


# LeCun, Bottou, Orr and Müller 1998, equation 16
LECUN = Scheme(name="LeCun")
# Glorot and Bengio 2010, equation 16
XAVIER = Scheme(name="Xavier", factor=2, fan="in + out", uniform=True)
# He, Zhang, Ren and Sun 2015, equation 10
HE = Scheme(name="He", factor=2)
# nn.Linear.reset_parameters: kaiming_uniform with a = √5, which is ±1/√fan_in
TORCH = Scheme(name="torch", factor=1 / 3, uniform=True, init_bias=True)
# N(0, 0.02²) whatever the shape: Radford et al. 2018, section 4.1; kept in the code of GPT-2
GPT2 = Scheme(name="0.02", factor=0.02**2, fan="any")
SCHEMES = (LECUN, XAVIER, HE, TORCH, GPT2)


def draw(
    scheme: Scheme, fan_out: int, fan_in: int, generator: torch.Generator
) -> Float[Tensor, "fan_out fan_in"]:
    """Draw one weight by a scheme, float32, on the generator's device."""
    std, shape, device = scheme.std(fan_in, fan_out), (fan_out, fan_in), generator.device
    if scheme.uniform:  # the variance of U(-a, a) is a²/3
        return (torch.rand(shape, generator=generator, device=device) * 2 - 1) * std * 3**0.5
    return torch.randn(shape, generator=generator, device=device) * std


def residual_factor(blocks: int) -> float:
    """The factor 1/√(2N) by which GPT-2 scales the projections that add to the residual stream.

    N blocks add 2N times, each once after attention and once after the feed-forward.
    Source: Radford et al. 2019, section 2.3, where the N under the root counts residual layers.
    """
    return (2 * blocks) ** -0.5


@torch.no_grad()
def initialise(
    model: nn.Module,
    scheme: Scheme,
    generator: torch.Generator,
    *,
    embedding: float,
    residual: float = 1.0,
) -> None:
    """Initialise every parameter of a model once.

    Embeddings are drawn from N(0, embedding²), a padding row is 0; weights by the scheme, each part
    of a packed one by itself. Linear layers whose own name is in RESIDUAL, weight and bias, are
    multiplied by `residual`. Gains are 1, shifts 0. A tied matrix counts as an embedding. Modules
    of unknown kinds are left as they are.
    """
    done: set[int] = set()
    modules = sorted(
        model.named_modules(), key=lambda named: not isinstance(named[1], nn.Embedding)
    )
    for path, module in modules:
        own_name = path.rpartition(".")[2]
        for parameter, value in _values(module, own_name, scheme, generator, embedding, residual):
            if parameter is not None and id(parameter) not in done:
                parameter.copy_(value(parameter))
                done.add(id(parameter))


def _values(
    module: nn.Module,
    own_name: str,
    scheme: Scheme,
    generator: torch.Generator,
    embedding: float,
    residual: float,
) -> Iterator[tuple[Tensor | None, Callable[[Tensor], Tensor]]]:
    """The parameters of a module's own, each with the function that draws it."""

    def rows(table_VC: Tensor) -> Tensor:
        shape, device = table_VC.shape, generator.device
        drawn_VC = torch.randn(shape, generator=generator, device=device) * embedding
        if module.padding_idx is not None:
            drawn_VC[module.padding_idx] = 0.0
        return drawn_VC

    def weight(parts: int = 1, factor: float = 1.0) -> Callable[[Tensor], Tensor]:
        def value(matrix: Tensor) -> Tensor:
            fan_out, fan_in = matrix.shape
            drawn = [draw(scheme, fan_out // parts, fan_in, generator) for _ in range(parts)]
            return torch.cat(drawn) * factor

        return value

    def bias(fan_in: int, factor: float = 1.0) -> Callable[[Tensor], Tensor]:
        if not scheme.init_bias:
            return torch.zeros_like
        return lambda row: draw(TORCH, len(row), fan_in, generator)[:, 0] * factor

    if isinstance(module, nn.Embedding):
        yield module.weight, rows
    elif isinstance(module, nn.Linear):
        factor = residual if own_name in RESIDUAL else 1.0
        yield module.weight, weight(PACKED.get(own_name, 1), factor)
        yield module.bias, bias(module.in_features, factor)
    elif isinstance(module, nn.MultiheadAttention):
        yield module.in_proj_weight, weight(3)
        yield module.in_proj_bias, bias(module.embed_dim)
    elif isinstance(module, NORMS):
        yield getattr(module, "weight", None), torch.ones_like
        yield getattr(module, "bias", None), torch.zeros_like
