"""The zip for Gradescope, laid out as it is there, grades a hand-in into results.json."""

import json
import re
import zipfile

import pytest
from handins import Warm
from submissions import FULL, TEMPLATE, at, fill, solved, written
from support import ROOT

from homework import gradescope
from homework.gradescope import main, write
from homework.release.course import Course, release


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory):
    """A folder as Gradescope makes it of the zip; nothing handed in yet."""
    folder = tmp_path_factory.mktemp("autograder")
    course = Course("05", "suite", str(TEMPLATE))
    release(course, folder / "course")
    record = json.loads((folder / "course" / "05.json").read_text())
    write(folder / "05.zip", folder / "course", Course(**record))
    with zipfile.ZipFile(folder / "05.zip") as zipped:
        assert zipped.getinfo("run_autograder").external_attr >> 16 == 0o755
        zipped.extractall(folder / "source")
    return folder


def test_the_zip_has_what_the_grader_needs_and_nothing_else(laid_out):
    names = {str(p.relative_to(laid_out / "source")) for p in (laid_out / "source").rglob("*")}
    assert {
        "setup.sh",
        "run_autograder",
        "course/05.json",
        "private/05.py",
        "helpers/minigpt.py",
        "homework/run/inside.py",
    } <= names
    needs = re.findall(r"requirements\S*\.txt", (laid_out / "source" / "setup.sh").read_text())
    assert needs
    assert set(needs) <= names
    assert not [name for name in names if "private_example" in name or "__pycache__" in name]
    assert (laid_out / "05.zip").stat().st_size < 20e6
    here = (ROOT / "homework" / "gradescope.py").read_text("utf-8")
    assert (laid_out / "source" / "homework" / "gradescope.py").read_text("utf-8") == here


@pytest.mark.usefixtures("bubblewrap")
def test_it_grades_a_hand_in(laid_out, monkeypatch):
    monkeypatch.setattr(gradescope.grade, "Worker", Warm)
    given = laid_out / "submission"
    given.mkdir()
    answers = solved() | {"05.1": "my_weights = len", "05.51": "All come back, mixed."}
    notebook = fill(answers)
    notebook["cells"][at(notebook, "tables")]["source"] += "\nprint(keys)"
    (given / "my homework.ipynb").write_bytes(written(notebook))
    assert main([str(laid_out)]) == 0
    report = json.loads((laid_out / "results" / "results.json").read_text())
    tests = {one["name"]: one for one in report["tests"]}
    full = sum(FULL["05"].values()) - FULL["05"]["05.1"]
    assert report["score"] == sum(one["score"] for one in report["tests"]) == full
    assert report["output"] == "Marked by a person: 05.6, 05.51."
    assert tests["05.2, the check"]["output"] == "Right."
    assert tests["05.1, entries that are whole numbers"]["score"] == 0
    assert "a given cell before the tasks was changed" in tests["to look at"]["output"]
    assert tests.pop("to look at")["visibility"] == "hidden"
    assert {one["visibility"] for one in tests.values()} == {"visible"}
    assert all(0 <= one["score"] <= one["max_score"] for one in tests.values())


def test_what_cannot_be_read_is_told(laid_out, monkeypatch):
    monkeypatch.setattr(gradescope.grade, "Worker", Warm)
    given = laid_out / "submission"
    given.mkdir(exist_ok=True)
    for path in given.iterdir():
        path.unlink()
    (given / "homework.pdf").write_bytes(b"%PDF-1.7\n")
    assert main([str(laid_out)]) == 0
    report = json.loads((laid_out / "results" / "results.json").read_text())
    assert (report["score"], report["tests"]) == (0, [])
    assert "ipynb" in report["output"]
