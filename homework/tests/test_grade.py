"""The grade command: what it refuses, what it says, and the process in which it judges."""

import re
import shutil
import zipfile
from itertools import count
from textwrap import dedent

import nbformat
import pytest

from homework import grade, term
from homework.release.course import Course, release
from homework.release.edition import edition
from homework.report.gradebook import Gradebook, digest
from homework.run import sandbox, worker
from homework.run.judging import Result, tried
from homework.run.sandbox import Limits
from homework.run.worker import Graded, Worker

SMALL = Limits(answer=4, task=4, given=10)


class Fake:
    """A worker that gives everybody all points, without a process."""

    def __init__(self, course, limits, **how):
        self.tasks = course.assignment().tasks

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def grade(self, raw, student=""):
        return Graded(
            results=tuple(
                Result(task.name, test.name, test.points, test.points, "Right", "", test.hidden)
                for task in self.tasks
                for test in task.tests
            )
        )


@pytest.fixture
def course(tmp_path):
    """A released problem set of one visible and one hidden test, and a folder for submissions."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "05.py").write_text(
        dedent("""
            import os, time
            import numpy as np
            from helpers.exercises.verdict import Wrong
            from homework.private import ProblemSet
            own = ProblemSet()
            own.leave_out("05.2", "05.3", "05.4", "05.6", "05.7")

            @own.hidden("05.5", points=3)
            def weak(answer):
                if len(answer) == 3:
                    os._exit(1)  # as the system does when memory is out
                if len(answer) == 4:
                    time.sleep(600)
                if len(answer) == 6:
                    np.ones((60_000, 60_000))
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
    monkeypatch.setattr(grade, "tried", lambda assignment: "all is well")
    monkeypatch.setattr(sandbox, "check", lambda *_: None)
    monkeypatch.setattr(sandbox, "check_python", lambda: None)
    return course[0]


def hand_in(folder, name, answers=(), assignment=None):
    """Write a student edition with these answers."""
    notebook = edition(assignment or Course("05").assignment())
    for cell in notebook.cells:
        homework = cell.metadata.homework
        if homework.kind == "stub" and homework.task in answers:
            cell.source = answers[homework.task]
    (folder / "handed" / name).mkdir(exist_ok=True)
    (folder / "handed" / name / "05.ipynb").write_text(nbformat.writes(notebook), "utf-8")


def run(folder, *more, source="handed"):
    arguments = [str(folder / source), "--assignment", "05", "--course", str(folder / "course")]
    return grade.main([*arguments, "--workers", "1", *more], SMALL)


def table(folder):
    lines = (folder / "course/grading/05/grades.csv").read_text().splitlines()
    return {line.split(",")[0]: line.split(",")[2:] for line in lines}


# ------------------------------------------------------------- the process that judges


@pytest.mark.usefixtures("bubblewrap")
def test_lost_worker_costs_one_test_and_is_replaced(course, monkeypatch):
    folder, assignment = course
    monkeypatch.setattr(worker, "GRACE", 0.0)
    monkeypatch.setattr(sandbox, "MOST_WALL", 4)
    right = {task.name: task.solution for task in assignment.tasks}
    for rows in (2, 3, 4):
        answer = f"counterexample = np.array([[1.0, 0], [3, 1]] + [[0.0, 0]] * {rows - 2})"
        hand_in(folder, f"rows{rows}", right | {"05.5": answer}, assignment)
    assert run(folder) == 0
    points = {name: row[1] for name, row in table(folder).items() if name != "student"}
    assert points == {"rows2": "5", "rows3": "2", "rows4": "2"}


def test_a_long_response_says_how_much_is_left_out():
    assignment = Course("05").assignment()
    released = edition(assignment)
    handed = edition(assignment)
    next(cell for cell in handed.cells if cell.id == "stub-05-6").source = "a" * 30_000
    found = worker.graded(nbformat.writes(handed).encode(), assignment, released)
    assert dict(found.responses)["05.6"].endswith("a … (10000 more characters)")


def test_worker_that_cannot_start_stops_the_command(course):
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


FAULT, RIGHT = Graded(error="a slip", ours=True), Fake.grade


def failing(monkeypatch, *which):
    """Let the worker fail in its calls of these numbers."""
    calls, real = count(1), Fake.grade
    monkeypatch.setattr(
        Fake, "grade", lambda self, *raw: FAULT if next(calls) in which else real(self, *raw)
    )


