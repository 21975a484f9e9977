"""Skips cells that need SmolLM2 where tests/run.py cannot fetch it; says what is skipped."""

import os
from collections import Counter

import pytest


def pytest_collection_modifyitems(items):
    """Only cells have tags."""
    if why := os.environ.get("BOOK_WITHOUT_SMOLLM2"):
        for item in items:
            if "needs-smollm2" in getattr(item, "cell", {}).get("metadata", {}).get("tags", []):
                item.add_marker(pytest.mark.skip(reason=why))


def pytest_terminal_summary(terminalreporter):
    """A line for each reason."""
    skipped = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped ({count}): {reason}")
