"""Rosters are read as Canvas and Moodle write them, and written so that they import."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homework.intake import roster
from homework.intake.roster import CANVAS, WORKSHEET, points, read, safe

GRADEBOOK = """\
Student,ID,SIS User ID,SIS Login ID,Section,Attention (4711),Norms (4712),Final Score
,,,,,Manual Posting,,
    Points Possible,,,,,10.00,5.00,(read only)
"Lovelace, Ada",101,S-1,ada,Monday,,4.00,80.00
"Hopper, Grace",102,S-2,grace@example.org,Monday,EX,3.00,60.00
"Gödel, Kurt",103,S-3,kurt,Tuesday,2.50,,
"Student, Test",199,,,Monday,,,
"""
GRADING = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 1234","Ada Lovelace",ada@example.org,"Submitted for grading",,10.00,Yes,\
"Monday, 3 November 2025, 9:12 AM",-,"-1 for the plot"
"Participant 1235","=HYPERLINK(""http://x"")",eve@example.org,"No submission",,10.00,Yes,-,-,
"""


@pytest.fixture
def table(tmp_path):
    def make(text: str, **options):
        path = tmp_path / "roster.csv"
        path.write_bytes(text.encode(options.get("encoding", "utf-8")))
        return read(path)

    return make


@pytest.fixture
def written(tmp_path):
    def write(students, *arguments, delimiter=","):
        path = tmp_path / "marks.csv"
        left = students.write(path, *arguments)
        text = path.read_bytes().decode()
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)), left

    return write


def test_a_canvas_gradebook_is_read(table):
    students = table(GRADEBOOK)
    assert students.kind == CANVAS
    assert [(s.key, s.name, s.id) for s in students.students] == [
        ("ada", "Lovelace, Ada", "101"),
        ("grace_example.org", "Hopper, Grace", "102"),
        ("kurt", "Gödel, Kurt", "103"),
    ]


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ("102", "grace_example.org"),
        ("grace_example.org", "grace_example.org"),
        ("grace", "grace_example.org"),
        ("Godel, Kurt", "kurt"),
        ("GO\u0308DEL,  kurt", "kurt"),
        ("999", None),
        ("", None),
    ],
)
def test_students_are_matched(table, asked, key):
    found = table(GRADEBOOK).find(asked)
    assert (found and found.key) == key


def test_what_fits_several_names_nobody(table):
    text = "Student,ID,SIS Login ID,Section\nAda Lovelace,1,ada@a.org,x\n"
    students = table(text + "Ada Lovelace,2,ada@b.org,x\n")
    assert students.find("ADA@b.org").key == "ada_b.org"
    assert students.find("Ada Lovelace") is students.find("ada") is None
    assert students.match("2").key == "ada_b.org"
    assert students.match("") is students.match("3") is None


def test_canvas_gets_its_identifying_columns_and_one_assignment(table, written):
    rows, left = written(table(GRADEBOOK), "Attention", {"ada": 7.5, "kurt": 0, "nobody": 1}, 10)
    assert rows == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Attention (4711)"],
        ["    Points Possible", "", "", "", "", "10"],
        ["Lovelace, Ada", "101", "S-1", "ada", "Monday", "7.5"],
        ["Hopper, Grace", "102", "S-2", "grace@example.org", "Monday", "EX"],  # as it was
        ["Gödel, Kurt", "103", "S-3", "kurt", "Tuesday", "0"],
    ]
    assert left == ("nobody",)


def test_canvas_gets_a_new_assignment(table, written):
    rows, left = written(table(GRADEBOOK), "Masks", {"ada": 1 / 3}, 12.5)
    assert [row[5] for row in rows] == ["Masks", "12.5", "0.33333", "", ""]
    assert left == ()


def test_canvas_with_first_and_last_names(table, written):
    text = "LastName,FirstName,ID,SIS Login ID,Section,05 (1)\n    Points Possible,,,,,\n"
    students = table("\ufeff" + text + "Lovelace,Ada,101,ada,Monday,\n")
    assert students.students[0].name == "Lovelace, Ada"
    rows, _ = written(students, "05", {"ada": 3}, 4)
    assert rows[0][0] == "\ufeffLastName"
    assert rows[2] == ["Lovelace", "Ada", "101", "ada", "Monday", "3"]


def test_one_title_of_two_assignments_is_refused(table):
    text = "Student,ID,SIS Login ID,Section,05 (1),05 (2)\nA,1,a,x,,\n"
    with pytest.raises(ValueError, match=r"several columns .* are called '05': delete"):
        table(text).agrees("05", 4)


@pytest.mark.parametrize(
    "text", [GRADEBOOK, GRADING.replace("10.00", ""), "Identifier,Status,Grade\nParticipant 7,x,\n"]
)
def test_a_roster_that_knows_no_maximum_agrees_with_any(table, text):
    assert table(text).agrees("Masks", 12) is None


@pytest.mark.parametrize(("text", "title"), [(GRADEBOOK, "Attention"), (GRADING, "05")])
def test_another_maximum_on_the_platform_is_refused(table, tmp_path, text, title):
    with pytest.raises(ValueError, match=r"has 10.00 points .* the marks are of 12"):
        table(text).write(tmp_path / "marks.csv", title, {}, 12)
    assert not (tmp_path / "marks.csv").exists()
    with pytest.raises(ValueError, match=r"has 10.00 points .* the marks are of 12"):
        table(text).agrees(title, 12)
    assert table(text).agrees(title, 10) is None


def test_a_moodle_worksheet_keeps_all_but_its_grades(table, written):
    students = table(GRADING)
    assert students.kind == WORKSHEET
    assert students.match("1234").key == "ada_example.org"
    rows, _ = written(students, "05", {"ada_example.org": 8.25}, 10)
    before = list(csv.reader(io.StringIO(GRADING)))
    assert rows[0] == before[0]
    assert rows[1][4] == "8.25"
    assert rows[1][:4] + rows[1][5:] == before[1][:4] + before[1][5:]  # feedback as it was, too
    assert rows[2][1] == "'" + before[2][1]
    assert rows[2][:1] + rows[2][2:] == before[2][:1] + before[2][2:]


def test_a_german_worksheet_and_a_table_of_logins_come_back(table, written):
    german = "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung\n"
    students = table(f'{german}Teilnehmer/in101,Ada Lovelace,ada@example.org,,,"10,00"\n')
    rows, left = written(students, "Norms", {students.match("101").key: 7.5}, 10)
    assert (rows[1][4], left) == ("7.5", ())
    rows, left = written(table("Username,Name\nada,Ada\n"), "Norms", {"ada": 7.5}, 10)
    assert (rows, left) == ([["Username", "Name", "Norms"], ["ada", "Ada", "7.5"]], ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has the columns"),
        ("First name,Surname,Email address\nAda,L,a@x.org\n", "a roster is"),
        ("Identifier,Grade\nA,b,c,d\n", "has 4 cells, the header 2"),
    ],
)
def test_what_is_no_roster(table, text, said):
    with pytest.raises(ValueError, match=said):
        table(text)


# ---------------------------------------------------------------- for whatever text


@given(st.text())
def test_keys_are_safe_file_names(text):
    key = safe(text)
    assert key
    assert len(key) <= roster.LONGEST_KEY
    assert set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert key[0] not in ".-"
    assert key[-1] not in ".-"


@given(st.floats(0, 1000))
def test_points_are_read_back(mark):
    assert float(points(mark)) == pytest.approx(mark, abs=1e-5)
    assert "e" not in points(mark)
