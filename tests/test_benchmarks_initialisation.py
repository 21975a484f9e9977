"""The stored runs of chapter 10: the cells they came from are there, and they are the script's."""

import json

import numpy as np
import torch
from chapters import ROOT, script

STORED = ROOT / "helpers" / "data" / "results" / "initialisation_training.json"


def bench():
    return script(ROOT / "benchmarks" / "initialisation_training.py")


def test_cells_of_the_chapter_that_is_measured_are_there():
    names = bench().chapter()
    assert callable(names["trained"])
    assert callable(names["started"])


def test_stored_results_are_those_of_the_script():
    stored = json.loads(STORED.read_text("utf-8"))
    assert set(stored) == set(bench().PARTS)
    for name, part in stored.items():
        assert part["script"] == "benchmarks/initialisation_training.py"
        wanted = [json.dumps(setting, sort_keys=True) for setting in bench().settings(name)]
        bare = [{k: v for k, v in s.items() if k != "runs"} for s in part["settings"]]
        assert [json.dumps(setting, sort_keys=True) for setting in bare] == wanted
        for setting in part["settings"]:
            assert [run["seed"] for run in setting["runs"]] == part["seeds"]
            assert {len(run["losses"]) for run in setting["runs"]} == {30}


def test_a_short_run_is_the_start_of_the_stored_one():
    bench_module, stored = bench(), json.loads(STORED.read_text("utf-8"))
    setting = {"scheme": "Xavier", "embedding": 0.02, "lr": 0.003}
    run = bench_module.chapter()["trained"](seeds=range(2), steps=10, **setting)
    (were,) = (
        s["runs"]
        for s in stored["schemes"]["settings"]
        if {k: v for k, v in s.items() if k != "runs"} == setting
    )
    assert np.allclose(run["losses"][:, 0], [r["first"] for r in were[:2]], atol=0.01)
    assert np.allclose(run["losses"].mean(dim=1), [r["losses"][0] for r in were[:2]], atol=0.03)


def test_seeds_trained_side_by_side_are_the_seeds_trained_alone():
    trained = bench().chapter()["trained"]
    together = trained(seeds=range(2), steps=4, when=(2,), tied=True)
    alone = trained(seeds=[1], steps=4, when=(2,), tied=True)
    assert torch.allclose(together["losses"][1], alone["losses"][0], atol=1e-3)
    assert torch.allclose(together["validation"][2][1], alone["validation"][2][0], atol=1e-3)
