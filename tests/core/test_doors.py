"""Each argument that a public function checks: the last value that it takes, the first it refuses.

A valid call (calls.py) is changed in one argument; the error must name that argument and say what
came. The checks of shapes that tests have besides are off, as they are for a reader.
"""

import ast
import re
from functools import partial
from math import inf, nan

import numpy as np
import pytest
import torch
from calls import CALLS, TEXT
from support import HELPERS
from torch import Tensor

from helpers import checks
from helpers.initialise import FAMILIES
from helpers.norms import NormSpec

pytestmark = pytest.mark.no_shape_check


def put(value, *, row=False):
    """An array with its first number, or its first row, made this."""

    def changed(array):
        other = array.clone() if isinstance(array, Tensor) else array.copy()
        other[(0,) * (other.ndim - row)] = value
        return other

    return changed


def opposed(array):
    """Two numbers alone, of which the sum is 0 and the squares are infinite."""
    return put(-1e30)(put(1e30)(0 * array).flip(0)).flip(0)


def wider(array, axis=-1):
    """An array with one number more in each row."""
    both = [array, array[..., :1] if axis else array[:1]]
    return torch.cat(both, axis) if isinstance(array, Tensor) else np.concatenate(both, axis)


def longer(array):
    return wider(array, 0)


def none(array):
    return array[:0]


def first(array):
    return array[0]


def less_wide(array):
    return array[..., :-1]


def double(array):
    return array.double()


def half(array):
    return array.half()