def test_grader_failure_is_retried_at_the_end(quick, capsys, monkeypatch):
    hand_in(quick, "ada")
    hand_in(quick, "bob")
    failing(monkeypatch, 1)
    assert run(quick) == 0
    assert "[again, alone: 1/1] ada\n" in capsys.readouterr().out
    assert table(quick)["ada"] == table(quick)["bob"]


@pytest.mark.parametrize("by_hand", [{}, {"05.5": 2}, {"05.1": 1, "05.5": 2}])
def test_who_could_not_be_graded_has_no_points_in_any_table(quick, capsys, monkeypatch, by_hand):
    """But those that a person gave, and a total where these are of all exercises."""
    names = ("lovelaceada_101_9001_05", "libo_102_9002_05")
    for name in names:
        hand_in(quick, name)
    roster = "Student,ID,SIS Login ID,Section,Problem set 05\n    Points Possible,,,,\n"
    (quick / "canvas.csv").write_text(f'{roster}"Lovelace, Ada",101,ada,L,EX\n"Li, Bo",102,bo,L,\n')
    failing(monkeypatch, 1, 3)
    grading = quick / "course/grading/05"
    grading.mkdir(parents=True)
    rows = [f"ada,{task},{points}\n" for task, points in by_hand.items()]
    (grading / "marks.csv").write_text(f"student,task,points\n{''.join(rows)}")
    assert run(quick, "--roster", str(quick / "canvas.csv")) == 0
    said = capsys.readouterr().out
    assert "2 handed in, 0 of them not readable, 1 to look at, 1 not graded for a cause of" in said
    total = "3" if len(by_hand) == 2 else ""
    state = "" if total else "not graded"
    points = [f"{by_hand.get(task, '')}" for task in ("05.1", "05.5")]
    assert table(quick)["ada"][1:] == [*points, total, "7", state, "0", "1"]
    imported = (grading / "grades-to-import.csv").read_text()
    assert f'"Lovelace, Ada",101,ada,L,{total or "EX"}\n' in imported
    assert '"Li, Bo",102,bo,L,7\n' in imported
    assert "<b>1</b>not graded" in (grading / "summary.html").read_text("utf-8")


def test_grader_failure_in_every_file_writes_no_grades(quick, capsys, monkeypatch):
    for name in ("ada", "bob", "cleo"):
        hand_in(quick, name)
    failing(monkeypatch, *range(9))
    assert run(quick) == 2
    assert "no hand-in could be graded, for a cause of ours: a slip" in capsys.readouterr().err
    assert Gradebook(quick / "course/grading/05").records() == []
    assert not (quick / "course/grading/05/grades.csv").exists()


def test_a_fault_of_ours_takes_no_grade_that_was_there(quick, capsys, monkeypatch):
    """Asked for again, or of a file that has changed. It is noted, until one can be graded."""
    for name in ("ada", "bob"):
        hand_in(quick, name)
    assert run(quick) == 0
    before = table(quick)
    hand_in(quick, "ada", {"05.1": "x = 1"})
    for fails, more in ((range(9), ["--again"]), ((1, 2), []), ((), [])):
        monkeypatch.setattr(Fake, "grade", RIGHT)
        failing(monkeypatch, *fails)
        assert run(quick, *more) == 0
        said = capsys.readouterr().out
        assert ("\nada: a slip; the grade of ada/05.ipynb stays\n" in said) == bool(fails)
        assert [row[:-1] for row in table(quick).values()] == [row[:-1] for row in before.values()]
        assert table(quick)["ada"][-1] == ("1" if fails else "0")


@pytest.mark.usefixtures("bubblewrap")
def test_answer_too_large_to_judge_costs_only_its_points(course):
    """As for a judge that compares each of its rows with each."""
    folder, assignment = course
    right = {task.name: task.solution for task in assignment.tasks}
    answer = "counterexample = np.array([[1.0], [2.0]] * 3)"
    hand_in(folder, "large", right | {"05.5": answer}, assignment)
    with Worker(Course("05", "s", str(folder / "private")), SMALL) as one:
        graded = one.grade((folder / "handed" / "large" / "05.ipynb").read_bytes())
        lost = [result for result in graded.results if result.points < result.most]
        assert [result.test for result in lost] == ["weak"]
        assert "MemoryError" in lost[0].message
        assert one.process.is_alive()


