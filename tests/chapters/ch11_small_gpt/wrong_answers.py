"""Chapter 11: what learners write before they have it, and what the check should tell them."""

import numpy as np
from torch import nn

from helpers import minigpt
from helpers.chapters import judges

SURE = [[0.9, 0.1], [0.45, 0.55], [0.45, 0.55]]  # lower loss, right once of three
UNSURE = [[0.02, 0.98], [0.51, 0.49], [0.51, 0.49]]
TIED = [[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]  # a tie is right by argmax
JUST = [[0.51, 0.49], [0.51, 0.49], [0.01, 0.99]]

generated = judges()["11.7"].right


class LoudGPT(minigpt.GPT):
    """A GPT whose head begins with weights that are too large."""

    def __init__(self, *sizes, **more):
        super().__init__(*sizes, **more)
        nn.init.normal_(self.head.weight, std=0.2)


RIGHT = {
    "11.5": [(SURE, np.array(UNSURE), [0, 0, 0])],
}

WRONG = {
    "11.5": [
        ((UNSURE, SURE, [0, 0, 0]), "p should have the lower loss"),
        ((SURE, [[0.5, 0.5]] * 3, [0, 0, 0]), "q should be right more often"),
        ((TIED, JUST, [0, 0, 0]), "p is right 3 times and q 2"),
        ((SURE, [[0.5, 0.4]] * 3, [0, 0, 0]), "sum to 1"),
        ((SURE, UNSURE[:2], [0, 0, 0]), "one shape"),
        ((SURE, UNSURE, [0, 0, 2]), "whole numbers from 0 to 1"),
        ((SURE, UNSURE), "Give the tuple"),
    ],
    "11.7": [(lambda *given: generated(*given, seen=lambda ids: ids), "reads 1 to 4 tokens")],
    "11.8": [(LoudGPT, "initial weights")],
}