# What is still taken and what no longer is; a function stands for what it makes of a valid value.
# Where the error names another argument than the one that was changed, that follows.
POSITIVE, COUNT, NAMED = ([1], [0, -2]), ([0], [-1]), ([], ["nonsense"])
SPREAD = ([0.0], [-1e-9, inf, nan])  # of eps and standard deviations
SHARE = ([0.0, 1.0], [-0.01, 1.01, nan])
BASE, PAIRED = ([1e-3], [0.0, 1e-300, inf, nan]), ([2], [0, -2, 3])
IDS = ([put(0), put(4)], [put(-1), put(5)])  # of a vocabulary of 5
MEASURED = ([], [put(nan), put(inf), half, none])
SQUARED = ([put(9e18)], [*MEASURED[1], put(1e19), opposed, lambda x: nan * x])
SUITS = ([half], [None, wider, double])  # a norm's input
INTO_MAPS = ([], [None, wider, double, first])
COUNTS = (
    [put(0), lambda x: torch.tensor(1.0 * x, requires_grad=True)],
    [put(-1), lambda x: 0 * x, lambda x: put(inf)(1.0 * x), less_wide],
)
EDGES = {
    "attention_steps": {
        "q": ([], [wider, double, longer, less_wide, lambda x: x[:, :0]]),
        "k": ([], [wider, double, longer, lambda x: x[:, :-1], lambda x: x[:, :0]]),
        "v": ([wider], [double, longer, lambda x: x[:, :-1]]),
        "mask": (
            [lambda x: x[:1], put(False)],
            [wider, longer, Tensor.float, put(False, row=True)],
        ),
        "attn_bias": ([put(-inf)], [wider, put(nan), put(inf), put(-inf, row=True)]),
    },
    "causal_mask": {"length": ([2], [1, 0]), "queries": ([1, 4], [0, 5])},
    "SelfAttention": {"width": ([2], [0, -2, 7]), "heads": ([1, 8], [0, -2, 3])},
    "SelfAttention.forward": {"x_BTC": ([none], [*INTO_MAPS[1], lambda x: x[:, :0]])},
    "AddNorm": {
        "sublayer": ([], [3]),
        "norm": ([], [None]),
        "residual": ([False], ["no", 1]),
        "placement": (["post"], ["nonsense"]),
        "dropout": SHARE,
    },
    "Block": {
        "width": ([2], [0, -2, 7]),
        "heads": ([1, 8], [0, -2, 3]),
        "placement": NAMED,
        "norm": NAMED,
        "activation": NAMED,
        "dropout": SHARE,
    },
    "FeedForward": {"width": POSITIVE, "hidden": POSITIVE, "activation": NAMED},
    "FeedForward.forward": {"x": ([first], INTO_MAPS[1][:3])},
    "count_bigrams": {"ids": ([*IDS[0], lambda x: x[:2]], [*IDS[1], lambda x: x[:1]])},
    "conditional_entropy": {"counts": COUNTS},
    "smoothed": {"counts": COUNTS, "add": SPREAD},
    "cross_entropy_of": {
        "probabilities": (
            [lambda x: x * (1 + 0.9e-6)],
            [lambda x: x * (1 + 1.1e-6), put(-0.5), put(nan), np.eye(2), less_wide],
        ),
        "counts": COUNTS,
    },
    "MarkovChain": {
        "table": (
            [np.eye(1)],
            [np.eye(3), np.array([[1.5, -0.5], [0.5, 0.5]]), put(nan), lambda x: x.T, less_wide],
        ),
    },
    "MarkovChain.sample": {"n": POSITIVE},
    "BigramLanguageModel": {"vocab_size": POSITIVE},
    "BigramLanguageModel.forward": {"ids_BT": IDS},
    "BigramLanguageModel.generate": {"ids_BT": (IDS[0], [*IDS[1], lambda x: x[:, :0]]), "n": COUNT},
    "loss": {
        "logits_BTV": ([], [none, less_wide, first], "targets_BT|logits_BTV"),
        "targets_BT": (IDS[0], [*IDS[1], none, lambda x: x.mT]),
    },
    "load": {
        "name": ([], [3, None, "nonsense"], "name|nonsense"),
        "context": ([None, 1], [0, -1, 2.5, True, 10**9]),
    },
    "CharTokenizer": {"text": (["a"], [""])},
    "CharTokenizer.encode": {"text": ([""], [lambda x: "the box"])},
    "CharTokenizer.decode": {"ids": ([none], [put(-1), put(len(set(TEXT)))])},
    "PieceTokenizer": {"text": (["a"], [""]), "least": POSITIVE},
    "PieceTokenizer.encode": {"text": ([""], [lambda x: "the box"])},
    "PieceTokenizer.decode": {"ids": ([none], [put(-1), put(999)])},
    "WordTokenizer": {"text": (["a"], [""])},
    "WordTokenizer.encode": {"text": ([""], [lambda x: "the box"])},
    "WordTokenizer.decode": {"ids": ([none], [put(-1), put(99)])},
    "split": {"fraction": ([0.05, 0.95], [0.0, 0.04, 0.999999999, 1.0, nan]), "ids": ([], [none])},
    "batches": {"batch_size": POSITIVE, "context": ([1, 19], [0, 20])},
    "windows": {"batch_size": POSITIVE, "context": ([1, 19], [0, 20])},
    "prune_rare": {"at_least": ([1], [0, 99]), "ids": ([], [none])},
    "context_windows": {"reach": ([1, 4], [0, 5])},
    "CBOW": {"vocab_size": POSITIVE, "width": POSITIVE},
    "CBOW.forward": {"ids_BW": (IDS[0], [*IDS[1], lambda x: x[:, :0]])},
    "NGrams": {"vocab_size": POSITIVE, "width": POSITIVE, "longest": ([2], [1])},
    "NGrams.forward": {"ids": IDS},
    "one_hot": {"ids": IDS, "vocab_size": ([5], [0, -1])},
    "table_bytes": {"vocab_size": POSITIVE, "width": POSITIVE, "bits": POSITIVE},
    "remap_vocabulary": {
        "rows": ([], [longer]),
        "old_words": ([], [["a", "a"], ["a"]], "old_words|rows"),
        "new_words": ([["a"]], [["c", "c"], []]),
        "start": ([], [wider, less_wide]),
    },
    "quantised": {"table": MEASURED, "bits": ([2, 8], [1, 9])},
    "similarities": {
        "query": ([], [*SQUARED[1], wider, double]),
        "measure": NAMED,
        "table": (SQUARED[0], [*SQUARED[1], wider, double]),
    },
    "neighbours": {
        "table": SQUARED,
        "row": ([0, 5], [-1, 6]),
        "k": ([1, 5], [0, 6]),
        "measure": NAMED,
    },
    "similarity_matrix": {"table": SQUARED, "measure": NAMED},
    "nearest": {"table": ([lambda x: x[:2]], [*SQUARED[1], lambda x: x[:1]]), "measure": NAMED},
    "centre": {"table": MEASURED},
    "principal": {"table": SQUARED},
    "whiten": {"table": ([lambda x: x[:4]], [*SQUARED[1], lambda x: x[:3], lambda x: 0 * x])},
    "anisotropy": {"table": ([lambda x: x[:2]], [*SQUARED[1], lambda x: x[:1]])},
    "rank_correlation": {
        "first": ([], [put(nan), put(inf), longer, lambda x: 0 * x]),
        "second": ([], [longer, lambda x: 0 * x, lambda x: x * nan, lambda x: x * inf]),
    },
    "GPTConfig": {
        **dict.fromkeys(("vocab_size", "context", "layers", "ngrams"), ([1], [0, 1.5, True])),
        **dict.fromkeys(("norm", "placement", "positions", "activation", "start"), NAMED),
        **dict.fromkeys(("tied", "qk_norm"), ([False], [1, None])),
        "heads": ([1], [0, 3, 8, 1.0]),
        "width": ([4], [0, 7, 10, 8.0]),  # an odd head has no pairs
        "dropout": ([0, 0.99], [-0.01, 1.0, nan, "0.1"]),
    },
    "GPT.forward": {"ids_BT": (IDS[0], [*IDS[1], lambda x: x[:, :0]]), "offset": ([], [-1, 1, 3])},
    "GPT.generate": {
        "ids_BT": (IDS[0], [*IDS[1], none, lambda x: x[:, :0], first]),
        "n": COUNT,
        "temperature": ([0.0], [-0.1, inf, nan]),
        "top_k": ([1, 5], [0, 6]),
        "top_p": ([1e-9, 1.0], [0.0, 1.01, nan]),
        "stop": ([0, 4], [-1, 5]),
    },
    "fixed": {"std": SPREAD},
    "draw": {"fan_out": POSITIVE, "fan_in": POSITIVE},
    "Scheme": {"family": ([*FAMILIES], ["nonsense"]), "std": ([], [0.1, "0.1"])},
    "residual_factor": {"blocks": POSITIVE},
    "initialise": {
        "embedding": SPREAD,
        "residual": SPREAD,
        "packed": ([None, {"qkv": 1}], [{"qkv": 0}, {"qkv": -3}]),
    },
    "normalise": {
        "eps": SPREAD,
        "x": ([none], [lambda x: x[..., :0]]),
        "axes": (
            [(-3,), (2,), (0, -1), (np.int64(1),)],
            [(), (3,), (-4,), (1, 1), (1, -2), (0, 3), (-1.0,), (True,)],
        ),
    },
    "normalise_over": {
        "eps": SPREAD,
        "x_BTC": ([none], [lambda x: x[..., :0], lambda x: x[:, :0]]),
        "spec": (
            [NormSpec(over="B", groups=4)],
            [
                NormSpec(over="C", groups=1),
                NormSpec(over="", groups=0),
                NormSpec(over="", groups=3),
                NormSpec(over="", groups=-2),
            ],
            "over|groups",
        ),
    },
    **{
        norm: {"width": POSITIVE, "eps": SPREAD}
        for norm in ("LayerNorm", "RMSNorm", "InstanceNorm")
    },
    "BatchNorm": {"width": POSITIVE, "eps": SPREAD, "momentum": SHARE},
    "GroupNorm": {"width": ([2], [0, -2, 3]), "groups": ([1, 4], [0, 3, -2]), "eps": SPREAD},
    "LayerNorm.forward": {"x": SUITS},
    "RMSNorm.forward": {"x": SUITS},
    "BatchNorm.forward": {"x": SUITS, "valid": ([None], [wider, first, lambda x: ~x])},
    **{
        norm: {"x_BTC": ([half, none], [*SUITS[1], first, lambda x: x[:, :0]])}
        for norm in ("InstanceNorm.forward", "GroupNorm.forward")
    },
    "masked_statistics": {"valid": ([None], [wider, first, lambda x: ~x, Tensor.int])},
    **{
        name: {
            "scores": ([put(-inf), put(-1e300)], [put(nan), put(inf), lambda x: x[..., :0]]),
            "axis": ([0, -2], [2, -3]),
        }
        for name in ("logsumexp", "softmax", "log_softmax")
    },
    "softmax_jacobian": {
        "p": ([lambda x: x * (1 + 0.9e-6)], [lambda x: x * (1 + 1.1e-6), put(-0.5), put(nan)])
    },
    "entropy": {
        "p": ([lambda x: x * (1 - 0.9e-6)], [lambda x: x * (1 - 1.1e-6), put(-0.5)]),
        "axis": ([], [0, 2, -3]),
    },
    "cross_entropy": {
        "targets": ([put(2)], [put(-1), put(3), longer, none]),
        "logits": ([], [longer, put(nan)]),
    },
    "mean": {"x": ([], [none]), "axis": ([-2, (0, 1)], [2, -3, (0, 2)])},
    "variance": {
        "x": ([], [none]),
        "axis": ([-2, (0, -1)], [2, -3, (0, 2)]),
        "ddof": ([5], [6, -1], "x|ddof"),
    },
    "attention_weights": {
        "q": ([], [wider]),
        "k": ([], [wider, lambda x: x[None]]),
        "mask": ([first, put(False)], [wider, longer, put(False, row=True)]),
    },
    "attention": {"v": ([wider], [longer, lambda x: x[None]])},
    "sinusoidal": {"length": POSITIVE, "width": PAIRED, "base": BASE},
    "Sinusoidal": {"width": PAIRED, "base": BASE},
    "Sinusoidal.forward": {"length": COUNT, "offset": COUNT},
    "Learned": {"context": POSITIVE, "width": POSITIVE},
    "Learned.forward": {"length": ([0, 6], [-1, 7]), "offset": ([0, 4], [-1, 5])},
    "Rotary": {"width": PAIRED, "base": BASE},
    "Rotary.forward": {"x": ([], [wider, less_wide]), "offset": COUNT},
    "alibi_slopes": {"heads": POSITIVE},
    "alibi": {"heads": POSITIVE, "queries": ([1, 5], [0, 6]), "keys": ([3], [2])},
    "depends_on": {"x": MEASURED},
    "reads": {
        "x_BTC": MEASURED,
        "at": ([(1, 2)], [(-1, 0), (2, 0), (0, -1), (0, 3), (0,), (0, 0, 0)]),
    },
    "leaks": {"x_BTC": MEASURED},
    "number": {"digits": COUNT},
    "matrix": {"digits": COUNT, "values": ([first], [lambda x: x[None]])},
    "matrix_product": {"left": ([lambda x: x[:1]], [wider]), "right": ([wider], [longer])},
    "dot_product": {"left": ([], [wider]), "right": ([], [wider])},
    "scale": {"width": POSITIVE},
    "weighted_sum": {"weights": ([], [wider]), "vectors": ([wider], [longer])},
    "attention_of_one_query": {
        "query": ([], [wider]),
        "keys": ([], [wider, longer], "query|tokens"),
        "values": ([wider], [longer]),
        "tokens": ([], [["a", "b"]]),
    },
    "TrainingConfig": {
        **dict.fromkeys(("evaluate_every", "checkpoint_every", "context"), ([1], [0, 1.5, True])),
        "steps": ([2], [0, 1, 2.5]),
        "batch_size": ([2], [0, 3, 2.0]),
        "accumulate": ([1, 4], [0, 8]),
        **dict.fromkeys(("lr", "matrix_lr", "weight_decay"), ([0], [-0.1, inf, nan, "1"])),
        **dict.fromkeys(("optimizer", "precision", "decay"), NAMED),
        "betas": ([(0, 0.99)], [(-0.1, 0), (0.0, 1.0), (0.9,), [0.9, 0.9], ("a", 0.9)]),
        "momentum": ([0, 0.99], [-0.1, 1.0, nan]),
        "warmup": ([0, 10], [-1, 11, 1.5]),
        "final": ([0, 1], [-0.1, 1.1, nan]),
        "clip": ([None, 1e-9], [0, -1.0, nan, "1"]),
        "seed": ([2**64 - 1], [2**64, -1, 0.5]),
        "compile": ([True], ["no", 1, None]),
    },
    "train": {"steps": ([1, 3], [0, -1]), "batches": ([], [[], [(1, 2, 3)], [3]])},
    "evaluate": {"windows": ([], [[], [(1, 2, 3)], [3]])},
    "adamw": {
        **dict.fromkeys(("lr", "weight_decay"), ([0, 9.0], [-0.1, inf, nan, "1"])),
        "named": ([], [{}]),
        "betas": ([(0, 0.99)], [(), (0.9,), (0.9, 1.0), (-0.1, 0), ("a", 0)]),
    },
    "Muon": {
        "params": ([], [[], [torch.nn.Parameter(torch.ones(3))]]),
        **dict.fromkeys(("lr", "weight_decay"), ([0, 9.0], [-0.1, inf, nan])),
        "momentum": ([0, 0.99], [-0.1, 1.0, nan]),
    },
    "newton_schulz": {"steps": ([0], [-1]), "dtype": ([torch.float64], [torch.int64])},
    "fit": {
        "model": ([], [3]),
        "config": ([], [None]),
        "resume": ([False], ["no", True]),
        "train_ids": (IDS[0], [*IDS[1], lambda x: x[:4], Tensor.float]),
        "validation_ids": ([lambda x: x[:5]], [*IDS[1], lambda x: x[:4]]),
    },
    "CombinedOptimizer": {"named": ([], [3, {"weight": None}], "named|weight")},
    "lr_factor": {
        "step": ([0, 10], [-1, 11]),
        "steps": ([2], [0, 1]),
        "warmup": ([0, 10], [-1, 11]),
        "final": ([0.0, 1.0], [-0.1, 1.1, nan]),
        "decay": NAMED,
    },
}
ARGUMENTS = [(name, argument) for name, edges in EDGES.items() for argument in edges]


