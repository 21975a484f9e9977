"""The page for marking as it is written; tests/site/test_marking.py uses it in a browser."""

import json
from dataclasses import replace

import nbformat
from bs4 import BeautifulSoup

from homework.release.assignment import Assignment, Task
from homework.report.gradebook import MARKS, Mark, Record
from homework.report.marking import marking_page

RUBRIC = (("a mixture", 1.0), ("an example", 0.5))


def task(name: str, question="What is it?") -> Task:
    cell = nbformat.v4.new_markdown_cell
    hint = "<details><summary>Hint</summary>\n\nIt is none.</details>"
    asked = cell(f"> **Exercise {name[3:]}.** {question}\n> And why?\n\n{hint}")
    return Task(name, "", (asked, cell("…")), (), rubric=RUBRIC, solution="A mixture.")


OF = Assignment("05", "Attention", (), (task("05.8"), task("05.9")))
NAMES = [f"student-{at:02d}" for at in range(20)]
RECORDS = [
    Record(name, name, name, "k", responses={"05.8": f"I say {at}", "05.9": "x"})
    for at, name in enumerate(NAMES)
]


def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def data(page: str) -> dict:
    return json.loads(soup(page).find(id="data").string)


def test_responses_by_question_in_an_order_that_is_no_names():
    page = marking_page(RECORDS, OF, {})
    assert page == marking_page(RECORDS[::-1], OF, {})
    found = soup(page)
    first, second = found.select(".pile")
    assert [pile.h2.get_text() for pile in (first, second)] == ["Exercise 8", "Exercise 9"]
    rows = [[int(one["data-row"]) for one in pile.select(".response")] for pile in (first, second)]
    assert rows[0] != sorted(rows[0])
    assert [row + 1 for row in rows[0]] != rows[1]
    for one in found.select(".response"):
        student, name = data(page)["rows"][int(one["data-row"])][:2]
        assert name == f"05.{'8' if one in first.select('.response') else '9'}"
        text = one.select_one("pre.answer").get_text()
        assert text == RECORDS[NAMES.index(student)].responses[name]
    for script in found("script"):
        script.decompose()
    assert "student-" not in str(found)  # whoever marks sees no names
    assert first.select_one(".asked .question").get_text().strip() == "What is it?\nAnd why?"
    assert "A good answer: A mixture." in first.get_text()
    labels = [label.get_text(" ", strip=True) for label in found.select("fieldset")[0]("label")]
    assert labels == ["1 a mixture 1", "2 an example 0.5"]


def test_answers_that_say_nearly_the_same_stand_together():
    said = [
        "All values come back, mixed by weight.",
        "No.",
        "all Values come back mixed: by weight",
    ]
    records = [Record(f"s{at}", "", "", "k", responses={"05.8": t}) for at, t in enumerate(said)]
    first = soup(marking_page(records, OF, {})).select(".pile")[0]
    texts = [one.select_one("pre.answer").get_text() for one in first.select(".response")]
    assert {texts.index(said[0]) - texts.index(said[2])} <= {1, -1}
    heads = [one.h3.get_text() for one in first.select(".response")]
    assert sum("words of one before" in head for head in heads) == 1


def test_a_question_is_rendered_and_loads_nothing():
    text = "**Why** $x_i$, $\\oops$? ![p](https://x.org/p.png) [l](javascript:alert(1)) <b>so</b>"
    found = soup(marking_page(RECORDS, replace(OF, tasks=(task("05.8", text),)), {}))
    question = found.select_one(".question")
    assert [one.name for one in question.find_all()] == [
        *("p", "strong", "span", "math", "msub", "mi", "mi", "span")
    ]
    assert "\\oops" in question.get_text()
    assert "](https://x.org/p.png)" in question.get_text()


def test_the_rows_are_those_of_marks_csv():
    marks = {
        ("ada", "05.8"): Mark("ada", "05.8", 1.0, 1.5, answer="r1", remark="[1] =so"),
        ("ada", "05.1"): Mark("ada", "05.1", 2.5, 3.0, automatic="0.5", remark="appeal"),
    }
    page = marking_page([Record("ada", "", "", "k", responses={"05.8": "x"})], OF, marks)
    assert data(page)["head"] == list(MARKS)
    assert data(page)["rows"] == [
        ["ada", "05.1", "2.5", "3", "0.5", "", "appeal"],
        ["ada", "05.8", "1", "1.5", "", "r1", "[1] =so"],
    ]
    assert "no response" in soup(marking_page([], OF, {})).main.get_text()
