"""`exercises.diagnose` names a mistake planted in minigpt's source, and none in minigpt."""

import inspect
import types

import pytest

from helpers import exercises, minigpt

SHIFT, FIRST, PAST, ATTENTION, NORM, WRITING = exercises.CHECKS_OF_A_GPT
MISTAKES = [
    (SHIFT, "ids[at_BT + 1]", "ids[at_BT]"),
    (SHIFT, "ids[at_BT + 1]", "ids[at_BT + 2]"),
    (FIRST, "std=0.02", "std=1.0"),
    (FIRST, "self.head(self.norm(self.blocks(x_BTC)))", "self.head(x_BTC).softmax(dim=-1)"),
    (FIRST, ".triu(1)", ".triu(0)"),
    (PAST, ".triu(1)", ".triu(2)"),
    (PAST, ".triu(1)", ".tril(-1)"),
    (PAST, "scores_BHTT + future_BHTT", "scores_BHTT"),
    (PAST, "return x_BTC + self.dropout(thought_BTC)", "return thought_BTC * 0"),
    (PAST, "self.embedding(ids_BT) + positions_TC", "self.embedding(ids_BT)"),
    (ATTENTION, " / q.shape[-1] ** 0.5", ""),
    (ATTENTION, "q.shape[-1] ** 0.5", "q.shape[-1]"),
    (ATTENTION, "q, k, v =", "k, v, q ="),
    (ATTENTION, "future_BHTT).softmax(dim=-1)", "future_BHTT).softmax(dim=-2)"),
    (NORM, "correction=0", "correction=1"),
    (NORM, "dim=-1, keepdim=True)", "dim=1, keepdim=True)"),
    (NORM, "(x_BTC - mean_BT1)", "x_BTC"),
    (WRITING, "model.eval()", "model"),
    (WRITING, "ids_BT[:, -model.T :]", "ids_BT"),
]


def said_of(old="", new=""):
    """What it says of minigpt with a part of its source replaced: by check, ok or FOUND."""
    source = inspect.getsource(minigpt)
    assert old in source
    program = types.ModuleType("mine")
    exec(source.replace(old, new) if old else source, program.__dict__)
    return exercises.diagnose(program.GPT, program.get_batch, program.generate).splitlines()


def test_right_program():
    assert [line.split()[0] for line in said_of()] == ["ok"] * 6


@pytest.mark.parametrize(("check", "old", "new"), MISTAKES)
def test_mistake_found(check, old, new):
    found = [line for line in said_of(old, new) if line.startswith("FOUND")]
    assert any(check in line for line in found)


def test_other_names():
    """A GPT with other names inside is told so, and the other checks go on."""
    said = said_of("norm_1", "ln_1")
    assert [line.split()[0] for line in said].count("ok") == 5
    assert "norm_1" in said[4]