def call(name, argument, edge):
    """The function called with one argument at an edge; what came of it, and the argument."""
    function, valid = CALLS[name]
    given = edge(valid[argument]) if callable(edge) else edge
    found = function(**valid | {argument: given})
    return found if name not in ("batches", "windows") else next(iter(found))


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_the_last_value_is_taken_and_the_first_beyond_is_refused_by_name(name, argument):
    taken, refused, *words = EDGES[name][argument]
    for edge in taken:
        call(name, argument, edge)
    for edge in refused:
        with pytest.raises((ValueError, TypeError)) as caught:
            call(name, argument, edge)
        said = str(caught.value)
        assert re.search(rf"\b({(words or [argument])[0]})\b", said), (edge, said)
        if isinstance(edge, int | float | str):
            assert str(edge) in said, (edge, said)


def door_of(function) -> str:
    """Module and name of what a call goes through: of a class, what makes it."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type):
        function = function.__init__
    return f"{function.__module__}.{function.__qualname__}"


def doors() -> dict[str, set[str]]:
    """Each function of the core that is `checked` or asks `checks`, and what it asks about."""
    found = {}
    for path in [*HELPERS.glob("*.py"), *(HELPERS / "training").glob("*.py")]:
        module = ".".join(path.relative_to(HELPERS.parent).with_suffix("").parts)
        for top in ast.parse(path.read_text("utf-8")).body if path.stem != "checks" else ():
            inside = top.body if isinstance(top, ast.ClassDef) else []
            for one, within in [(top, ""), *((part, f"{top.name}.") for part in inside)]:
                if "checked" in map(ast.unparse, getattr(one, "decorator_list", [])):
                    made = ".__init__" if isinstance(one, ast.ClassDef) else ""
                    found.setdefault(f"{module}.{within}{one.name}{made}", set())
                if isinstance(one, ast.FunctionDef) and not one.name.startswith("_c"):
                    for argument in asked(one):
                        found.setdefault(f"{module}.{within}{one.name}", set()).add(argument)
    return found


def asked(function: ast.FunctionDef) -> set[str]:
    """The arguments that a function hands to a shared check, by name."""
    shared = [name for name in vars(checks) if name[0] != "_"] + ["_squarable"]
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {k.arg for c in calls if ast.unparse(c.func) in shared for k in c.keywords if k.arg}


def test_each_door_of_the_core_and_what_it_checks_is_tried_here():
    tried = {door_of(CALLS[name][0]): set(edges) for name, edges in EDGES.items()}
    known = {door_of(function) for function, _ in CALLS.values()}
    assert len(doors()) > 70
    assert doors().keys() - known == set()
    assert {
        door: asked - tried.get(door, set())
        for door, asked in doors().items()
        if not asked <= tried.get(door, set())
    } == {}
