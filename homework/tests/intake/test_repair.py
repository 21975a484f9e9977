"""Whatever became of a notebook on its way, the student's cells are found, and nothing is run."""

import copy
import io
import json
import zipfile

import nbformat
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from homework.intake import notebook
from homework.intake.archive import UnreadableError
from homework.intake.repair import read_submission

NOTHING = "    # yours\n    raise NotImplementedError"
STUBS = {
    "05.1": ("my_weights", f"def my_weights(query, keys):\n{NOTHING}"),
    "05.2": ("my_attention", f"def my_attention(q, k, v):\n{NOTHING}"),
    "05.3": ("diagnosis", 'diagnosis = {"Ada": ..., "Ben": ...}'),
}
QUESTION = "> **Exercise {}.** Write `{}`: the attention of a query with D entries over T keys."
GIVEN = "bug_q, bug_k, bug_v = exercises.chapter05.which_bug()\nprint(bug_q, bug_k, bug_v)"
PLACEHOLDER = "*Your text, two to five sentences.*"
FILLED = {
    "05.1": "def my_weights(query, keys):\n    return keys @ query",
    "05.2": "def my_attention(q, k, v):\n    return q @ k.T @ v",
    "05.3": 'diagnosis = {"Ada": "no scaling", "Ben": "divided by D"}',
}


def cell(kind, source, name, task=None, answer=None, type="code"):
    made = (
        nbformat.v4.new_code_cell(source)
        if type == "code"
        else nbformat.v4.new_markdown_cell(source)
    )
    made.id = name
    made.metadata["homework"] = {"kind": kind, "task": task, "answer": answer}
    if kind in ("given", "stub", "check"):
        made.metadata["nbgrader"] = {
            "schema_version": 3,
            "grade_id": name.replace("stub", "exercise"),
        }
    return made


def edition():
    """A student edition: two setup cells, three code tasks, one free response."""
    cells = [
        cell("given", "import sys\n# Colab installs here", "install"),
        cell(
            "text",
            "# Problem set 05\n\nWrite your answers into the cells.",
            "hw-title",
            type="markdown",
        ),
        cell("student", 'student = ""  # your name or number', "hw-student"),
        cell("given", "import numpy as np\n\nfrom helpers import exercises", "code-002"),
        cell("given", "keys = np.eye(3)\nvalues = np.ones(3)", "code-005"),
    ]
    for task, (answer, stub) in STUBS.items():
        end = task.replace(".", "-")
        question = QUESTION.format(task[-1], answer)
        cells.append(cell("text", question, f"md-{end}", task, answer, "markdown"))
        if task == "05.3":
            cells.append(cell("given", GIVEN, "code-065", task, answer))
            cells.append(cell("text", "A hint for the third.", "md-066", task, answer, "markdown"))
        cells.append(cell("stub", stub, f"stub-{end}", task, answer))
        check = f'exercises.check("{task}", {answer}).hold()'
        cells.append(cell("check", check, f"check-{end}", task, answer))
    cells.append(
        cell(
            "text",
            "> **Exercise 4.** Why do the weights sum to one, and why does it "
            "matter to the values?",
            "md-05-4",
            "05.4",
            type="markdown",
        )
    )
    cells.append(cell("stub", PLACEHOLDER, "stub-05-4", "05.4", type="markdown"))
    made = nbformat.v4.new_notebook(cells=cells)
    made.nbformat_minor = 5
    made.metadata["homework"] = {"assignment": "05", "edition": "e1"}
    return made


RELEASED = edition()


class Work:
    """A student's copy of the edition, to be changed by the ids of its cells."""

    def __init__(self, **filled):
        self.notebook = json.loads(json.dumps(edition()))
        self.cells = self.notebook["cells"]
        for name, source in filled.items():
            self[name.replace("_", "-")]["source"] = source

    def __getitem__(self, name):
        return next(c for c in self.cells if c.get("id") == name)

    def at(self, name):
        return self.cells.index(self[name])

    def add(self, after, source, type="code", **metadata):
        new = {
            "cell_type": type,
            "id": f"new{len(self.cells)}",
            "metadata": metadata,
            "source": source,
        }
        self.cells.insert(self.at(after) + 1, new)
        return new["id"]

    def remove(self, name):
        self.cells.remove(self[name])

    def bytes(self):
        return json.dumps(self.notebook).encode()

    def read_submission(self):
        return read_submission(self.bytes(), RELEASED)


