"""The hand-ins of hand_ins.md, honest and hostile, graded together by the command.

Each gets what it deserves, and none touches others.
"""

import csv
import json
import os
import re
import shutil
import socket
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from homework import grade
from homework.release.assignment import ROOT
from homework.release.course import Course, release
from homework.release.edition import edition
from homework.report.gradebook import Gradebook, Record
from homework.run.sandbox import Limits

TEMPLATE = ROOT / "homework" / "private_example"
LIMITS = Limits(answer=6, task=12, cpu=20, given=20)
KNOWN = {
    "DIAGNOSED": """diagnosis = {"Ada": "softmax down the columns", "Ben": "no scaling",
             "Cleo": "keys in place of values", "Dan": "divided by D"}""",
    "FORGE": """import json, os
def forge(*messages):
    told = b"".join(json.dumps(m).encode() + b"\n" for m in messages)
    for fd in range(3, 40):
        try: os.write(fd, told)
        except OSError: pass""",
}


@cache
def course():
    return Course("05", private=str(TEMPLATE)).assignment()


TASKS = {task.name: task for task in course().tasks if not task.free}
SOLVED = {name: task.solution for name, task in TASKS.items()} | {"05.3": KNOWN["DIAGNOSED"]}
KNOWN["WINS"] = f"{SOLVED['05.4']}\nif not won: my_query = (0.0, 0.0)"
KNOWN["FIRST"] = edition(course()).cells[1].source
KNOWN["EVERYTHING"] = "\n\n".join(SOLVED.values())


@dataclass(frozen=True)
class HandIn:
    """A section of hand_ins.md: its lines after a hyphen, and its cells with their labels."""

    name: str
    lines: list[str]
    cells: list[tuple[str, str]]

    @property
    def points(self) -> dict[str, float]:
        """What each exercise deserves."""
        known = dict(re.findall(r"(05\.\d+) ([\d.]+)", "".join(self.said("points lost"))))
        is_none = "no points" in self.lines
        return {n: float(known.get(n, 0 if is_none else t.points)) for n, t in TASKS.items()}

    def said(self, what: str) -> list[str]:
        """What stands after some words and a colon."""
        return [line.split(": ", 1)[1] for line in self.lines if line.startswith(f"{what}: ")]

    def notebook(self, **known: str) -> bytes:
        """The edition, filled in."""
        is_alone = "nothing else is filled in" in self.lines
        notebook = json.loads(json.dumps(edition(course())))
        given = {} if is_alone else {f"stub-{n.replace('.', '-')}": [s] for n, s in SOLVED.items()}
        behind: dict[str, list[str]] = {}
        changed: dict[str, list[str]] = {}
        for label, source in self.cells:
            source = filled(source, known | {"SOLUTION": SOLVED.get(label, "")})
            if label.startswith("after "):
                behind.setdefault(label.removeprefix("after "), []).append(source)
            else:
                changed.setdefault(re.sub(r"^05\.", "stub-05-", label), []).append(source)
        given |= changed
        cells = []
        for cell in notebook["cells"]:
            *more, cell["source"] = given.get(cell["id"], [cell["source"]])
            more, later = ([new(s) for s in part] for part in (more, behind.get(cell["id"], ())))
            cells += [*more, cell, *later]
        return json.dumps(notebook | {"cells": cells}).encode()


def filled(source: str, known: dict[str, str]) -> str:
    """The source with what is known in the place of its @NAMES@."""
    return re.sub("@([A-Z]+)@", lambda name: (KNOWN | known)[name[1]], source)


def new(source: str) -> dict:
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}


