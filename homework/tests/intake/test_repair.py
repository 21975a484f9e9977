"""Whatever became of a notebook on its way, the student's cells are found, and nothing is run."""

import copy
import io
import json
import random
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


def test_an_untouched_edition():
    found = Work().read_submission()
    assert (found.before, found.answers) == ((), {})
    assert found.notes == ("nothing was filled in",)


def test_an_honest_submission():
    text = "Each weight is a share of the whole."
    found = done(hw_student='student = "Ada L."  # me', stub_05_4=text).read_submission()
    assert found.before == ()
    assert found.answers == ALL | {"05.4": (text,)}
    assert found.notes == ()


def test_without_ids_and_metadata():
    assert strip(done()).read_submission().answers == ALL
    assert strip(done()).read_submission().notes == ()
    assert strip(Work()).read_submission().notes == ("nothing was filled in",)
    found = strip(done(stub_05_4="They are shares.", hw_student="student = 'B'")).read_submission()
    assert (found.answers["05.4"], found.before) == (("They are shares.",), ())
    assert strip(done(hw_student="student = Ada Lovelace")).read_submission().before == ()


@pytest.mark.parametrize("key", ["colab", "nbgrader"])
def test_one_way_to_name_a_cell_is_enough(key):
    work = done()
    for one in work.cells:
        name, one["metadata"] = (
            one.pop("id"),
            {k: v for k, v in one["metadata"].items() if k == key},
        )
        if key == "colab":
            one["metadata"] = {"id": name}
    work.cells[work.cells.index(next(c for c in work.cells if c["source"] == FILLED["05.1"]))][
        "source"
    ] = "from mine import *"
    found = work.read_submission()
    assert found.answers == ALL | {"05.1": ("from mine import *",)}
    assert found.notes == ("the cell of 05.1 does not define my_weights",)


def test_reordered_cells():
    work = done()
    order = ["stub-05-2", "stub-05-3", "stub-05-1", "code-065", "code-005", "code-002"]
    moved = [work[name] for name in order]
    work.cells[:] = moved + [c for c in work.cells if c not in moved]
    found = work.read_submission()
    assert found.answers == ALL
    assert list(found.answers) == ["05.1", "05.2", "05.3"]
    assert found.before == ()


def test_added_cells_belong_to_the_marker_before_them():
    work = done()
    work.add("code-005", "import math")
    work.add("md-05-1", "above = 1")
    work.add("stub-05-1", "below = 1")
    work.add("check-05-1", "behind = 1")
    work.add("code-065", "in_3 = 1")
    found = work.read_submission()
    assert found.before == ("import math",)
    assert found.answers["05.1"] == ("above = 1", FILLED["05.1"], "below = 1", "behind = 1")
    assert found.answers["05.3"] == ("in_3 = 1", FILLED["05.3"])
    assert found.notes == ()


def test_a_new_cell_that_answers():
    below = Work()
    below.add("check-05-1", FILLED["05.1"])
    assert below.read_submission().answers == {"05.1": (FILLED["05.1"],)}
    early = Work()
    early.add("code-005", FILLED["05.2"])
    early.add("check-05-1", "helper = 1")
    assert early.read_submission().answers == {
        "05.1": (STUBS["05.1"][1], "helper = 1"),
        "05.2": (FILLED["05.2"],),
    }
    late = Work()
    late.add("md-05-4", FILLED["05.1"])
    assert late.read_submission().answers == {"05.1": (FILLED["05.1"],)}


def test_copies_of_a_stub():
    first, second = FILLED["05.1"], FILLED["05.1"] + " * 2"
    work = Work(stub_05_1=first)
    again = copy.deepcopy(work["stub-05-1"]) | {"source": second}
    work.cells.insert(work.at("check-05-1"), again)  # same id
    assert work.read_submission().answers == {"05.1": (first, second)}
    work = Work(stub_05_1=first)
    work.add("check-05-1", STUBS["05.1"][1] + "\n\n")
    work.add("check-05-1", second)
    assert work.read_submission().answers == {"05.1": (first, second)}


