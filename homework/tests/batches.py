"""Some 110 submissions, honest and hostile: each gets what it deserves, and none touches
others.

Three files of tests share them, which run side by side: test_submissions.py (honest, damaged, or
kept to themselves), test_hostile.py and test_attackers.py. What a file takes is graded once, as a
folder (chapter 05), a zip of Canvas (04) and a folder of Moodle (07); the tests look at what came
of it. The command does that, but whatever does no harm is judged for it in one warm sandbox, which
takes minutes less (see `graded`). At night all of them are graded by the command as it is.
"""

import csv
import html
import os
import shutil
import socket
import threading
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
from submissions import FULL, SEED, SHUT_IN, SUBMISSIONS, TEMPLATE, Submission

from homework import grade
from homework.intake.collect import HandIn
from homework.release.assignment import ROOT
from homework.release.course import Course, release
from homework.report.gradebook import Gradebook, Record
from homework.run.sandbox import Limits
from homework.run.worker import Worker

LIMITS = {"answer": 3, "task": 6, "cpu": 20, "given": 20, "submission": 120}
BY_NAME = {one.name: one for one in SUBMISSIONS}
READABLE = [one for one in SUBMISSIONS if not one.error and one.points]
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


def batch(root: Path, chapter: str, port: int, handed_in: list[Submission]) -> Graded:
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
    for one in handed_in:
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


def untold(one: Submission, record: Record) -> list[str]:
    """What a teacher is not told of a file, or is told without a cause."""
    notes = record.notes
    found = [f"no note {words!r}" for words in one.notes if not any(words in n for n in notes)]
    if one.quiet:
        found += [f"note {n!r}" for n in notes if not any(words in n for words in one.notes)]
    return found


def nothing_else_was_touched(batch: Graded) -> None:
    """Outside of the gradebook all is as it was planted."""
    assert contents(batch.root, batch.root / "course" / "grading") == batch.planted
    assert not list(Path("/tmp").glob("full-*")) + list(Path("/dev/shm").glob("full-*"))


def results(book: Gradebook) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in book.results.glob("[!.]*.json")}


class Deserved:
    """The tests of a batch; a file's class says which submissions are in it."""

    HANDED_IN: tuple[Submission, ...]

    def pytest_generate_tests(self, metafunc):
        if "one" in metafunc.fixturenames:
            metafunc.parametrize("one", self.HANDED_IN, ids=lambda one: one.name)
        if "chapter" in metafunc.fixturenames:
            metafunc.parametrize("chapter", sorted({one.chapter for one in self.HANDED_IN}))

    @pytest.fixture(scope="class")
    def server(self):
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

    @pytest.fixture(scope="class")
    def batches(self, tmp_path_factory, server, bubblewrap) -> dict[str, Graded]:
        """All submissions, graded once, those that are gentle in a warm sandbox."""
        of_chapter: dict[str, list[Submission]] = {}
        for one in self.HANDED_IN:
            of_chapter.setdefault(one.chapter, []).append(one)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grade, "graded", graded)
            return {
                chapter: batch(
                    tmp_path_factory.mktemp(f"batch-{chapter}"), chapter, server[0], ours
                )
                for chapter, ours in of_chapter.items()
            }

    def test_a_submission_gets_what_it_deserves(self, one, batches, server, tmp_path, request):
        """And a teacher is told what is odd in it."""
        made = batches[one.chapter]
        if (
            getattr(request.node, "execution_count", 1) > 1
        ):  # a second try: it is graded again, alone
            made = batch(tmp_path, one.chapter, server[0], [one])
        record = made.record(one)
        found = faults(one, record)
        if one in READABLE:
            found += untold(one, record)
        assert found == [], one.why

    def test_nobody_else_is_in_the_gradebook(self, batches):
        for chapter, batch in batches.items():
            ours = {one.student for one in self.HANDED_IN if one.chapter == chapter}
            others = {record.student: record for record in batch.book.records()}
            for student in ours & set(others):
                del others[student]
            outside = {"04": {"link_998", "outside_999"}}.get(chapter, set())
            assert set(others) == outside
            assert all(record.error for record in others.values())

    def test_nothing_but_the_gradebook_was_touched(self, batches, server):
        for batch in batches.values():
            nothing_else_was_touched(batch)
        assert server[1] == []  # nobody has called

    def test_tables_and_pages_agree_and_run_nothing(self, batches):
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

    def test_feedback_says_nothing_of_hidden_tests(self, batches):
        batch = batches["05"]
        secret = [line.strip() for line in (TEMPLATE / "05.py").read_text("utf-8").splitlines()]
        secret = [line for line in secret if "raise Wrong" in line or "rng.standard" in line]
        for one in self.HANDED_IN:
            if one in READABLE and one.chapter == "05":
                page = (batch.book.folder / "feedback" / f"{one.student}.html").read_text("utf-8")
                hidden = [r.message for r in batch.record(one).results if r.hidden and r.message]
                shown = html.unescape(page)
                assert not any(line in shown for line in secret)
                assert not any(text in shown for text in hidden if "ratio" in text), one.name

    def test_a_second_run_grades_nothing(self, batches):
        for chapter, batch in batches.items():
            before = results(batch.book)
            said = run(batch.root, batch.source, chapter)
            assert "[" not in said  # no line such as [1/9] ada
            assert results(batch.book) == before

    @pytest.mark.nightly
    def test_the_command_as_it_is_gives_the_same(self, chapter, tmp_path, server, bubblewrap):
        """Each by the worker's own process, in a sandbox that was started for it."""
        ours = [one for one in self.HANDED_IN if one.chapter == chapter]
        made, wrong = batch(tmp_path, chapter, server[0], ours), {}
        for one in ours:
            record = made.record(one)
            if found := faults(one, record) + (untold(one, record) if one in READABLE else []):
                wrong[one.name] = found
        assert wrong == {}
        nothing_else_was_touched(made)
        assert server[1] == []
