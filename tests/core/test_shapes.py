"""All that takes or gives tensors says their shapes, so that jaxtyping can check them."""

import importlib
import inspect
import pkgutil

import numpy as np
import torch

import helpers

EMPTY = inspect.Parameter.empty
# What draws or judges in a chapter is held to it too; measurements hand plain numbers on.
TENSOR_MODULES = (
    "numerics",
    "attention",
    "bigram",
    "corpus",
    "embeddings",
    "positions",
    "norms",
    "blocks",
    "initialise",
    "gpt",
    "probes",
    "training",
    "worked",
    "figures",
    "exercises",
)
LIGHT = (("chapters", "figures"), ("chapters", "exercises"))
# Still to be annotated; nothing may be added here, and what is annotated goes.
PLAIN = ("figures.ladder", "chapters.ch03_bigram_table", "chapters.ch06_scaling_by_sqrt_dk")
BARE = ("Tensor", "torch.Tensor", "np.ndarray", "ndarray", torch.Tensor, np.ndarray)


def functions(module):
    """The public functions that a module defines, and the public methods of its classes."""
    own = [
        thing
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]
    methods = [method for thing in own if inspect.isclass(thing) for method in vars(thing).values()]
    for function in own + methods:
        if inspect.isfunction(function) and not function.__name__.startswith("_"):
            yield function


def is_held(name: str) -> bool:
    parts = name.split(".")[1:]
    held = parts[0] in TENSOR_MODULES or (parts[0], parts[-1]) in LIGHT
    return held and not ".".join(parts).startswith(PLAIN)


def unshaped(function) -> list[str]:
    signature = inspect.signature(function)
    hints = {p.name: p.annotation for p in signature.parameters.values() if p.name != "self"}
    hints["the result"] = signature.return_annotation
    return [
        f"{function.__module__}.{function.__qualname__}: {name} has no shape"
        for name, hint in hints.items()
        if hint is EMPTY or hint in BARE
    ]


def test_tensors_are_annotated_with_shapes():
    found = []
    for module in pkgutil.walk_packages(helpers.__path__, "helpers."):
        if is_held(module.name):
            for function in functions(importlib.import_module(module.name)):
                found += unshaped(function)
    assert found == []


def test_a_tensor_without_a_shape_is_caught():
    def scaled(x: torch.Tensor, by: float): ...

    assert [words.rpartition(": ")[2] for words in unshaped(scaled)] == [
        "x has no shape",
        "the result has no shape",
    ]
