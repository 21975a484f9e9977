"""`exercises.diagnose` names a mistake planted in minigpt's source, and none in minigpt."""

import inspect
import json
import math
import types

import broken
import pytest
from common import RESULTS

from helpers import exercises, minigpt

SHIFT, FIRST, PAST, ATTENTION, NORM, WRITING = exercises.CHECKS_OF_A_GPT
STORED = json.loads((RESULTS / "gpt_broken.json").read_text("utf-8"))["rows"]
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


def stored(mistake):
    """Of the first, the last and the unseen loss the lowest and the highest."""
    (losses,) = (row[1:4] for row in STORED if row[0] == mistake)
    return [list(map(float, (span.split(" to ") * 2)[:2])) for span in losses]


@pytest.mark.parametrize("mistake", broken.MISTAKES)
def test_run_with_a_mistake_begins_as_it_is_stored(mistake):
    first, *_ = broken.run(mistake, broken.SEEDS[0], steps=2)
    low, high = stored(mistake)[0]
    assert low - 0.02 <= first <= high + 0.02 or (math.isnan(first) and math.isnan(low))


def test_symptoms_are_as_the_page_says():
    first, last, unseen = zip(*(stored(name) for name in broken.MISTAKES), strict=True)
    first, last, unseen = (
        dict(zip(broken.MISTAKES, x, strict=True)) for x in (first, last, unseen)
    )
    even, (low, high) = first["none"][0], last["none"]
    assert last["targets are the inputs"][1] < 0.1
    assert unseen["the mask begins one position late"][1] < low / 2
    for stuck in ("no optimizer.step()", "the model returns probabilities"):
        assert last[stuck][0] > even - 0.5
    assert first["weights of deviation 1, not 0.02"][0] > 2 * even
    assert last["a learning rate of 0.3, not 0.006"][0] > high + 1
    assert last["a training text of 1,000 tokens"][1] < low / 2
    assert unseen["a training text of 1,000 tokens"][0] > even
    for trains in ("the norm divides by n − 1", "scores not divided by √D"):
        assert last[trains][1] < high + 0.2
