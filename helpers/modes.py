"""Train mode or eval mode for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def in_mode(module: nn.Module, *, training: bool) -> Iterator[None]:
    """Put all of `module` in one mode, and each part back in its own afterwards."""
    before = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode
