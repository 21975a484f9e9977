"""The page of questions for a class: complete, computed, and without answers on the sheets."""

import ast

import nbformat
import pytest
from bs4 import BeautifulSoup
from support import TAUGHT

from homework import questions


def asked_in(notebook):
    """The first argument of each call of predict in the code of a notebook, and its replies."""
    found = []
    for cell in nbformat.read(notebook, 4).cells:
        if cell.cell_type != "code" or "predict(" not in cell.source:
            continue
        source = "\n".join(f"# {x}" if x.startswith("%") else x for x in cell.source.splitlines())
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "predict":
                found.append(node)
    return found


@pytest.mark.parametrize("notebook", TAUGHT, ids=lambda path: path.stem[:2])
def test_every_prediction_is_a_question_with_its_answer(notebook):
    title, found = questions.questions(notebook)
    assert title
    assert len(found) == len(asked_in(notebook)) > 0
    for one in found:
        assert one.section
        if one.choices:
            assert set(one.replies) == set(one.choices) - {one.right}
            assert one.right in one.choices


def test_sheets_give_nothing_away_and_the_teacher_has_all():
    notebook = TAUGHT[4]
    title, found = questions.questions(notebook)
    page = BeautifulSoup(questions.page([("05", title, found)]), "html.parser")
    sheets = page.select("section.question")
    teacher = page.select("section")[-1].get_text()
    assert len(sheets) == len(found)
    for sheet, one in zip(sheets, found, strict=True):
        said = sheet.get_text()
        assert len(sheet.select("li")) == len(one.choices)
        assert not any(reply in said for reply in one.replies.values())
        assert "Result" not in said
        for reply in one.replies.values():
            assert BeautifulSoup(reply, "html.parser").get_text() in teacher
    assert not page.select("script, link, img, [src]")  # it loads nothing
    right = next(x for x in found if x.choices)
    letter = "ABCDEFGH"[list(right.choices).index(right.right)]
    first = page.select(".answer")[found.index(right)]
    assert first.select("p b")[1].get_text().startswith(f"{letter}. ")


def test_a_sketch_shows_its_axes_and_no_curve():
    _, found = questions.questions(TAUGHT[5])
    pictures = [one.picture for one in found if one.picture]
    assert pictures
    assert all("axis" in picture and "polyline" not in picture for picture in pictures)
    assert any("polyline" in one.because for one in found)


def test_command_writes_whole_or_not_at_all(tmp_path, capsys):
    out = tmp_path / "q.html"
    assert questions.main(["--out", str(out), "--chapter", "05", "--chapter", "06"]) == 0
    assert "13 questions" in capsys.readouterr().out
    before = out.read_text("utf-8")
    assert before.count("for the teacher") == 2
    assert questions.main(["--out", str(out), "--chapter", "13"]) == 2
    assert "two digits (01, 02" in capsys.readouterr().err
    assert out.read_text("utf-8") == before
    assert questions.main(["--out", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["q.html"]


@pytest.mark.parametrize(("word", "said"), [("predict(", "no output"), (".reveal(", "0 answers")])
def test_a_notebook_that_was_not_run_is_told(tmp_path, word, said):
    notebook = nbformat.read(TAUGHT[4], 4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and word in cell.source:
            cell.outputs = []
    path = tmp_path / "05_half.ipynb"
    nbformat.write(notebook, path)
    with pytest.raises(ValueError, match=f"{said}; run it first"):
        questions.questions(path)
