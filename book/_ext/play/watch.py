"""The page *Watch it learn*: a GPT that trains in the page.

``train-model.js`` and ``train-loop.js`` are helpers/minigpt.py by hand. ``train-kernel.js`` has
their matrix products, whose SIMD form, ``train-kernel.wat``, is assembled here.
"""

from __future__ import annotations

import base64

import wasmtime

from play import ASSETS

ALGORITHM = ("train-kernel", "train-model", "train-loop")


def scripts() -> list[str]:
    """Return the scripts that train, in their order."""
    return [(ASSETS / f"{name}.js").read_text("utf-8") for name in ALGORITHM]


def kernel() -> str:
    """Return the WebAssembly of the matrix products, in base64."""
    text = (ASSETS / "train-kernel.wat").read_text("utf-8")
    return base64.b64encode(wasmtime.wat2wasm(text)).decode()
