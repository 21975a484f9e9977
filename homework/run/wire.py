"""What crosses between the grader and the sandbox: plain data as a line of JSON.

    encode(value, keep)   bytes of one line; what is not plain goes through keep(value)
    decode(line, fetch)   the value; fetch(name) gives what stands for something that was kept

Plain are None, ..., booleans, numbers, text, bytes, lists, tuples, sets and dicts of these, NumPy
arrays and scalars of numbers or booleans, and torch tensors. Everything is made anew from built-in
types, arrays and tensors, so that no method of a student's class, such as an `__eq__` that always
agrees, comes across. Nothing is unpickled here, and nothing in a line can name a class or run code.
"""

from __future__ import annotations

import base64
import builtins
import json
import marshal
import math
import re
import sys
from collections.abc import Callable
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.exercises.answers import MOST_AXES, MOST_ENTRIES, TENSOR_TYPES

if TYPE_CHECKING:
    import torch  # else only where a tensor crosses: most commands need none, and it loads slowly

MOST_BYTES = 64 * 2**20  # of a line
DEEPEST = 50  # lists within lists
ARRAY_TYPES = re.compile(r"[<|][biufc]\d{1,2}")  # NumPy's names of bool, int, float, complex …
MOST_HASHED = 2 * MOST_ENTRIES  # of a line's sets and dicts: an answer's, and those around it


class WireError(ValueError):
    """A value that cannot cross, or a line that is no message; says what is wrong with it."""


