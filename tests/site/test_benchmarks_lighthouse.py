"""What is stored of Lighthouse: all chapters, and the scores that the site promises."""

import json

import pytest
from support import NOTEBOOKS, ROOT, script

lighthouse = script(ROOT / "benchmarks" / "lighthouse.py")
STORED = ROOT / "helpers" / "data" / "results" / "lighthouse.json"


def test_all_chapters_are_measured():
    chapters = {f"notebooks/{path.stem}" for path in NOTEBOOKS}
    assert chapters < set(lighthouse.PAGES)
    assert {"book/index", "book/results", "book/glossary"} < set(lighthouse.PAGES)


@pytest.mark.skipif(not STORED.exists(), reason="not measured yet")
def test_stored_table_is_that_of_the_script():
    found = json.loads(STORED.read_text("utf-8"))
    assert found["script"] == "benchmarks/lighthouse.py"
    assert found["versions"]["lighthouse"] == lighthouse.LIGHTHOUSE
    pages = [*lighthouse.PAGES, *lighthouse.STOCK.values()]
    assert [row[0] for row in found["rows"]] == pages
    assert found.items() >= lighthouse.table(found["rows"]).items()


@pytest.mark.skipif(not STORED.exists(), reason="not measured yet")
def test_the_site_keeps_what_it_promises():
    for row in json.loads(STORED.read_text("utf-8"))["rows"]:
        found = dict(zip(lighthouse.COLUMNS, row, strict=True))
        if found["page"] in lighthouse.PAGES:
            assert found["performance"] >= 90, row
            assert [found[name] for name in lighthouse.CATEGORIES[1:]] == [100, 100, 100], row
            assert found["kB"] < 450
