"""The names that other work builds on, with their signatures; docstrings and shapes for all."""

import dataclasses
import importlib
import inspect
import pkgutil

import numpy as np
import pytest
import torch

import helpers
from helpers import (
    attention,
    bigram,
    corpus,
    corrections,
    exercises,
    explore,
    numerics,
    training,
    worked,
)
from helpers import figures as figures_package

EMPTY = inspect.Parameter.empty

# A function or class: its parameters as they are called; * before what goes by keyword alone.
SIGNATURES = {
    numerics.softmax: "scores, axis=-1",
    numerics.log_softmax: "scores, axis=-1",
    numerics.logsumexp: "scores, axis=-1",
    numerics.entropy: "p, axis=-1",
    numerics.cross_entropy: "logits, targets",
    numerics.mean: "x, axis",
    numerics.variance: "x, axis, ddof=0",
    numerics.softmax_jacobian: "p",
    numerics.attention: "q, k, v, allowed=None",
    attention.attention_steps: "q, k, v, *, allowed=None, tilt=None",
    bigram.count_bigrams: "ids, vocab_size",
    bigram.conditional_entropy: "counts",
    bigram.smoothed: "counts, add=1.0",
    bigram.MarkovChain: "table",
    bigram.MarkovChain.sample: "self, n, generator",
    bigram.BigramLanguageModel: "vocab_size",
    bigram.BigramLanguageModel.forward: "self, ids_BT",
    bigram.BigramLanguageModel.generate: "self, ids_BT, n, generator",
    corpus.CharTokenizer: "text",
    corpus.WordTokenizer: "text",
    corpus.split: "ids, fraction=0.9",
    corpus.batches: "ids, *, batch_size, context, generator",
    training.train: "module, loss, batches, *, steps, optimizer, on_step=None",
    explore.explore: "draw, *, title, describe, **controls",
    explore.predict: "question, choices=None, *, number=False, curve=None, wrong=None",
    explore.Prediction.reveal: "self, answer, because=''",
    explore.Prediction.html: "self, answer, because=''",
    exercises.check: "name, answer, *, solution=False",
    worked.matrix: "values, digits=3",
    figures_package.use_book_style: "",
}


def called(function) -> str:
    """The parameters of a function as they are written, annotations left out."""
    signature = inspect.signature(function)
    plain = [p.replace(annotation=EMPTY) for p in signature.parameters.values()]
    said = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return said.removeprefix("(").removesuffix(")")


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda f: f"{f.__module__}.{f.__qualname__}")
def test_signature_is_fixed(function):
    assert called(function) == SIGNATURES[function]


def test_load_takes_a_name_and_a_context():
    parameters = inspect.signature(corpus.load).parameters
    assert parameters["name"].default == "tales"
    assert parameters["context"].kind is inspect.Parameter.KEYWORD_ONLY


def test_attention_steps_are_a_frozen_dataclass():
    names = [field.name for field in dataclasses.fields(attention.AttentionSteps)]
    assert names == ["scores", "scaled", "weights", "output"]
    assert attention.AttentionSteps.__dataclass_params__.frozen


def test_corrections_are_a_tuple_with_these_fields():
    assert isinstance(corrections.CORRECTIONS, tuple)
    names = {field.name for field in dataclasses.fields(corrections.Correction)}
    assert {"chapter", "document", "lines", "claim", "says", "right", "why"} <= names


def test_values_that_are_fixed():
    assert np.array_equal(bigram.ABC_TABLE, [[0.1, 0.7, 0.2], [0.5, 0.1, 0.4], [0.2, 0.3, 0.5]])
    model = bigram.BigramLanguageModel(3)
    assert isinstance(model.table, torch.nn.Embedding)
    assert model(torch.zeros(1, 2, dtype=torch.int64)).shape == (1, 2, 3)
    assert {field.name for field in dataclasses.fields(training.Record)} >= {"step", "loss"}
    chain = bigram.MarkovChain(bigram.ABC_TABLE)
    assert chain.stationary.shape == (3,)
    assert chain.entropy_rate > 0
    tokenizer = corpus.CharTokenizer("ba")
    assert (tokenizer.vocab, len(tokenizer)) == (("a", "b"), 2)
    assert tokenizer.decode(tokenizer.encode("ab")) == "ab"


# ------------------------------------------------------------- all that is public

MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(helpers.__path__, "helpers.")
]


def public(module):
    """The public functions and classes that a module defines, and the methods of those classes."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing):
            yield thing
        if inspect.isclass(thing):
            yield thing
            yield from (
                method
                for method_name, method in vars(thing).items()
                if inspect.isfunction(method) and not method_name.startswith("_")
            )


PUBLIC = {f"{t.__module__}.{t.__qualname__}": t for module in MODULES for t in public(module)}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_module_says_what_it_is_for(module):
    assert module.__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_public_thing_says_what_it_does(name):
    if ".exercises.chapter" in name:
        pytest.skip("the checks themselves are private; what is public in them is shared")
    assert (PUBLIC[name].__doc__ or "").strip()


TENSOR_MODULES = (
    "numerics", "attention", "bigram", "corpus", "embeddings", "positions", "norms", "blocks",
    "initialise", "gpt", "training", "worked", "figures", "exercises",
)  # fmt: skip
# Still to be annotated; nothing may be added here, and what is annotated goes.
PLAIN = ("figures.bigram_table", "figures.ladder", "figures.scaling", "exercises.chapter03",
         "exercises.chapter06")  # fmt: skip
BARE = ("Tensor", "torch.Tensor", "np.ndarray", "ndarray", torch.Tensor, np.ndarray)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, thing in PUBLIC.items()
        if name.split(".")[1] in TENSOR_MODULES
        and inspect.isfunction(thing)
        and not name.removeprefix("helpers.").startswith(PLAIN)
    ],
)
def test_tensors_are_annotated_with_shapes(name):
    signature = inspect.signature(PUBLIC[name])
    for parameter in signature.parameters.values():
        if parameter.name != "self":
            assert parameter.annotation is not EMPTY, f"{parameter.name} is not annotated"
            assert parameter.annotation not in BARE, f"{parameter.name} has no shape"
    assert signature.return_annotation is not inspect.Signature.empty
    assert signature.return_annotation not in BARE, "the result has no shape"