def test_a_judge_that_is_lost_beside_others_costs_nothing_yet(monkeypatch):
    def dies(*_, **__):
        raise worker._Lost("05.1/check")

    for alone, kills, ours in ((False, 0, True), (True, 1, True), (True, 0, False)):
        looks = iter([0] + [kills] * 9)
        monkeypatch.setattr(worker.sandbox, "memory_kills", lambda looks=looks: next(looks))
        with Worker(Course("05"), SMALL, alone=alone) as one:
            monkeypatch.setattr(one, "_start", lambda: None)
            monkeypatch.setattr(one, "_answer", dies)
            assert one.grade(b"{}").ours is ours


# ------------------------------------------------------------- what is graded, and when


def test_graded_again_when_tests_change_or_on_request(quick, capsys):
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
    shutil.rmtree(quick / "handed" / "bob")
    names, said = graded()
    assert names == ["ada"]
    assert "the tests have changed since the release: all is well" in said
    assert "not given this time, so still graded with the earlier tests: bob\n" in said
    assert [table(quick)[name][-3] for name in ("ada", "bob")] == ["", "earlier tests"]
    assert "the tests have changed" not in graded("--again")[1]


@pytest.mark.parametrize(
    ("names", "orders"),
    [
        (("ada", "ada"), "010"),
        (("lovelaceada_7_10_05", "lovelaceada_7_20_05"), "10"),
    ],
)
def test_later_attempt_wins_in_any_order_of_collecting(quick, capsys, names, orders):
    """First, late, first again, told apart by content; late, then first, by Canvas's numbers."""
    made = {}
    for order in orders:
        shutil.rmtree(quick / "handed")
        (quick / "handed").mkdir()
        hand_in(quick, names[int(order)], {"05.1": f"x = {order}"})
        (file,) = (quick / "handed").rglob("*.ipynb")
        made[order] = digest(file.read_bytes())
        assert run(quick) == 0
    (known,) = Gradebook(quick / "course/grading/05").records()
    assert known.seen[-1] == made["1"] != made["0"]
    said = capsys.readouterr().out
    assert f"{names[1]}/05.ipynb was handed in after {names[0]}/05.ipynb and stays" in said


def test_parts_that_are_joined_are_the_whole(quick, capsys):
    """One of them died; the others' results lie together, and what is missing is graded."""
    names = [f"s{n}" for n in range(9)]
    for name in names:
        hand_in(quick, name)
    for part in ("1/4", "3/4", "4/4"):
        assert run(quick, "--part", part) == 0
    assert len(table(quick)) == 1 + 3 + 2 + 2
    capsys.readouterr()
    assert run(quick) == 0
    assert re.findall(r"^\[.*\] (\w+)", capsys.readouterr().out, re.MULTILINE) == ["s1", "s5"]
    assert [*table(quick)][1:] == names


def test_the_table_of_a_term(quick):
    hand_in(quick, "lovelaceada_LATE_101_9001_05")
    assert run(quick) == 0
    path = quick / "course/grading/08/grades.csv"
    path.parent.mkdir()
    path.write_text("student,name,total,of,state,late\nbo,Li,,9,waits for marks,0\n")
    assert term.main(["--course", str(quick / "course")]) == 0
    assert (quick / "course/grading/term.csv").read_text().splitlines() == [
        "student,name,05 of 7,08 of 9,total,late,open",
        'bo,Li,,,0,,"05 not handed in, 08 waits for marks"',
        "lovelaceada_101,lovelaceada,7,,7,05,08 not handed in",
    ]


def test_a_private_file_that_is_missing_stops_the_command(quick, capsys):
    hand_in(quick, "ada")
    private = quick / "private" / "05.py"
    private.rename(quick / "05.py")
    assert run(quick) == 2
    assert f"{private} is missing: the problem set was released with it" in capsys.readouterr().err
    assert not (quick / "course" / "grading").exists()
    (quick / "05.py").rename(private)
    assert run(quick) == 0


@pytest.mark.parametrize(
    ("column", "title"),
    [
        (",problem set 05 (4711)", "problem set 05 (4711)"),
        ("", "Problem set 05, a new one"),
    ],
)
def test_the_column_of_the_import_is_told_and_canvas_gets_a_zip(quick, capsys, column, title):
    hand_in(quick, "lovelaceada_LATE_101_9001_05")
    hand_in(quick, "libo_102_9002_05")
    cell = "," * bool(column)
    (quick / "canvas.csv").write_text(
        f"Student,ID,SIS Login ID,Section{column}\n    Points Possible,,,{cell}\n"
        f'"Lovelace, Ada",101,ada,L{cell}\n"Li, Bo",102,bo,L{cell}\n'
    )
    assert run(quick, "--roster", str(quick / "canvas.csv")) == 0
    said, path = capsys.readouterr().out, quick / "course/grading/05/grades-to-import.csv"
    assert f"import: {path}   column: {title}\n" in said
    assert path.read_text().splitlines()[0].endswith(f",{title.removesuffix(', a new one')}")
    pages = quick / "course/grading/05"
    with zipfile.ZipFile(pages / "feedback.zip") as made:
        assert made.namelist() == ["libo_102_9002_05.html", "lovelaceada_LATE_101_9001_05.html"]
        assert made.read(made.namelist()[1]) == (pages / "feedback" / "ada.html").read_bytes()


