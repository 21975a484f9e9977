"""The long measurement of chapter 07: it runs the chapter's cells; what is stored is its own."""

import json

import pytest
import torch
from chapters import ROOT, script

RESULTS = ROOT / "helpers" / "data" / "results" / "positions_training.json"


@pytest.fixture(scope="module")
def positions():
    return script(ROOT / "benchmarks" / "positions_training.py")


@pytest.fixture(scope="module")
def names(positions):
    return positions.chapter()


def test_cells_of_the_chapter_that_is_measured_are_there(positions, names):
    chapter = ROOT / "notebooks" / f"{positions.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(positions.CELLS) <= {cell["id"] for cell in cells}
    assert set(positions.MASKS) == set(names["MASKS"])
    assert set(positions.POSITIONS) == set(names["POSITIONS"])


@pytest.mark.parametrize("part", ["masks", "heads", "lengths", "near"])
def test_stored_results_are_those_of_the_script(positions, part):
    stored = json.loads(RESULTS.read_text("utf-8"))[part]
    assert stored["script"] == "benchmarks/positions_training.py"
    assert stored["seeds"] == list(positions.SEEDS)
    assert len(stored["seeds"]) == 5
    assert stored["steps"] == positions.STEPS[part]
    bare = [
        {key: value for key, value in setting.items() if key != "runs"}
        for setting in stored["settings"]
    ]
    assert bare == positions.settings(part)
    for setting in stored["settings"]:
        assert [run["seed"] for run in setting["runs"]] == stored["seeds"]


def test_the_same_letters_are_predicted_in_each_stretch(names):
    """A model that knows only the letter itself has one loss in all four stretches."""
    table = torch.randn(61, 61, generator=torch.Generator().manual_seed(0))
    places = names["by_place"](lambda ids: table[ids], letters=4000)
    first, *others = places.split(32)
    for stretch in others:
        torch.testing.assert_close(stretch, first, rtol=0, atol=1e-5)
    assert names["sliding"](lambda ids: table[ids], letters=4000) == pytest.approx(
        first.mean().item(), abs=1e-5
    )


def test_an_honest_loss_is_the_shown_one_where_nothing_leaks(names):
    torch.manual_seed(0)
    for mask in names["MASKS"]:
        reader = names["Reader"](mask, len(names["tokenizer"]))
        shown, honest, elsewhere = names["three_losses"](reader, windows=8)
        leaks = mask in ("none at all", "one too far", "causal, after softmax")
        assert (abs(shown - honest) > 1e-5) == leaks
        assert (abs(shown - elsewhere) > 1e-5) == leaks


def test_sinusoids_are_made_as_large_as_in_the_paper(names):
    """There the embeddings have variance 1, here 0.02²; the rows keep their ratio to them."""
    quiet, _ = names["in_training"]("sinusoidal", seed=0)
    loud, _ = names["in_training"]("sinusoidal", seed=0, quiet=False)
    torch.testing.assert_close(quiet.position(40, 3), 0.02 * loud.position(40, 3))
    assert torch.equal(quiet.embedding.weight, loud.embedding.weight)


def test_reading_near_by_cuts_off_what_stands_further_back(names):
    """Two layers that read four letters each see seven: the letter itself and six before it."""
    model, _ = names["in_training"]("rope", seed=0)
    ids = torch.arange(20)[None]
    other = torch.cat([torch.tensor([[30]]), ids[:, 1:]], dim=1)
    near = names["near_only"](model, reach=4)
    with torch.no_grad():
        moved = (near(ids) - near(other)).abs().amax(dim=-1)[0]
    assert (moved[:7] > 0).all()
    assert (moved[7:] == 0).all()