def encode(value: object, keep: Callable[[object], str] | None = None) -> bytes:
    """One line for a plain value.

    keep: gives a name to what is not plain (a function, a module), under which the other side
    can ask for it. Raises: WireError where there is no keep, or the value is too deep or long.
    """
    packed = _packed(value, keep, 0)
    try:
        line = json.dumps(packed, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    except ValueError as error:  # a whole number of thousands of digits
        raise WireError(str(error)) from error
    if len(line) > MOST_BYTES:
        raise WireError(f"a value of {len(line)} bytes; at most {MOST_BYTES} cross")
    return line


def decode(line: bytes, fetch: Callable[[str], object] | None = None) -> Any:
    """The value of a line that `encode` made.

    fetch: gives what stands here for something kept there. Raises: WireError for anything else
    than a whole line of `encode`, and nothing but WireError.
    """
    if len(line) > MOST_BYTES:
        raise WireError(f"a line of {len(line)} bytes; at most {MOST_BYTES} are read")
    try:
        return _unpacked(json.loads(line), fetch, 0, [MOST_HASHED])
    except WireError:
        raise
    except Exception as error:  # a line may be made to raise anything, a SyntaxError in np.dtype
        raise WireError(f"this is no message: {type(error).__name__}") from error


# ---------------------------------------------------------------- from values


def _packed(value, keep, depth: int) -> Any:
    """What JSON can hold: None, booleans, text and whole numbers as they are, else [tag, …].

    Types are compared by identity: a subclass may do what it likes, and is not plain.
    """
    if depth > DEEPEST:
        raise WireError(f"lists within lists, more than {DEEPEST} deep")
    kind = type(value)
    if value is None or kind in (bool, str, int):
        return value
    if value is Ellipsis:
        return ["..."]
    if kind is float:
        return ["float", value.hex() if math.isfinite(value) else repr(value)]
    if kind is complex:
        return ["complex", _packed(value.real, keep, depth), _packed(value.imag, keep, depth)]
    if kind is bytes:
        return ["bytes", base64.b64encode(value).decode()]
    if kind in (list, tuple, set, frozenset):
        return [kind.__name__, *(_packed(part, keep, depth + 1) for part in value)]
    if kind is dict:
        return ["dict", *([_packed(x, keep, depth + 1) for x in pair] for pair in value.items())]
    if (torch := sys.modules.get("torch")) is not None and isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        return _array(value)
    if keep is None:
        raise WireError(f"{kind.__name__} is not plain data")
    return ["kept", keep(value)]


def _array(value) -> list:
    scalar = isinstance(value, np.generic)
    plain = np.ascontiguousarray(np.asarray(value))
    dtype = plain.dtype.newbyteorder("<")
    data = base64.b64encode(plain.astype(dtype).tobytes()).decode()
    return ["scalar" if scalar else "array", dtype.str, list(np.shape(value)), data]


def _tensor(value: torch.Tensor) -> list:
    import torch

    plain = value.detach().cpu()
    if plain.layout is not torch.strided or (name := str(plain.dtype)[6:]) not in TENSOR_TYPES:
        raise WireError(f"tensors of {plain.dtype} and {plain.layout} do not cross")
    raw = plain.as_subclass(torch.Tensor).contiguous().reshape(-1).view(torch.uint8)
    return ["tensor", name, list(plain.shape), base64.b64encode(raw.numpy().tobytes()).decode()]


# ---------------------------------------------------------------- and back


def _unpacked(packed, fetch, depth: int, left: list[int]) -> Any:
    """left: how many entries the line's sets and dicts may still have, for some take long: those
    that all have one hash.
    """
    if depth > DEEPEST:
        raise WireError(f"lists within lists, more than {DEEPEST} deep")
    if packed is None or isinstance(packed, bool | str | int):
        return packed
    if not isinstance(packed, list) or not packed:
        raise WireError("this is no message")
    tag, *parts = packed
    if tag in ("set", "frozenset", "dict"):
        left[0] -= len(parts)
        if len(parts) > MOST_ENTRIES or left[0] < 0:
            raise WireError("its sets and dictionaries have too many entries")
    if tag == "...":
        return ...
    if tag == "float":
        (text,) = parts
        return float(text) if text in ("nan", "inf", "-inf") else float.fromhex(text)
    if tag == "complex":
        return complex(*(_unpacked(part, fetch, depth, left) for part in parts))
    if tag == "bytes":
        return base64.b64decode(parts[0], validate=True)
    if tag in ("list", "tuple", "set", "frozenset"):
        kind = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[tag]
        return kind(_unpacked(part, fetch, depth + 1, left) for part in parts)
    if tag == "dict":
        pairs = ([_unpacked(part, fetch, depth + 1, left) for part in pair] for pair in parts)
        return dict(pairs)  # which refuses what is no pair
    if tag in ("array", "scalar"):
        return _to_array(tag, *parts)
    if tag == "tensor":
        return _to_tensor(*parts)
    if tag == "kept" and fetch is not None and isinstance(parts[0], str):
        return fetch(parts[0])
    raise WireError(f"this is no message: {str(tag)[:20]!r}")


def _to_array(tag: str, code: str, shape: list, data: str):
    if not ARRAY_TYPES.fullmatch(code):
        raise WireError(f"no type of numbers: {code[:20]!r}")
    dtype = np.dtype(code)
    array = np.frombuffer(base64.b64decode(data, validate=True), dtype).reshape(_checked(shape))
    return array[()] if tag == "scalar" else array.copy()


def _to_tensor(name: str, shape: list, data: str) -> torch.Tensor:
    import torch

    raw = bytearray(base64.b64decode(data, validate=True))
    if name not in TENSOR_TYPES:
        raise WireError(f"no type of tensors: {str(name)[:20]!r}")
    dtype = getattr(torch, name)
    flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    return flat.reshape(_checked(shape))


def _checked(shape: list) -> tuple[int, ...]:
    """A shape of whole numbers from 0 on; -1 would mean something to reshape."""
    if len(shape) > MOST_AXES or not all(type(n) is int and n >= 0 for n in shape):
        raise WireError("this is no shape")
    return tuple(shape)


# ---------------------------------------------------------------- functions of the book's


def function_of(code: bytes, names: dict, closed: tuple) -> FunctionType:
    """A function of compiled code, the global names that it reads and what it closes over."""
    names = {"__builtins__": builtins, **names}
    return FunctionType(marshal.loads(code), names, closure=tuple(map(CellType, closed)))