def test_changed_tests_that_fail_the_solutions_stop_grading(quick, capsys, monkeypatch):
    hand_in(quick, "ada")
    assert run(quick) == 0
    first, private = table(quick), quick / "private" / "05.py"
    private.write_text(private.read_text() + "\n# mended\n")

    def fails(assignment):
        raise ValueError("the solution of 05.5 gets 0 of 3 points")

    monkeypatch.setattr(grade, "tried", fails)
    assert run(quick) == 2
    assert "the solution of 05.5 gets 0 of 3 points" in capsys.readouterr().err
    assert table(quick) == first


@pytest.mark.usefixtures("bubblewrap")
def test_tests_that_a_solution_fails_are_told(course):
    folder, _ = course
    private = folder / "private" / "05.py"
    private.write_text(private.read_text() + "    raise Wrong('whatever it is')\n")
    said = r"the solution of 05.5 gets 0 of 3 points in the test weak: whatever it is"
    with pytest.raises(ValueError, match=said):
        tried(Course("05", "s", str(folder / "private")).assignment())


def test_moodle_is_asked_for_its_maximum_first(quick, capsys):
    hand_in(quick, "Ada Lovelace_77_assignsubmission_file_05")
    sheet = (
        "Identifier,Full name,Email address,Grade,Maximum Grade,Feedback comments\n"
        "Participant 77,Ada Lovelace,ada@x.org,,{},\n"
    )
    (quick / "sheet.csv").write_text(sheet.format(100))
    assert run(quick, "--roster", str(quick / "sheet.csv")) == 2
    printed = capsys.readouterr()
    assert "has 100 points for this assignment, the marks are of 7" in printed.err
    assert "[1/1]" not in printed.out
    (quick / "sheet.csv").write_text(sheet.format("7"))
    assert run(quick, "--roster", str(quick / "sheet.csv")) == 0
    assert not (quick / "course/grading/05/feedback.zip").exists()  # which is Canvas's


# ------------------------------------------------------------- what it refuses


def test_it_refuses_to_run_unsandboxed_unless_told_so(quick, capsys, monkeypatch):
    error = "bwrap: No permissions to create a new namespace"

    def none(*_):
        raise sandbox.SandboxError(error)

    monkeypatch.setattr(sandbox, "check", none)
    hand_in(quick, "ada")
    assert run(quick) == 2
    printed = capsys.readouterr().err
    for words in (error, "with your own rights", "WSL2"):
        assert words in printed
    assert not (quick / "course" / "grading").exists()
    assert run(quick, "--without-sandbox") == 0


def test_python_that_fails_in_the_sandbox_stops_grading(quick, capsys, monkeypatch):
    def fails():
        raise sandbox.SandboxError("python cannot run the book's helpers in it")

    hand_in(quick, "ada")
    monkeypatch.setattr(sandbox, "check_python", fails)
    assert run(quick) == 2
    assert "cannot run the book's helpers" in capsys.readouterr().err
    assert Gradebook(quick / "course/grading/05").records() == []
    assert run(quick, "--without-sandbox") == run(quick) == 0  # nothing is left to be run


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda f: (f / "handed").rmdir(), r"there is no '\S+handed'"),
        (lambda f: None, "there is nothing to grade"),
        (lambda f: (f / "course/05.json").unlink(), "there is no .*05.json, which says how"),
        (lambda f: (f / "course/05.json").write_text("{"), "05.json is no record of a release"),
    ],
)
def test_what_cannot_be_graded_is_told(quick, capsys, prepare, said):
    prepare(quick)
    assert run(quick) == 2
    assert re.search(said, capsys.readouterr().err)


def test_the_course_itself_is_not_graded(quick, capsys):
    for source in (".", "course", "private"):
        assert run(quick, source=source) == 2
        assert "name the folder of hand-ins alone" in capsys.readouterr().err
