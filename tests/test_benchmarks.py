"""The long measurements: they run a chapter's own cells, which must be there and define enough."""

import ast
import json

import pytest
from chapters import ROOT, script

RESULTS = ROOT / "helpers" / "data" / "results"
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_says_what_it_measures_and_does_nothing_on_import(path):
    module = script(path)
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert callable(module.main)


def test_cells_of_the_chapter_that_is_measured_are_there():
    scaling = script(ROOT / "benchmarks" / "scaling_training.py")
    chapter = ROOT / "notebooks" / f"{scaling.CHAPTER}.ipynb"
    cells = json.loads(chapter.read_text("utf-8"))["cells"]
    assert set(scaling.CELLS) <= {cell["id"] for cell in cells}
    names = scaling.chapter()
    assert callable(names["trained"])


def test_stored_results_are_those_of_the_script():
    scaling = script(ROOT / "benchmarks" / "scaling_training.py")
    stored = json.loads((RESULTS / "scaling_training.json").read_text("utf-8"))
    assert set(stored) <= set(scaling.PARTS)
    for name, part in stored.items():
        assert part["script"] == "benchmarks/scaling_training.py"
        wanted = {json.dumps(setting, sort_keys=True) for setting in scaling.settings(name)}
        for setting in part["settings"]:
            bare = {key: value for key, value in setting.items() if key != "runs"}
            assert json.dumps(bare, sort_keys=True) in wanted
            assert [run["seed"] for run in setting["runs"]] == part["seeds"]