@pytest.mark.parametrize(
    "pristine",
    [
        STUBS["05.1"][1] + "  \n\n",
        STUBS["05.1"][1].replace("\n", "\r\n"),
    ],
)
def test_an_untouched_copy_undoes_nothing(pristine):
    work = Work(stub_05_1=pristine)
    assert work.read_submission().answers == {}
    work.add("md-05-1", FILLED["05.1"])
    assert work.read_submission().answers == {"05.1": (FILLED["05.1"],)}
    assert strip(work).read_submission().answers == {"05.1": (FILLED["05.1"],)}


def test_an_answer_changed_in_place_keeps_its_stub():
    work = Work()
    work.add("stub-05-3", 'diagnosis["Ada"] = "no scaling"')
    expected = (STUBS["05.3"][1], 'diagnosis["Ada"] = "no scaling"')
    assert work.read_submission().answers == {"05.3": expected}


def test_one_cell_for_two_tasks():
    both = FILLED["05.1"] + "\n" + FILLED["05.2"]
    found = Work(stub_05_1=both).read_submission()
    assert found.answers == {"05.1": (both,), "05.2": ("# answered in a cell of 05.1",)}
    assert found.notes == ("05.2 is answered in a cell of 05.1",)
    found = Work(stub_05_2=both).read_submission()
    assert found.answers == {"05.1": (both,), "05.2": (both,)}
    assert found.notes == ("05.1 is answered in a cell of 05.2, run for both",)
    both_filled = Work(stub_05_1=both, stub_05_2=FILLED["05.2"]).read_submission()
    assert both_filled.answers == {"05.1": (both,), "05.2": (FILLED["05.2"],)}


def test_given_cells():
    work = Work(code_005="keys = np.eye(4)", code_065=GIVEN + "\nprint(1)")
    found = work.read_submission()
    assert found.before == ("keys = np.eye(4)",)
    assert found.answers == {"05.3": (GIVEN + "\nprint(1)", STUBS["05.3"][1])}
    assert found.notes == (
        "a given cell before the tasks was changed",
        "a given cell of 05.3 was changed",
    )


def test_a_question_that_was_changed_is_still_known():
    work = Work()
    work["md-05-2"]["source"] += " Please."
    work.add("md-05-2", "helper = 1")
    assert strip(work).read_submission().answers == {"05.2": ("helper = 1", STUBS["05.2"][1])}


def test_the_chapter_itself():
    work = done()
    for one in work.cells:
        one["metadata"].pop("homework", None)
        one["source"] = one["source"].removesuffix(".hold()")
    work.notebook["metadata"] = {}
    assert (work.read_submission().answers, work.read_submission().notes) == (ALL, ())
    work.add("check-05-1", "solution_1 = 3")
    work.cells[work.at("check-05-1") + 1]["id"] = "solution-05-1"
    found = work.read_submission()
    assert found.answers["05.1"] == (FILLED["05.1"], "solution_1 = 3")
    assert found.notes == ("this seems to be the chapter itself; all of its code is run",)


def test_checks_are_never_run():
    work = done(check_05_2='print("all right")')
    work.remove("check-05-3")
    work["check-05-1"]["cell_type"] = "raw"
    found = work.read_submission()
    assert found.answers == ALL
    assert found.notes == ()
    work = done()
    work.add("check-05-1", 'exercises.check("05.1", my_weights)')
    assert work.read_submission().answers == ALL


