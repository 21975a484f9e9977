"""Some 110 submissions, honest and hostile: each gets what it deserves, and none touches
others.

All of `submissions.py` is graded once, as a folder (chapter 05), a zip of Canvas (04) and a folder
of Moodle (07); the tests look at what came of it. The command does that, but whatever does no harm
is judged for it in one warm sandbox, which takes minutes less (see `graded`). At night all of them
are graded by the command as it is.
"""

import csv
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

import attackers
import pytest
import students
from handins import Warm
from submissions import FULL, SEED, SHUT_IN, SUBMISSIONS, TEMPLATE, Submission, course, written

from homework import grade
from homework.intake.collect import HandIn
from homework.release.assignment import ROOT
from homework.release.course import Course, release
from homework.report.gradebook import Gradebook, Record
from homework.run.sandbox import Limits
from homework.run.worker import Worker

pytestmark = [
    pytest.mark.usefixtures("bubblewrap"),
]
assert students, "registers its hand-ins"
LIMITS = {"answer": 3, "task": 6, "cpu": 20, "given": 20, "submission": 120}
BY_NAME = {one.name: one for one in SUBMISSIONS}
READABLE = [one for one in SUBMISSIONS if not one.error and one.points]
PAIR = ("half", "loops-in-cells")  # the second takes long
GENTLE = {one.student for one in (*SHUT_IN, *attackers.MORE, *students.MORE)} - attackers.HARSH | {
    "claims-to-be-perfect",
    "exits-politely",
    "reads-the-source",
    "zip-slip",
}  # and whatever is handed in for another chapter
ENDED = {  # as gentle, once their time is over
    "loop-in-function",
    "loops-in-cells",
    "ends-itself",
    "exits-before-all",
    "endless-output",
}
gentle = cache(Warm)


def graded(by: Worker, one: HandIn, raw: bytes | None, key: str, real=grade.graded) -> Record:
    """As the command has it, by a warm worker where that does no harm."""
    is_gentle = by.course.chapter != "05" or one.student in GENTLE | ENDED
    limits = by.limits if one.student in ENDED else Limits()
    return real(gentle(by.course, limits) if is_gentle else by, one, raw, key)


@dataclass(frozen=True)
class Graded:
    """A batch that was graded: where, and what is known of each of its submissions."""

    root: Path
    chapter: str
    source: Path
    planted: dict[str, tuple]
    said: str

    @property
    def book(self) -> Gradebook:
        return Gradebook(self.root / "course" / "grading" / self.chapter)

    def record(self, one: Submission) -> Record:
        found = self.book.get(one.student)
        assert found is not None, sorted(r.student for r in self.book.records())
        return found


def released(root: Path, chapter: str) -> Path:
    """A course with its private folder, and what a student may look for beside it."""
    private = root / "private"
    shutil.copytree(TEMPLATE, private, ignore=shutil.ignore_patterns("__pycache__"))
    release(Course(chapter, SEED, str(private)), root / "course")
    (root / "planted.txt").write_text("COURSE")
    (root / "submissions").mkdir()
    return root / "submissions"


def run(root: Path, source: Path, chapter: str, workers: int = 1) -> str:
    """Grade by the command; what it said."""
    said = StringIO()
    arguments = [str(source), "--assignment", chapter, "--course", str(root / "course")]
    with redirect_stdout(said), redirect_stderr(said):
        status = grade.main([*arguments, "--workers", str(workers)], Limits(**LIMITS))
    assert status == 0, said.getvalue()
    return said.getvalue()


def contents(root: Path, without: Path) -> dict[str, tuple]:
    """All that lies in a folder but in one of its folders: kinds, sizes, times, links."""
    found = {}
    for folder, inside, files in os.walk(root):
        inside[:] = [name for name in inside if Path(folder, name) != without]
        for path in (Path(folder, name) for name in (*inside, *files)):
            about = path.lstat()
            target = os.readlink(path) if path.is_symlink() else ""
            changes = () if path.is_dir() else (about.st_size, about.st_mtime_ns)
            found[str(path)] = (about.st_mode, target, *changes)
    return found


