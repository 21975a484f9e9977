"""Numbers of one's own, from the edition to what a teacher is told of a copied answer."""

import nbformat
import pytest

from helpers.exercises import drawn
from homework.intake.names import Names
from homework.release.__main__ import main
from homework.release.course import Course
from homework.release.edition import edition, edition_of
from homework.run.worker import graded

ASSIGNMENT = Course("05", "autumn").assignment()
OWN = ("05.3", "05.4", "05.7")
NAMES = Names({"ann": "ann", "ann@x.org": "ann", "ben": "ben"}, complete=True)


def sources(notebook, task=None):
    return [c.source for c in notebook.cells if c.metadata.homework.task == task]


def answers_of(student):
    """Right answers, by task; with the numbers of a student, or those of the book."""
    cells = edition_of(ASSIGNMENT, student or "ann", solved=True).cells
    solved = {c.metadata.homework.task: c.source for c in cells if c.id.startswith("stub")}
    of_book = {task.name: task.solution for task in ASSIGNMENT.tasks}
    return {task: solved[task] if student else of_book[task] for task in OWN}


def results(typed, answers, key, assignment=ASSIGNMENT):
    """What comes of the edition of all, with a name and answers that were filled in."""
    notebook = edition(assignment)
    for cell in notebook.cells:
        if cell.metadata.homework.kind == "student":
            cell.source = f'student = "{typed}"'
        if cell.metadata.homework.kind == "stub":
            cell.source = answers.get(cell.metadata.homework.task, cell.source)
    raw = nbformat.writes(notebook).encode()
    found = graded(raw, assignment, edition(assignment), student=key, names=NAMES)
    return {r.task: r.state for r in found.results if r.task in OWN}, found


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
    own, found = results("ANN@x.org", answers_of("ann@x.org"), "ann")
    assert set(own.values()) == {"Right"}
    assert (found.looks, found.notes, found.numbers) == ((), (), "ann@x.org")


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize(
    ("typed", "of", "look", "note"),
    [
        ("ben", "ann", "05.3, 05.4, 05.7 have the values of ann's edition", []),
        ("ann", "ann", "05.3, 05.4, 05.7 have the values of ann's edition", ["somebody else's"]),
        ("", "ann", "05.3, 05.4, 05.7 have the values of ann's edition", ["no name or number"]),
        ("ben", "", "05.4, 05.7 have the values of the book's edition", []),
    ],
)
def test_somebody_elses_answers_are_told_to_the_teacher(typed, of, look, note):
    own, found = results(typed, answers_of(of), "ben")
    assert [task for task in OWN if own[task] != "Right"] == [t for t in OWN if t in look]
    assert found.looks == (look,)
    assert len(found.notes) == len(note)
    assert all(said in one for said, one in zip(note, found.notes, strict=True))


@pytest.mark.usefixtures("bubblewrap")
def test_a_hidden_test_takes_a_students_numbers(tmp_path):
    (tmp_path / "05.py").write_text(
        "from helpers.exercises import Wrong\n"
        "from homework.private import ProblemSet\n"
        "own = ProblemSet()\n"
        "@own.hidden('05.4', points=1)\n"
        "def same(answer, first):\n"
        "    raise Wrong(first)\n",
        "utf-8",
    )
    assignment = Course("05", "autumn", str(tmp_path)).assignment()
    _, found = results("ann", answers_of("ann"), "ann", assignment)
    [hidden] = [r.message for r in found.results if r.test == "same"]
    assert hidden == drawn("05.4", ASSIGNMENT.course, "ann")["first"]


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
