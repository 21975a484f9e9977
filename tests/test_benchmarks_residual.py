"""The long measurement of chapter 08: it runs the chapter's cells; what is stored is its own."""

import json

import pytest
from chapters import ROOT, script

RESULTS = ROOT / "helpers" / "data" / "results" / "residual_training.json"


@pytest.fixture(scope="module")
def residual():
    return script(ROOT / "benchmarks" / "residual_training.py")


def test_cells_of_the_chapter_that_is_measured_are_there(residual):
    chapter = ROOT / "notebooks" / f"{residual.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(residual.CELLS) <= {cell["id"] for cell in cells}
    names = residual.chapter()
    assert set(residual.MODELS) == set(names["MODELS"])
    assert set(residual.WHOLE + residual.PARTIAL) == set(names["STACKS"])
    assert set(residual.SCHEMES) == set(names["SCHEMES"])


@pytest.mark.parametrize("part", ["depth", "copying", "ladder", "rates"])
def test_stored_results_are_those_of_the_script(residual, part):
    stored = json.loads(RESULTS.read_text("utf-8"))[part]
    assert stored["script"] == "benchmarks/residual_training.py"
    assert stored["seeds"] == list(residual.seeds(part))
    bare = [
        {key: value for key, value in setting.items() if key != "runs"}
        for setting in stored["settings"]
    ]
    assert bare == residual.settings(part)
    for setting in stored["settings"]:
        assert [run["seed"] for run in setting["runs"]] == stored["seeds"]


def test_a_run_computed_again_is_the_stored_one(residual):
    names = residual.chapter()
    settings = json.loads(RESULTS.read_text("utf-8"))["depth"]["settings"]
    stored = {(s["start"], s["scheme"], s["L"]): s["runs"][1] for s in settings}
    for start, scheme in (("torch", "norm alone"), ("kept", "residual alone")):
        run = residual.of_depth(names, 1, start=start, scheme=scheme, L=4)
        assert run["gradients"] == pytest.approx(stored[start, scheme, 4]["gradients"], rel=0.02)


def test_five_seeds_or_two_where_only_the_rate_is_asked(residual):
    assert [len(residual.seeds(part)) for part in residual.PARTS] == [5, 5, 5, 2]
