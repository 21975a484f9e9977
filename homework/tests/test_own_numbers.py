"""Numbers of one's own, from the edition to what a teacher is told of a copied answer."""

from dataclasses import replace

import nbformat
import pytest

from helpers.exercises import VALUES, drawn
from homework.intake.names import Names
from homework.release.__main__ import main
from homework.release.course import Course
from homework.release.edition import edition, edition_of
from homework.run.worker import graded

ASSIGNMENT = Course("05", "autumn").assignment()
ANN, BEN = (
    {
        name: VALUES[name].right(**drawn(name, ASSIGNMENT.course, student))
        for name in ("05.3", "05.4", "05.7")
    }
    for student in ("ann", "ben")
)
NAMES = Names({"ann": "ann", "ann@x.org": "ann", "ben": "ben"}, complete=True)


def sources(notebook, task=None):
    return [c.source for c in notebook.cells if c.metadata.homework.task == task]


def handed_in(student, solved_of):
    """The edition of all, with a name and the right answers of a student's own, "" for none."""
    notebook = edition(ASSIGNMENT)
    stubs = {c.id: c.source for c in edition_of(ASSIGNMENT, solved_of, solved=True).cells}
    for cell in notebook.cells:
        if cell.metadata.homework.kind == "student":
            cell.source = f'student = "{student}"'
        if cell.metadata.homework.kind == "stub" and solved_of:
            cell.source = stubs[cell.id]
    return nbformat.writes(notebook).encode()


def results(student, solved_of, key):
    found = graded(
        handed_in(student, solved_of), ASSIGNMENT, edition(ASSIGNMENT), student=key, names=NAMES
    )
    own = {r.task: r.state for r in found.results if r.task in ANN}
    return own, found


def test_an_edition_without_a_seed_has_the_books_values():
    plain = edition(Course("05").assignment())
    assert "numbers_of" not in nbformat.writes(plain)
    assert "*fox* and *stream* can be read equally" in nbformat.writes(plain)


def test_one_edition_asks_each_student_their_own_question():
    released = edition(ASSIGNMENT)
    assert [s for s in sources(released) if "numbers_of(student" in s]
    head, asks, stub, check = sources(released, "05.4")
    assert "Run the next cell" in head
    assert "*{first}* and *{second}*" in asks
    own = edition_of(ASSIGNMENT, "ann")
    text, same_stub, same_check = sources(own, "05.4")
    assert (same_stub, same_check) == (stub, check)
    assert check == (
        f'exercises.check("05.4", angle_and_length, course="{ASSIGNMENT.course}").hold()'
    )
    values = drawn("05.4", ASSIGNMENT.course, " Ann ")
    assert f"*{values['first']}* and *{values['second']}* can be read equally" in text
    assert own.metadata.homework.edition == released.metadata.homework.edition
    nbformat.validate(own)


@pytest.mark.usefixtures("bubblewrap")
def test_right_answers_are_those_of_ones_own_numbers():
    own, found = results("ann@x.org".upper(), "ann@x.org", "ann")
    assert set(own.values()) == {"Right"}
    assert (found.looks, found.notes, found.numbers) == ((), (), "ann@x.org")


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize(
    ("typed", "note"),
    [
        ("ben", []),
        ("ann", ["'ann' was filled in, which is somebody else's; judged with the numbers of ben"]),
        ("", ["no name or number was filled in at the top; judged with the numbers of ben"]),
    ],
)
def test_a_neighbours_answers_are_told_to_the_teacher(typed, note):
    own, found = results(typed, "ann", "ben")
    assert set(own.values()) == {"Not right"}
    assert found.looks == ("05.3, 05.4, 05.7 have the values of ann's edition",)
    assert [one for one in found.notes if "filled in" in one and "nothing" not in one] == note


@pytest.mark.usefixtures("bubblewrap")
def test_the_books_answers_are_told_to_the_teacher():
    tasks = [replace(t, cells=t.cells) for t in ASSIGNMENT.tasks if t.name in ("05.4", "05.7")]
    notebook = edition(ASSIGNMENT)
    solutions = {task.name: task.solution for task in tasks}
    for cell in notebook.cells:
        if cell.metadata.homework.kind == "stub" and cell.metadata.homework.task in solutions:
            cell.source = solutions[cell.metadata.homework.task]
    raw = nbformat.writes(notebook).replace('student = \\"\\"', 'student = \\"ben\\"').encode()
    found = graded(raw, ASSIGNMENT, edition(ASSIGNMENT), student="ben", names=NAMES)
    assert found.looks == ("05.4, 05.7 have the values of the book's edition",)


def test_a_name_that_nobody_has_is_noted_where_there_is_a_roster():
    name, [note] = NAMES.whose("zoe", "ben")
    assert name == "zoe"
    assert "not in the roster" in note
    assert Names.of([("Zoé", "zoe"), ("Z Oe", "z")]).whose("zoe", "ben") == ("zoe", ())


def test_command_writes_editions_and_previews(tmp_path, capsys):
    (tmp_path / "class.csv").write_text("Username,Name\nann,Ann\nben,Ben\n", "utf-8")
    asked = ["--chapter", "05", "--out", str(tmp_path / "course")]
    assert main([*asked, "--preview", "2"]) == 2
    assert "need a seed" in capsys.readouterr().err
    more = ["--seed", "spring", "--roster", str(tmp_path / "class.csv"), "--preview", "1"]
    assert main([*asked, *more]) == 0
    made = sorted(str(p.relative_to(tmp_path / "course")) for p in tmp_path.rglob("*.ipynb"))
    assert made == ["05-preview/ann.ipynb", "05.ipynb", "05/ann.ipynb", "05/ben.ipynb"]
    text = (tmp_path / "course" / "05-preview" / "ann.ipynb").read_text("utf-8")
    assert "Listen for" in text
    assert "Listen for" not in (tmp_path / "course" / "05" / "ann.ipynb").read_text("utf-8")
