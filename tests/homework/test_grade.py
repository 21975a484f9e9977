"""The grade command: what it refuses, what it says, and the process in which it judges."""

import json
import re
import shutil
import sys
import zipfile
from textwrap import dedent

import nbformat
import pytest
from handins import warm

from homework import grade
from homework.release.course import Course, fingerprint, release
from homework.release.edition import edition
from homework.report.gradebook import Gradebook
from homework.run import sandbox, worker
from homework.run.judging import Result, tried
from homework.run.sandbox import Limits
from homework.run.worker import TOO_MUCH, Graded, Worker

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a Linux program")
SMALL = Limits(answer=4, task=4, given=10)


class Fake:
    """A worker that gives everybody all points, without a process."""

    def __init__(self, course, limits, **how):
        self.tasks = course.assignment().tasks

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def grade(self, raw):
        return Graded(results=tuple(
            Result(task.name, test.name, test.points, test.points, "Right", "", test.hidden)
            for task in self.tasks for test in task.tests
        ))  # fmt: skip


@pytest.fixture
def course(tmp_path):
    """A released problem set of one visible and one hidden test, and a folder for submissions."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "05.py").write_text(
        dedent("""
            import os, time
            from helpers.exercises.verdict import Wrong
            from homework.private import ProblemSet
            own = ProblemSet()
            own.leave_out("05.2", "05.3", "05.4", "05.6", "05.7")

            @own.hidden("05.5", points=3)
            def weak(answer):
                if len(answer) == 3:
                    os._exit(1)  # as the system does when memory is out
                if len(answer) == 4:
                    raise MemoryError
                if len(answer) == 5:
                    time.sleep(600)
        """)
    )
    made = Course("05", "s", str(tmp_path / "private"))
    release(made, tmp_path / "course")
    (tmp_path / "handed").mkdir()
    return tmp_path, made.assignment()


@pytest.fixture
def quick(course, monkeypatch):
    """The same where nothing is run: neither submissions nor, to try the tests, solutions."""
    monkeypatch.setattr(grade, "Worker", Fake)
    monkeypatch.setattr(grade, "tried", lambda of: "all is well")
    monkeypatch.setattr(sandbox, "check", lambda *_: None)
    monkeypatch.setattr(sandbox, "check_python", lambda: None)
    return course[0]


def hand_in(folder, name, answers=(), of=None):
    """Write a student edition with these answers."""
    notebook = edition(of or Course("05").assignment())
    for cell in notebook.cells:
        told = cell.metadata.homework
        if told.kind == "stub" and told.task in answers:
            cell.source = answers[told.task]
    (folder / "handed" / f"{name}.ipynb").write_text(nbformat.writes(notebook), "utf-8")


def run(folder, *more, source="handed"):
    told = [str(folder / source), "--assignment", "05", "--course", str(folder / "course")]
    return grade.main([*told, "--workers", "1", *more], SMALL)


def table(folder):
    lines = (folder / "course/grading/05/grades.csv").read_text().splitlines()
    return {line.split(",")[0]: line.split(",")[2:] for line in lines}


# ------------------------------------------------------------- the process that judges


@LINUX
def test_a_worker_that_is_lost_costs_its_own_test_and_is_replaced(course, monkeypatch):
    assert shutil.which("bwrap"), sandbox.INSTALL
    folder, of = course
    monkeypatch.setattr(worker, "PATIENCE", 0.0)
    right = {task.name: task.solution for task in of.tasks}
    for rows in (2, 3, 4, 5):
        answer = f"counterexample = np.array([[1.0, 0], [3, 1]] + [[0.0, 0]] * {rows - 2})"
        hand_in(folder, f"rows{rows}", right | {"05.5": answer}, of)
    assert run(folder) == 0
    points = {name: row[1] for name, row in table(folder).items() if name != "student"}
    assert points == {"rows2": "5", "rows3": "2", "rows4": "2", "rows5": "2"}


def test_a_file_that_ends_the_reader_is_told(monkeypatch):
    def dies(*_, **__):
        raise worker._Lost("")

    with Worker(Course("05"), SMALL) as one:
        monkeypatch.setattr(one, "_start", lambda: None)
        monkeypatch.setattr(one, "_answer", dies)
        assert one.grade(b"{}").error == TOO_MUCH


def test_a_worker_that_cannot_start_stops_the_command_and_marks_nobody(course):
    """As where its private file has a fault, or somebody presses Ctrl-C while it starts."""
    folder, _ = course
    with Worker(Course("05", private=str(folder / "private")), SMALL) as one:
        (folder / "private" / "05.py").write_text("1 / 0")
        with pytest.raises(RuntimeError, match=r"does not start: .*ZeroDivisionError"):
            one.grade(b"{}")
        assert one.process is None


def test_the_grader_stops_where_the_worker_itself_fails(quick, capsys, monkeypatch):
    """A fault of the course's own, such as a private file that went away, is no student's."""
    hand_in(quick, "ada")

    def fails(*_):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(Fake, "grade", fails)
    assert run(quick) == 2
    assert "the grader failed and stopped: the disk is full" in capsys.readouterr().err
    assert Gradebook(quick / "course/grading/05").records() == []


def test_a_fault_of_the_graders_is_told_as_such_and_tried_again(quick, capsys, monkeypatch):
    hand_in(quick, "ada")
    monkeypatch.setattr(Fake, "grade", lambda *_: Graded(error="a slip", ours=True))
    assert run(quick) == run(quick) == 0
    assert capsys.readouterr().out.count("[1/1] ada") == 2
    page = (quick / "course/grading/05/feedback/ada.html").read_text("utf-8")
    assert "no fault of yours" in page


def test_whatever_fails_on_the_way_is_told_and_not_taken_for_done(quick, capsys, monkeypatch):
    for name in ("ada", "bob"):
        hand_in(quick, name)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Gradebook, "get", full)
    assert run(quick) == 2
    assert "No space left" in capsys.readouterr().err


# ------------------------------------------------------------- what is graded, and when


def test_what_is_graded_is_graded_again_where_its_tests_change_or_a_person_asks(quick, capsys):
    hand_in(quick, "ada")
    hand_in(quick, "bob")

    def graded(*more):
        assert run(quick, *more) == 0
        said = capsys.readouterr().out
        return re.findall(r"^\[.*\] (\w+)", said, re.MULTILINE), said

    assert graded()[0] == ["ada", "bob"]
    first = table(quick)
    assert graded()[0] == []
    assert table(quick) == first
    assert graded("--again")[0] == ["ada", "bob"]
    private = quick / "private" / "05.py"
    private.write_text(private.read_text() + "\n# mended\n")
    (quick / "handed" / "bob.ipynb").unlink()
    names, said = graded()
    assert names == ["ada"]
    assert "the tests have changed since the release: all is well" in said
    assert "not given this time, so still graded with the earlier tests: bob\n" in said
    assert "the tests have changed" not in graded("--again")[1]


def test_mended_tests_that_fail_on_the_solutions_stop_the_command(quick, capsys, monkeypatch):
    hand_in(quick, "ada")
    assert run(quick) == 0
    first, private = table(quick), quick / "private" / "05.py"
    private.write_text(private.read_text() + "\n# mended\n")

    def fails(of):
        raise ValueError("the solution of 05.5 gets 0 of 3 points")

    monkeypatch.setattr(grade, "tried", fails)
    assert run(quick) == 2
    assert "the solution of 05.5 gets 0 of 3 points" in capsys.readouterr().err
    assert table(quick) == first


@LINUX
def test_tests_that_a_solution_fails_are_told(course):
    folder, _ = course
    private = folder / "private" / "05.py"
    private.write_text(private.read_text() + "    raise Wrong('whatever it is')\n")
    said = r"the solution of 05.5 gets 0 of 3 points in the test weak: whatever it is"
    with warm(), pytest.raises(ValueError, match=said):
        tried(Course("05", "s", str(folder / "private")).assignment())


def test_who_was_graded_without_a_roster_is_not_in_the_list_twice(quick, capsys):
    hand_in(quick, "lovelaceada_7_9_05")
    assert run(quick) == 0
    before = table(quick)
    (quick / "roster.csv").write_text(
        'Student,ID,SIS Login ID,Section\n"Lovelace, Ada",7,ada,A\n"Li, Bo",8,bo,A\n'
    )
    assert run(quick, "--roster", str(quick / "roster.csv")) == 0
    (key,) = set(before) - {"student"}
    assert f"{key} is in the list under another name now" in capsys.readouterr().out
    after = table(quick)
    assert set(after) == {"student", "ada", "bo"}
    assert after["ada"][-6:] == before[key][-6:]
    pages = quick / "course/grading/05/feedback"
    assert [page.name for page in pages.iterdir()] == ["ada.html"]


def test_moodle_is_asked_for_its_maximum_first_and_gets_a_zip_of_feedback(quick, capsys):
    hand_in(quick, "Ada Lovelace_77_assignsubmission_file_05")
    sheet = (
        "Identifier,Full name,Email address,Grade,Maximum Grade,Feedback comments\n"
        "Participant 77,Ada Lovelace,ada@x.org,,{},\n"
    )
    (quick / "sheet.csv").write_text(sheet.format(100))
    assert run(quick, "--roster", str(quick / "sheet.csv")) == 2
    told = capsys.readouterr()
    assert "has 100 points for this assignment, the marks are of 7" in told.err
    assert "[1/1]" not in told.out
    (quick / "sheet.csv").write_text(sheet.format("7"))
    assert run(quick, "--roster", str(quick / "sheet.csv")) == 0
    grading = quick / "course/grading/05"
    with zipfile.ZipFile(grading / "feedback.zip") as made:
        (name,) = made.namelist()
        assert name.split("_", 4)[:2] == ["Ada Lovelace", "77"]
        (page,) = (grading / "feedback").iterdir()
        assert made.read(name).decode() == page.read_text("utf-8")


# ------------------------------------------------------------- what it refuses


def test_it_refuses_to_run_unsandboxed_unless_told_so(quick, capsys, monkeypatch):
    error = "bwrap: No permissions to create a new namespace"

    def none(*_):
        raise sandbox.SandboxError(error)

    monkeypatch.setattr(sandbox, "check", none)
    hand_in(quick, "ada")
    assert run(quick) == 2
    told = capsys.readouterr().err
    for words in (error, "with your own rights", "WSL2"):
        assert words in told
    assert not (quick / "course" / "grading").exists()
    assert run(quick, "--without-sandbox") == 0


def test_a_python_that_does_not_run_there_is_told_before_anybody_is_graded(
    quick, capsys, monkeypatch
):
    def fails():
        raise sandbox.SandboxError("python cannot run the book's helpers in it")

    hand_in(quick, "ada")
    monkeypatch.setattr(sandbox, "check_python", fails)
    assert run(quick) == 2
    assert "cannot run the book's helpers" in capsys.readouterr().err
    assert Gradebook(quick / "course/grading/05").records() == []
    assert run(quick, "--without-sandbox") == run(quick) == 0  # nothing is left to be run


def test_a_sandbox_that_cannot_start_says_why(monkeypatch):
    monkeypatch.setattr(sandbox, "command", lambda *_, **__: ["sh", "-c", "echo why >&2; exit 1"])
    with pytest.raises(sandbox.SandboxError, match=r"cannot start a sandbox \(why\)"):
        sandbox.check()


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda f: (f / "handed").rmdir(), r"there is no '\S+handed'"),
        (lambda f: None, "there is nothing to grade"),
        (lambda f: (f / "course/05.json").unlink(), "there is no .*05.json, which says how"),
        (lambda f: (f / "course/05.json").write_text("{"), "05.json is no record of a release"),
        (lambda f: (f / "course/05.json").write_text('{"a": 1}'), "is no record of a release"),
        (lambda f: (f / "course/05.json").write_text('{"chapter": "06"}'), "that it is of 06"),
        (lambda f: (f / "course/05.json").write_text('{"chapter": 5}'), "should be text"),
    ],
)  # fmt: skip
def test_what_cannot_be_graded_is_told(quick, capsys, prepare, said):
    prepare(quick)
    assert run(quick) == 2
    assert re.search(said, capsys.readouterr().err)


def test_the_course_itself_is_not_graded(quick, capsys):
    for source in (".", "course", "private"):
        assert run(quick, source=source) == 2
        assert "name the folder of hand-ins alone" in capsys.readouterr().err


def test_wrong_words_are_told(tmp_path, capsys):
    assert grade.main(["x", "--assignment", "5", "--course", str(tmp_path)]) == 2
    assert "two digits" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        grade.main(["x", "--assignment", "05", "--workers", "0"])
    assert "--workers must be 1 or more, got 0" in capsys.readouterr().err


def test_the_record_of_a_course_comes_back(tmp_path):
    release(Course("05", "s", site="https://example.org"), tmp_path)
    told = json.loads((tmp_path / "05.json").read_text())
    assert Course(**told).site == "https://example.org"
    assert told["tests"] == fingerprint(Course("05", "s"), Course("05", "s").assignment())
