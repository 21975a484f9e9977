"""Submissions that are honest or kept to themselves; graded with others, or alone."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import students
from batches import BY_NAME, LIMITS, Deserved, released, results, run
from submissions import SHUT_IN, SUBMISSIONS, written

from homework.release.assignment import ROOT
from homework.report.gradebook import Gradebook

PAIR = ("half", "loops-in-cells")  # the second takes long


def test_a_student_has_one_submission():
    assert len({(one.chapter, one.student) for one in SUBMISSIONS}) == len(SUBMISSIONS)


def few(root: Path, *names: str) -> tuple[Path, Gradebook]:
    """A course with a few of the submissions."""
    source = released(root, "05")
    for name in names:
        BY_NAME[name].plant(source, PLACES="[]", PORT="9")
    return source, Gradebook(root / "course" / "grading" / "05")


def grades(book: Gradebook, *names: str) -> dict[str, tuple]:
    """All that matters of some results."""
    records = {name: book.get(BY_NAME[name].student) for name in names}
    return {
        name: record and (record.results, record.notes, record.responses)
        for name, record in records.items()
    }


COMMAND = (
    "import sys; from homework import grade; from homework.run.sandbox import Limits; "
    f"sys.exit(grade.main(sys.argv[1:], Limits(**{LIMITS!r})))"
)


def started(root: Path, source: Path, workers: int) -> subprocess.Popen:
    """The command, in a process of its own."""
    arguments = [str(source), "--assignment", "05", "--course", str(root / "course")]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments, "--workers", str(workers)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class TestSubmissions(Deserved):
    HANDED_IN = (
        *SHUT_IN,
        *students.MORE,
        *(one for one in SUBMISSIONS if one.chapter != "05"),
        *(BY_NAME[name] for name in ("loops-in-cells", "cut-off", "pdf")),
    )

    def test_a_file_that_changes_is_graded_again_and_no_other(self, batches, tmp_path):
        """And alone it has the grade that it has among others."""
        names = ("half", "pdf")
        source, book = few(tmp_path, *names)
        run(tmp_path, source, "05")
        assert grades(book, *names) == grades(batches["05"].book, *names)
        before = results(book)
        changed = json.loads((source / "half" / "half.ipynb").read_bytes())
        changed["cells"][1]["source"] += "\n"
        (source / "half" / "half.ipynb").write_bytes(written(changed))
        said = run(tmp_path, source, "05")
        assert [line for line in said.splitlines() if line.startswith("[")] == ["[1/2] half"]
        assert results(book)["pdf.json"] == before["pdf.json"]
        assert results(book)["half.json"] != before["half.json"]
        assert grades(book, *names) == grades(batches["05"].book, *names)

    @pytest.mark.nightly
    def test_who_kills_the_grader_loses_no_grade(self, batches, tmp_path):
        source, book = few(tmp_path, *PAIR)
        process = started(tmp_path, source, 1)
        deadline = time.monotonic() + 300
        while not list(book.results.glob("[!.]*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)  # into the next one
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = results(book)
        assert 1 <= len(kept) < len(PAIR)
        said = run(tmp_path, source, "05")
        assert said.count("[") == len(PAIR) - len(kept)
        assert grades(book, *PAIR) == grades(batches["05"].book, *PAIR)
        assert kept.items() <= results(book).items()

    @pytest.mark.nightly
    def test_two_graders_in_one_folder_wait_for_each_other(self, batches, tmp_path):
        names = ("cut-off", "pdf")
        source, book = few(tmp_path, *names)
        book.folder.mkdir(parents=True, exist_ok=True)
        with book.lock():
            processes = [started(tmp_path, source, 1) for _ in range(2)]
            for process in processes:
                assert any("another grader is at work" in line for line in process.stdout)
        said = [process.communicate(timeout=300)[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0], said
        lines = [line for text in said for line in text.splitlines()]
        graded = [line for line in lines if re.match(r"\[\d+/\d+\]", line)]
        assert len(graded) == len(names), said  # each was graded once
        assert grades(book, *names) == grades(batches["05"].book, *names)
