"""The pages of feedback: right numbers, nothing hidden for students, nothing alive from them."""

import re
from dataclasses import replace

import nbformat
import pytest
from bs4 import BeautifulSoup

from helpers.exercises.verdict import FILL_IN
from homework.release.assignment import Assignment, Task
from homework.release.assignment import Test as Part
from homework.release.sections import Section
from homework.report import feedback
from homework.report.gradebook import Mark, Record
from homework.report.marking import marking_page
from homework.report.page import clip, harmless
from homework.run.judging import LOST, OVER, Result

HIDDEN = (
    "CANARY-NAME",
    "CANARY-MESSAGE",
    "CANARY-SOURCE",
    "CANARY-RUBRIC",
    "CANARY-NOTE",
    "CANARY-SOLUTION",
    "CANARY-SECRET",
)
HOSTILE = (
    "<script>alert(1)</script>",
    "</title></style></pre><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; &#60;script&#62;",
    "<!-- ]]> -->",
    "a\x00b\x07c\x1b[31md\x7fe\x85f",
    "\u202egnp.exe\u2066\u200f",
    "half \ud83d and \udc80",
    "\u0300" * 500,
    "../../../etc/passwd",
    "word" * 20_000,
)
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def judge(answer):
    """CANARY-SOURCE: the source of a test."""


def question(number: int, text="What is it?", stub="…"):
    cell = nbformat.v4.new_markdown_cell
    return cell(f"> **Exercise {number}.** {text}\n> And why?"), cell(stub)


SEEN = Part("check", 2.0, judge)
UNSEEN = Part("CANARY-NAME", 1.0, judge, hidden=True, says="keys of another width")
SILENT = Part("CANARY-NAME-2", 1.0, judge, hidden=True)
RUBRIC = (("CANARY-RUBRIC, a mixture", 1.0), ("an example", 0.5))
OF = Assignment(
    chapter="05",
    title="Attention worked by hand",
    setup=(),
    tasks=(
        Task("05.1", "f", question(1), (SEEN, UNSEEN, SILENT), solution="CANARY-SOLUTION"),
        Task("05.2", "g", question(2), (SEEN,)),
        Task("05.8", "", question(8), (), rubric=RUBRIC),
    ),
    secrets=("CANARY-SECRET",),
)


def results(seen=2.0, unseen=1.0, silent=1.0, second=2.0, message="It is divided by D.", raised=""):
    """Results of the two tasks with tests, with so many points."""
    given = [
        ("05.1", SEEN, seen),
        ("05.1", UNSEEN, unseen),
        ("05.1", SILENT, silent),
        ("05.2", SEEN, second),
    ]
    return tuple(
        Result(
            task,
            test.name,
            points,
            test.points,
            "Right" if points == test.points else "Not right",
            "" if points == test.points else "CANARY-MESSAGE 7" if test.hidden else message,
            test.hidden,
            raised if task == "05.1" else "",
        )
        for task, test, points in given
    )


def record(student="ada", **fields) -> Record:
    name = fields.pop("name", student.title())
    return Record(student, name, f"{student}.ipynb", "k", **({"results": results()} | fields))


def mark(student, task, points, remark="", possible=2.0):
    return {(student, task): Mark(student, task, points, possible, remark=remark)}


def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def words(page: str) -> str:
    """What a page shows, spaces joined."""
    return " ".join(soup(page).main.get_text(" ").split())


def words_of(tag) -> str:
    return " ".join(tag.get_text(" ").split())


def exercise(page: str, number: int) -> str:
    """What a student's page says of the exercise that stands at this place."""
    return " ".join(soup(page).select(".exercise")[number - 1].get_text(" ").split())


def table(page: str, caption: str) -> list[list[str]]:
    """The rows of the table whose caption begins so, its head first."""
    found = [t for t in soup(page).select("table") if t.caption.get_text().startswith(caption)]
    return [
        [cell.get_text(" ").strip() for cell in row.select("th, td")]
        for row in found[0].select("tr")
    ]


# ---------------------------------------------------------------- a student's page


