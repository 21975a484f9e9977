"""Who reads whom: what an output depends on, from the Jacobian of the function that made it.

A probe asks autograd and knows nothing of what it probes: an attention, a norm, a whole model.
A way that autograd does not see, through `.detach()` or NumPy, is not found: where it is the only
one, so that outputs move with x and none has a derivative, the probe refuses.
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from helpers.checks import check_finite, checked


@checked
def depends_on(
    function: Callable[[Tensor], Tensor], x: Float[Tensor, "T C"]
) -> Bool[Tensor, "To Co T C"]:
    """Which inputs each output of ``function`` depends on, from the Jacobian at ``x``.

    Shapes: x (T, C); the result (T_out, C_out, T, C) is True where the derivative of an output
    entry with respect to an input entry is not zero. Where a softmax is so sure that its derivative
    underflows, a dependence is not seen: keep x of ordinary size.
    Raises: ValueError when x or the function's output does not have two axes, a derivative is
    not a number, or autograd sees no way from x to an output that moves with it.
    """
    check_finite(x=x)
    jacobian = torch.autograd.functional.jacobian(lambda x: _seen(function, x), x)
    if jacobian.ndim != 4:
        shape = tuple(jacobian.shape[: jacobian.ndim - 2])
        raise ValueError(f"function must return shape (T_out, C_out), it returned {shape}")
    _check_numbers(jacobian)
    return jacobian != 0


@dataclass(frozen=True, kw_only=True)
class Leaks:
    """The strongest derivative of a token's output by what it must not see; 0 is no leak.

    future: by a later token of the same sequence. others: by any token of another sequence.
    """

    future: float
    others: float


@checked
def reads(
    function: Callable[[Tensor], Tensor], x_BTC: Float[Tensor, "B T C"], *, at: tuple[int, int]
) -> Float[Tensor, "B T"]:
    """How strongly the output at one token depends on each token of the block.

    Entry (b, t) is the largest size of a derivative of an output feature of token `at` = (sequence,
    position) by an input feature of token (b, t). A module in train mode is run, so that what it
    remembers of batches changes.
    Raises: ValueError where the function changes the first two axes, `at` is not in the block, a
    derivative is not a number, of which nobody can say whether it is 0, or autograd sees no way
    from x to an output that moves with it.
    """
    check_finite(x_BTC=x_BTC)
    B, T, _ = x_BTC.shape
    whole = all(isinstance(i, Integral) and not isinstance(i, bool) for i in at)
    if len(at) != 2 or not (whole and at[0] in range(B) and at[1] in range(T)):
        raise ValueError(f"at={at} must be a (sequence, position) of a block of {B} by {T}")

    def output_of_one(x: Tensor) -> Tensor:
        y = _seen(function, x)
        if y.ndim != 3 or y.shape[:2] != x.shape[:2]:
            raise ValueError(f"function gave shape {tuple(y.shape)} for {tuple(x.shape)}")
        return y[at]

    jacobian_CBTC = torch.autograd.functional.jacobian(output_of_one, x_BTC)
    _check_numbers(jacobian_CBTC)
    return jacobian_CBTC.abs().amax(dim=(0, 3))


@checked
def leaks(function: Callable[[Tensor], Tensor], x_BTC: Float[Tensor, "B T C"]) -> Leaks:
    """Probe whether outputs depend on later tokens, or on other sequences of the batch.

    Shapes: function (B, T, C) to (B, T, any width). Raises: ValueError as `reads` does.
    """
    check_finite(x_BTC=x_BTC)
    future = others = 0.0
    for b, t in torch.cartesian_prod(*map(torch.arange, x_BTC.shape[:2])).tolist():
        found_BT = reads(function, x_BTC, at=(b, t))
        future = max(future, *found_BT[b, t + 1 :].tolist(), 0.0)
        found_BT[b] = 0
        others = max(others, found_BT.max().item())
    return Leaks(future=future, others=others)


def _seen(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """function(x), or ValueError where it depends on x in no way that autograd sees."""
    y = function(x)
    if not isinstance(y, Tensor):
        raise TypeError(f"function must return a tensor, not of type {type(y).__name__}")
    way: tuple[Tensor | None, ...] = (None,)
    if y.requires_grad:
        way = torch.autograd.grad(y, x, torch.ones_like(y), retain_graph=True, allow_unused=True)
    if way[0] is None and x.numel():
        elsewhere = x.detach() + torch.linspace(1, 2, x.numel()).to(x).view_as(x)
        if not torch.equal(function(elsewhere), y):
            raise ValueError(
                "function must let autograd see how it depends on x: its output moves with x and "
                "has no derivative (no_grad, inference_mode, .detach() or NumPy on the way?)"
            )
    return y


def _check_numbers(jacobian: Tensor) -> None:
    if jacobian.isnan().any():
        raise ValueError("function has derivatives that are not numbers (nan) at this x")