def test_forged_names_gain_nothing():
    work = Work()
    for name in ("check-05-1", "code-065", "code-005"):  # released cells said to be stubs
        work[name]["metadata"] = copy.deepcopy(work["stub-05-2"]["metadata"])
        work[name]["id"] = f"stub-05-{name[-1]}"
    assert work.read_submission().notes == ("nothing was filled in",)
    work = done()
    one, two, check = work["stub-05-1"], work["stub-05-2"], work["check-05-3"]
    one["source"], two["source"] = two["source"], one["source"]
    check["source"] = "diagnosis = {}"
    found = work.read_submission()
    assert found.answers == ALL | {"05.3": (FILLED["05.3"], "diagnosis = {}")}
    work = done()
    for name in ("stub-05-1", "stub-05-2"):
        work[name]["metadata"] = {"homework": {"kind": "check", "task": "05.3"}, "nbgrader": {}}
        work[name]["id"] = "code-005" if name == "stub-05-1" else "md-05-1"
    assert work.read_submission().answers == ALL


@pytest.mark.parametrize("type", ["markdown", "raw"])
def test_code_in_a_cell_that_is_none(type):
    work = done()
    work["stub-05-1"]["cell_type"] = type
    found = work.read_submission()
    assert found.answers == ALL
    assert found.notes == (f"a {type} cell that answers 05.1 was taken for code",)
    work.add("check-05-1", FILLED["05.1"] + " * 3")  # the other was an earlier try
    assert work.read_submission().answers["05.1"] == (FILLED["05.1"] + " * 3",)
    work = Work(stub_05_1="I do not know how")
    work["stub-05-1"]["cell_type"] = type
    assert work.read_submission().answers == {}
    assert (
        work.read_submission().notes[0] == f"the cell of 05.1 is a {type} cell and holds no answer"
    )


def test_a_stub_that_does_not_parse():
    wrong = "def my_weights(query, keys:\n    return keys @"
    assert Work(stub_05_1=wrong).read_submission().answers == {"05.1": (wrong,)}
    work = Work()
    work.add("code-005", "diagnosis = {'Ada'")
    assert work.read_submission().answers == {"05.3": ("diagnosis = {'Ada'",)}


def test_deleted_cells():
    work = done()
    work.remove("stub-05-2")
    found = work.read_submission()
    assert found.answers == {task: ALL[task] for task in ("05.1", "05.3")}
    assert found.notes == ("there is no cell for: 05.2",)


def test_magics_stay():
    source = "%%time\n" + FILLED["05.1"]
    shell = "!pip install x\n%timeit 1\n" + FILLED["05.2"]
    found = strip(Work(stub_05_1=source, stub_05_2=shell)).read_submission()
    assert found.answers == {"05.1": (source,), "05.2": (shell,)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  They are shares.\n", "They are shares."),
        (PLACEHOLDER + "\n\nThey are shares.", "They are shares."),
        ("They are\n" + PLACEHOLDER + "\nshares.", "They are\n\nshares."),
        (PLACEHOLDER, None),
        (PLACEHOLDER + "\n", None),
        ("", None),
        (" \n", None),
    ],
)
@pytest.mark.parametrize("type", ["markdown", "raw", "code"])
def test_a_free_response(text, expected, type):
    work = Work(stub_05_4=text)
    work["stub-05-4"]["cell_type"] = type
    assert work.read_submission().answers == ({"05.4": (expected,)} if expected else {})


def test_a_free_response_in_a_new_cell():
    for name in ("markdown", "raw", "code"):
        work = Work()
        work.add("stub-05-4", "They are shares.", name)
        assert work.read_submission().answers == {"05.4": ("They are shares.",)}, name
    work = Work()
    work.remove("stub-05-4")
    work.add("md-05-4", "They are shares.", "markdown")
    work.add("md-05-1", "A remark that nobody asked for.", "markdown")
    assert work.read_submission().answers == {"05.4": ("They are shares.",)}


def test_a_placeholder_that_two_questions_have_is_of_the_one_above_it():
    released, work = edition(), Work()
    question = cell("text", "> **Exercise 5.** Why?", "md-05-5", "05.5", type="markdown")
    stub = cell("stub", PLACEHOLDER, "stub-05-5", "05.5", type="markdown")
    released.cells += [question, stub]
    work.cells += json.loads(json.dumps([question, stub]))
    work.add("stub-05-5", "They are shares.", "markdown")
    found = read_submission(strip(work).bytes(), released)
    assert (found.answers, found.notes) == ({"05.5": ("They are shares.",)}, ())


