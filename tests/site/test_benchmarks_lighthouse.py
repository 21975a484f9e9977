"""The script that runs Lighthouse: its server, what it counts, and the table that is stored."""

import gzip
import json
import urllib.request

import pytest
from support import NOTEBOOKS, ROOT, script

lighthouse = script(ROOT / "benchmarks" / "lighthouse.py")
STORED = ROOT / "helpers" / "data" / "results" / "lighthouse.json"


def report(performance: float = 0.9, size: int = 1000, **more) -> dict:
    """What Lighthouse says of a page, as far as the script reads it."""
    items = [
        {"url": "http://x/a.html", "resourceType": "Document", "transferSize": size},
        {"url": "http://x/a.js", "resourceType": "Script", "transferSize": 2000},
        {"url": "http://x/fonts/fa-solid-900.woff", "resourceType": "Font", "transferSize": 3000},
        {"url": "http://x/fonts/MathJax_M.woff", "resourceType": "Font", "transferSize": 4000},
        {"url": "http://x/styles/maths.css", "resourceType": "Stylesheet", "transferSize": 5000},
        {"url": "http://x/favicon.ico", "resourceType": "Other", "transferSize": 6000},
        {"url": "data:image/svg+xml,", "resourceType": "Image"},
    ]
    audits = {"first-contentful-paint": 1234.5, "largest-contentful-paint": 2345.6,
              "total-blocking-time": 77.7, "cumulative-layout-shift": 0.01234} | more  # fmt: skip
    scores = dict(zip(lighthouse.CATEGORIES, (performance, 1, 0.96, 0.9), strict=True))
    refs = [{"id": "meta", "weight": 1}, {"id": "manual", "weight": 0}]
    return {
        "categories": {name: {"score": score, "auditRefs": refs} for name, score in scores.items()},
        "audits": {name: {"numericValue": value} for name, value in audits.items()}
        | {"network-requests": {"details": {"items": items}},
           "meta": {"score": 0}, "manual": {"score": 0}},
    }  # fmt: skip


def test_weights_with_and_without_maths():
    items = report()["audits"]["network-requests"]["details"]["items"]
    assert lighthouse.weights(items) == [21, 12]


def test_a_row_has_the_median_of_each_number():
    runs = [report(0.5, 3000), report(0.9, 1000), report(0.95, 900_000)]
    found = dict(zip(lighthouse.COLUMNS, lighthouse.row("a", runs), strict=True))
    assert found["page"] == "a"
    assert [found[name] for name in lighthouse.CATEGORIES] == [90, 100, 96, 90]
    assert (found["first paint (s)"], found["largest paint (s)"]) == (1.2, 2.3)
    assert (found["blocked (ms)"], found["shift"]) == (78, 0.012)
    assert (found["kB"], found["kB without maths"]) == (23, 14)


def test_what_lost_points_is_named():
    assert lighthouse.failed(report()) == ["meta"] * 3


def test_the_claim_takes_the_worst_of_our_pages_and_names_the_stock_ones():
    rows = [lighthouse.row("a", [report(0.99)]), lighthouse.row("b", [report(0.91, 500_000)]),
            lighthouse.row("stock: chapter 5", [report(0.55, 937_000)])]  # fmt: skip
    claim = lighthouse.table(rows)["claim"]
    assert claim.startswith("2 pages of this site score at least 91 / 100 / 96 / 90 ")
    assert "with at most 520 kB" in claim
    assert "a stock Jupyter Book, chapter 5: 55 / 100 / 96 / 90 with 957 kB" in claim


def test_a_page_that_is_measured_again_replaces_its_row_and_a_new_one_gets_its_place(monkeypatch):
    monkeypatch.setattr(lighthouse, "PAGES", ["a", "b", "new"])
    rows = [["a", 1], ["b", 2], ["stock: chapter 5", 3]]
    found = lighthouse.replaced(rows, [["new", 8], ["b", 9]])
    assert found == [["a", 1], ["b", 9], ["new", 8], ["stock: chapter 5", 3]]
    with pytest.raises(ValueError, match="c should be in PAGES"):
        lighthouse.replaced(rows, [["c", 9]])


def test_an_unknown_page_is_named(monkeypatch, tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.html").touch()
    monkeypatch.setattr(lighthouse, "SITE", tmp_path)
    monkeypatch.setattr(lighthouse, "chromium", lambda: "x")
    monkeypatch.setattr(lighthouse.shutil, "which", lambda name: name)
    monkeypatch.setattr(lighthouse, "installed", None)
    with pytest.raises(ValueError, match="no such page: book/indx;"):
        lighthouse.main(["book/indx", "book/index"])


def test_a_row_cannot_be_replaced_in_a_table_that_is_not_there(monkeypatch, tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.html").touch()
    monkeypatch.setattr(lighthouse, "SITE", tmp_path)
    monkeypatch.setattr(lighthouse, "STORED", tmp_path / "none.json")
    monkeypatch.setattr(lighthouse, "chromium", lambda: "x")
    monkeypatch.setattr(lighthouse.shutil, "which", lambda name: name)
    monkeypatch.setattr(lighthouse, "installed", None)
    with pytest.raises(ValueError, match="no table is stored yet"):
        lighthouse.main(["book/index"])


def test_the_server_compresses_text_for_those_who_take_it(tmp_path):
    (tmp_path / "a.html").write_text("word " * 1000)
    (tmp_path / "a.png").write_bytes(b"\x89PNG" * 1000)
    with lighthouse.served(tmp_path) as address:

        def got(name: str, *, takes: str = "gzip"):
            asked = urllib.request.Request(f"{address}/{name}", headers={"Accept-Encoding": takes})
            with urllib.request.urlopen(asked) as answer:
                return answer.headers, answer.read()

        heads, body = got("a.html?v=1")
        assert heads["Content-Encoding"] == "gzip"
        assert heads["Content-Type"].startswith("text/html")
        assert int(heads["Content-Length"]) == len(body) < 200
        assert gzip.decompress(body) == b"word " * 1000
        (tmp_path / "a.html").write_text("other")
        assert gzip.decompress(got("a.html")[1]) == b"other"
        heads, body = got("a.html", takes="identity")
        assert (heads["Content-Encoding"], body) == (None, b"other")
        assert len(got("a.png")[1]) == 4000


def test_all_chapters_are_measured():
    chapters = {f"notebooks/{path.stem}" for path in NOTEBOOKS}
    assert chapters < set(lighthouse.PAGES)
    assert {"book/index", "book/results", "book/glossary"} < set(lighthouse.PAGES)


def test_nothing_is_done_without_a_browser(monkeypatch, capsys):
    monkeypatch.setattr(lighthouse, "chromium", lambda: None)
    monkeypatch.setattr(lighthouse, "store_table", None)
    lighthouse.main([])
    assert "without npm" in capsys.readouterr().out


def test_a_report_that_failed_is_an_error(monkeypatch):
    class Done:
        returncode, stdout, stderr = 0, '{"runtimeError": {"code": "NO_FCP"}}', ""

    monkeypatch.setattr(lighthouse.subprocess, "run", lambda *_, **__: Done)
    with pytest.raises(RuntimeError, match=r"http://x: .*NO_FCP"):
        lighthouse.report(ROOT, "chromium", "http://x")


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
