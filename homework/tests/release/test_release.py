"""The student edition holds what students need and nothing else; planted canaries are found."""

import json
import os
import re
import subprocess
import sys
import tomllib

import nbformat
import pytest
from support import ROOT, TAUGHT

from helpers import exercises
from homework.release.__main__ import main
from homework.release.assignment import read_assignment
from homework.release.course import Course
from homework.release.edition import edition
from homework.run.sandbox import Limits

TEMPLATE = ROOT / "homework" / "private_example"
COURSE = Course("05", "spring", str(TEMPLATE))


@pytest.fixture(scope="module")
def made():
    """An assignment with a private part, and its edition."""
    assignment = COURSE.assignment()
    return assignment, edition(assignment)


def written(notebook) -> dict:
    return json.loads(nbformat.writes(notebook))


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_every_chapters_edition_is_valid_whole_and_tight(notebook):
    assignment = read_assignment(notebook)
    made = edition(assignment)
    nbformat.validate(made, relax_add_props=False)
    kinds = [(cell.metadata.homework.kind, cell.metadata.homework.task) for cell in made.cells]
    assert kinds[:3] == [("text", None), ("given", None), ("student", None)]
    for task in assignment.tasks:
        own = [kind for kind, name in kinds if name == task.name]
        assert own[0] == "text"
        assert own[-2:] == (["text", "stub"] if task.free else ["stub", "check"])
    ids = [cell.id for cell in made.cells]
    assert len(ids) == len(set(ids))
    text = nbformat.writes(made)
    assert "solution_1" not in text
    assert "folded" not in text
    assert "softmax(table) - counts" not in text  # 03.2, which a cell of the chapter does
    title = f"# Problem set {assignment.chapter}: {assignment.title}\n"
    assert made.cells[0].source.startswith(title)


@pytest.mark.parametrize("lacks", ["", "jaxtyping"])
def test_alone_it_brings_its_checks_or_says_what_is_missing(lacks, tmp_path):
    plain = Course("05").assignment()
    cells = [cell.source for cell in edition(plain).cells if cell.cell_type == "code"][:7]
    cells[5] = plain.tasks[0].solution
    script = f"import sys\nif {lacks!r}: sys.modules[{lacks!r}] = None\n" + (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        f"for cell in {cells!r}: InteractiveShell.instance().run_cell(cell)\n"
    )
    (tmp_path / "script.py").write_text(script, "utf-8")
    alone = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PIP_NO_INDEX": "1"}
    command = [sys.executable, "script.py"]
    said = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True)
    wanted, out = ("%pip install ", said.stderr) if lacks else ("Right", said.stdout)
    assert wanted in out.splitlines()[-1]


def test_it_says_what_an_answer_may_use(made):
    text, limits = " ".join(made[1].cells[0].source.split()), Limits()
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    python = package["requires-python"].removeprefix(">=")
    assert f"may use what Python {python} has; they may import its own library, IPython" in text
    assert f"{limits.answer:g} seconds, the cells of an exercise {limits.task:g} seconds" in text


def test_each_exercise_leads_to_its_section(made):
    notebook = made[1]
    task = "\n".join(c.source for c in notebook.cells if c.metadata.homework.task == "05.1")
    assert "; the book's section: *Where do queries, keys and values come from?*)" in task
    linked = edition(Course("05", site="https://x.org/").assignment())
    task = "\n".join(c.source for c in linked.cells if c.metadata.homework.task == "05.1")
    page = "https://x.org/notebooks/05_attention_by_hand.html"
    assert f"]({page}#where-do-queries-keys-and-values-come-from))" in task


def test_nbgrader_finds_its_metadata(made):
    """Its schema, version 3: a cell that is graded has points, names of cells are there once."""
    metadata = [cell.metadata.nbgrader for cell in made[1].cells if "nbgrader" in cell.metadata]
    assert len({one.grade_id for one in metadata}) == len(metadata)
    for one in metadata:
        assert one.schema_version == 3
        assert ("points" in one) == one.grade
        assert not (one.locked and one.solution)
    seen = made[0].points - 4  # without those of hidden tests
    assert sum(one.get("points", 0) for one in metadata) == seen


def test_checks_raise_where_the_answer_is_not_right(made):
    checks = [c.source for c in made[1].cells if c.metadata.homework.kind == "check"]
    assert checks[0] == 'exercises.check("05.1", my_weights).hold()'
    assert "assert" in checks[3]


def test_it_changes_with_what_is_asked_and_only_then(made):
    _, notebook = made
    again = edition(COURSE.assignment())
    assert nbformat.writes(again) == nbformat.writes(notebook)
    seeds = [Course("05", f"{n}", str(TEMPLATE)).assignment() for n in range(8)]
    editions = {edition(other).metadata.homework.edition for other in seeds}
    assert len(editions) > 4


def test_it_holds_no_line_of_what_is_secret(made):
    assignment, notebook = made
    text = nbformat.writes(notebook)
    cells = [*assignment.setup, *(cell for task in assignment.tasks for cell in task.cells)]
    given = "\n".join([*(c.source for c in cells), *(task.check for task in assignment.tasks)])
    secret = [line.strip() for source in assignment.secrets for line in source.splitlines()]
    for line in (line for line in secret if len(line) > 24 and line not in given):
        assert json.dumps(line)[1:-1] not in text, line


@pytest.mark.usefixtures("bubblewrap")
def test_the_command_writes_two_files_and_says_what_it_tried(tmp_path, capsys):
    arguments = ["--chapter", "05", "--out", str(tmp_path / "a" / "course"), "--seed", "spring"]
    assert main([*arguments, "--private", str(TEMPLATE)]) == 0
    said = capsys.readouterr().out
    tasks = Course("05", "spring", str(TEMPLATE)).assignment().tasks
    assert f"{len(tasks)} exercises, {sum(task.points for task in tasks):g} points" in said
    assert "the solutions get all points, empty stubs none" in said
    assert re.search(r"^drawn: word = \w+, place = \d, ratio = \d$", said, re.MULTILINE)
    assert "all of them for tests that you do not see" in (
        tmp_path / "a" / "course" / "05.ipynb"
    ).read_text("utf-8")
    files = sorted(path.name for path in (tmp_path / "a" / "course").iterdir())
    assert files == ["05.ipynb", "05.json"]
    record = Course(**json.loads((tmp_path / "a" / "course" / "05.json").read_text()))
    assert record.seed == "spring"
    notebook = nbformat.read(tmp_path / "a" / "course" / "05.ipynb", 4)
    assert notebook.metadata.homework.edition == record.edition


@pytest.mark.parametrize("name", ["03.51", "11.51", "15.51"])
def test_an_example_is_right_with_the_numbers_of_its_own_course(name):
    answers = {}
    for seed in "ab":
        tasks = Course(name[:2], seed, str(TEMPLATE)).assignment().tasks
        [task] = [task for task in tasks if task.name == name]
        exec(task.solution, values := {})
        answers[seed] = task.tests[0].judge, values[task.answer]
    for mine, other in ("ab", "ba"):
        assert exercises.judged(answers[mine][0], answers[mine][1]).state == "Right"
        assert exercises.judged(answers[mine][0], answers[other][1]).state == "Not right"
