"""Chapter 01: what learners write before they have it, and what the check should tell them."""

import numpy as np
import torch

from helpers.chapters import judges

added = judges()["01.2"].right

RIGHT = {
    "01.4": [torch.tensor([2, 5, 1])],
    "01.5": [lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1)],
}

WRONG = {
    "01.1": [
        (lambda table, ids: table[ids], "use a product instead"),
        (lambda table, ids: np.take(table, ids, axis=0), "use a product instead"),
    ],
    "01.2": [
        (lambda *given: added(*given) + 1e-3, "that no token fetched"),
        (lambda *given: -added(*given), "not the right numbers"),
    ],
    "01.4": [
        ((2, 3, 4), "3 times as many as A"),
        ((4, 5, 4), "1 times as many as D"),
        ((5, 8, 4), "8 times as many as A"),
        ((2, 5, 4), "0.5 times as many as D"),
        ((1, 5, 0.5), "whole numbers"),
        ((-2, 5, -1), "whole numbers"),
        ((8, 5), "should have shape (3,)"),
    ],
    "01.5": [
        (lambda parameters: torch.optim.SGD(parameters, lr=0.1), "the claim holds"),
        (lambda parameters: torch.optim.RMSprop(parameters, lr=0.1), "the claim holds"),
        (lambda parameters: torch.optim.Adagrad(parameters, lr=0.1), "the claim holds"),
        (lambda parameters: torch.optim.Adam(parameters, lr=0.0), "the claim holds"),
        (lambda parameters: torch.optim.Adam(parameters, betas=(0.0, 0.999)), "the claim holds"),
        (lambda parameters: torch.optim.Adam, "An optimiser is asked for"),
        (
            lambda parameters: torch.optim.Adam([torch.nn.Parameter(torch.ones(8, 3))]),
            "should be given the parameters",
        ),
    ],
}
