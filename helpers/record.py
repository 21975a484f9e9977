"""Record the attention weights of a model while it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxtyping import Float
from torch import Tensor, nn

from helpers.attention import AttentionSteps, SelfAttention


@contextmanager
def record_attention(module: nn.Module) -> Iterator[list[Float[Tensor, "B H Tq Tk"]]]:
    """Append the weights of each attention in a module to a list, in the order of the calls.

    Yields the list: after one call of a model it holds one tensor for each layer.
    """
    layers = [part for part in module.modules() if isinstance(part, SelfAttention)]
    recorded: list[Tensor] = []
    for layer in layers:
        layer.attend = _recording(layer.attend, recorded)  # type: ignore[method-assign]
    try:
        yield recorded
    finally:
        for layer in layers:
            vars(layer).pop("attend", None)


def _recording(attend: Callable[..., AttentionSteps], recorded: list[Tensor]) -> Callable:
    def recording(*qkv: Tensor) -> AttentionSteps:
        steps = attend(*qkv)
        recorded.append(steps.weights.detach())
        return steps

    return recording
