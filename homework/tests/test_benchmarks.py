"""The measurement of the grader: what is stored is held to the script."""

import json

from support import ROOT, script

batch = script(ROOT / "benchmarks" / "homework_batch.py")


def test_stored_batch_is_that_of_the_script():
    file = ROOT / "helpers" / "data" / "results" / "homework_batch.json"
    found = json.loads(file.read_text("utf-8"))
    assert found["script"] == "benchmarks/homework_batch.py"
    ends = [*range(batch.STEP, batch.COUNT + 1, batch.STEP), "pages and tables"]
    assert [row[0] for row in found["rows"]] == ends
    assert found.items() >= batch.table(found["rows"], batch.COUNT).items()
