"""Exercises that ask for a piece of minigpt: the reader's class, judged as a function of arrays."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from helpers import corpus, minigpt
from helpers.exercises.answers import NotSerialisable
from helpers.exercises.near_misses import NearMisses
from helpers.exercises.verdict import Wrong, call, exercise, numbers

STEPS, LEAST = 20, 0.5  # so many steps lower the loss by so much, with the book's own piece by 1.2
NEAR = 0.1  # nats from the first loss of the book's own
SMALL = {"T": 32, "C": 32, "H": 2, "L": 2}


def as_function(piece: type[nn.Module]) -> Callable[..., np.ndarray]:
    """The class as a function of its sizes, an input and its parameters.

    f(sizes, x, *parameters) gives the output for x of piece(*sizes), whose parameters are set in
    the order and under the names of minigpt's class. f() gives the losses of a small GPT with this
    class in it, at the first step and after twenty. Which class it replaces, the end of its name
    says: MyLayerNorm stands for LayerNorm. Raises: NotSerialisable where it says none.
    """
    for name, of_book in vars(minigpt).items():
        if isinstance(of_book, type) and piece.__name__.endswith(name):
            return lambda *given: _output(piece, of_book, *given) if given else _losses(piece, name)
    raise NotSerialisable(f"minigpt has no piece to which the name {piece.__name__} belongs")


def _output(
    piece: type[nn.Module],
    of_book: type[nn.Module],
    sizes: tuple,
    x: np.ndarray,
    *parameters: np.ndarray,
) -> np.ndarray:
    module = piece(*sizes).double()  # in training, so that dropout shows
    tensors = (torch.tensor(parameter) for parameter in parameters)
    module.load_state_dict(dict(zip(of_book(*sizes).state_dict(), tensors, strict=True)))
    with torch.no_grad():
        return module(torch.tensor(x)).numpy()


def _losses(piece: type[nn.Module], name: str) -> Float[np.ndarray, "2"]:
    tokenizer = minigpt.Tokenizer(text := corpus.load())
    pieces = vars(minigpt)
    of_book, pieces[name] = pieces[name], piece
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = pieces["GPT"](len(tokenizer.vocab), **SMALL)
            steps = minigpt.train(model, tokenizer.encode(text), STEPS, batch=8, lr=0.02)
            losses = [loss for _, loss in steps]
    finally:
        pieces[name] = of_book
    return np.array([losses[0], losses[-1]])


class Piece(NearMisses):
    """The judge of an exercise that asks for a piece of minigpt; see `piece`."""

    def __call__(self, answer: Any) -> None:
        """Judge an answer: by itself, then in a GPT that is trained for twenty steps."""
        super().__call__(answer)
        first, last = numbers(call(answer))
        if abs(first - (wanted := self.right()[0])) > NEAR:
            raise Wrong(
                f"It is right by itself. But before training minigpt has the loss {first:.2f} with "
                f"it, not {wanted:.2f}. What are its initial weights?"
            )
        if not last < first - LEAST:
            raise Wrong(
                f"It is right by itself. But in minigpt, {STEPS} steps of training bring the loss "
                f"from {first:.2f} to {last:.2f} and no lower."
            )


def piece(
    name: str,
    of_book: type[nn.Module],
    cases: Iterable[tuple],
    replies: dict[str, Any],
    **options: Any,
) -> None:
    """Register an exercise that asks for a class of minigpt, with the wrong ones people write.

    cases: each how the class is made, an x and the parameters; see `drawn`. replies: from the reply
    to the `forward` that gets it. options: as for `near_misses`.
    """
    wrong = {
        reply: as_function(type(of_book.__name__, (of_book,), {"forward": forward}))
        for reply, forward in replies.items()
    }
    exercise(name)(Piece(as_function(of_book), list(cases), wrong, **options))


def drawn(of_book: type[nn.Module], sizes: tuple, *shape: int, scale: float = 1.0) -> tuple:
    """A case for `piece`: sizes, an x of a shape, and the class's parameters, from N(0, 1)."""
    rng = np.random.default_rng(0)
    shapes = [tuple(parameter.shape) for parameter in of_book(*sizes).state_dict().values()]
    return sizes, scale * rng.normal(size=shape), *(rng.normal(size=one) for one in shapes)