RESPONSE = "Softmax divides by the sum of all powers, so each value gets a share of the whole."


@pytest.mark.parametrize("with_names", [True, False])
def test_a_response_in_the_questions_cell_is_found_and_told(with_names):
    work = done()
    work["md-05-4"]["source"] += f"\n\n{RESPONSE}"
    found = (work if with_names else strip(work)).read_submission()
    assert found.answers == ALL | {"05.4": (RESPONSE,)}
    assert "the response to 05.4 stands, in part at least, in the question's cell" in found.notes


def test_what_is_written_into_a_question_about_code_is_told():
    work = done()
    work["md-05-2"]["source"] += f"\n\n{RESPONSE}"
    found = work.read_submission()
    assert found.answers == ALL
    assert found.notes == ("something was written into the question of 05.2, and is not read",)


@pytest.mark.parametrize(
    "picture",
    [
        "![](attachment:image.png)",
        '<img src="x.png">',
        f"![x](data:image/png;base64,{'iVBORw0KGgo' * 5000})",
    ],
)
def test_a_pasted_picture_hides_no_text(picture):
    found = done(stub_05_4=f"{picture}\n\n{RESPONSE}").read_submission()
    (text,) = found.answers["05.4"]
    assert text.endswith(RESPONSE)
    assert len(text) < 200
    assert found.notes == ()


def test_more_in_the_cell_of_the_name():
    found = Work(hw_student='student = "Ada"\nimport math').read_submission()
    assert found.before == ('student = "Ada"\nimport math',)


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


def test_another_chapter_without_its_metadata():
    notebook = json.loads(OTHER)
    notebook["metadata"] = {}
    for one in notebook["cells"]:
        one["metadata"] = {}
    with pytest.raises(UnreadableError, match="problem set 04"):
        read_submission(json.dumps(notebook).encode(), RELEASED)
    for one in notebook["cells"]:
        del one["id"]
    with pytest.raises(UnreadableError, match="problem set 04"):  # by the checks
        read_submission(json.dumps(notebook).encode(), RELEASED)


def test_another_edition():
    work = done()
    work.notebook["metadata"]["homework"]["edition"] = "e0"
    assert work.read_submission().notes == (
        "the notebook was made from another edition of the problem set",
    )
    work.notebook["metadata"]["homework"]["assignment"] = "04"  # the cells say otherwise
    assert work.read_submission().answers == ALL


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


WORDS = ["code", "stub-05-1", "05.1", "check", "raw", FILLED["05.1"], *RELEASED.cells[0]]
KEYS = ["id", "source", "metadata", "cell_type", "cells", "kind", "task", "homework"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)


def places(value):
    """Every (container, key) in some JSON."""
    keys = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(keys):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@given(st.randoms(use_true_random=False), st.lists(JSON, min_size=1, max_size=5))
def test_random_mutations(chance: random.Random, values):
    notebook = done(stub_05_4="They are shares.").notebook
    for value in values:
        where, key = chance.choice([*places(notebook), (notebook, "cells")])
        if chance.random() < 0.2:
            where.pop(key, None) if isinstance(where, dict) else where.pop(key)
        else:
            where[key] = value
    survives(json.dumps(notebook).encode())
    raw = bytearray(done().bytes())
    for _ in values:
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    survives(bytes(raw))
    chance.shuffle(cells := done().cells)
    survives(json.dumps({"cells": cells}).encode())


HOSTILE = [
    "(" * 10**4,
    "-" * 10**5 + "1",
    "a." * 10**4 + "a",
    "not " * 10**4,
    "1" + "+1" * 4 * 10**4,
    "lambda:" * 10**4,
    "\\\n" * 10**4,
    "%a\n" * 3 * 10**4,
    "if 1:\n" + " if 1:\n" * 99,
    "x = " + "{1:" * 10**4,
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
