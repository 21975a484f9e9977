"""The table of memory per GPU, held to the figures that the ZeRO paper prints."""

import json

import pytest
from support import ROOT, script

memory = script(ROOT / "benchmarks" / "memory_per_gpu.py")


@pytest.mark.parametrize(("stage", "printed"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_figure_1_of_the_paper(stage, printed):
    found = memory.gigabytes_a_gpu(7.5e9, 64, stage)
    assert found == pytest.approx(printed, rel=0.005)


def test_on_one_gpu_nothing_can_be_sharded():
    assert {memory.gigabytes_a_gpu(1e9, 1, stage) for stage in range(4)} == {16.0}


def test_stored_table_is_the_scripts():
    path = ROOT / "helpers" / "data" / "results" / "memory_per_gpu.json"
    found = json.loads(path.read_text("utf-8"))
    assert found["rows"] == memory.rows()
    assert (found["bytes"], found["sizes"]) == (memory.BYTES, memory.SIZES)
    assert found["ways"] == {name: list(way) for name, way in memory.WAYS.items()}
