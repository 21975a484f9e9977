"""Leaves out cells that need SmolLM2 where it cannot be fetched, and tries again where chance may
be why a test fails, in a browser and in the sandbox; says what was left out and tried again.
"""

import os
from collections import Counter

import pytest


def pytest_collection_modifyitems(items):
    """Marks for what is left out, and for what is tried again."""
    why = os.environ.get("BOOK_WITHOUT_SMOLLM2")
    for item in items:
        cell = getattr(item, "cell", {})  # a test has none
        if why and "needs-smollm2" in cell.get("metadata", {}).get("tags", []):
            item.add_marker(pytest.mark.skip(reason=why))
        if {"browser", "bubblewrap"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter):
    """A line for each reason to skip; what failed at first, and how its second try ended."""
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped ({count}): {reason}")
    kinds = ("failed", "error")
    failed = {report.nodeid for kind in kinds for report in terminalreporter.getreports(kind)}
    for report in terminalreporter.getreports("rerun"):
        second = "failed" if report.nodeid in failed else "passed"
        terminalreporter.section(f"failed at first, {second} then: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)
