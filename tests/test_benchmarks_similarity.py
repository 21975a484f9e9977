"""The long measurement of chapter 02: its cells are there, and its results are of its script."""

import json

from chapters import ROOT, script

RESULTS = ROOT / "helpers" / "data" / "results" / "similarity.json"
similarity = script(ROOT / "benchmarks" / "similarity.py")


def test_cells_of_the_chapter_that_is_measured_are_there():
    chapter = ROOT / "notebooks" / f"{similarity.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(similarity.CELLS) <= {cell["id"] for cell in cells}
    names = similarity.chapter()
    assert all(
        callable(names[name]) for name in ("looked_at", "correlations", "found_by", "controls")
    )
    assert names["LOOKS"][-1] == similarity.STEPS


def test_stored_results_are_those_of_the_script():
    stored = json.loads(RESULTS.read_text("utf-8"))
    assert set(stored) == set(similarity.PARTS)
    for name, part in stored.items():
        assert part["script"] == "benchmarks/similarity.py"
        assert part["seeds"] == list(similarity.SEEDS)
        bare = [{k: v for k, v in s.items() if k != "runs"} for s in part["settings"]]
        assert bare == similarity.settings(name)
        for setting in part["settings"]:
            assert [run["seed"] for run in setting["runs"]] == part["seeds"]


def test_text_with_controls_differs_from_the_text_only_where_it_should():
    names = similarity.chapter()
    ids, words = names["ids"], names["words"]
    new, copies, strewn = names["with_controls"](0)
    assert names["with_controls"](0)[0].equal(new), "a seed is a text"
    times = new.bincount()
    assert times[strewn].tolist() == [5, 20, 80, 320, 1280]
    assert copies.shape == (20, 5)
    kept = (new < len(words) + 1) & ~(copies[:, :1] == new).any(dim=0)
    assert new[kept].equal(ids[kept])
    shares = times[copies].sum(dim=0) / times[copies].sum()
    assert shares[0] > 0.45
    assert (shares[3:] < 0.08).all()