def test_points_and_what_failed():
    page = feedback.student_page(record(results=results(seen=0.0, unseen=0.0)), OF, {})
    assert table(page, "Your exercises") == [
        ["Exercise", "Points", "of", "Result"],
        ["Exercise 1", "1", "4", "some points"],
        ["Exercise 2", "2", "2", "all points"],
        ["Exercise 8", "0", "1.5", "no answer"],
        ["Total", "3", "7.5", ""],
    ]
    assert "3 of 7.5 points" in words(page)
    first = exercise(page, 1)
    assert "(0 of 2 points): It is divided by D." in first
    assert "did not see (keys of another width): not passed." in first
    assert "did not see: passed." in first
    assert "All is right." in exercise(page, 2)
    assert "problem set 05" in words(page)
    assert "write to your teacher" in words(page)


def test_section_is_linked_only_with_an_absolute_address():
    def section(task):
        return {"05.1": Section("Scores & more?", "https://book.example/05.html#scores")}.get(task)

    lost = record(results=results(seen=0.0, second=0.0))
    page = feedback.student_page(lost, OF, {}, section=section)
    links = [a for a in soup(page).select("a") if not a["href"].startswith("#")]
    assert [(a["href"], a.get_text()) for a in links] == [
        ("https://book.example/05.html#scores", "Scores & more?")
    ]
    assert "read again" not in exercise(page, 2)
    near = Section("Scores", "notebooks/05.html#scores")
    page = feedback.student_page(lost, OF, {}, section=lambda task: near)
    assert all(a["href"].startswith("#exercise-") for a in soup(page).select("a"))
    assert "read again, in chapter 05: Scores" in exercise(page, 1)
    right = feedback.student_page(record(), OF, {}, section=section)
    assert "read again" not in words(right)


def test_what_a_cell_raised_is_told():
    outcomes = results(0.0, 0.0, 0.0, message="There is no f.", raised="NameError: no sofmax")
    page = feedback.student_page(record(results=outcomes), OF, {})
    assert "raised NameError: no sofmax" in exercise(page, 1)
    assert "There is no f." in exercise(page, 1)
    assert "raised" not in exercise(page, 2)


def test_a_task_that_was_not_handed_in():
    """A stub as it was given is nothing, whatever a hidden test says of it."""
    empty = [replace(r, points=0.0, state="Not yet", message=FILL_IN) for r in results()]
    for untouched in (empty, [empty[0], *results(0.0, 0.0, 0.0)[1:3], empty[3]]):
        page = feedback.student_page(record(results=tuple(untouched)), OF, {})
        assert "There is no answer to this exercise" in exercise(page, 1)
        assert "did not see" not in exercise(page, 1)
        assert FILL_IN not in page
    raised = [replace(r, raised="NameError: x") for r in empty]
    page = feedback.student_page(record(results=tuple(raised)), OF, {})
    assert "There is no answer to this exercise" not in exercise(page, 1)
    assert "there was no answer to check" in exercise(page, 1)


def test_a_free_response_waits_and_is_marked():
    written = record(responses={"05.8": "All are mixed."})
    asked = mark("ada", "05.8", None, "an earlier answer had 1")
    for marks in ({}, asked):
        page = feedback.student_page(written, OF, marks)
        assert "is being marked" in exercise(page, 3)
        assert "earlier" not in page
        assert "6 of 7.5 points so far" in words(page)
        assert "1.5 points are still to come" in words(page)
    page = feedback.student_page(written, OF, mark("ada", "05.8", 1.25, "Well said."))
    assert "1.25 of 1.5 points" in exercise(page, 3)
    assert "Well said." in exercise(page, 3)
    assert "7.25 of 7.5 points" in words(page)
    assert "so far" not in words(page)


