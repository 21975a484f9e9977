"""The grade command: what it refuses, what it says, and the process in which it judges."""

import json
import re
import shutil
import sys
import textwrap
import zipfile
from dataclasses import replace

import nbformat
import pytest

from homework import grade, judge, sandbox
from homework.gradebook import Gradebook
from homework.judge import TOO_MUCH, Judge
from homework.release import Course, edition, fingerprint, release
from homework.sandbox import Limits

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is a Linux program")
SMALL = Limits(answer=8, task=20)


def filled(of, answers):
    """A student edition with these answers, as bytes."""
    notebook = edition(of)
    for cell in notebook.cells:
        told = cell.metadata.homework
        if told.kind == "stub" and told.task in answers:
            cell.source = answers[told.task]
    return nbformat.writes(notebook).encode()


@pytest.fixture
def course(tmp_path):
    """A released problem set of one visible and one hidden test, and a folder for submissions."""
    assert shutil.which("bwrap"), sandbox.INSTALL
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "05.py").write_text(
        textwrap.dedent("""
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


def run(folder, *more):
    told = [str(folder / "handed"), "--assignment", "05", "--course", str(folder / "course")]
    return grade.main([*told, "--workers", "1", *more], SMALL)


def table(folder):
    lines = (folder / "course/grading/05/grades.csv").read_text().splitlines()
    return {line.split(",")[0]: line.split(",")[2:] for line in lines}


@LINUX
def test_a_judge_that_is_lost_costs_its_own_test_and_is_replaced(course, monkeypatch):
    folder, of = course
    monkeypatch.setattr(judge, "PATIENCE", -50.0)
    right = {task.name: task.solution for task in of.tasks}
    for rows in (2, 3, 4, 5):
        answer = f"counterexample = np.array([[1.0, 0], [3, 1]] + [[0.0, 0]] * {rows - 2})"
        raw = filled(of, right | {"05.5": answer})
        (folder / "handed" / f"rows{rows}.ipynb").write_bytes(raw)
    told = [str(folder / "handed"), "--assignment", "05", "--course", str(folder / "course")]
    assert grade.main(told, replace(SMALL, given=60.0, task=20.0)) == 0
    points = {name: row[1] for name, row in table(folder).items() if name != "student"}
    assert points == {"rows2": "5", "rows3": "2", "rows4": "2", "rows5": "2"}


@LINUX
def test_a_file_that_ends_the_reader_is_told(monkeypatch):
    def dies(*_, **__):
        raise judge._LostJudge("")

    with Judge(Course("05"), SMALL) as one:
        monkeypatch.setattr(one, "_answer", dies)
        assert one.grade(b"{}").error == TOO_MUCH


@LINUX
def test_what_is_graded_is_not_graded_again_and_a_person_may_ask(course, capsys):
    folder, of = course
    raw = filled(of, {"05.1": of.tasks[0].solution})
    (folder / "handed" / "ada.ipynb").write_bytes(raw)
    assert run(folder) == 0
    assert "[1/1] ada" in capsys.readouterr().out
    first = table(folder)
    assert run(folder) == 0
    assert "[1/1]" not in capsys.readouterr().out
    assert table(folder) == first
    assert run(folder, "--again") == 0
    assert "[1/1] ada" in capsys.readouterr().out
    private = folder / "private" / "05.py"
    private.write_text(private.read_text() + "\n# mended\n")
    assert run(folder) == 0
    assert "[1/1] ada" in capsys.readouterr().out


@LINUX
def test_mended_tests_are_tried_on_the_solutions_first(course, capsys):
    folder, of = course
    (folder / "handed" / "ada.ipynb").write_bytes(filled(of, {"05.1": of.tasks[0].solution}))
    assert run(folder) == 0
    assert "the tests have changed" not in capsys.readouterr().out
    first, private = table(folder), folder / "private" / "05.py"
    right = private.read_text()
    private.write_text(right + "    raise Wrong('whatever it is')\n")
    assert run(folder) == 2
    told = capsys.readouterr().err
    assert "the solution of 05.5 gets 0 of 3 points in the test weak: whatever it is" in told
    assert table(folder) == first
    private.write_text(right + "    pass\n")
    assert run(folder) == 0
    assert "changed since the release: the solutions get all points" in capsys.readouterr().out
    assert run(folder, "--again") == 0
    assert "the tests have changed" not in capsys.readouterr().out


@LINUX
def test_those_whose_files_are_not_there_are_told_to_have_earlier_tests(course, capsys):
    folder, of = course
    for name in ("ada", "bob"):
        (folder / "handed" / f"{name}.ipynb").write_bytes(filled(of, {}))
    assert run(folder) == 0
    assert "earlier tests" not in capsys.readouterr().out
    private = folder / "private" / "05.py"
    private.write_text(private.read_text() + "\n# mended\n")
    (folder / "handed" / "bob.ipynb").unlink()
    assert run(folder) == 0
    told = capsys.readouterr().out
    assert "not given this time, so still graded with the earlier tests: bob\n" in told


@LINUX
def test_who_was_graded_without_a_roster_is_not_in_the_list_twice(course, capsys):
    folder, of = course
    name = "lovelaceada_7_9_05.ipynb"
    (folder / "handed" / name).write_bytes(filled(of, {"05.1": of.tasks[0].solution}))
    assert run(folder) == 0
    before = table(folder)
    (folder / "roster.csv").write_text(
        'Student,ID,SIS Login ID,Section\n"Lovelace, Ada",7,ada,A\n"Li, Bo",8,bo,A\n'
    )
    assert run(folder, "--roster", str(folder / "roster.csv")) == 0
    (key,) = set(before) - {"student"}
    assert f"{key} is in the list under another name now" in capsys.readouterr().out
    after = table(folder)
    assert set(after) == {"student", "ada", "bo"}
    assert after["ada"][-6:] == before[key][-6:]
    pages = folder / "course/grading/05/feedback"
    assert [page.name for page in pages.iterdir()] == ["ada.html"]


@LINUX
def test_moodle_is_asked_for_its_maximum_first_and_gets_a_zip_of_feedback(course, capsys):
    folder, of = course
    moodle = "Ada Lovelace_77_assignsubmission_file_05.ipynb"
    (folder / "handed" / moodle).write_bytes(filled(of, {}))
    sheet = (
        "Identifier,Full name,Email address,Grade,Maximum Grade,Feedback comments\n"
        "Participant 77,Ada Lovelace,ada@x.org,,{},\n"
    )
    (folder / "sheet.csv").write_text(sheet.format(100))
    assert run(folder, "--roster", str(folder / "sheet.csv")) == 2
    told = capsys.readouterr()
    assert f"has 100 points for this assignment, the marks are of {of.points:g}" in told.err
    assert "[1/1]" not in told.out
    (folder / "sheet.csv").write_text(sheet.format(f"{of.points:g}"))
    assert run(folder, "--roster", str(folder / "sheet.csv")) == 0
    grading = folder / "course/grading/05"
    with zipfile.ZipFile(grading / "feedback.zip") as made:
        (name,) = made.namelist()
        assert name.split("_", 4)[:2] == ["Ada Lovelace", "77"]
        (page,) = (grading / "feedback").iterdir()
        assert made.read(name).decode() == page.read_text("utf-8")


def test_it_refuses_to_run_unsandboxed_unless_told_so(tmp_path, capsys, monkeypatch):
    error = "bwrap: No permissions to create a new namespace"

    def none(*_):
        raise sandbox.SandboxError(error)

    monkeypatch.setattr(sandbox, "check", none)
    release(Course("05"), tmp_path / "course")
    (tmp_path / "handed").mkdir()
    (tmp_path / "handed" / "ada.ipynb").write_bytes(filled(Course("05").assignment(), {}))
    assert run(tmp_path) == 2
    told = capsys.readouterr().err
    assert error in told
    assert "with your own rights" in told
    assert "WSL2" in told
    assert not (tmp_path / "course" / "grading").exists()
    monkeypatch.setattr(grade, "grade_all", lambda *_: None)
    assert run(tmp_path, "--without-sandbox") == 0


def test_a_sandbox_that_cannot_start_says_why(monkeypatch):
    monkeypatch.setattr(sandbox, "command", lambda *_, **__: ["sh", "-c", "echo why >&2; exit 1"])
    with pytest.raises(sandbox.SandboxError, match=r"cannot start a sandbox \(why\)"):
        sandbox.check()


def test_without_a_sandbox_code_runs_with_the_graders_rights(monkeypatch):
    with sandbox.student(Limits(answer=60), unsafe=True) as talk:
        talk.ask(str, do="run", source="import os\nme = os.getpid()")
        assert talk.ask(str, do="value", name="me")["value"] == talk.process.pid


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda f: None, r"there is no '\S+handed'"),
        (lambda f: (f / "handed").mkdir(), "there is nothing to grade"),
        (lambda f: (f / "handed").write_text("no zip"), r"handed' is no zip"),
        (lambda f: (f / "course/05.json").unlink(), "there is no .*05.json, which says how"),
        (lambda f: (f / "course/05.json").write_text("{"), "05.json is no record of a release"),
        (lambda f: (f / "course/05.json").write_text('{"a": 1}'), "is no record of a release"),
        (lambda f: (f / "course/05.json").write_text('{"chapter": "06"}'), "that it is of 06"),
        (lambda f: (f / "course/05.json").write_text('{"chapter": 5}'), "should be text"),
    ],
)  # fmt: skip
def test_what_cannot_be_graded_is_told(tmp_path, capsys, monkeypatch, prepare, said):
    monkeypatch.setattr(sandbox, "check", lambda *_: None)
    release(Course("05"), tmp_path / "course")
    prepare(tmp_path)
    assert run(tmp_path) == 2
    assert re.search(said, capsys.readouterr().err)


def test_the_course_itself_is_not_graded(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sandbox, "check", lambda *_: None)
    release(Course("05"), tmp_path / "course")
    for source in (tmp_path, tmp_path / "course"):
        told = [str(source), "--assignment", "05", "--course", str(tmp_path / "course")]
        assert grade.main(told) == 2
        assert "name the folder of hand-ins alone" in capsys.readouterr().err


def test_wrong_words_are_told(tmp_path, capsys):
    assert grade.main(["x", "--assignment", "5", "--course", str(tmp_path)]) == 2
    assert "two digits" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        grade.main(["x", "--assignment", "05", "--workers", "0"])
    assert "--workers must be 1 or more, got 0" in capsys.readouterr().err


def test_the_grader_stops_where_the_judge_itself_fails(tmp_path, capsys, monkeypatch):
    """A fault of the course's own, such as a private file that went away, is no student's."""
    monkeypatch.setattr(sandbox, "check", lambda *_: None)
    release(Course("05"), tmp_path / "course")
    (tmp_path / "handed").mkdir()
    (tmp_path / "handed" / "ada.ipynb").write_bytes(filled(Course("05").assignment(), {}))

    def fails(*_):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(Judge, "grade", fails)
    assert run(tmp_path) == 2
    assert "the grader failed and stopped: the disk is full" in capsys.readouterr().err
    assert Gradebook(tmp_path / "course/grading/05").records() == []


def test_a_judge_that_cannot_start_stops_the_command_and_marks_nobody(tmp_path, capsys):
    """As where its private file has a fault, or somebody presses Ctrl-C while it starts."""
    (tmp_path / "private").mkdir()
    private = tmp_path / "private" / "05.py"
    private.write_text("from homework.private import ProblemSet\nown = ProblemSet()\n")
    with Judge(Course("05", private=str(tmp_path / "private")), SMALL) as one:
        private.write_text("1 / 0")
        with pytest.raises(RuntimeError, match=r"does not start: .*ZeroDivisionError"):
            one.grade(b"{}")
        assert one.process is None


def test_whatever_fails_on_the_way_is_told_and_not_taken_for_done(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sandbox, "check", lambda *_: None)
    release(Course("05"), tmp_path / "course")
    (tmp_path / "handed").mkdir()
    for name in ("ada", "bob"):
        (tmp_path / "handed" / f"{name}.ipynb").write_text("{}")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Gradebook, "get", full)
    assert run(tmp_path) == 2
    assert "No space left" in capsys.readouterr().err


def test_the_record_of_a_course_comes_back(tmp_path):
    release(Course("05", "s", site="https://example.org"), tmp_path)
    told = json.loads((tmp_path / "05.json").read_text())
    assert Course(**told).site == "https://example.org"
    assert told["tests"] == fingerprint(Course("05", "s"), Course("05", "s").assignment())
