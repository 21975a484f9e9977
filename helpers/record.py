"""Record the attention weights of a model while it runs."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

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
    with ExitStack() as replaced:
        for layer in layers:
            attend = _recording(layer.attend, recorded)
            replaced.enter_context(patch.object(layer, "attend", attend))
        yield recorded


def _recording(attend: Callable[..., AttentionSteps], recorded: list[Tensor]) -> Callable:
    def recording(*qkv: Tensor | None) -> AttentionSteps:
        steps = attend(*qkv)
        recorded.append(steps.weights.detach())
        return steps

    return recording