def test_a_persons_points_count_in_the_place_of_the_tests():
    lost = record(results=results(second=0.0))
    marks = mark("ada", "05.2", 1.5, "After your appeal.") | mark("bob", "05.1", 0.0, "not ada")
    page = feedback.student_page(lost, OF, marks)
    assert table(page, "Your exercises")[2] == ["Exercise 2", "1.5", "2", "some points"]
    assert "given by a person" in exercise(page, 2)
    assert "After your appeal." in exercise(page, 2)
    assert "5.5 of 7.5 points" in words(page)
    assert "not ada" not in page
    page = feedback.student_page(record(), OF, mark("ada", "05.2", 0.0))
    assert "4 of 7.5 points" in words(page)
    page = feedback.student_page(record(), OF, mark("ada", "05.2", None, "A word."))
    assert "6 of 7.5 points" in words(page)  # a remark alone changes no points
    assert "A word." in exercise(page, 2)


def test_a_file_that_could_not_be_read():
    broken = record(results=(), error="this is a PDF, not a notebook")
    page = feedback.student_page(broken, OF, {})
    assert "This is a PDF, not a notebook" in words(page)
    assert "hand in once more" in words(page)
    assert ".ipynb" in words(page)
    assert not soup(page).select("table, .exercise")
    page = feedback.student_page(broken, OF, mark("ada", "05.2", 2.0))  # seen by a person
    assert "2 of 7.5 points" in words(page)


@pytest.mark.parametrize("points", [0.0, 1.0])
@pytest.mark.parametrize("flagged", [True, False])
def test_nothing_hidden_shows_in_a_students_page(points, flagged):
    """Nor whether a test is hidden is forgotten, where only the result or only the test says so."""
    outcomes = results(0.0, points, points, 0.0, raised="KeyError: 'x'")
    outcomes = tuple(replace(r, hidden=r.hidden and flagged) for r in outcomes)
    more = {"looks": ("CANARY-NOTE",), "responses": {"05.8": "words"}}
    one = record(results=outcomes, **more)
    renamed = replace(OF, tasks=(replace(OF.tasks[0], tests=(SEEN,)), *OF.tasks[1:]))
    for marks in ({}, mark("ada", "05.8", 1.0), mark("ada", "05.1", 1.0)):
        for assignment in (OF, renamed) if flagged else (OF,):
            page = feedback.student_page(one, assignment, marks)
            assert [canary for canary in HIDDEN if canary in page] == []
    summary = feedback.summary_page([one], OF, {})
    assert "About your file 2 notebooks" in words(
        feedback.student_page(replace(one, notes=("2 notebooks",)), OF, {})
    )
    assert "CANARY-NOTE" in summary  # the canaries sing where they may
    assert "CANARY-RUBRIC" in marking_page([one], OF, {})


# ---------------------------------------------------------------- the student's own work


def test_question_answer_and_own_cells_are_shown():
    answers = {"05.1": ("a = '<i>'", "def f():\n    ...")}
    text = "**All** $x$ ![p](attachment:x) <b>are</b> mixed."
    written = record(before=("import os",), answers=answers, responses={"05.8": text})
    found = soup(feedback.student_page(written, OF, {}))
    first, _, last = found.select(".exercise")
    assert words_of(first.select_one(".question")) == "What is it? And why?"
    assert [cell.get_text() for cell in first.select("pre.answer")] == [*answers["05.1"]]
    assert last.select_one("pre.answer").get_text() == text
    assert "Your answer" not in exercise(str(found), 2)
    assert "Your cells before the first exercise import os" in words(str(found))
    assert "before the first" not in words(feedback.student_page(record(), OF, {}))


def test_a_rubric_shows_what_was_ticked_and_only_then():
    written = record(responses={"05.8": "All are mixed."})

    def last(points, remark):
        marks = mark("ada", "05.8", points, remark)
        return exercise(feedback.student_page(written, OF, marks), 3)

    text = last(0.5, "[2] Say more.")
    assert "CANARY-RUBRIC" not in text
    assert "You say that: an example (0.5 points)" in text
    assert "Say more." in text
    assert "[2]" not in text
    for points, remark in (
        (0.0, "[0]"),
        (1.0, "Well."),
        (1.0, "[7] no line"),
        (None, "[1] an earlier one"),
    ):
        assert "say that" not in last(points, remark)


# ---------------------------------------------------------------- the summary