def done(**more):
    """All three code tasks filled in."""
    return Work(**{f"stub_{t.replace('.', '_')}": s for t, s in FILLED.items()} | more)


ALL = {task: (source,) for task, source in FILLED.items()}


def strip(work):
    """What is left when another program drops all ids and metadata."""
    for one in work.cells:
        one.pop("id")
        one["metadata"] = {}
    work.notebook["metadata"] = {}
    return work


# ------------------------------------------------------------- honest work


def untouched(work):
    return {}


def named(work):
    work["hw-student"]["source"] = 'student = "Ada L."  # me'
    return ALL


def unquoted(work):
    work["hw-student"]["source"] = "student = Ada Lovelace"
    return ALL


def words(work):
    work["stub-05-4"]["source"] = f"{PLACEHOLDER}\n\nThey are shares."
    return ALL | {"05.4": ("They are shares.",)}


def words_in_the_question(work):
    work["md-05-4"]["source"] += "\n\nThey are shares."
    return ALL | {"05.4": ("They are shares.",)}


def words_in_cells_of_all_kinds(work):
    work.remove("stub-05-4")
    for type in ("markdown", "raw", "code"):
        work.add("md-05-4", f"They are {type} words.", type)
    work.add("md-05-1", "A remark that nobody asked for.", "markdown")
    return ALL | {
        "05.4": ("\n\n".join(f"They are {n} words." for n in ("code", "raw", "markdown")),)
    }


def picture_among_words(work):
    picture = f"![x](data:image/png;base64,{'iVBORw0KGgo' * 5000})"
    work["stub-05-4"]["source"] = f"{picture}\n\nThey are shares."
    return ALL | {"05.4": ("![x](data:image/png)\n\nThey are shares.",)}


def added(work):
    work.add("md-05-1", "above = 1")
    work.add("stub-05-1", "below = 1")
    work.add("check-05-1", "behind = 1")
    work.add("code-065", "in_3 = 1")
    work.add("md-05-4", "in_4 = 1")
    return ALL | {
        "05.1": ("above = 1", FILLED["05.1"], "below = 1", "behind = 1"),
        "05.3": ("in_3 = 1", FILLED["05.3"], "in_4 = 1"),
    }


def reordered(work):
    order = ["stub-05-2", "stub-05-3", "stub-05-1", "code-065", "code-005", "code-002"]
    moved = [work[name] for name in order]
    work.cells[:] = moved + [c for c in work.cells if c not in moved]
    return ALL


def copied(work):
    again = copy.deepcopy(work["stub-05-1"]) | {"source": "my_weights = 2"}
    work.cells.insert(work.at("check-05-1"), again)  # same id
    work.add("check-05-1", STUBS["05.1"][1] + "  \n\n")  # a copy that undoes nothing
    return ALL | {"05.1": (FILLED["05.1"], "my_weights = 2")}


def changed_in_place(work):
    work["stub-05-3"]["source"] = STUBS["05.3"][1]
    work.add("stub-05-3", 'diagnosis["Ada"] = "no scaling"')
    return ALL | {"05.3": (STUBS["05.3"][1], 'diagnosis["Ada"] = "no scaling"')}


def in_an_earlier_cell(work):
    work["stub-05-1"]["source"] = both = FILLED["05.1"] + "\n" + FILLED["05.2"]
    work["stub-05-2"]["source"] = STUBS["05.2"][1]
    return ALL | {"05.1": (both,), "05.2": ("# answered before 05.2",)}


def in_a_later_cell(work):
    work["stub-05-2"]["source"] = both = FILLED["05.1"] + "\n" + FILLED["05.2"]
    work["stub-05-1"]["source"] = STUBS["05.1"][1]
    return ALL | {"05.1": (both,), "05.2": (both,)}


def changed_given_cells(work):
    work["code-065"]["source"] = GIVEN + "\nprint(1)"
    return ALL | {"05.3": (GIVEN + "\nprint(1)", FILLED["05.3"])}


def deleted(work):
    work.remove("stub-05-2")
    work.remove("check-05-3")
    return {task: ALL[task] for task in ("05.1", "05.3")}


def no_python(work):
    work["stub-05-1"]["source"] = wrong = "def my_weights(query, keys:\n    return keys @"
    work["stub-05-2"]["source"] = magic = "%%time\n!pip install x\n" + FILLED["05.2"]
    return ALL | {"05.1": (wrong,), "05.2": (magic,)}


