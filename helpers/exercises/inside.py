"""What a check looks at in the reader's own process, where an answer cannot leave it.

Homework runs this module in its sandbox. What it says is plain data, judged elsewhere, as anything
that the reader's function could have said.
"""

import copy
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

from helpers import minigpt


def arguments_after(function: Callable, *args: Any) -> list:
    """What a call leaves of its arguments."""
    given = copy.deepcopy(args)
    function(*given)
    return list(given)


def optimizer(function: Callable, start: Any) -> tuple | None:
    """The name of the optimiser that a function makes for a table, its settings, and whether it
    holds that table and nothing else.
    """
    table = nn.Parameter(torch.tensor(start))
    if (made := function([table])) is None:
        return None
    groups = getattr(made, "param_groups", [{"params": []}])
    held = [part for group in groups for part in group["params"]]
    settings = {name: value for name, value in groups[0].items() if name != "params"}
    return type(made).__name__, settings, len(held) == 1 and held[0] is table


def initialised(function: Callable, sizes: dict[str, int]) -> tuple | None:
    """Whether a function gives back the GPT of these sizes that it is called with, whose numbers
    are 0.5 but for the norms' 1; and each parameter by its name.
    """
    with patch.object(minigpt, "init_weights", lambda model: None):  # homework withholds the book's
        model = minigpt.GPT(**sizes)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if "norm" in name and name.endswith("weight") else 0.5)
    if (returned := function(model)) is None:
        return None
    return returned is model, dict(model.named_parameters())


def calls(function: Callable, sizes: tuple, steps: list[tuple]) -> tuple:
    """What the methods of an object of these sizes give, step by step, and its pool at the end.

    A step is a method's name and its arguments; what it raises is told as text.
    """
    made, said = function(*sizes), []
    for name, *args in steps:
        try:
            said.append(copy.deepcopy(getattr(made, name)(*args)))
        except NotImplementedError:
            raise
        except Exception as error:
            said.append(repr(error))
    return said, made.pool