@pytest.fixture(scope="module")
def server():
    """A server on this machine that counts who calls."""
    calls = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def count() -> None:
            while True:
                try:
                    calls.append(listening.accept())
                except OSError:
                    return

        threading.Thread(target=count, daemon=True).start()
        yield listening.getsockname()[1], calls


@pytest.fixture(scope="module")
def batches(tmp_path_factory, server) -> dict[str, Graded]:
    """All submissions, graded once, those that are gentle in a warm sandbox."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grade, "graded", graded)
        return {
            chapter: _batch(tmp_path_factory.mktemp(f"batch-{chapter}"), chapter, server[0])
            for chapter in FULL
        }


def _batch(root: Path, chapter: str, port: int) -> Graded:
    source = released(root, chapter)
    places = [str(path) for path in (root, root / "course", root / "private", source)]
    places += [str(root / "course" / "grading" / chapter / name) for name in ("", "results")]
    # An ordinary user's sandbox owns the folders, in memory, that lead to what it shows of /tmp.
    is_own = os.geteuid() != 0 and ROOT.is_relative_to("/tmp")
    places += [
        str(ROOT / name)
        for name in ("notebooks", "tests", "homework/private_example", ".git")
        if not is_own
    ]
    places += [
        f"{path}/{name}"
        for path, name in zip(
            places,
            ("planted.txt", f"{chapter}.json", f"{chapter}.py", "perfect/perfect.ipynb"),
            strict=False,
        )
    ]
    for one in SUBMISSIONS:
        if one.chapter == chapter:
            one.plant(source, PLACES=repr(places), PORT=str(port))
    if chapter == "04":
        source = as_zip(source)
    grading = root / "course" / "grading"
    planted = contents(root, grading)
    return Graded(
        root, chapter, source, planted, run(root, source, chapter, 2 if chapter == "05" else 1)
    )


def as_zip(folder: Path) -> Path:
    """The zip that a platform makes of a folder, with names in it that lead out of it."""
    with zipfile.ZipFile(folder.with_suffix(".zip"), "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
        link = zipfile.ZipInfo("link_998_99800_04.ipynb")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("../../../../outside_999_99900_04.ipynb", "{}")
    shutil.rmtree(folder)
    return folder.with_suffix(".zip")


# ------------------------------------------------------------- what each deserves


def faults(one: Submission, record: Record) -> list[str]:
    """Where a record is not what a submission deserves."""
    found = []
    if one.error or not one.points:
        if not record.error or one.error not in record.error:
            found.append(f"error {record.error!r}, not {one.error!r}")
        return found + [f"points {record.points()}"] * bool(record.results)
    if record.error:
        return [f"error {record.error!r}"]
    said = [(r.task, r.points, r.message, r.raised) for r in record.results]
    for task, points in one.points.items():
        if record.points().get(task) != points:
            got = [result for result in said if result[0] == task]
            found.append(f"{task}: {points:g} points deserved, not {got}")
    for task, words in one.says.items():
        if not any(name == task and words in message for name, _, message, _ in said):
            found.append(f"{task}: no test said {words!r}")
    for task, words in one.responses.items():
        if words not in (kept := record.responses.get(task, "")):
            found.append(f"{task}: the response {kept!r} has no {words!r}")
    return found


@pytest.mark.parametrize("one", SUBMISSIONS, ids=lambda one: one.name)
def test_a_submission_gets_what_it_deserves(one, batches):
    assert faults(one, batches[one.chapter].record(one)) == [], one.why


def untold(one: Submission, record: Record) -> list[str]:
    """What a teacher is not told of a file, or is told without a cause."""
    notes = record.notes
    found = [f"no note {words!r}" for words in one.notes if not any(words in n for n in notes)]
    if one.quiet:
        found += [f"note {n!r}" for n in notes if not any(words in n for words in one.notes)]
    return found


@pytest.mark.parametrize("one", READABLE, ids=lambda one: one.name)
def test_a_teacher_is_told_what_is_odd(one, batches):
    assert untold(one, batches[one.chapter].record(one)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("chapter", FULL)
def test_the_command_as_it_is_gives_the_same(chapter, tmp_path, server):
    """Each by the worker's own process, in a sandbox that was started for it."""
    batch = _batch(tmp_path, chapter, server[0])
    wrong = {}
    for one in (one for one in SUBMISSIONS if one.chapter == chapter):
        record = batch.record(one)
        if found := faults(one, record) + (untold(one, record) if one in READABLE else []):
            wrong[one.name] = found
    assert wrong == {}
    nothing_else_was_touched(batch)
    assert server[1] == []


