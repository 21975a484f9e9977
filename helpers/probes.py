"""What an output depends on, from the Jacobian of the function that computed it.

A probe asks autograd and takes any function: an attention, a norm, a whole model. A dependence
through `.detach()` or NumPy is invisible to autograd, so a probe raises where no derivative exists.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def depends_on(
    function: Callable[[Tensor], Tensor], x: Float[Tensor, "T C"]
) -> Bool[Tensor, "To Co T C"]:
    """Which inputs each output of ``function`` depends on, from the Jacobian at ``x``.

    Shapes: x (T, C); the result (T_out, C_out, T, C) is True where the derivative of an output
    entry with respect to an input entry is not zero. Where a softmax is so sure that its derivative
    underflows, a dependence is not seen: keep x of ordinary size.
    Raises: ValueError where a derivative is nan, RuntimeError where autograd sees no way back to x.

    >>> depends_on(torch.flipud, torch.ones(2, 1)).squeeze().tolist()
    [[False, True], [True, False]]
    """
    return _jacobian(function, x) != 0


@dataclass(frozen=True, kw_only=True)
class Leaks:
    """The strongest derivative of a token's output by what it must not see; 0 is no leak.

    future: by a later token of the same sequence. others: by any token of another sequence.
    """

    future: float
    others: float


def reads(
    function: Callable[[Tensor], Tensor], x_BTC: Float[Tensor, "B T C"], *, at: tuple[int, int]
) -> Float[Tensor, "B T"]:
    """How strongly the output at one token depends on each token of the block.

    Entry (b, t) is the largest absolute derivative of an output feature of token `at` = (sequence,
    position) by an input feature of token (b, t). A module in train mode is run, so its running
    statistics change.
    Raises: as `depends_on` does. Shapes: x (B, T, C) gives (B, T).
    """
    jacobian_CBTC = _jacobian(lambda x: function(x)[at], x_BTC)
    return jacobian_CBTC.abs().amax(dim=(0, 3))


def leaks(function: Callable[[Tensor], Tensor], x_BTC: Float[Tensor, "B T C"]) -> Leaks:
    """Probe whether outputs depend on later tokens, or on other sequences of the batch.

    Shapes: function (B, T, C) to (B, T, any width). Raises: as `depends_on` does.
    """
    future = others = 0.0
    for b, t in torch.cartesian_prod(*map(torch.arange, x_BTC.shape[:2])).tolist():
        found_BT = reads(function, x_BTC, at=(b, t))
        future = max(future, *found_BT[b, t + 1 :].tolist(), 0.0)
        found_BT[b] = 0
        others = max(others, found_BT.max().item())
    return Leaks(future=future, others=others)


def _jacobian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    jacobian = torch.autograd.functional.jacobian(function, x, strict=True)
    if jacobian.isnan().any():
        raise ValueError("function has derivatives that are nan at this x")
    return jacobian
