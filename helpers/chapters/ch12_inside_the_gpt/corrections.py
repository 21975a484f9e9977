"""Corrections for chapter 12: what the layers of a trained model do with a pronoun."""

import numpy as np
from jaxtyping import Float

from helpers.chapters.ch12_inside_the_gpt.lab import SEEDS, SETTINGS, kept, look_last
from helpers.corrections import corrects, number

LAYERS = 4  # of the readers that answer: enough for layers that have nothing left to decide


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
    right_SLH, whole_S, cut_SL = (
        kept("pronouns", key, causal=False, L=LAYERS) for key in ("right", "resolved", "cut right")
    )
    right_SL, lost_S = right_SLH.mean(axis=2), whole_S - cut_SL[:, -1]
    deep = [setting for setting in SETTINGS["pronouns"] if setting["L"] > 1]
    layers = sorted(set((right_SL.argmax(axis=1) + 1).tolist()))
    return (
        f"in {len(right_SL)} readers of {LAYERS} layers, attention from “it” to the referent is "
        f"strongest in layer {' or '.join(map(str, layers))}, with "
        f"{_span(right_SL.max(axis=1))}, and {_span(right_SL[:, -1])} in layer {LAYERS}; where it "
        f"is cut in layer {LAYERS}, at most {_span(lost_S.max(keepdims=True))} of the answers "
        f"are lost; of all {len(deep) * len(SEEDS['pronouns'])} readers of two layers "
        f"and more, {len(look_last())} look hardest in the last"
    )