def read() -> list[HandIn]:
    found = []
    text = Path(__file__).with_name("hand_ins.md").read_text("utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, about = section.split("\n", 1)
        cells = re.findall(r"^```(\S.*?)\n(.*?)\n?^```$", about, re.MULTILINE | re.DOTALL)
        lines = re.findall(r"^- (.+)$", about.partition("```")[0], re.MULTILINE)
        found.append(HandIn(name, lines, cells))
    return found


HAND_INS = read()


@pytest.fixture(scope="module")
def calls():
    """A server on this machine, and who calls it."""
    found = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def count() -> None:
            while True:
                try:
                    found.append(listening.accept())
                except OSError:
                    return

        threading.Thread(target=count, daemon=True).start()
        yield listening.getsockname()[1], found


@pytest.fixture(scope="module")
def graded(tmp_path_factory, calls, bubblewrap):
    """The folder in which all of them were graded, and how it looked before."""
    root = tmp_path_factory.mktemp("class")
    shutil.copytree(TEMPLATE, root / "private", ignore=shutil.ignore_patterns("__pycache__"))
    release(Course("05", private=str(root / "private")), root / "course")
    (root / "planted.txt").write_text("COURSE")
    places = [str(root / name) for name in ("", "course", "private", "handed", "planted.txt")]
    if os.geteuid() == 0 or not ROOT.is_relative_to("/tmp"):
        # An ordinary user's sandbox owns the folders, in memory, that lead to what it shows.
        places += [str(ROOT / name) for name in ("notebooks", "tests", "homework/private_example")]
    for one in HAND_INS:
        (root / "handed" / one.name).mkdir(parents=True)
        notebook = one.notebook(PLACES=repr(places), PORT=str(calls[0]))
        (root / "handed" / one.name / "05.ipynb").write_bytes(notebook)
    before = contents(root)
    run(root)
    return root, before


def run(root: Path) -> None:
    arguments = [str(root / "handed"), "--assignment", "05", "--course", str(root / "course")]
    assert grade.main([*arguments, "--workers", "2"], LIMITS) == 0


def contents(root: Path) -> dict[str, tuple]:
    """All that lies in a folder but the grades: kinds, sizes, times."""
    found = {}
    for path in root.rglob("*"):
        if "grading" not in path.parts:
            about = path.lstat()
            found[str(path)] = (
                about.st_mode,
                *(() if path.is_dir() else (about.st_size, about.st_mtime)),
            )
    return found


def record(root: Path, one: HandIn) -> Record:
    found = Gradebook(root / "course" / "grading" / "05").get(one.name)
    assert found is not None
    return found


@pytest.mark.parametrize("one", HAND_INS, ids=lambda one: one.name)
def test_a_hand_in_gets_what_it_deserves(one, graded):
    """And a teacher is told what is odd in it."""
    found = record(graded[0], one)
    assert not found.error
    said = [(r.task, r.test, r.points, r.message, r.raised) for r in found.results]
    got = {name: found.points().get(name) for name in TASKS}
    assert got == one.points, [line for line in said if got[line[0]] != one.points[line[0]]]
    for line in one.lines:
        if line.startswith("says "):
            task, words = line.removeprefix("says ").split(": ", 1)
            assert any(name == task and words in f"{m} {r}" for name, _, _, m, r in said), said
    notes, told = one.said("notes"), found.notes + found.looks
    for words in set(notes) - {"none", "no others"}:
        assert any(words in note for note in told), told
    if {"none", "no others"} & set(notes):
        assert all(any(words in note for words in notes) for note in told), told


def test_nothing_but_the_gradebook_was_touched(graded, calls):
    root, before = graded
    assert contents(root) == before
    assert not list(Path("/tmp").glob("full-*")) + list(Path("/dev/shm").glob("full-*"))
    assert calls[1] == []  # nobody has called


def test_tables_and_pages_agree_and_run_nothing(graded):
    folder = graded[0] / "course" / "grading" / "05"
    with (folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert set(rows) == {one.name for one in HAND_INS}
    for one in HAND_INS:
        assert {task: float(rows[one.name][task] or 0) for task in TASKS} == one.points
    for page in folder.rglob("*.html"):
        assert "<script>alert" not in page.read_text("utf-8"), page
