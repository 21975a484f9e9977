"""Exercises that ask for a piece of the book's models: a class, judged as a function of arrays."""

from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from helpers import corpus, minigpt, minillama
from helpers.exercises.answers import NotSerialisable
from helpers.exercises.near_misses import NearMisses
from helpers.exercises.verdict import Wrong, call, exercise, numbers

STEPS, LEAST = 20, 0.5  # so many steps lower the loss by so much, with the book's own piece by 1.2
NEAR = 0.1  # nats from the first loss of the book's own
MODELS: dict[ModuleType, Callable[[int], nn.Module]] = {
    minigpt: lambda V: minigpt.GPT(V, T=32, C=32, H=2, L=2),
    minillama: lambda V: minillama.Llama(V, T=32, C=32, H=4, G=2, L=2, hidden=88),
}
AROUND: dict[
    type, tuple[Callable[..., nn.Module], int]
] = {  # pieces that take a layer: which, and how many of the sizes are its own
    minillama.CachedAttention: (minillama.GroupedQueryAttention, 4),
    minillama.LoRA: (partial(nn.Linear, bias=False), 2),
}


def as_function(piece: type[nn.Module]) -> Callable[..., np.ndarray]:
    """The class as a function of its sizes, an input and its parameters.

    f(sizes, x, *parameters) gives the output for x of piece(*sizes) in training, with these
    parameters, by the names of the book's class or in its order; f("evaluation", …) that in
    evaluation; f("dropout", …) 1 where some numbers of a head, but not all, are 0 at the first
    token, else 0; f("gradients", …) whether x and each parameter get one, if it is trained;
    f("initial", sizes) what each parameter begins with, nan where its numbers differ. f() puts the
    class into a small model and gives the losses at the first step of training and after twenty, or
    what a cache writes. Which class it replaces, the end of its name says: MyLayerNorm stands for
    LayerNorm. Raises: NotSerialisable where it says none, and where the parameters are others.
    """
    for module in (minillama, minigpt):
        for name, of_book in vars(module).items():
            is_piece = isinstance(of_book, type) and issubclass(of_book, nn.Module)
            if is_piece and piece.__name__.endswith(name):
                alone, inside = partial(_output, piece, of_book), partial(_inside, piece, module)
                return lambda *given: alone(*given) if given else inside(name)
    raise NotSerialisable(f"the book has no piece to which the name {piece.__name__} belongs")


def _made(piece: type[nn.Module], of_book: type[nn.Module], sizes: tuple) -> nn.Module:
    layer, own = AROUND.get(of_book, (None, 0))
    return piece(*([layer(*sizes[:own])] if layer else []), *sizes[own:])


def _output(
    piece: type[nn.Module],
    of_book: type[nn.Module],
    *given: Any,
) -> np.ndarray:
    what, sizes, *rest = given if isinstance(given[0], str) else ("training", *given)
    module = _made(piece, of_book, sizes).double().train(what != "evaluation")
    own = _parameters(module, _made(of_book, of_book, sizes))
    if what == "initial":
        both = ((one.min().item(), one.max().item()) for one in own)
        return np.array([least if least == most else np.nan for least, most in both])
    x_BTC, *values = map(torch.tensor, rest)
    for one, value in zip(own, values, strict=True):
        one.data = value
    if what == "gradients":
        leaves = [x_BTC.requires_grad_(x_BTC.is_floating_point()), *own]
        if (found := module(x_BTC.clone())).requires_grad:
            found.sum().backward()
        lacking = [one.requires_grad and one.grad is None for one in leaves]
        return np.array(of_book is minillama.CachedAttention or not any(lacking))
    with torch.no_grad():
        if what == "dropout":
            is_kept = module(x_BTC)[:, 0].unflatten(-1, (sizes[1], -1)) != 0
            return (is_kept.any(dim=-1) & ~is_kept.all(dim=-1)).any().double().numpy()
        if of_book is minillama.CachedAttention:  # a prompt, then token by token
            return torch.cat([module(x) for x in x_BTC.tensor_split((3, 4), dim=1)], dim=1).numpy()
        if of_book is minillama.LoRA:  # beside its layer, and merged
            beside_BTC, merged = module(x_BTC), module.merge()
            if not callable(merged):
                raise NotSerialisable("Its `merge` should return the layer.")
            return torch.stack([beside_BTC, merged(x_BTC)]).numpy()
        return module(x_BTC).numpy()


