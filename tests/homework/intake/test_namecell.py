"""Who a student says to be is read from the cell as it is, and nothing is run."""

import json

import pytest
from handins import notebook
from hypothesis import given
from hypothesis import strategies as st

from homework.intake import namecell
from homework.intake.namecell import LONGEST_NAME, claimed, is_student_cell, student_name


@pytest.mark.parametrize(("source", "name"), [
    ('student = "Ada"', "Ada"), ("student = 4711  # number", "4711"), ("student", ""),
    ("student = 'Ada  Lovelace' # me", "Ada Lovelace"), ("student = 00123", "00123"),
    ("student = 000", "000"), ("student = (\n    4711\n)", "4711"), ("student = 12.5", "12.5"),
    ("# who\nstudent='O\\'Brien'\n%matplotlib", "O'Brien"), ('student = r"a\\d"', "a\\d"),
    ('student = """\nAda\n"""', "Ada"), ('(\nstudent = """\nAda\n"""', "Ada"),
    ('student = (\n    "Ada"\n)', "Ada"), ('student = "Ada " "Lovelace"', "Ada Lovelace"),
    ('name = student = "Ada"\nstudent = ""', "Ada"), ("student = ''\nstudent = 'Ada'", "Ada"),
    ("  student = 'Ada'", "Ada"), ('student = "Ada"; x = (', "Ada"), ("student = 12 Ada", "12"),
    ('student = "Ada" + " L."', "Ada"), ("student = 12a", "12a"), ("student = s-12", "s-12"),
    ("student = Ada Lovelace", "Ada Lovelace"), ("student = “Ada”", "Ada"),
    ("student = Ada", "Ada"), ("student = Anne-Marie # me", "Anne-Marie"),
    ("student = 'Ada", "Ada"),
    ("student = ada@x.org", "ada@x.org"), ("student = ''Ada''", "Ada"), ("student = 李雷", "李雷"),
    ("student = Ada L. (4711)", "Ada L. (4711)"), ("student='a\\n\\x00b'", "a b"),
    ("student='" + "x" * 10**5 + "'", "x" * LONGEST_NAME),
    ('student = ""', ""), ("student = None", ""), ("student = ...", ""), ("student =", ""),
    ("student = __", ""), ("student == 'Ada'", ""), ("the_student = 'Ada'", ""),
    ("student = open('x').read()", ""), ("student = !whoami", ""),
    ("((((" * 1000 + 'student = "Ada"', ""),
])  # fmt: skip
def test_names_in_a_cell(source, name):
    assert student_name(source) == name


@pytest.mark.parametrize("source", ["student = Ada", "student = teacher.eval", "student = 'Ada"])
def test_what_is_not_in_quotes_may_be_code(source):
    assert student_name(source, strict=True) == ""
    cells = [{"cell_type": "code", "source": f"import math\n{source}"}]
    assert claimed(json.dumps({"cells": cells}).encode()) == ""
    cells[0]["id"] = "hw-student"
    assert claimed(json.dumps({"cells": cells}).encode()) == student_name(source) != ""


@pytest.mark.parametrize("source", [
    'student = """' * 10**5, "student = '" * 10**5, "student = " * 10**5, "student=\n" * 10**5,
    " " * 10**6, "student = " + "(" * 10**5, "student = 0x" + "f" * 9000, "student = " + "9" * 9000,
    "student = \ud800", "student = '\\ud800'", "student = \0",
])  # fmt: skip
def test_hostile_cells(source):
    assert len(student_name(source)) <= LONGEST_NAME
    assert student_name(source).encode("utf-8", "replace").isascii()


@given(st.text(max_size=60))
def test_any_text_after_the_name(text):
    assert student_name(f"student = 'Ada'\n{text}") == "Ada"
    assert student_name(f"student = {text}").isprintable()


def test_the_cell_that_only_says_who():
    assert is_student_cell("student = Ada Lovelace")
    assert is_student_cell("student = 'Ada'  # me")
    assert not is_student_cell("student = 'Ada'\nimport math")
    assert not is_student_cell("x = 1")


# ------------------------------------------------------- of a whole notebook


def test_the_student_cell_counts_before_others():
    other = {"cell_type": "code", "source": 'student = "Eve"'}
    for mark in ({"id": "hw-student"}, {"metadata": {"homework": {"kind": "student"}}}):
        cells = [other, {"cell_type": "code", "source": ["student = ", '"Ada"'], **mark}]
        assert claimed(json.dumps({"cells": cells}).encode()) == "Ada"


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[]", b"3", b"null", b"[" * 100_000, b'{"cells": 3}', b'{"cells": [3, null]}',
     b'{"cells": [{"cell_type": "code", "source": 3}]}', b'{"worksheets": null}',
     b'{"cells": [{"metadata": [], "id": {}, "source": [1, null]}]}'],
)  # fmt: skip
def test_what_is_no_notebook_says_nothing(data):
    assert claimed(data) == ""


def test_a_very_large_notebook_is_not_taken_apart(monkeypatch):
    monkeypatch.setattr(namecell, "MOST_NOTEBOOK", 100)
    assert len(notebook("Ada")) > 100
    assert claimed(notebook("Ada")) == ""
