"""Modules, parameters and generators of random numbers as arguments of a student's function.

A judge may hand such an object to a function that changes it, as an initialiser changes a module.
The sandbox gets a copy; what the call did to the copy is then done to the original. So a
judge works with its own objects, and nothing comes back but numbers:

    grader                                            sandbox
    export(args)        objects become `RemoteRef` data  ->  import_(args)  and objects again
    sync_back(…)        numbers into the originals       <-  returned(…)    numbers of the copies

An optimiser of torch.optim comes back as its name and its settings, and is made anew here.
"""

from __future__ import annotations

import builtins
import io
import marshal
import struct
import sys
from collections.abc import Callable
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from helpers.exercises.answers import is_optimizer
from homework.run.wire import RemoteRef, WireError

if TYPE_CHECKING:
    import torch  # else only where something is exported, as in `wire`

TWISTER = 624  # numbers that a generator makes at a time


def export(args: object, originals: list) -> Any:
    """Arguments with a `RemoteRef` for each object that is shared; these go to originals."""
    if (torch := sys.modules.get("torch")) is None:
        return args  # there can be no such object
    shared = (torch.nn.Module, torch.nn.Parameter, torch.Generator)

    def lend(value):
        if not isinstance(value, shared):
            return value
        originals.append(value)
        return _described(len(originals) - 1, value)

    return _walk(args, lend)


def _described(number: int, value: object) -> RemoteRef:
    import torch

    if isinstance(value, torch.nn.Parameter):
        return RemoteRef(number, "parameter", value.detach())
    if isinstance(value, torch.Generator):
        return RemoteRef(number, "generator", value.get_state())
    file = io.BytesIO()
    torch.save(value, file)
    return RemoteRef(number, "module", file.getvalue())


def import_(args: object, copies: list) -> Any:
    """Objects in the place of `RemoteRef`, which go to copies; in the sandbox.

    Unpickling is safe there: what comes is the grader's.
    """

    def take(value):
        if not isinstance(value, RemoteRef):
            return value
        import torch

        if value.kind == "parameter":
            copies.append(torch.nn.Parameter(value.data))
        elif value.kind == "generator":
            copies.append(torch.Generator().set_state(value.data))
        else:
            copies.append(torch.load(io.BytesIO(value.data), weights_only=False))
        return copies[-1]

    return _walk(args, take)


def returned(value: Any, copies: list) -> tuple[object, list]:
    """What a call gave, and the numbers of all copies after it; in the sandbox."""
    numbers = [[_numbers(copy), _ties(copy)] for copy in copies]
    at = {id(copy): number for number, copy in enumerate(copies)}
    if id(value) in at:
        return RemoteRef(at[id(value)], "same"), numbers
    if is_optimizer(value):
        groups = [_settings(group, at) for group in value.param_groups]
        return RemoteRef(-1, "optimizer", [type(value).__name__, groups]), numbers
    return value, numbers


def _settings(group: dict, at: dict[int, int]) -> dict:
    return {**group, "params": [at.get(id(parameter), -1) for parameter in group["params"]]}


def _numbers(thing: Any) -> list[torch.Tensor]:
    import torch

    if isinstance(thing, torch.Generator):
        return [thing.get_state()]
    return [thing] if isinstance(thing, torch.nn.Parameter) else list(thing.state_dict().values())


def _ties(thing: object) -> list[int]:
    """Of each tensor the place of the first that lies in the same memory: a tied weight's own."""
    places = [tensor.data_ptr() for tensor in _numbers(thing)]
    return [places.index(place) for place in places]


def sync_back(value: object, numbers: object, originals: list) -> object:
    """Do to the originals what was done to the copies, and give what the call gave.

    Raises: WireError where what came does not fit them.
    """
    if not isinstance(numbers, list) or len(numbers) != len(originals):
        raise WireError("the numbers of what was exported did not come back")
    for original, new in zip(originals, numbers, strict=True):
        _put(original, new)
    if not isinstance(value, RemoteRef):
        return value
    if value.kind == "same" and 0 <= value.number < len(originals):
        return originals[value.number]
    if value.kind == "optimizer":
        return _optimizer(value.data, originals)
    raise WireError("something came back that was not exported")


def _put(original: object, new: Any) -> None:
    """Numbers into an original. Raises: WireError, and it stays as it was."""
    import torch

    old = _numbers(original)
    if not (type(new) is list and len(new) == 2 and all(type(part) is list for part in new)):
        raise WireError("what was exported came back as something else")
    tensors, ties = new
    if not all(type(place) is int for place in ties) or ties != _ties(original):
        raise WireError("weights that shared their numbers no longer do, or others now do")
    if len(tensors) != len(old) or not all(map(_is_like, old, tensors)):
        raise WireError("what was exported came back with other shapes or types")
    if isinstance(original, torch.Generator):
        _set_state(original, tensors[0])
        return
    with torch.no_grad():
        for mine, theirs in zip(old, tensors, strict=True):
            mine.copy_(theirs)


def _set_state(generator: torch.Generator, state: torch.Tensor) -> None:
    """Raises: WireError for bytes that are no state of a Mersenne Twister.

    Of its 624 numbers so many are left and so many were given out. PyTorch does not look whether
    the two agree, and would read behind the last one.
    """
    left, given = struct.unpack("=8xi4xQ", bytes(state[:24].tolist()))
    try:
        if not (left + given == TWISTER + 1 or (left, given) == (1, 0)):
            raise WireError(f"of {TWISTER} random numbers {given} were given and {left} are left")
        generator.set_state(state)
    except Exception as error:  # other bytes can be wrong, too
        raise WireError(f"a generator came back in a state that is none: {error}") from error


def _is_like(mine: torch.Tensor, theirs: object) -> bool:
    import torch

    same = isinstance(theirs, torch.Tensor) and (theirs.shape, theirs.dtype)
    return same == (mine.shape, mine.dtype)


def _optimizer(data: Any, originals: list) -> torch.optim.Optimizer:
    """One of torch's own, made anew with the settings that came."""
    import torch

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
        rate = {"lr": groups[0]["lr"]} if "lr" in groups[0] else {}
        return made(settings, **rate)  # each group has its own; this one is looked at
    except WireError:
        raise
    except Exception as error:  # settings of all kinds, from a process that nobody trusts
        raise WireError(f"this optimiser cannot be made: {error}") from error


def _walk(value: Any, change: Callable[[Any], object]) -> Any:
    """The value with each thing in its lists, tuples and dicts changed."""
    if type(value) in (list, tuple):
        return type(value)(_walk(part, change) for part in value)
    if type(value) is dict:
        return {key: _walk(part, change) for key, part in value.items()}
    return change(value)


def function_of(code: bytes, names: dict, closed: tuple) -> FunctionType:
    """A function of compiled code, the global names that it reads and what it closes over."""
    names = {"__builtins__": builtins, **names}
    return FunctionType(marshal.loads(code), names, closure=tuple(map(CellType, closed)))
