"""The long measurements of chapter 04: the cells they run are there, the results are theirs."""

import json

from chapters import ROOT, script

STORED = ROOT / "helpers" / "data" / "results" / "norm_training.json"


def test_cells_of_the_chapter_that_is_measured_are_there():
    module = script(ROOT / "benchmarks" / "norm_training.py")
    chapter = ROOT / "notebooks" / f"{module.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(module.CELLS) <= {cell["id"] for cell in cells}
    names = module.chapter()
    run = names["trained"]("batch", seed=0, lr=0.01, steps=101, probe=True)
    assert {"validation", "together", "alone", "own", "swapped"} <= set(run)


def test_stored_results_are_those_of_the_script():
    module = script(ROOT / "benchmarks" / "norm_training.py")
    stored = json.loads(STORED.read_text("utf-8"))
    assert set(stored) == set(module.PARTS)
    for name, part in stored.items():
        assert part["script"] == "benchmarks/norm_training.py"
        assert part["seeds"] == list(module.SEEDS[name])
        assert len(part["seeds"]) >= 5
        bare = [{k: v for k, v in s.items() if k != "runs"} for s in part["settings"]]
        assert bare == list(module.settings(name))
        for setting in part["settings"]:
            assert [run["seed"] for run in setting["runs"]] == part["seeds"]
