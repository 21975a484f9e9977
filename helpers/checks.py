"""Arguments held to their annotations at a function's door, so that no error comes from its depths.

An annotation says what kind an argument is: `int`, `Float[Tensor, "B T C"]`, `Tensor | None`. How
arguments fit one another, and which values make sense, the function says itself.
"""

import functools
import inspect
import numbers
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

import numpy as np
from torch import Tensor

Checked = TypeVar("Checked", bound=Callable)
NUMBERS = {int: numbers.Integral, float: numbers.Real}  # NumPy's own are as good as Python's
WORDS = {NoneType: "None", numbers.Integral: "a whole number", numbers.Real: "a number"}


def checked(door: Checked) -> Checked:
    """Let a function, or a class when it is made, refuse by name what its annotations do not allow.

    Raises: TypeError for another type, ValueError for an array of another dtype or number of axes.
    """
    if isinstance(door, type):
        door.__init__ = checked(door.__init__)  # type: ignore[misc]
        return door
    signature = inspect.signature(door)
    wanted = {name: _kinds(p.annotation) for name, p in signature.parameters.items()}

    @functools.wraps(door)
    def at_the_door(*args, **kwargs):
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if not isinstance(value, wanted[name]):
                refusal = ValueError if isinstance(value, Tensor | np.ndarray) else TypeError
                allowed = " or ".join(WORDS.get(kind, kind.__name__) for kind in wanted[name])
                raise refusal(f"{name} must be {allowed}, not {_words(value)}")
        return door(*args, **kwargs)

    return at_the_door  # type: ignore[return-value]


def _kinds(annotation: Any) -> tuple[type, ...]:
    """The classes that an annotation allows: all, where it says nothing that can be asked."""
    if isinstance(annotation, UnionType):
        return sum((_kinds(part) for part in get_args(annotation)), ())
    kind = NoneType if annotation is None else get_origin(annotation) or annotation
    if not isinstance(kind, type) or kind is inspect.Parameter.empty:
        return (object,)
    return (NUMBERS.get(kind, kind),)


def _words(value: object) -> str:
    if isinstance(value, Tensor | np.ndarray):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    plain = value is None or isinstance(value, str | numbers.Number)
    return f"{value!r:.60}" if plain else f"of type {type(value).__name__}"
