"""Two processes and one: what is stored is of the script, and a run of one is made again."""

import json

import pytest
from support import ROOT, script

two = script(ROOT / "benchmarks" / "two_processes.py")
STORED = json.loads((ROOT / "helpers/data/results/two_processes.json").read_text("utf-8"))


def test_stored_rows_are_those_of_the_script():
    wanted = [[precision, seed] for precision in ("float32", "bfloat16") for seed in two.SEEDS]
    assert [row[:2] for row in STORED["rows"]] == wanted
    assert f"over {two.STEPS} steps" in STORED["claim"]


@pytest.mark.slow
def test_a_run_on_one_process_ends_where_the_stored_one_did():
    ended = STORED["rows"][0][STORED["columns"].index("validation at the end, one")]
    found = two.records(1, "float32", two.SEEDS[0])[-1]["validation"]
    assert found == pytest.approx(float(ended), abs=0.01)
