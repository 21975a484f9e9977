"""The folder of grades: whole files, marks that a person gave, and what becomes of them."""

import re

import pytest
from support import TAUGHT

from homework.release.additions import with_private
from homework.release.assignment import read_assignment
from homework.report import gradebook
from homework.report.gradebook import Gradebook, Record, points_by_task
from homework.run.judging import Result

FREE_ONE = (
    "from homework.private import ProblemSet\nown = ProblemSet()\n"
    'own.free("05.51", question="Why?", rubric={"because": 1, "so": 2})\n'
)


@pytest.fixture
def book(tmp_path):
    return Gradebook(tmp_path / "grading" / "05")


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    (folder / "05.py").write_text(FREE_ONE)
    return with_private(read_assignment(TAUGHT[4]), folder, "s")


def record(student="ada", text="Because.", points=2.0, **more):
    results = (
        Result("05.1", "check", points, 2, "Right", "ü <b> \ud800 '"),
        Result("05.2", "check", 0.0, 2, "Not right", "The scores were not scaled."),
    )
    responses = {"05.51": text} if text else {}
    return Record(student, "Ada", "a.ipynb", "k", results=results, responses=responses, **more)


def test_a_record_comes_back_as_it_was(book):
    one = record(notes=("odd",), before=("a = 1",), answers={"05.1": ("x", "y")})
    book.put(one)
    assert book.get("ada") == one
    assert book.get("bob") is None
    book.put(record("bob", points=1.0))
    assert [r.student for r in book.records()] == ["ada", "bob"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"student": "ada"}', "null", "\x00"])
def test_what_is_not_whole_is_as_if_it_were_not_there(book, text):
    (book.results / "ada.json").write_text(text)
    assert book.get("ada") is None
    with pytest.raises(ValueError, match=r"ada\.json is damaged, or .* delete it"):
        book.records()


def fill_in(book, old, new):
    path = book.folder / "marks.csv"
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_a_free_response_waits_for_a_person_and_keeps_the_mark(book, assignment):
    marks = book.update_marks([record()], assignment)
    assert points_by_task(record(), assignment, marks)["05.51"] is None
    fill_in(book, "ada,05.51,,3", "ada,05.51,2.5,3")
    marks = book.update_marks([record()], assignment)
    points = points_by_task(record(), assignment, marks)
    assert (points["05.51"], points["05.1"], points["05.2"], points["05.3"]) == (2.5, 2, 0, 0)
    assert book.update_marks([record()], assignment) == marks  # and so it stays


def test_changed_response_is_to_be_marked_again(book, assignment):
    book.update_marks([record()], assignment)
    fill_in(book, "ada,05.51,,3", "ada,05.51,2.5,3")
    marks = book.update_marks([record(text="On second thoughts.")], assignment)
    mark = marks["ada", "05.51"]
    assert mark.points is None
    assert "an earlier answer had 2.5" in mark.remark


def test_missing_response_gets_no_points_at_once(book, assignment):
    one = record(text="")
    assert points_by_task(one, assignment, book.update_marks([one], assignment))["05.51"] == 0


def test_an_appeal_is_a_line_in_the_same_file(book, assignment):
    book.update_marks([record()], assignment)
    with (book.folder / "marks.csv").open("a") as file:
        file.write('ada,05.2,1.5,,,,"right but for a sign"\n')
    marks = book.update_marks([record()], assignment)
    assert points_by_task(record(), assignment, marks)["05.2"] == 1.5
    text = (book.folder / "marks.csv").read_text()
    assert re.search(r"ada,05.2,1.5,2,0,r\w+,right but for a sign", text)  # 0 by the tests


def test_a_mark_is_asked_for_again_where_the_answer_has_changed(book, assignment):
    (book.folder / "marks.csv").write_text("student,task,points,remark\nada,05.2,1.5,so\n")
    first, later = (record(answers={"05.2": (source,)}) for source in ("x = 1", "x = 2"))
    for one, points in ((first, 1.5), (first, 1.5), (later, 0), (later, 0)):
        marks = book.update_marks([one], assignment)
        assert points_by_task(one, assignment, marks)["05.2"] == points
    assert "an earlier answer had 1.5; so" in (book.folder / "marks.csv").read_text()


def test_several_markers(book, assignment, capsys):
    head = "student,task,points,remark\n"
    (book.folder / "marks-ann.csv").write_text(f"{head}ada,05.51,2,good\nbob,05.51,1,\n")
    (book.folder / "marks-ben.csv").write_text(f"{head}bob,05.51,3,\n")
    records = [record(), record("bob")]
    marks = book.update_marks(records, assignment)
    assert marks["ada", "05.51"].points == 2
    assert marks["bob", "05.51"].points is None
    said = "bob, 05.51: marks-ann.csv has 1, marks-ben.csv has 3; marks.csv has to decide"
    assert said in capsys.readouterr().out
    fill_in(book, "bob,05.51,,3", "bob,05.51,2,3")
    assert book.update_marks(records, assignment)["bob", "05.51"].points == 2
    assert "marks.csv counts" in capsys.readouterr().out


@pytest.mark.parametrize(("between", "number"), [(",", "1.5"), (";", "1,5")])
def test_marks_may_come_back_from_any_spreadsheet(book, assignment, between, number):
    head = between.join(gradebook.MARKS)
    row = between.join(["ada", "05.2", number, "2", "", "", "ok"])
    (book.folder / "marks.csv").write_text(f"\ufeff{head}\r\n{row}\r\n", "utf-8", newline="")
    assert book.marks()["ada", "05.2"].points == 1.5


def test_a_spreadsheet_may_take_a_task_for_a_number(book, assignment):
    text = ",".join(gradebook.MARKS) + "\nada,5.2,1,2,,,\nada,05.99,1,2,,,\n"
    (book.folder / "marks.csv").write_text(text)
    marks = book.update_marks([record()], assignment)
    assert points_by_task(record(), assignment, marks)["05.2"] == 1
    assert ("ada", "05.99") in marks  # which the command says counts for nothing


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("ada,05.2,two,2,,,", r"marks.csv, line 2: a mark has student, task and points"),
        ("ada,05.2,-1,2,,,", "line 2"),
        ("ada,05.2,nan,2,,,", "line 2"),
        ("ada,05.2,inf,2,,,", "line 2"),
        (",05.2,1,2,,,", "line 2"),
        ("ada,05.2,20,2,,,", "ada has 20 of 2 for 05.2"),
        ("ada,05.2,1,2,,,\nada,05.2,2,2,,,", "line 3: ada has 05.2 twice"),
    ],
)
def test_invalid_mark_names_its_line_and_keeps_the_file(book, assignment, row, said):
    text = ",".join(gradebook.MARKS) + f"\n{row}\n"
    (book.folder / "marks.csv").write_text(text)
    with pytest.raises(ValueError, match=said):
        book.update_marks([record()], assignment)
    assert (book.folder / "marks.csv").read_text() == text
