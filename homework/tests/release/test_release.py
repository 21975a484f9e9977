"""The student edition holds what students need and nothing else; planted canaries are found."""

import json
import re
import tomllib

import nbformat
import pytest
from handins import warm
from support import ROOT, TAUGHT

from homework.release import course as release
from homework.release.__main__ import main
from homework.release.assignment import chapter_file, read_assignment
from homework.release.course import Course
from homework.release.edition import edition
from homework.release.leaks import LeakError, leaks
from homework.run.sandbox import Limits

TEMPLATE = ROOT / "homework" / "private_example"
COURSE = Course("05", "spring", str(TEMPLATE))
CANARY = "canary_that_sings_in_the_mine = 42"


@pytest.fixture(scope="module")
def made():
    """An assignment with a private part, and its edition."""
    assignment = COURSE.assignment()
    return assignment, edition(assignment)


def written(notebook) -> dict:
    return json.loads(nbformat.writes(notebook))


def complaints(found: dict, made) -> list[str]:
    return leaks(json.dumps(found).encode(), *made)


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_every_chapters_edition_is_valid_whole_and_tight(notebook):
    assignment = read_assignment(notebook)
    made = edition(assignment)
    nbformat.validate(made, relax_add_props=False)
    assert leaks(nbformat.writes(made).encode(), assignment, made) == []
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


def test_its_first_code_is_the_chapters(made):
    """Which tests/test_repository.py runs."""
    code = made[0].install.source.partition("\n")[2]
    assert "import helpers" in code
    assert made[1].cells[1].source.endswith(f"\n{code}")


def test_it_says_what_an_answer_may_use(made):
    notebook = made[1]
    text = " ".join(notebook.cells[0].source.split())
    package = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    python = package["requires-python"].removeprefix(">=")
    assert f"may use what Python {python} has; they may import its own library, IPython" in text
    assert "IPython, Matplotlib, NumPy and PyTorch; other" in text
    assert "without a network and without a graphics processor" in text
    limits = Limits()
    assert (limits.answer, limits.task) == (20, 60)
    assert "may take 20 seconds, the cells of an exercise 60 seconds together" in text
    most = "about 1,048,576 numbers in arrays, 131,072 in lists, and 10,000 entries in sets"
    assert f"An answer may hold {most} and dictionaries." in text
    assert "run all" not in text


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


def plant(found: dict, place: str) -> None:
    """Put a canary somewhere into a written edition."""
    cell = next(cell for cell in found["cells"] if cell["id"] == "stub-05-1")
    markdown = next(cell for cell in found["cells"] if cell["cell_type"] == "markdown")
    stream = {"output_type": "stream", "name": "stdout", "text": [CANARY]}
    match place:
        case "output":
            cell["outputs"] = [stream]
        case "count":
            cell["execution_count"] = 3
        case "metadata":
            cell["metadata"]["solution"] = CANARY
        case "nested metadata":
            cell["metadata"]["nbgrader"]["note"] = CANARY
        case "attachment":
            markdown["attachments"] = {"a.txt": {"text/plain": CANARY}}
        case "widget state":
            found["metadata"]["widgets"] = {"state": CANARY}
        case "top":
            found["canary"] = CANARY
        case "source":
            cell["source"] = [*cell["source"], f"\n# {CANARY}"]
        case "cell":
            found["cells"].append({**cell, "id": "more", "source": [CANARY]})
        case "raw cell":
            found["cells"].append(
                {"id": "raw", "cell_type": "raw", "metadata": {}, "source": CANARY}
            )


@pytest.mark.parametrize(
    "place",
    [
        "output",
        "count",
        "metadata",
        "nested metadata",
        "attachment",
        "widget state",
        "top",
        "source",
        "cell",
        "raw cell",
    ],
)
def test_a_canary_is_found_wherever_it_sits(made, place):
    assignment, notebook = made
    assignment = release.replace(assignment, secrets=(*assignment.secrets, CANARY))
    found = written(notebook)
    assert complaints(found, (assignment, notebook)) == []
    plant(found, place)
    assert complaints(found, (assignment, notebook)) != []


def test_lines_of_solutions_hidden_tests_and_rubrics_are_found(made):
    assignment, notebook = made
    drawn = next(task for task in assignment.tasks if task.name == "05.4").solution.splitlines()[0]
    assert drawn.startswith("apart = keys[0] - keys[")
    for line in (
        "scaled = keys @ query / len(query) ** 0.5",  # the book's solution
        'if True: raise Wrong(f"It gives {found} for whole numbers.")',  # a hidden test
        "All values come back, mixed by weight, not one of them",  # the rubric
        "in fact none of them changes.",  # a part of the book's good answer in words
        "The weights sum to 1, so they cannot all grow.",  # the rubric that comes of it
        drawn.replace(" ", "   "),  # a solution with drawn numbers, spaced otherwise
    ):
        planted = nbformat.reads(nbformat.writes(notebook), 4)
        planted.cells[-1].source += f"\n{line}"
        found = leaks(nbformat.writes(planted).encode(), assignment, planted)
        assert any("a line of a solution" in complaint for complaint in found), line


def test_a_leak_stops_the_release(made, tmp_path, monkeypatch):
    leaky = "# your code here\npowers = np.exp(scaled - scaled.max())  # the largest cancels"

    def careless(assignment):
        notebook = edition(assignment)
        notebook.cells[8].source = leaky
        return notebook

    monkeypatch.setattr(release, "edition", careless)
    with pytest.raises(LeakError, match="largest"):
        release.release(COURSE, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("bubblewrap")
def test_the_command_writes_two_files_and_says_what_it_tried(tmp_path, capsys):
    arguments = ["--chapter", "05", "--out", str(tmp_path / "a" / "course"), "--seed", "spring"]
    with warm():
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


def test_there_is_a_notebook_for_each_chapter():
    assert chapter_file("05").name == "05_attention_by_hand.ipynb"