def test_full_grades_are_those_of_the_problem_sets():
    assert len({(one.chapter, one.student) for one in SUBMISSIONS}) == len(SUBMISSIONS)
    for chapter, points in FULL.items():
        assert points == {t.name: t.points for t in course(chapter).tasks if not t.free}
    assert FULL["05"] == BY_NAME["perfect"].points


def test_nobody_else_is_in_the_gradebook(batches):
    for chapter, batch in batches.items():
        ours = {one.student for one in SUBMISSIONS if one.chapter == chapter}
        others = {record.student: record for record in batch.book.records()}
        for student in ours & set(others):
            del others[student]
        outside = {"04": {"link_998", "outside_999"}}.get(chapter, set())
        assert set(others) == outside
        assert all(record.error for record in others.values())


# ------------------------------------------------------------- and nothing else happens


def nothing_else_was_touched(batch: Graded) -> None:
    """Outside of the gradebook all is as it was planted."""
    assert contents(batch.root, batch.root / "course" / "grading") == batch.planted
    assert not list(Path("/tmp").glob("full-*")) + list(Path("/dev/shm").glob("full-*"))


def test_nothing_but_the_gradebook_was_touched(batches, server):
    for batch in batches.values():
        nothing_else_was_touched(batch)
    assert server[1] == []  # nobody has called


def test_tables_and_pages_agree_and_run_nothing(batches):
    for chapter, batch in batches.items():
        with (batch.book.folder / "grades.csv").open(encoding="utf-8", newline="") as file:
            rows = {row["student"]: row for row in csv.DictReader(file)}
        for record in batch.book.records():
            row = rows.pop(record.student)
            points = {task: float(row[task] or 0) for task in FULL[chapter]}
            assert points == ({t: record.points().get(t, 0.0) for t in points})
            assert (row["state"] == "not readable") == bool(record.error)
            assert not any(value.startswith(("=", "+", "@")) for value in row.values())
        assert not rows
        for page in batch.book.folder.rglob("*.html"):
            assert "<script>alert" not in page.read_text("utf-8"), page


def test_feedback_says_nothing_of_hidden_tests(batches):
    batch = batches["05"]
    secret = [line.strip() for line in (TEMPLATE / "05.py").read_text("utf-8").splitlines()]
    secret = [line for line in secret if "raise Wrong" in line or "rng.standard" in line]
    for one in READABLE:
        if one.chapter == "05":
            page = (batch.book.folder / "feedback" / f"{one.student}.html").read_text("utf-8")
            hidden = [r.message for r in batch.record(one).results if r.hidden and r.message]
            shown = html.unescape(page)
            assert not any(line in shown for line in secret)
            assert not any(text in shown for text in hidden if "ratio" in text), one.name


def test_a_second_run_grades_nothing(batches):
    for chapter, batch in batches.items():
        before = results(batch.book)
        said = run(batch.root, batch.source, chapter)
        assert "[" not in said  # no line such as [1/9] ada
        assert results(batch.book) == before


def results(book: Gradebook) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in book.results.glob("[!.]*.json")}


# ------------------------------------------------------------- graded with others, or alone


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


def test_a_file_that_changes_is_graded_again_and_no_other(batches, tmp_path):
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


def test_who_kills_the_grader_loses_no_grade(batches, tmp_path):
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


def test_two_graders_in_one_folder_wait_for_each_other(batches, tmp_path):
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
