"""The stored trainings of chapter 01: whole, and those of the script."""

import json

import numpy as np
from chapters import ROOT, script

RESULTS = ROOT / "helpers" / "data" / "results" / "embedding_training.json"
SCRIPT = "embedding_training.py"


def test_cells_of_the_chapter_that_are_run_are_there():
    embedding = script(ROOT / "benchmarks" / SCRIPT)
    chapter = ROOT / "notebooks" / f"{embedding.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(embedding.CELLS) <= {cell["id"] for cell in cells}
    names = embedding.chapter()
    assert callable(names["train_and_keep"])
    table = np.eye(3)[[0, 1, 1]] + np.array([[0, 0.1, 0], [0, 0, 0.2], [0, 0, 0.1]])
    names["words"] = ["a", "b", "c"]
    assert embedding.rank(names, embedding.torch.tensor(table), "b", "c") == 1
    assert embedding.rank(names, embedding.torch.tensor(table), "b", "a") == 2


def test_stored_results_are_those_of_the_script():
    embedding = script(ROOT / "benchmarks" / SCRIPT)
    stored = json.loads(RESULTS.read_text("utf-8"))
    assert set(stored) == set(embedding.PARTS)
    for part in stored.values():
        assert part["script"] == f"benchmarks/{SCRIPT}"
        for setting in part["settings"]:
            assert [run["seed"] for run in setting["runs"]] == part["seeds"]
    texts = [setting["text"] for setting in stored["neighbours"]["settings"]]
    starts = [setting["start"] for setting in stored["growth"]["settings"]]
    assert (tuple(texts), tuple(starts)) == (embedding.TEXTS, embedding.STARTS)
    assert stored["neighbours"]["seeds"] == list(embedding.SEEDS)
    assert stored["growth"]["seeds"] == list(embedding.GROWTH_SEEDS)
