"""How soon the machine answers: what is stored is of the script; the clock is not run again."""

import json

from support import ROOT, script

machine = script(ROOT / "benchmarks" / "machine.py")
STORED = json.loads((ROOT / "helpers/data/results/machine.json").read_text("utf-8"))


def test_stored_table_is_that_of_the_script():
    rows = STORED["rows"]
    changes = [[name, read, goal] for name, (_, _, read, goal) in machine.CHANGES.items()]
    assert [[row[0], row[1], row[-1]] for row in rows] == changes
    made = machine.table(rows, 0.0)
    assert (STORED["title"], STORED["columns"]) == (made["title"], made["columns"])
    assert STORED["claim"].partition("load was")[0] == made["claim"].partition("load was")[0]
