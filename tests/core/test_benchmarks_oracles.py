"""The stored comparison with others' models: all of them are there, and none is far off."""

import json

import pytest
from support import ROOT

STORED = json.loads((ROOT / "helpers" / "data" / "results" / "oracles.json").read_text("utf-8"))
HELD = {row[0]: row[2:] for row in STORED["rows"] if not row[0].startswith("not held")}


@pytest.mark.parametrize("name", ["GPT-2", "GPT-1", "GPT-NeoX", "Llama", "Qwen3", "Bloom"])
def test_logits_and_gradients_are_those_of_hugging_face(name):
    logits, gradients, _ = HELD[f"Hugging Face {name}"]
    assert float(logits) < 1e-5
    assert float(gradients) < 1e-6


def test_parameters_after_steps_are_those_of_torch():
    found = [float(row[2]) for name, row in HELD.items() if name.startswith("torch.optim")]
    assert len(found) == 2
    assert max(found) < 1e-5


def test_what_cannot_be_expressed_has_its_reason():
    assert all(row[1] for row in STORED["rows"] if row[0].startswith("not held"))
    assert len(STORED["rows"]) > len(HELD)


def test_the_nightly_workflow_asks_them():
    assert "make oracles" in (ROOT / ".github" / "workflows" / "nightly.yml").read_text("utf-8")
