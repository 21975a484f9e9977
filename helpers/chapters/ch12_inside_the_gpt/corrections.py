"""Corrections for chapter 12: what the layers of a trained model do with a pronoun."""

import json
from importlib.resources import files

import numpy as np
from jaxtyping import Float

from helpers.corrections import corrects, number

LAYERS = 4
"""Of the readers that answer: enough for layers that have nothing left to decide."""


def _settings() -> list[dict]:
    """What was measured of readers of pronouns, by depth and by whether they read ahead."""
    path = files("helpers") / "data" / "results" / "12_inside_the_gpt.json"
    return json.loads(path.read_text("utf-8"))["pronouns"]["settings"]


def _stored(kind: str) -> Float[np.ndarray, "S ..."]:
    """What was measured of readers without a causal mask, asked at "it": a row a seed."""
    (found,) = (s for s in _settings() if not s["causal"] and s["L"] == LAYERS)
    return np.array([run[kind] for run in found["runs"]])


def _strongest_last() -> tuple[int, int]:
    """How many readers of two layers and more look hardest in the last, and how many there are."""
    deep = [(s["L"], run) for s in _settings() if s["L"] > 1 for run in s["runs"]]
    last = [np.mean(run["right"], axis=1).argmax() == L - 1 for L, run in deep]
    return sum(map(int, last)), len(last)


def _span(values: Float[np.ndarray, " N"]) -> str:
    """The smallest and the largest, in whole percent."""
    low, high = number(round(100 * values.min())), number(round(100 * values.max()))
    return f"{low} %" if low == high else f"{low} to {high} %"


@corrects(
    claim="From layer to layer, attention from “it” to its referent becomes stronger: undecided "
    "in layer 3, much higher in layer 4, the strongest in layer 5.",
    says="The deeper the layer, the more the attention of “it” settles on the referent.",
    why="The stream can keep what has been found, so late layers need not look again; whether they "
    "do depends on the model. In small readers trained on such sentences the answer at “it” is "
    "clearer after the last layer than after the first, while attention to the referent is mostly "
    "strongest early. "
    "A map of a late layer is, by itself, no evidence that anything is decided there.",
)
def attention_of_it_by_layer() -> str:
    """Attention to the right candidate by layer, and what cutting it does."""
    right_SL = _stored("right").mean(axis=2)
    lost_S = _stored("resolved") - _stored("cut right")[:, -1]
    last, all_readers = _strongest_last()
    layers = sorted(set((right_SL.argmax(axis=1) + 1).tolist()))
    return (
        f"in {len(right_SL)} readers of {LAYERS} layers, attention from “it” to the referent is "
        f"strongest in layer {' or '.join(map(str, layers))}, with "
        f"{_span(right_SL.max(axis=1))}, and {_span(right_SL[:, -1])} in layer {LAYERS}; where it "
        f"is cut in layer {LAYERS}, at most {_span(lost_S.max(keepdims=True))} of the answers "
        f"are lost; of all {all_readers} readers of two layers and more, {last} look hardest in "
        "the last"
    )
