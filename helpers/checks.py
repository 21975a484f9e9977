"""Arguments held to their annotations at a function's door, so that no error comes from its depths.

An annotation says what kind an argument is: `int`, `Float[Tensor, "B T C"]`, `Tensor | None`. How
arguments fit one another, and which values make sense, the function says itself.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

import numpy as np
import torch
from jaxtyping import jaxtyped
from torch import Tensor

Checked = TypeVar("Checked", bound=Callable)
HALF = (torch.float16, torch.bfloat16)
LARGEST = 2**63  # from here on torch has no whole numbers
WORDS = {NoneType: "None", int: "a whole number", float: "a number"}


def checked(door: Checked) -> Checked:
    """Let a function, or a class when it is made, refuse by name what its annotations do not allow.

    One number of NumPy or torch goes in as Python's, a list as an array where one is annotated.
    Raises: TypeError for another type, ValueError for an array of another dtype or number of axes.
    """
    if isinstance(door, type):
        door.__init__ = checked(door.__init__)  # type: ignore[misc]
        return door
    signature = inspect.signature(door)
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = {
        name: (object,) if p.kind in several else _kinds(p.annotation)
        for name, p in signature.parameters.items()
    }

    @functools.wraps(door)
    def at_the_door(*args, **kwargs):
        if torch.compiler.is_compiling():
            return door(*args, **kwargs)
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return door(*args, **kwargs)  # Python says it better
        for name, value in given.arguments.items():
            given.arguments[name] = _allowed(name, value, wanted[name])
        return door(*given.args, **given.kwargs)

    return at_the_door  # type: ignore[return-value]


def at_least(least: int, /, **sizes: int) -> None:
    """Raise ValueError for the first size that is below the least."""
    for name, size in sizes.items():
        if size < least:
            raise ValueError(f"{name}={size} must be at least {least}")


def within(vocab_size: int, **ids: Tensor) -> None:
    """Raise ValueError where an id lies outside 0..V-1.

    Nobody looks on a device, for which a look would wait, nor inside of vmap and compile.
    """
    for name, found in ids.items():
        if found.numel() == 0 or found.device.type != "cpu" or torch.compiler.is_compiling():
            continue
        try:
            found = found.long()  # so that they are not compared in 8 bits
            fits = bool(found.min() >= 0 and found.max() < vocab_size)
        except RuntimeError:  # of vmap
            continue
        if not fits:
            raise ValueError(
                f"{name} reach from {found.min()} to {found.max()}; with vocab_size={vocab_size} "
                f"they must lie in 0..{vocab_size - 1}"
            )


def check_same_dtype(**tensors: Tensor) -> None:
    """Raise ValueError unless all are of one dtype: torch multiplies no others."""
    if len({tensor.dtype for tensor in tensors.values()}) > 1:
        found = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in tensors.items())
        raise ValueError(f"{' and '.join(tensors)} must be of one dtype: {found}")


def check_input(weight: Tensor, axes: int | None = None, /, **inputs: Tensor) -> None:
    """Raise ValueError unless inputs are as wide as a weight's rows, of its dtype, and have so many
    axes: for what a model calls at each step, where `checked` would be felt.

    A norm's input may also be of 16 bits, and autocast mixes dtypes on purpose. Raises: TypeError
    for what is no tensor.
    """
    for name, x in inputs.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{name} must be a tensor, not {_words(x)}")
        if axes is not None and x.ndim != axes:
            raise ValueError(f"{name} of shape {tuple(x.shape)} must have {axes} axes")
        if x.shape[-1:] != weight.shape[-1:]:
            raise ValueError(
                f"{name} of shape {tuple(x.shape)} must have {weight.shape[-1]} numbers a row"
            )
        if x.dtype == weight.dtype or (weight.ndim == 1 and x.dtype in HALF):
            continue
        if not torch.is_autocast_enabled(x.device.type):
            raise ValueError(f"{name} must be {weight.dtype}, as the weights are, not {x.dtype}")


def check_finite(**tensors: Tensor) -> None:
    """Raise ValueError unless all are finite and of 32 bits or more.

    For what measures: nan is like nothing, and comparisons with it go wrong in silence.
    """
    for name, tensor in tensors.items():
        if tensor.numel() == 0 or (tensor.is_floating_point() and tensor.dtype.itemsize < 4):
            found = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
            raise ValueError(f"{name} must hold numbers of at least 32 bits, not {found}")
        try:
            finite = bool(torch.isfinite(tensor).all())
        except RuntimeError:  # of vmap, or of a tensor without numbers
            continue
        if not finite:
            raise ValueError(f"{name} must hold finite numbers; some are nan or infinite")


def _kinds(annotation: Any) -> tuple[type, ...]:
    """The classes that an annotation allows: all, where it says nothing that can be asked."""
    if isinstance(annotation, UnionType):
        return sum((_kinds(part) for part in get_args(annotation)), ())
    kind = get_origin(annotation) or annotation
    asked = isinstance(kind, type) and kind is not inspect.Parameter.empty
    return (kind,) if asked else (object,)


@jaxtyped(typechecker=None)  # an argument by itself, whatever its caller's axes are called
def _allowed(name: str, value: Any, kinds: tuple[type, ...]) -> object:
    if int in kinds or float in kinds:
        if isinstance(value, Tensor) and value.requires_grad and value.ndim == 0:
            return value
        is_one = isinstance(value, Tensor | np.ndarray) and value.ndim == 0
        value = value.item() if is_one or isinstance(value, np.generic) else value
    if isinstance(value, list | tuple) and any(_is_of_numpy(kind) for kind in kinds):
        with suppress(ValueError):  # of rows that differ in length
            value = np.asarray(value)
    numbers = (int, float) if float in kinds else ()
    flag = isinstance(value, bool) and bool not in kinds and object not in kinds
    if flag or not isinstance(value, (*kinds, *numbers)):
        refusal = ValueError if isinstance(value, Tensor | np.ndarray) else TypeError
        allowed = " or ".join(WORDS.get(kind, kind.__name__) for kind in kinds)
        raise refusal(f"{name} must be {allowed}, not {_words(value)}")
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise ValueError(f"{name}={_words(value)} must be a number of 64 bits")
    if isinstance(value, Tensor) and value.layout != torch.strided:
        raise ValueError(f"{name} must be dense, not of layout {value.layout}")
    return value


def _is_of_numpy(kind: type) -> bool:
    return getattr(kind, "array_type", None) is np.ndarray


def _words(value: object) -> str:
    if isinstance(value, Tensor | np.ndarray):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    plain = value is None or isinstance(value, str | int | float | complex)
    return f"{value!r:.60}" if plain else f"of type {type(value).__name__}"
