"""A chapter without SmolLM2: which cells are skipped, and what they say."""

import ast
import json

import pytest
from support import NOTEBOOKS

from helpers import pretrained
from helpers.explore.offline import WithoutModel


def unreachable():
    raise ConnectionError("no network")


@pytest.fixture
def visit(monkeypatch):
    monkeypatch.setattr(pretrained, "fetch", unreachable)
    skips = WithoutModel()
    return lambda source: ast.unparse(skips.visit(ast.parse(source)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem[:2])
def test_just_the_tagged_cells_are_skipped(visit, path):
    """But for questions whose answer needs the model, which can be asked without it."""
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "predict(" not in source:
            skipped = visit(source).startswith("print('Skipped, because it needs SmolLM2")
            assert skipped == ("needs-smollm2" in cell["metadata"].get("tags", [])), source


def test_what_is_made_anew_can_be_used(visit, monkeypatch):
    assert "no network" in visit("model, tokenizer = pretrained.smollm2()")
    assert "Skipped" in visit("loss = model(ids)")
    assert visit("def f(model):\n    return model.T") == "def f(model):\n    return model.T"
    assert visit("loss = 1") == "loss = 1"
    assert visit("loss + 1") == "loss + 1"
    monkeypatch.setattr(pretrained, "fetch", bytes)  # there is a network again
    assert "Skipped" not in visit("model, tokenizer = pretrained.smollm2()")
    assert visit("model(ids)") == "model(ids)"