def made_a_text(work):
    work["stub-05-1"]["cell_type"] = "markdown"
    work["stub-05-1"]["source"] = f"```python\n{FILLED['05.1']}\n```\n"
    return ALL


def an_earlier_try_made_a_text(work):
    work.add("check-05-1", "my_weights = 3", "markdown")
    return ALL


def names_exchanged(work):
    for name in ("check-05-1", "code-065", "code-005"):  # released cells said to be stubs
        work[name]["metadata"] = copy.deepcopy(work["stub-05-2"]["metadata"])
        work[name]["id"] = f"stub-05-{name[-1]}"
    return ALL


SAID = {
    changed_given_cells: "a given cell of 05.3 was changed",
    deleted: "there is no cell for: 05.2",
    in_a_later_cell: "05.1 is answered in a cell of 05.2, run for both",
    made_a_text: "a cell of text that answers 05.1 was taken for code",
    untouched: "nothing was filled in",
}
CHANGES = (
    untouched, named, unquoted, words, words_in_the_question, words_in_cells_of_all_kinds,
    picture_among_words, added, reordered, copied, changed_in_place, in_an_earlier_cell,
    in_a_later_cell, changed_given_cells, deleted, no_python, made_a_text,
    an_earlier_try_made_a_text, names_exchanged,
)  # fmt: skip


@pytest.mark.parametrize("strips", [False, True], ids=["as it is", "without ids"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_answers_are_found(change, strips):
    work = Work() if change is untouched else done()
    expected = change(work)
    if strips and change in (changed_given_cells, names_exchanged, reordered):
        return  # what a cell was, and where, is then unknown
    found = (strip(work) if strips else work).read_submission()
    assert (found.before, found.answers) == ((), expected)
    assert found.notes == ((SAID[change],) if change in SAID else ())


def test_cells_before_the_first_question():
    work = done(code_005="keys = np.eye(4)", hw_student='student = "Ada"\nimport math')
    work.add("code-002", "import sys")
    found = work.read_submission()
    assert found.before == ('student = "Ada"\nimport math', "import sys", "keys = np.eye(4)")
    assert found.notes == ("a given cell before the tasks was changed",)


@pytest.mark.parametrize("key", ["colab", "nbgrader"])
def test_one_way_to_name_a_cell_is_enough(key):
    work = done(stub_05_1="from mine import *")
    for one in work.cells:
        name, kept = one.pop("id"), {k: v for k, v in one["metadata"].items() if k == key}
        one["metadata"] = {"id": name} if key == "colab" else kept
    found = work.read_submission()
    assert found.answers == ALL | {"05.1": ("from mine import *",)}
    assert found.notes == ("no cell of 05.1 defines my_weights",)


def test_what_a_check_says_is_no_answer():
    work = Work(check_05_2='exercises.check("05.2", my_attention)  # mine')
    assert work.read_submission().answers == {}


# ------------------------------------------------------------- files


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])
def test_encodings(encoding):
    work = done(hw_student='student = "Zoé"')
    raw = json.dumps(work.notebook, ensure_ascii=False).encode(encoding)
    assert read_submission(raw, RELEASED).answers == ALL


def test_damaged_parts():
    work = done()
    work["stub-05-1"]["source"] = [FILLED["05.1"][:5], 7, FILLED["05.1"][5:] + "\0\ud800"]
    work["stub-05-2"]["outputs"] = [{"data": "x" * 10**6, "much": float("nan")}]
    work["stub-05-3"]["metadata"] = {"homework": [], "nbgrader": {"grade_id": {}}, "id": 3}
    work.notebook["metadata"] = None
    work.cells[0:0] = [None, 3, [], {}, {"cell_type": 3, "source": {}, "metadata": [], "id": []}]
    found = work.read_submission()
    assert found.answers == ALL | {"05.1": (FILLED["05.1"] + "\ufffd",)}
    assert found.notes == (
        "damaged cells were left out: 3",
        "cells with impossible characters were cleaned: 1",
    )


def zipped(name):
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr(name, "x")
    return file.getvalue()


OTHER = json.dumps(edition())
for ours, theirs in {
    "05": "04",
    "my_": "our_",
    "Exercise": "Task",
    "bug": "error",
    "A ": "The ",
}.items():
    OTHER = OTHER.replace(ours, theirs)
