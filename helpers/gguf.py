"""GGUF files, in which llama.cpp keeps models: their 4-bit and 8-bit blocks as float32.

The format, version 3, is described at github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import io
import math
import struct
from typing import Any

import numpy as np
import torch
from torch import Tensor


def q8_0(blocks: np.ndarray) -> np.ndarray:
    """8-bit blocks as float32: (n, 34) bytes to (n, 32), a float16 scale times 32 int8."""
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return scale * blocks[:, 2:].view(np.int8)


def q4_1(blocks: np.ndarray) -> np.ndarray:
    """4-bit blocks as float32: (n, 20) bytes to (n, 32).

    A block is a float16 scale, a float16 minimum and 16 bytes. Their low halves are the first 16
    numbers, their high halves the others.
    """
    scale, least = blocks[:, :4].copy().view(np.float16).astype(np.float32).T[..., None]
    numbers = np.empty((len(blocks), 32), np.float32)
    numbers[:, :16], numbers[:, 16:] = blocks[:, 4:] & 15, blocks[:, 4:] >> 4
    numbers *= scale
    numbers += least
    return numbers


TENSORS = {0: (4, 1, lambda x: x.copy().view("<f4")), 3: (20, 32, q4_1), 8: (34, 32, q8_0)}
NUMBERS = dict(enumerate("BbHhIif?--Qqd"))  # struct's letter of each kind


def read_gguf(data: bytes) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The metadata and the tensors (float32) of a GGUF file.

    Raises ValueError for what is no GGUF file of version 3, one that ends early, and for a tensor
    in a format other than F32, Q4_1 and Q8_0.
    """
    file = io.BytesIO(data)

    def number(letter: str) -> Any:
        size = struct.calcsize(letter)
        if len(found := file.read(size)) < size:
            raise ValueError("this GGUF file ends early")
        return struct.unpack("<" + letter, found)[0]

    def value(kind: int) -> Any:
        if kind == 8:
            return file.read(number("Q")).decode("utf-8")
        if kind == 9:
            kind = number("I")
            return [value(kind) for _ in range(number("Q"))]
        return number(NUMBERS[kind])

    if file.read(4) != b"GGUF" or number("I") != 3:
        raise ValueError("this is no GGUF file of version 3")
    n_tensors, n_entries = number("Q"), number("Q")
    metadata = {value(8): value(number("I")) for _ in range(n_entries)}
    found = []
    for _ in range(n_tensors):
        name, shape = value(8), [number("Q") for _ in range(number("I"))]
        found.append((name, shape[::-1], number("I"), number("Q")))
    align = metadata.get("general.alignment", 32)
    begin = -(-file.tell() // align) * align
    tensors = {}
    for name, shape, kind, offset in found:
        if kind not in TENSORS:
            raise ValueError(f"{name} is in GGUF's format {kind}; read are F32, Q4_1 and Q8_0")
        size, numbers, decode = TENSORS[kind]
        n = math.prod(shape) // numbers
        if begin + offset + n * size > len(data):
            raise ValueError("this GGUF file ends early")
        raw = np.frombuffer(data, np.uint8, n * size, begin + offset)
        tensors[name] = torch.from_numpy(decode(raw.reshape(n, size))).reshape(shape)
    return metadata, tensors