def _parameters(module: nn.Module, of_book: nn.Module) -> list[nn.Parameter]:
    """The module's parameters as the book's has them; buffers are its own affair."""
    own, theirs = (dict(one.named_parameters()) for one in (module, of_book))
    shapes, wanted = ({n: tuple(p.shape) for n, p in one.items()} for one in (own, theirs))
    if shapes == wanted:
        return [own[name] for name in theirs]
    if [*shapes.values()] == [*wanted.values()]:
        return [*own.values()]
    lacking = {name: shape for name, shape in wanted.items() if shapes.get(name) != shape}
    other = {name: shape for name, shape in shapes.items() if wanted.get(name) != shape}
    lacks = f"It lacks the parameters {lacking}. " if lacking else ""
    raise NotSerialisable(lacks + (f"It should not have {other}." if other else ""))


def _inside(piece: type[nn.Module], module: ModuleType, name: str) -> np.ndarray:
    """What a small model of the book's does with the piece in place of its own."""
    tokenizer = minigpt.Tokenizer(text := corpus.load())
    ids_N = tokenizer.encode(text)
    with (
        torch.random.fork_rng(devices=[]),
        patch.object(minillama, "RMSNorm", nn.RMSNorm),  # homework withholds the book's, for 14.1
        patch.object(module, name, piece),
    ):
        torch.manual_seed(0)
        model = MODELS[module](len(tokenizer.vocab))
        if name == "CachedAttention":
            for parameter in model.parameters():
                parameter.data *= 4  # or it would repeat one token
            return np.array([i.item() for i in minillama.stream(model, ids_N[None, :8], STEPS)])
        if name == "LoRA":
            model.requires_grad_(False)
            for part in (*(block.feed_forward for block in model.blocks), model):
                for child, layer in [*part.named_children()]:
                    if isinstance(layer, nn.Linear):
                        setattr(part, child, piece(layer, 8, 16))
        losses = [loss for _, loss in minigpt.train(model, ids_N, STEPS, batch=8, lr=0.02)]
    return np.array([losses[0], losses[-1]])


class Piece(NearMisses):
    """The judge of an exercise that asks for a piece of the book's models; see `piece`."""

    def __call__(self, answer: Any) -> None:
        """Judge an answer: by itself, then in a small model."""
        super().__call__(answer)
        sizes = self.cases[0][0]
        if not numbers(call(answer, "gradients", *self.cases[0])).all():
            raise Wrong(
                "Its numbers are right. But in training its input, or one of its parameters, gets "
                "no gradient from them."
            )
        found, wanted = (numbers(call(one, "initial", sizes)) for one in (answer, self.right))
        if (found != wanted)[~np.isnan(wanted)].any():
            raise Wrong(
                "It is right by itself. But a parameter that should begin with all its numbers at "
                "0, or at 1, begins otherwise."
            )
        found, wanted = numbers(call(answer)), self.right()
        if len(wanted) > 2:
            if not np.array_equal(found, wanted):
                raise Wrong(
                    "It is right by itself. But with one in each block the model writes other "
                    "tokens than with the book's. Does each keep something of its own?"
                )
            return
        (first, last), wanted = found, wanted[0]
        if abs(first - wanted) > NEAR:
            raise Wrong(
                f"It is right by itself. But before training the model has the loss {first:.2f} "
                f"with it, not {wanted:.2f}. What are its initial weights?"
            )
        if not last < first - LEAST:
            raise Wrong(
                f"It is right by itself. But {STEPS} steps of training with it bring the loss from "
                f"{first:.2f} to {last:.2f} and no lower."
            )


def piece(
    name: str,
    of_book: type[nn.Module],
    cases: Iterable[tuple],
    replies: dict[str, Any],
    **options: Any,
) -> None:
    """Register an exercise that asks for a class of the book, with the wrong ones people write.

    cases: each how the class is made, an x and the parameters; see `drawn`. replies: from the reply
    to the `forward` that gets it, or a dict of methods. options: as for `near_misses`.
    """
    wrong = {
        reply: as_function(
            type(
                of_book.__name__, (of_book,), made if isinstance(made, dict) else {"forward": made}
            )
        )
        for reply, made in replies.items()
    }
    exercise(name)(Piece(as_function(of_book), list(cases), wrong, unchanged="", **options))


def drawn(of_book: type[nn.Module], sizes: tuple, *shape: int, scale: float = 1.0) -> tuple:
    """A case for `piece`: sizes, an x of a shape, and the class's parameters, from N(0, 1)."""
    rng = np.random.default_rng(0)
    shapes = [
        tuple(parameter.shape) for parameter in _made(of_book, of_book, sizes).state_dict().values()
    ]
    return sizes, scale * rng.normal(size=shape), *(rng.normal(size=one) for one in shapes)