OTHER = OTHER.encode()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is empty"),
        (b"%PDF-1.7 ...", "a PDF"),
        (zipped("word/document.xml"), "Word"),
        (b"\x89PNG", "a picture"),
        (b" <!DOCTYPE html><html>", "is no notebook"),
        (b'{"cells": [', "damaged or cut off"),
        (b"null", "no cells"),
        (b'{"cells": []}', "nothing of problem set 05"),
        (b'{"cells": [{"cell_type": "code", "source": "x = 1"}]}', "nothing of problem set 05"),
        (b'{"cells": [' + b"[" * 10**6, "too deep"),
        (b'{"a":' * 10**5, "too deep"),
        (json.dumps({"cells": [{}] * 5001}).encode(), "5001 cells"),
        (OTHER, "problem set 04; 05 was"),
        (
            json.dumps({"cells": [{"cell_type": "code", "source": "#" * 3 * 10**6}]}).encode(),
            "characters",
        ),
    ],
)
def test_what_is_no_submission(raw, said):
    with pytest.raises(UnreadableError, match=said):
        read_submission(raw, RELEASED)


def test_too_many_bytes(monkeypatch):
    monkeypatch.setattr(notebook, "MOST_BYTES", 2**10)
    with pytest.raises(UnreadableError, match="0 MiB"):
        read_submission(done().bytes(), RELEASED)


def test_a_notebook_of_another_age():
    cells = [{**c, "input": c.pop("source")} for c in (dict(c) for c in done().cells)]
    raw = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}).encode()
    assert read_submission(raw, RELEASED).answers == ALL


def test_another_chapter_is_known_by_its_checks_alone():
    cells = [
        {"cell_type": c["cell_type"], "source": c["source"]} for c in json.loads(OTHER)["cells"]
    ]
    with pytest.raises(UnreadableError, match="problem set 04"):
        read_submission(json.dumps({"cells": cells}).encode(), RELEASED)


def test_another_edition_is_told_where_it_asks_something_else():
    work = done()
    work.notebook["metadata"]["homework"] = {"edition": "e0", "assignment": "04"}  # cells know it
    work["md-05-2"]["source"] += "\n>\n> (3 points)"
    work["hw-title"]["source"] += " 22 points."
    found = work.read_submission()
    assert (found.answers, found.notes) == (ALL, ())
    work["md-05-1"]["source"] += "\n> Of four words."
    (note,) = work.read_submission().notes
    assert "another edition, which asks otherwise: 05.1" in note


# ------------------------------------------------------------- hostile files


def survives(raw):
    """Nothing but UnreadableError comes out, and not the one of last resort."""
    try:
        found = read_submission(raw, RELEASED)
    except UnreadableError as error:
        if isinstance(error.__cause__, Exception):
            raise error.__cause__ from None
        return
    sources = [s for cells in found.answers.values() for s in cells]
    for text in (*found.before, *found.notes, *sources):
        text.encode()


@given(st.binary(max_size=300))
@example(b"\xff\xfe{\0").via("an odd UTF-16")
@example(b"\xff\xfe\0\0{").via("an odd UTF-32")
def test_random_bytes(raw):
    survives(raw)
    survives(b'{"cells": [{"cell_type": "code", "source": "' + raw + b'"}]}')


HOSTILE = [
    "(" * 10**4,
    "-" * 10**5 + "1",
    "1" + "+1" * 4 * 10**4,
    "\\\n" * 10**4,
    "%a\n" * 3 * 10**4,
    "a?\n" * 19,
    "\n".join(" " * n + "if 1:" for n in range(200)),
    "\x0c\x0b\x1c\u2028" * 100,
    "def my_weights(" * 6000,
    "my_weights" + " " * 10**5,
]


@pytest.mark.parametrize("source", HOSTILE, ids=lambda s: s[:8].encode("unicode_escape").decode())
@pytest.mark.parametrize("type", ["code", "markdown"])
def test_hostile_sources(source, type):
    work = done(stub_05_2=source)
    work["stub-05-2"]["cell_type"] = type
    work.add("md-05-4", source, type)
    survives(work.bytes())
    survives(strip(work).bytes())


def test_nothing_is_run(tmp_path):
    mark = tmp_path / "ran"
    source = f"open({str(mark)!r}, 'w')\n!touch {mark}\n%run {mark}\n" + FILLED["05.1"]
    work = done(stub_05_1=source, hw_student=f"student = open({str(mark)!r}, 'w')")
    assert work.read_submission().answers["05.1"] == (source,)
    assert not mark.exists()
