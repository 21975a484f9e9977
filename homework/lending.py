"""Modules, parameters and generators of random numbers as arguments of a student's function.

A judge may hand such an object to a function that changes it, as an initialiser changes a module.
The student's process gets a copy; what the call did to the copy is then done to the original. So a
judge works with its own objects, and nothing comes back but numbers:

    grader                                            student's process
    lent(args)        objects become `Lent` data  ->  borrow(args)   and objects again
    settle(...)       numbers into the originals  <-  returned(...)  numbers of the copies

An optimiser of torch.optim comes back as its name and its settings, and is made anew here.
"""

import io
from collections.abc import Callable

import torch
from torch import nn

from homework.wire import Lent, WireError

SHARED = (nn.Module, nn.Parameter, torch.Generator)


def lent(args: object, originals: list) -> object:
    """Arguments with `Lent` in the place of each object that is shared; these go to originals."""

    def lend(value):
        if not isinstance(value, SHARED):
            return value
        originals.append(value)
        return _described(len(originals) - 1, value)

    return _walk(args, lend)


def _described(number: int, value: object) -> Lent:
    if isinstance(value, nn.Parameter):
        return Lent(number, "parameter", value.detach())
    if isinstance(value, torch.Generator):
        return Lent(number, "generator", value.get_state())
    file = io.BytesIO()
    torch.save(value, file)
    return Lent(number, "module", file.getvalue())


def borrow(args: object, copies: list) -> object:
    """Objects in the place of `Lent`, which go to copies; in the student's process.

    Unpickling is safe there: what comes is the grader's.
    """

    def take(value):
        if not isinstance(value, Lent):
            return value
        if value.kind == "parameter":
            copies.append(nn.Parameter(value.data))
        elif value.kind == "generator":
            copies.append(torch.Generator().set_state(value.data))
        else:
            copies.append(torch.load(io.BytesIO(value.data), weights_only=False))
        return copies[-1]

    return _walk(args, take)


def returned(value: object, copies: list) -> tuple[object, list]:
    """What a call gave, and the numbers of all copies after it; in the student's process."""
    numbers = [[_numbers(copy), _ties(copy)] for copy in copies]
    at = {id(copy): number for number, copy in enumerate(copies)}
    if id(value) in at:
        return Lent(at[id(value)], "same"), numbers
    if type(value).__module__.startswith("torch.optim") and hasattr(value, "param_groups"):
        groups = [_settings(group, at) for group in value.param_groups]
        return Lent(-1, "optimizer", [type(value).__name__, groups]), numbers
    return value, numbers


def _settings(group: dict, at: dict[int, int]) -> dict:
    return {**group, "params": [at.get(id(parameter), -1) for parameter in group["params"]]}


def _numbers(thing: object) -> list[torch.Tensor]:
    if isinstance(thing, torch.Generator):
        return [thing.get_state()]
    return [thing] if isinstance(thing, nn.Parameter) else list(thing.state_dict().values())


def _ties(thing: object) -> list[int]:
    """Of each tensor the place of the first that lies in the same memory: a tied weight's own."""
    places = [tensor.data_ptr() for tensor in _numbers(thing)]
    return [places.index(place) for place in places]


def settle(value: object, numbers: object, originals: list) -> object:
    """Do to the originals what was done to the copies, and give what the call gave.

    Raises: WireError where what came does not fit them.
    """
    if not isinstance(numbers, list) or len(numbers) != len(originals):
        raise WireError("the numbers of what was lent did not come back")
    for original, new in zip(originals, numbers, strict=True):
        _put(original, new)
    if not isinstance(value, Lent):
        return value
    if value.kind == "same" and 0 <= value.number < len(originals):
        return originals[value.number]
    if value.kind == "optimizer":
        return _optimizer(value.data, originals)
    raise WireError("something came back that was not lent")


def _put(original: object, new: object) -> None:
    old = _numbers(original)
    fits = isinstance(new, list) and len(new) == 2 and isinstance(new[0], list)
    if fits and new[1] != _ties(original):
        raise WireError("weights that shared their numbers no longer do, or others now do")
    new = new[0] if fits else []
    if (
        not fits
        or len(new) != len(old)
        or any(
            not isinstance(b, torch.Tensor) or (a.shape, a.dtype) != (b.shape, b.dtype)
            for a, b in zip(old, new, strict=True)
        )
    ):
        raise WireError("what was lent came back with other shapes or types")
    if isinstance(original, torch.Generator):
        original.set_state(new[0])
        return
    with torch.no_grad():
        for mine, theirs in zip(old, new, strict=True):
            mine.copy_(theirs)


def _optimizer(data: object, originals: list) -> torch.optim.Optimizer:
    """One of torch's own, made anew with the settings that came."""
    try:
        name, groups = data
        made = getattr(torch.optim, name)
        if not issubclass(made, torch.optim.Optimizer):
            raise WireError(f"torch.optim has no optimiser {name}")
        if any(number < 0 for group in groups for number in group["params"]):
            raise WireError("the optimiser holds parameters that it was not given")
        settings = [
            {**group, "params": [originals[number] for number in group["params"]]}
            for group in groups
        ]
        return made(settings, **_required(made, groups[0]))
    except WireError:
        raise
    except Exception as error:  # settings of all kinds, from a process that nobody trusts
        raise WireError(f"this optimiser cannot be made: {error}") from error


def _required(made: type, settings: dict) -> dict:
    """A rate for those that do not have one by themselves; each group has its own anyway."""
    return {"lr": settings["lr"]} if made is torch.optim.SGD and "lr" in settings else {}


def _walk(value: object, change: Callable[[object], object]) -> object:
    """The value with each thing in its lists, tuples and dicts changed."""
    if type(value) in (list, tuple):
        return type(value)(_walk(part, change) for part in value)
    if type(value) is dict:
        return {key: _walk(part, change) for key, part in value.items()}
    return change(value)
