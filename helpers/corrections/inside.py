"""Corrections for chapter 12: what the layers of a trained model do with a pronoun."""

import json
from importlib.resources import files

import numpy as np
from jaxtyping import Float

from helpers.corrections.correction import Correction, collected, corrects, number

LAYERS = 4
"""Of the readers that answer: enough for layers that have nothing left to decide."""


def _stored(kind: str) -> Float[np.ndarray, "S ..."]:
    """What was measured of readers without a causal mask, asked at "it": a row a seed."""
    path = files("helpers") / "data" / "results" / "inside.json"
    settings = json.loads(path.read_text("utf-8"))["pronouns"]["settings"]
    (found,) = (s for s in settings if not s["causal"] and s["L"] == LAYERS)
    return np.array([run[kind] for run in found["runs"]])


def _span(values: Float[np.ndarray, " N"]) -> str:
    """The smallest and the largest, in whole percent."""
    low, high = number(round(100 * values.min())), number(round(100 * values.max()))
    return f"{low} %" if low == high else f"{low} to {high} %"


@corrects(
    "12",
    "003",
    *range(485, 504),
    claim="From layer to layer, attention from “it” to its referent becomes stronger: undecided "
    "in layer 3, much higher in layer 4, the strongest in layer 5.",
    says="The deeper the layer, the more the attention of “it” settles on the referent.",
    why="The stream keeps what has been found, so late layers need not look again. In small "
    "readers trained on such sentences the answer at “it” does get clearer from layer to layer, "
    "while attention to the referent is strongest early, and can be cut late without harm.",
)
def attention_of_it_by_layer() -> str:
    """Attention to the right candidate by layer, and what cutting it does."""
    right_SL = _stored("right").mean(axis=2)
    lost_S = _stored("resolved") - _stored("cut right")[:, -1]
    layers = sorted(set((right_SL.argmax(axis=1) + 1).tolist()))
    return (
        f"in {len(right_SL)} readers of {LAYERS} layers, attention from “it” to the referent is "
        f"strongest in layer {' or '.join(map(str, layers))}, with "
        f"{_span(right_SL.max(axis=1))}, and {_span(right_SL[:, -1])} in layer {LAYERS}; where it "
        f"is cut in layer {LAYERS}, at most {_span(lost_S.max(keepdims=True))} of the answers "
        "are lost"
    )


CORRECTIONS: tuple[Correction, ...] = collected(vars())
