"""What an answer is to whoever judges it: plain data, and functions that give plain data.

A check in a notebook and the grader, which gets answers from another process, both judge what
`to_plain` makes of one. So neither takes what the other does not.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

MOST_BYTES = 8 * 2**20  # of an answer, about
PART = 32  # bytes that each part of a list, set or dictionary counts for, and a number once more
MOST_IN_ARRAYS, MOST_IN_LISTS = MOST_BYTES // 8, MOST_BYTES // (2 * PART)  # numbers, about
MOST_ENTRIES = 10_000  # of all sets and dictionaries of an answer together
MOST_AXES = 64  # of an array or a tensor: NumPy has no more
MOST_BITS = 1024  # of a whole number: no float is larger
DEEPEST = 40  # lists within lists
TENSOR_TYPES = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "complex128",
)
COLLECTIONS = (list, tuple, set, frozenset)
CONVERSIONS: dict[type, Callable] = {
    str: str.__str__,
    int: int,
    float: float,
    complex: complex,
    bytes: bytes,
}


class NotSerialisable(ValueError):
    """An answer that cannot be handed in; the message says what it holds."""


def to_plain(value: object) -> Any:
    """The value, made of Python's own types, NumPy's arrays of numbers and torch's tensors alone.

    What is of a subclass becomes what it is a kind of; other numbers (fractions, decimals) and
    what NumPy reads as numbers become floats and arrays of floats; tensors leave their graph and
    device. A function becomes one whose results are made plain, too.
    Raises: NotSerialisable for the rest, such as a generator, and for what is too large.
    """
    return _Making().made(value, 0)


class _Making:
    """How much of MOST_BYTES and MOST_ENTRIES is left for the parts of one value."""

    def __init__(self) -> None:
        self.left = MOST_BYTES
        self.entries = MOST_ENTRIES

    def made(self, value: Any, depth: int) -> Any:
        if depth > DEEPEST:
            raise NotSerialisable(f"The answer holds lists within lists, more than {DEEPEST} deep.")
        self._take(PART)
        try:
            return self._made(value, depth + 1)
        except NotSerialisable:
            raise
        except Exception:  # whatever its own conversion raises
            _refuse(type(value).__name__)

    def _made(self, value: Any, deeper: int) -> object:
        if isinstance(value, dict | set | frozenset):
            self.entries -= len(value)
            if self.entries < 0:
                raise NotSerialisable(
                    f"The answer is too large: all its sets and dictionaries together may have "
                    f"{MOST_ENTRIES:,} entries. Lists and arrays may have more."
                )
        if isinstance(value, dict):
            return {self.made(k, deeper): self.made(v, deeper) for k, v in value.items()}
        for kind in COLLECTIONS:
            if isinstance(value, kind):
                return kind(self.made(part, deeper) for part in value)
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in "biufc":
            self._take(value.nbytes)
            return self.made(value.tolist(), deeper)
        return self._single(value)

    def _single(self, value: Any) -> object:
        """A value that holds no others."""
        if value is None or value is Ellipsis or isinstance(value, bool):
            return value
        if isinstance(value, np.ndarray | np.generic):
            self._take(value.nbytes)
            array = np.asarray(value)
            return array[()] if isinstance(value, np.generic) else array
        if (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
            self._take(value.nelement() * value.element_size())
            if value.ndim > MOST_AXES:
                raise NotSerialisable(
                    f"The answer holds a tensor of {value.ndim} axes; it may have {MOST_AXES}."
                )
            return _tensor(value)
        for kind, convert in CONVERSIONS.items():
            if isinstance(value, kind):
                self._take(4 * len(value) if isinstance(value, str | bytes) else PART)
                if isinstance(value, int) and value.bit_length() > MOST_BITS:
                    raise NotSerialisable("The answer holds a whole number too large for a float.")
                return convert(value)
        if isinstance(value, type) and hasattr(value, "named_modules"):  # a class of modules
            from helpers.exercises.pieces import as_function

            value = as_function(value)
        if callable(value):
            return _giving_plain(value)
        array = np.asarray(value, dtype=np.float64)
        return float(array) if array.ndim == 0 else self._single(array)

    def _take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise NotSerialisable(
                f"The answer is too large: an array may hold about {MOST_IN_ARRAYS:,} numbers, "
                f"lists {MOST_IN_LISTS:,}."
            )


def _tensor(value: Any) -> object:
    import torch

    name = str(value.dtype).removeprefix("torch.")
    is_dense = value.layout is torch.strided and not (value.is_nested or value.is_meta)
    if not is_dense or name not in TENSOR_TYPES:
        _refuse(f"Tensor ({value.dtype}, {value.layout}, on {value.device})")
    dense = value.detach().cpu().resolve_conj().resolve_neg()
    return dense.as_subclass(torch.Tensor)


def _giving_plain(function: Callable) -> Callable:
    """The function, with plain results, and `inside`, with which a check looks at it; see there."""

    def answer(*args: object, **kwargs: object) -> object:
        return to_plain(function(*args, **kwargs))

    # A function of another process is looked at there.
    answer.inside = getattr(function, "inside", partial(_inside, function))  # type: ignore[attr-defined]
    return answer


def _inside(function: Callable, look: str, *args: Any) -> object:
    """What a function of `helpers.exercises.inside` says of this one."""
    from helpers.exercises import inside

    return to_plain(getattr(inside, look)(function, *args))


def _refuse(kind: str) -> NoReturn:
    raise NotSerialisable(
        f"The answer holds something of type {kind[:80]}, which cannot be handed in. Numbers, text,"
        " arrays, tensors and functions can, and lists, tuples, sets and dictionaries of them."
    ) from None