def group(*totals):
    """Students whose tests gave 0 to 6 points: first of the second task, then of the first."""
    parts = {0: (0, 0, 0, 0), 2: (0, 0, 0, 2), 3: (0, 0, 1, 2), 4: (2, 0, 0, 2), 6: (2, 1, 1, 2)}
    return [
        record(f"s{at}", results=results(*map(float, parts[total])))
        for at, total in enumerate(totals)
    ]


def test_the_numbers_of_the_exercises():
    """Totals 0, 2, 2, 3, 6 and 4 + 1.5 by a person."""
    marks = mark("s0", "05.1", 0.0) | mark("s5", "05.8", 1.5)
    page = feedback.summary_page(group(0, 2, 2, 3, 6, 4), OF, marks)
    assert "The mean of 6 totals is 3.08 of 7.5 points." in words(page)  # 18.5 / 6
    assert table(page, "How many of 6") == [
        [
            "Exercise",
            "all points",
            "some points",
            "to be marked",
            "no points",
            "no answer",
            "mean",
            "of",
        ],
        ["1", "1", "2", "0", "3", "0", "1.17", "4"],  # (0 + 0 + 0 + 1 + 4 + 2) / 6
        ["2", "5", "0", "0", "1", "0", "1.67", "2"],
        ["8", "1", "0", "0", "0", "5", "0.25", "1.5"],
    ]


def test_what_waits_and_what_cannot_be_read_is_said():
    records = [
        record("ada", responses={"05.8": "mixed"}),
        record("bob", responses={"05.8": "mixed"}),
        record("eve", results=(), error="this is a PDF"),
    ]
    page = feedback.summary_page(records, OF, mark("bob", "05.8", 1.5), missing=["Mara", "Noor"])
    facts = [li.get_text() for li in soup(page).select(".facts li")]
    assert facts == [
        "3handed in",
        "1could not be read",
        "2of the roster missing",
        "1free responses to mark",
        "1to look at",
    ]
    assert "Mara" in words(page)
    assert "1 of these totals is not final" in words(page)
    assert table(page, "How many of 2")[3] == ["8", "1", "0", "1", "0", "0", "1.5", "1.5"]
    assert "The mean of 2 totals is 6.75 of 7.5 points." in words(page)
    assert "Exercise 8: 1." in words(page)
    assert "of the roster" not in words(feedback.summary_page(records, OF, {}))
    unmarked = table(feedback.summary_page([record("amy"), *records], OF, {}), "How many of 3")
    assert unmarked[3] == ["8", "0", "0", "2", "0", "1", "–", "1.5"]  # one was left empty
    assert "eve : this is a PDF" in words(page)


def test_which_test_loses_most_with_its_words():
    """The hidden one takes 1 point from three, the check 2 points from one."""
    records = group(6, 3, 4)
    records += [record("x", results=results(unseen=0.0, message="other"))]
    page = feedback.summary_page(records, OF, {})
    loss = feedback._loss(OF.tasks[0], records)
    assert (loss.test, loss.points, loss.lost_by) == ("CANARY-NAME", 3.0, 3)
    assert loss.messages == (("CANARY-MESSAGE 7", 3),)
    assert "hidden test CANARY-NAME (keys of another width) took most: 3 points from 3" in words(
        page
    )
    assert "3 × CANARY-MESSAGE 7" in words(page)
    assert "No test took points" in words(page)
    many = [record(f"m{i}", results=results(second=0.0, message=f"no {i % 5}")) for i in range(12)]
    loss = feedback._loss(OF.tasks[1], many)
    assert loss.messages == (("no 0", 3), ("no 1", 3), ("no 2", 2))
    assert loss.others == 4
    assert feedback._loss(OF.tasks[2], many) is None


