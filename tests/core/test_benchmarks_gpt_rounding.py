"""What rounding the weights costs: the stored table is of its script, a row is measured anew."""

import json

import pytest
from support import ROOT, script

rounding = script(ROOT / "benchmarks" / "gpt_rounding.py")
STORED = json.loads(
    (ROOT / "helpers" / "data" / "results" / "gpt_rounding.json").read_text("utf-8")
)


def test_stored_table_is_of_the_script():
    assert STORED["script"] == "benchmarks/gpt_rounding.py"
    assert STORED["columns"] == rounding.COLUMNS
    assert STORED["checkpoint"] == rounding.checkpoint()
    assert [row[0] for row in STORED["rows"]] == list(rounding.BITS)


def test_fewer_bits_are_fewer_bytes_and_more_error():
    _, sizes, _, _, *apart = zip(*STORED["rows"], strict=True)
    assert list(sizes) == sorted(sizes, reverse=True)
    for column in apart:
        assert list(column) == sorted(column, key=float)


def test_row_of_the_page_is_measured_anew():
    model = rounding.open_model(rounding.CHECKPOINT)[0]
    x_NT, y_NT = rounding.validation()
    found, stored = rounding.compared(model, 8, x_NT[::8], y_NT[::8]), STORED["rows"][0]
    assert found[:2] == stored[:2]
    _, change, largest, mean = map(float, found[2:])
    assert abs(change - float(stored[3])) < 1e-3
    assert largest <= float(stored[4]) + 0.02
    assert mean == pytest.approx(float(stored[5]), rel=0.2)


def test_rounding_leaves_the_model_alone_and_counts_what_it_stores():
    model = rounding.open_model(rounding.CHECKPOINT)[0]
    before = model.head.weight.clone()
    other, size = rounding.rounded(model, 4)
    assert model.head.weight.equal(before)
    assert not other.head.weight.equal(before)
    tables = [p for p in model.parameters() if p.ndim == 2]
    vectors = sum(p.numel() for p in model.parameters() if p.ndim == 1)
    codes, scales = sum(p.numel() for p in tables), sum(len(p) for p in tables)
    assert size == codes // 2 + 4 * (scales + vectors)
