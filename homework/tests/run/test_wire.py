"""Plain data crosses unchanged; nothing else does, and no line can do harm."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from homework.run import wire
from homework.run.wire import WireError, decode, encode

NUMBERS = st.integers() | st.floats() | st.complex_numbers()
KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
PLAIN = st.recursive(
    KEYS | NUMBERS | st.just(...),
    lambda parts: st.lists(parts) | st.tuples(parts, parts) | st.dictionaries(KEYS, parts),
    max_leaves=20,
)
TYPES = (
    arrays.boolean_dtypes()
    | arrays.integer_dtypes(endianness="<")
    | arrays.floating_dtypes(endianness="<", sizes=(16, 32, 64))
    | arrays.complex_number_dtypes(endianness="<", sizes=(64, 128))
)


def same(a, b) -> bool:
    """Equal in type and to the last bit, nan to nan."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex() if math.isfinite(a) else repr(a) == repr(b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(x, y) for x, y in zip(a.items(), b.items(), strict=True)
        )
    return a == b


@given(PLAIN)
def test_plain_data_crosses_unchanged(value):
    line = encode(value)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert same(decode(line), value)


@given(arrays.arrays(TYPES, arrays.array_shapes(min_dims=0, min_side=0, max_dims=3)))
def test_arrays_cross_unchanged(value):
    found = decode(encode(value))
    assert found.dtype == value.dtype
    assert found.shape == value.shape
    assert found.tobytes() == value.tobytes()
    found[...] = 0  # it may be written to


@pytest.mark.parametrize("name", sorted(wire.TENSOR_TYPES))
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_tensors_cross_unchanged(name, shape):
    generator = torch.Generator().manual_seed(0)
    value = (3 * torch.randn(shape, generator=generator)).to(getattr(torch, name))
    found = decode(encode(value))
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    assert torch.equal(found, value)


class AgreesWithAll:
    def __eq__(self, other):
        return True

    __hash__ = None


class AgreeableArray(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, dtype=bool)


class AgreeableTensor(torch.Tensor):
    def __eq__(self, other):
        return torch.ones(self.shape, dtype=bool)


def test_no_method_of_a_students_class_crosses():
    assert type(decode(encode(np.zeros(3).view(AgreeableArray)))) is np.ndarray
    assert type(decode(encode(torch.zeros(3).as_subclass(AgreeableTensor)))) is torch.Tensor
    for value in (AgreesWithAll(), type("Mine", (float,), {})(1), type("L", (list,), {})([1])):
        with pytest.raises(WireError, match="is not plain data"):
            encode([value])


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_too_deep_and_too_long(monkeypatch):
    circle = []
    circle.append(circle)
    for value in (circle, nested(60)):
        with pytest.raises(WireError, match="more than 50 deep"):
            encode(value)
    with pytest.raises(WireError, match="digits"):
        encode(10**5000)
    monkeypatch.setattr(wire, "MOST_BYTES", 1000)
    with pytest.raises(WireError, match="bytes; at most 1000 cross"):
        encode("x" * 1000)
    with pytest.raises(WireError, match="at most 1000 are read"):
        decode(b'"' + b"x" * 1000 + b'"\n')


def packed_list(depth):
    return b'["list",' * depth + b"1" + b"]" * depth


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"[]",
        b"NaN",
        b'["unknown"]',
        b'["kept", "a"]',
        b'["float", "x"]',
        b'["dict", [["list"], 1]]',
        b'["tensor", "object", [1], ""]',
        b"\xff\xfe",
        b'["array", "|O", [1], "AAAAAAAAAAA="]',
        b'["array", "<f8", [-1], "AAAAAAAAAAA="]',
        b'["array", "f8,f8", [0], ""]',
        b'["tensor", "float32", [1000000000], ""]',
        b'["tensor", "float32", ["a"], ""]',
        packed_list(60),
        packed_list(100_000),
        b'["float", "0x1p99999"]',
        b"1" * 5000,
        b'["array","f8,(1 2)f8",[1],"AAAAAAAAAAA="]',  # a SyntaxError in NumPy
        b'["array",">f8",[1],"AAAAAAAAAAA="]',
        b'["tensor","float32",[' + b",".join([b"1"] * 5000) + b'],"AAAAAA=="]',
        b'["set",' + b",".join(b"%d" % (k * (2**61 - 1)) for k in range(20_000)) + b"]",
    ],
    ids=lambda line: line[:40],
)
def test_a_line_that_is_no_message_raises_and_does_nothing_else(line):
    with pytest.raises(WireError):
        decode(line)


def test_who_sends_many_large_sets_is_not_waited_for():
    """Where all entries have one hash, each set takes a second."""
    one = f'["set",{",".join(map(str, range(wire.MOST_ENTRIES)))}]'
    assert len(decode(one.encode())) == wire.MOST_ENTRIES
    with pytest.raises(WireError, match="have too many entries"):
        decode(f'["list",{",".join([one] * 3)}]'.encode())
