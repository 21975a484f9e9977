"""Helpers and chapters beside other packages: what is counted, and what the stored table says."""

import json

import pytest
import yaml
from support import ROOT, script

from book.headlines import expected, headlines

matrix = script(ROOT / "benchmarks" / "matrix.py")
STORED = json.loads((ROOT / "helpers" / "data" / "results" / "matrix.json").read_text("utf-8"))
ROWS = {row[0]: dict(zip(STORED["columns"], row, strict=True)) for row in STORED["rows"]}


def test_what_fails_is_told_from_what_prints_otherwise(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="a" name="Cell 0"><properties><property name="loss" value="2.5"/>
        </properties></testcase>
        <testcase classname="a" name="Cell 1"><failure message="Cell 1: Cell outputs differ">
        Traceback: stored 1 fresh 2</failure></testcase>
        <testcase classname="a" name="Cell 2"><failure message="x">AssertionError</failure>
        </testcase>
        <testcase classname="a" name="Cell 3"><error message="kernel died"/></testcase>
        <testcase classname="a" name="Cell 4"><skipped/></testcase>
        </testsuite></testsuites>""",
        "utf-8",
    )
    ran = matrix.Ran()
    ran.read(report)
    assert ran.counts == {"passed": 1, "differs": 1, "failed": 2, "skipped": 1}
    assert ran.found == {"loss": "2.5"}
    assert ran.failed[0] == "a Cell 1: stored 1 fresh 2"


def test_the_workflow_runs_every_environment():
    asked = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
            for step in job["steps"]:
                for word in str(step.get("run", "")).partition("make matrix ONLY=")[2].split()[:1]:
                    word = word.strip('"')
                    asked |= {word} if word in matrix.NAMES else set()
                if "make matrix ONLY=${{" in str(step.get("run", "")):
                    asked |= set(job["strategy"]["matrix"]["packages"])
    assert asked == set(matrix.NAMES)


def test_everything_ran_or_the_table_says_why_not():
    assert list(ROWS) == matrix.NAMES
    days = [row["versions, and when"].rpartition("; ")[2] for row in ROWS.values()]
    assert max(days) == STORED["date"]
    for name, row in ROWS.items():
        assert row["cells that fail"] == "0", name
        if name == "colab":  # where the cells are asked alone
            assert row["helpers' tests"] == "not run"
        else:
            assert " 0 failed" in row["helpers' tests"], name
        oldest = matrix.DECLARED["torch"].replace(">=", "==")
        wanted = {"oldest": oldest, "newest": "torch==none"}.get(name, matrix.TORCH)
        met = wanted.replace("==", " ") in row["versions, and when"]
        assert met or "torch" in row["not to be had here"], name
    assert ROWS["pins"]["cells that print otherwise"] == "0"
    for name, bound in matrix.DECLARED.items():
        if name in matrix.SHOWN and name != "torch":
            assert f"{name} {bound.partition('>=')[2]}" in ROWS["oldest"]["versions, and when"]


def test_headline_numbers_were_looked_for():
    """Nearly all: one that is new, or has another name now, is found by the next `make matrix`."""
    known = {one.what for one in headlines()}
    for name, found in STORED["found"].items():
        assert len(known & set(found)) >= 0.8 * len(known), name


@pytest.mark.parametrize("one", headlines(), ids=lambda one: one.what)
def test_headline_numbers_were_found_everywhere_within_their_tolerances(one):
    for name, found in STORED["found"].items():
        near = float(found.get(one.what, expected(one))) - float(expected(one))
        assert abs(near) <= one.tolerance * (1 + 1e-9), name