def test_the_list_of_what_to_look_at():
    ended = [
        replace(r, message=LOST.format("it took too long"), state="Not right", points=0.0)
        for r in results()[:3]
    ] + [replace(results()[3], message=OVER)]
    records = [
        record("ada"),
        record("bob", results=tuple(ended)),
        record("eve", notes=("handed in twice; the later one counts", "the check was changed")),
    ]
    page = feedback.summary_page(records, OF, {})
    looks = {
        h.get_text(): [" ".join(li.get_text(" ").split()) for li in h.find_next("ul")("li")]
        for h in soup(page).select("h2 ~ h3")
        if "(" in h.get_text()
    }
    assert looks == {
        "Processes that were ended (2)": [
            f"bob , exercise 1: {LOST.format('it took too long')}",
            f"bob , exercise 2: {OVER}",
        ],
        "Notes on files (2)": [
            "eve : handed in twice; the later one counts",
            "eve : the check was changed",
        ],
    }
    links = {a.get_text(): a["href"] for a in soup(page).select("a")}
    assert links.pop("to look at") == "#to-look-at"
    assert links == {name: f"feedback/{name}.html" for name in ("bob", "eve")}
    assert "Nothing asks" in words(feedback.summary_page([record()], OF, {}))


# ---------------------------------------------------------------- all pages


def all_pages(text: str) -> dict[str, str]:
    """The three pages where everything that a student can write, and what marks hold, is a text."""
    outcomes = tuple(replace(r, raised=text) for r in results(0.0, 0.0, 0.0, 0.0, message=text))
    one = Record(
        text,
        text,
        text,
        "k",
        notes=(text, f"handed in {text}"),
        results=outcomes,
        before=(text[:20_000],),
        answers={"05.1": (text[:20_000],), text: ("x",)},
        responses={"05.8": text[:20_000]},
        when=text,
    )
    wrong = replace(one, student=f"{text}2", error=text, results=(), responses={})
    marks = mark(text, "05.2", 1.0, text) | mark(text, text, 1.0, text)
    done = marks | mark(text, "05.8", 1.0, text)
    return {
        "student": feedback.student_page(one, OF, done),
        "broken": feedback.student_page(wrong, OF, done),
        "summary": feedback.summary_page([one, wrong], OF, marks, missing=[text]),
        "to mark": marking_page([one, wrong], OF, marks),
        "marked": marking_page([one, wrong], OF, done),
    }


OWN = ("href", "data-row", "data-id")  # attributes that follow from names


def shape(page: str) -> list[tuple]:
    """The elements of a page, with all attributes but some."""
    return [
        (tag.name, sorted((k, str(v)) for k, v in tag.attrs.items() if k not in OWN))
        for tag in soup(page).find_all(True)
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_students_write_stays_text(text):
    """A page has the same elements and attributes as with harmless letters in the same places."""
    plain = all_pages("w" * len(text))
    for name, page in all_pages(text).items():
        assert shape(page) == shape(plain[name]), name
        assert not INVISIBLE.search(page), name
        page.encode("utf-8")
        assert len(page) < (700_000 if "mark" in name else 150_000), name  # rows of marks.csv
        for link in soup(page).select("a"):
            assert re.fullmatch(
                r"#exercise-\d+|#to-look-at|to-mark\.html|feedback/[\w.%~-]+\.html",
                link["href"],
                re.ASCII,
            ), link


def test_harmless_leaves_what_people_write():
    for text in ("Zoë Müller", "محمد", "किशोर", "นิสิต", "مى‌خواهم", "👩‍🎓 Ω√", "a\tb\nc", "e\u0301"):
        assert harmless(text) == text
    assert harmless("a\r\nb\rc") == "a\nb\nc"
    assert harmless("x" + "\u0301" * 9) == "x" + "\u0301" * 4
    assert harmless("a\u202eb\x00\ud800") == "a\ufffdb\ufffd\ufffd"
    assert clip("abc", 3) == "abc"
    assert clip("abcd", 3) == "abc … (1 more characters)"


@pytest.mark.parametrize("name", ["student", "broken", "summary", "to mark", "marked"])
def test_a_page_stands_alone(name):
    page = all_pages("word")[name]
    found = soup(page)
    assert page.startswith("<!DOCTYPE html>")
    assert found.html["lang"] == "en-GB"
    assert found.title.get_text().strip()
    policy = found.find("meta", attrs={"http-equiv": "Content-Security-Policy"})["content"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert not found.select("link, iframe, img, object, embed, form, base, [src], [style]")
    assert not re.search(r"url\((?!#)|@import|@font-face", page)
