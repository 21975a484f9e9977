"""Initial weights: the schemes by their sources, and a GPT initialised by one of them.

A weight has shape (fan_out, fan_in), as in nn.Linear: each of its fan_out outputs is a sum over
fan_in inputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

RESIDUAL = ("out", "down")  # linear layers that add to the residual stream
PACKED = {"qkv": 3}  # linear layers that hold several in one, each with fans of its own


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A way to draw a weight: normal or uniform, with a variance by fan_in and fan_out.

    init_bias: whether biases are drawn from ±1/√fan_in as nn.Linear does it; otherwise they are 0.
    """

    name: str
    variance: Callable[[int, int], float]
    uniform: bool = False
    init_bias: bool = False

    def std(self, fan_in: int, fan_out: int) -> float:
        """Standard deviation of the entries."""
        return self.variance(fan_in, fan_out) ** 0.5


# LeCun, Bottou, Orr and Müller 1998, equation 16
LECUN = Scheme(name="LeCun", variance=lambda fan_in, _: 1 / fan_in)
# Glorot and Bengio 2010, equation 16
XAVIER = Scheme(
    name="Xavier", variance=lambda fan_in, fan_out: 2 / (fan_in + fan_out), uniform=True
)
# He, Zhang, Ren and Sun 2015, equation 10
HE = Scheme(name="He", variance=lambda fan_in, _: 2 / fan_in)
# nn.Linear.reset_parameters: kaiming_uniform with a = √5, which is ±1/√fan_in
TORCH = Scheme(
    name="torch", variance=lambda fan_in, _: 1 / 3 / fan_in, uniform=True, init_bias=True
)
# N(0, 0.02²) whatever the shape: Radford et al. 2018, section 4.1; kept in the code of GPT-2
GPT2 = Scheme(name="0.02", variance=lambda *_: 0.02**2)
SCHEMES = (LECUN, XAVIER, HE, TORCH, GPT2)


def draw(
    scheme: Scheme, fan_out: int, fan_in: int, generator: torch.Generator
) -> Float[Tensor, "fan_out fan_in"]:
    """Draw one weight by a scheme, float32."""
    std, shape = scheme.std(fan_in, fan_out), (fan_out, fan_in)
    if scheme.uniform:  # the variance of U(-a, a) is a²/3
        return (torch.rand(shape, generator=generator) * 2 - 1) * std * 3**0.5
    return torch.randn(shape, generator=generator) * std


@torch.no_grad()
def initialise(
    model: nn.Module,
    scheme: Scheme,
    generator: torch.Generator,
    *,
    embedding: float,
    residual: float = 1.0,
) -> None:
    """Initialise the embeddings and linear layers of a GPT; norms stay as they are.

    Embeddings are drawn from N(0, embedding²), weights by the scheme, each part of a packed one by
    itself. Linear layers whose own name is in RESIDUAL, weight and bias, are multiplied by
    `residual`. The weight of a tied head counts as an embedding.
    """
    tables = [part.weight for part in model.modules() if isinstance(part, nn.Embedding)]
    for table_VC in tables:
        table_VC.copy_(torch.randn(table_VC.shape, generator=generator) * embedding)
    for path, part in model.named_modules():
        if not isinstance(part, nn.Linear):
            continue
        name, (fan_out, fan_in) = path.rpartition(".")[2], part.weight.shape
        factor, n = residual if name in RESIDUAL else 1.0, PACKED.get(name, 1)
        if all(part.weight is not table for table in tables):
            drawn = [draw(scheme, fan_out // n, fan_in, generator) for _ in range(n)]
            part.weight.copy_(torch.cat(drawn) * factor)
        if part.bias is not None:
            part.bias.zero_()
            if scheme.init_bias:
                part.bias.copy_(draw(TORCH, fan_out, fan_in, generator)[:, 0] * factor)
