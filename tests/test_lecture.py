"""The page for a teacher keeps to the chapters: what needs what, headings, minutes, exercises.

A rule takes the data of book/lecture.yml and returns complaints. Each is held to the data as it
is, and to a copy with a fault planted. What stands in a notebook is read here in another way than
the page's extension reads it.
"""

import copy
import re
import sys
import xml.etree.ElementTree as ElementTree
from functools import cache
from importlib import import_module

import chapters
import pytest
import yaml
from chapters import NOTEBOOKS, ROOT

sys.path.append(str(ROOT / "book" / "_ext"))
import book_lecture
import book_play

DATA = yaml.safe_load((ROOT / "book" / "lecture.yml").read_text("utf-8"))
CHAPTERS = {int(path.stem[:2]): chapters.chapter(path) for path in NOTEBOOKS}
MINUTES = 50
RULES = {}


def rule(complain):
    RULES[complain.__name__] = complain
    return complain


def linked(text: str) -> set[int]:
    """The chapters that a text links to."""
    return {int(stem) for stem in re.findall(r"\]\((\d\d)_[a-z_0-9]+\.ipynb[#)]", text)}


def parts(number: int) -> dict[str, list]:
    """The cells of a chapter by the heading above them."""
    found, here = {"opening": []}, "opening"
    for cell in CHAPTERS[number].cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("## "):
                    here = line[3:].strip()
                    found[here] = []
        found[here].append(cell)
    return found


def code(number: int, heading: str, call: str) -> str:
    """The code of a section's cells that call a function, its strings joined as Python joins."""
    cells = [c.source for c in parts(number).get(heading, []) if c.cell_type == "code"]
    return re.sub(r"[\"']\s*\n\s*f?[\"']", "", "\n".join(c for c in cells if call in c))


# --- what needs what ------------------------------------------------------------------------


@rule
def all_chapters_are_there(data):
    return [f"{key} has {sorted(data[key])}" for key in ("needs", "chapters")
            if sorted(data[key]) != sorted(CHAPTERS)]  # fmt: skip


@rule
def needs_lie_behind(data):
    return [f"chapter {chapter} needs {n}, which comes later"
            for chapter, needed in data["needs"].items()
            for n in needed if n >= chapter]  # fmt: skip


@rule
def needs_are_linked(data):
    return [f"chapter {chapter} does not link to {n}"
            for chapter, needed in data["needs"].items()
            for n in needed if n not in linked(CHAPTERS[chapter].prose)]  # fmt: skip


@rule
def needs_are_what_the_chapter_says(data):
    """The paragraph at a chapter's head that says what it builds on names the same chapters."""
    faults = []
    for number, chapter in CHAPTERS.items():
        head = next(p for p in chapter.prose.split("\n\n") if re.search(r"\bbuilds on\b", p))
        said = {n for n in linked(head) if n < number}
        if said != set(data["needs"].get(number, {})):
            faults.append(f"chapter {number} says that it builds on {sorted(said)}")
    return faults


# --- paths ----------------------------------------------------------------------------------


@rule
def headings_are_those_of_the_chapter(data):
    return [f"chapter {number}: {told} are not its headings {real}"
            for number, plan in data["chapters"].items()
            for told in [[section["section"] for section in plan]]
            for real in [[heading for heading in parts(number) if heading != "Exercises"]]
            if told != real]  # fmt: skip


@rule
def minutes_add_up(data):
    faults = []
    for number, plan in data["chapters"].items():
        two = [section["two"] for section in plan if "two" in section]
        sums = {
            "one": sum(section.get("one", 0) for section in plan),
            **{f"lecture {i} of two": sum(long for which, long in two if which == i)
               for i in (1, 2)},
        }  # fmt: skip
        faults += [f"chapter {number}, {name}: {total} minutes"
                   for name, total in sums.items()
                   if not MINUTES - 5 <= total <= MINUTES]  # fmt: skip
        if [which for which, _ in two] != sorted(which for which, _ in two):
            faults.append(f"chapter {number} goes back to the first lecture")
        if any(which not in (1, 2) or long < 1 for which, long in two):
            faults.append(f"chapter {number} has a third lecture, or no minutes")
    return faults


@rule
def shorter_path_is_part_of_the_longer(data):
    return [f"chapter {number}: {section['section']} is in the single lecture alone"
            for number, plan in data["chapters"].items() for section in plan
            if "one" in section and "two" not in section]  # fmt: skip


@rule
def votes_are_predictions(data):
    return [f"chapter {number}, {section['section']}: no prediction asks {section['vote']!r}"
            for number, plan in data["chapters"].items() for section in plan
            if "vote" in section and section["vote"] not in
            code(number, section["section"], "predict(")]  # fmt: skip


@rule
def shown_are_explorers(data):
    return [f"chapter {number}, {section['section']}: no explorer is titled {section['show']!r}"
            for number, plan in data["chapters"].items() for section in plan
            if "show" in section and f'title="{section["show"]}"' not in
            code(number, section["section"], "explore(")]  # fmt: skip


def moved(number: int) -> set[tuple[str, str]]:
    """Sections and titles of the figures that the chapter's page computes itself."""
    page = f"notebooks/{CHAPTERS[number].stem}"
    return {(heading, re.search(r'class="play-title"[^>]*>([^<]*)<', drawn(name))[1])
            for ident, name in book_play.PLACES.get(page, ())
            for heading, cells in parts(number).items() if ident in {cell.id for cell in cells}
            }  # fmt: skip


@cache
def drawn(name: str) -> str:
    return import_module(f"play.{name}").drawn("x")


@rule
def moved_are_figures_of_the_page(data):
    """All of them, each in its section."""
    return [f"chapter {number}: {sorted(told ^ moved(number))}"
            for number, plan in data["chapters"].items()
            for told in [{(s["section"], title) for s in plan for title in s.get("move", ())}]
            if told != moved(number)]  # fmt: skip


@rule
def each_path_has_a_vote_and_an_explorer(data):
    return [f"chapter {number}, path {path}: nothing to {what}"
            for number, plan in data["chapters"].items() for path in ("one", "two")
            for what in ("vote", "show")
            if not any(path in section and what in section for section in plan)]  # fmt: skip


@rule
def only_what_is_met_is_put_to_the_class(data):
    return [f"chapter {number}, {section['section']} is left to reading"
            for number, plan in data["chapters"].items() for section in plan
            if "two" not in section and {"vote", "show", "move", "do"} & set(section)]  # fmt: skip


@rule
def exercises_are_listed_once(data):
    faults = []
    for number, plan in data["chapters"].items():
        told = [n for section in plan for n in section.get("exercises", {})]
        real = [int(name.split(".")[1]) for name in chapters.exercises(CHAPTERS[number])]
        if sorted(told) != real:
            faults.append(f"chapter {number} has the exercises {real}, listed are {sorted(told)}")
    return faults


# --- courses --------------------------------------------------------------------------------


@rule
def courses_need_nothing_untold(data):
    faults = []
    for name, course in data["courses"].items():
        met = set()
        for part in course:
            missing = set(data["needs"][part["chapter"]]) - met - set(part.get("say", {}))
            faults += [f"{name}: chapter {part['chapter']} needs {n}" for n in missing]
            met |= {part["chapter"], *part.get("say", {})}
        order = [part["chapter"] for part in course]
        if order != sorted(set(order)):
            faults.append(f"{name} goes back: {order}")
    return faults


@rule
def courses_say_only_what_is_left_out(data):
    return [f"{name}: chapter {n} is met and told"
            for name, course in data["courses"].items()
            for part in course for n in part.get("say", {})
            if n in {p["chapter"] for p in course} or n not in data["needs"][part["chapter"]]
            ]  # fmt: skip


# --- the rules ------------------------------------------------------------------------------


@pytest.mark.no_shape_check  # figures are drawn as the site draws them
@pytest.mark.parametrize("name", RULES)
def test_the_data_keep_the_rule(name):
    assert RULES[name](DATA) == []


FAULTS = {
    "all_chapters_are_there": lambda d: d["needs"].pop(12),
    "needs_lie_behind": lambda d: d["needs"][5].update({8: "the block"}),
    "needs_are_linked": lambda d: d["needs"][3].update({2: "cosines"}),
    "needs_are_what_the_chapter_says": lambda d: d["needs"][5].update({1: "the embedding"}),
    "headings_are_those_of_the_chapter": lambda d: d["chapters"][5][2].update(section="Who?"),
    "minutes_add_up": lambda d: d["chapters"][7][1].update(one=13),
    "shorter_path_is_part_of_the_longer": lambda d: d["chapters"][7][1].pop("two"),
    "votes_are_predictions": lambda d: d["chapters"][6][1].update(vote="How many dice?"),
    "shown_are_explorers": lambda d: d["chapters"][6][4].update(show="Barcodes"),
    "moved_are_figures_of_the_page": lambda d: d["chapters"][5][2].pop("move"),
    "each_path_has_a_vote_and_an_explorer": lambda d: d["chapters"][6][4].pop("show"),
    "only_what_is_met_is_put_to_the_class": lambda d: (
        d["chapters"][6][6].update(two=None, do="x") or d["chapters"][6][6].pop("two")
    ),
    "exercises_are_listed_once": lambda d: d["chapters"][8][1]["exercises"].update({1: 10}),
    "courses_need_nothing_untold": lambda d: d["courses"]["Eight lectures"].pop(1),
    "courses_say_only_what_is_left_out": lambda d: d["courses"]["Eight lectures"][5].update(
        say={7: "Masks."}
    ),
}


@pytest.mark.no_shape_check  # figures are drawn as the site draws them
@pytest.mark.parametrize("name", RULES)
def test_a_planted_fault_is_seen(name):
    data = copy.deepcopy(DATA)
    FAULTS[name](data)
    assert RULES[name](data)


# --- what the extension makes of it -----------------------------------------------------------


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """All pairs that a chain of arrows leads through."""
    while True:
        more = edges | {(a, d) for a, b in edges for c, d in edges if b == c}
        if more == edges:
            return edges
        edges = more


def test_picture_leaves_out_only_what_other_arrows_make_up_for():
    told = {(n, chapter) for chapter, needed in DATA["needs"].items() for n in needed}
    drawn = set(book_lecture.drawn(DATA["needs"]))
    assert drawn <= told
    assert closure(drawn) == closure(told)
    for arrow in drawn:
        assert closure(drawn - {arrow}) != closure(drawn), f"{arrow} could be left out"


def test_arrows_lead_one_row_down_and_cross_no_box():
    row = {chapter: i for i, line in enumerate(book_lecture.ROWS) for chapter in line}
    assert sorted(chapter for line in book_lecture.ROWS for chapter in line) == sorted(CHAPTERS)
    assert {row[b] - row[a] for a, b in book_lecture.drawn(DATA["needs"])} == {1}


def test_boxes_stand_apart_and_inside():
    at, half = book_lecture.places(), book_lecture.WIDE / 2
    for line in book_lecture.ROWS:
        edges = [
            side for chapter in line for side in (at[chapter][0] - half, at[chapter][0] + half)
        ]
        assert edges == sorted(edges)
        assert edges[0] >= 1
        assert edges[-1] <= book_lecture.PAGE - 1


def test_picture_has_words_and_asks_nobody():
    svg = book_lecture.picture(DATA["needs"])
    root = ElementTree.fromstring(svg)
    drawn = book_lecture.drawn(DATA["needs"])
    assert sum(element.tag == "line" for element in root.iter()) == len(drawn)
    words = root.attrib["aria-label"]
    for a, b in drawn:
        assert re.search(rf"from {a} to [^;]*\b{b}\b", words), f"{a} to {b} is not told"
    assert not re.search(r"https?:|@import|<script", svg)


def test_table_of_needs_gives_every_reason():
    table = book_lecture.needs_table(DATA).splitlines()[2:]
    assert len(table) == len(CHAPTERS)
    for line, (number, needed) in zip(table, sorted(DATA["needs"].items()), strict=True):
        assert line.startswith(f"| [{number} · ")
        assert all(reason in line for reason in needed.values())


def test_mentions_are_earlier_links():
    for number, chapter in CHAPTERS.items():
        earlier = sorted(n for n in linked(chapter.prose) if n < number)
        assert book_lecture.looks_back(number) == earlier


@pytest.mark.parametrize("number", CHAPTERS)
def test_problem_set_has_each_exercise_with_its_points(number):
    graded = [cell.metadata["nbgrader"] for cell in CHAPTERS[number].code
              if cell.metadata.get("nbgrader", {}).get("grade")]  # fmt: skip
    rows = book_lecture.problems_table(number, DATA["chapters"][number]).splitlines()
    assert "estimate" in rows[0]
    assert len(rows) == 2 + len(graded) + 1
    for n, (row, check) in enumerate(zip(rows[2:], graded, strict=False), start=1):
        name, points, minutes = (cell.strip() for cell in row.split("|")[1:4])
        assert check["grade_id"] == f"check-{number:02d}-{n}"
        assert re.fullmatch(rf"{n}\. \S.*", name)
        assert int(points) == check["points"]
        assert 5 <= int(minutes) <= 60
    assert f"**{sum(check['points'] for check in graded)}**" in rows[-1]


@pytest.mark.parametrize("number", CHAPTERS)
def test_paths_say_what_is_left_to_reading(number):
    plan = DATA["chapters"][number]
    rows = book_lecture.paths_table(number, plan).splitlines()[2:-1]
    for row, section in zip(rows, plan, strict=True):
        one, two = (cell.strip() for cell in row.strip("| ").split(" | ")[1:])
        assert one == str(section.get("one", "home"))
        assert (two == "home") == ("two" not in section)


def test_page_is_in_the_book():
    page = (ROOT / "book" / "for-the-lecture.md").read_text("utf-8")
    for part in ("graph", "needs", "chapters", "courses"):
        assert f"```{{lecture}} {part}\n```" in page
    assert "- file: book/for-the-lecture\n" in (ROOT / "_toc.yml").read_text("utf-8")
    assert "- book_lecture\n" in (ROOT / "_config.yml").read_text("utf-8")


def test_an_exercise_that_is_checked_and_not_set_is_named(monkeypatch):
    grade = {"grade": True, "grade_id": "check-3", "points": 2}
    check = {"cell_type": "code", "source": "", "metadata": {"nbgrader": grade}}
    monkeypatch.setattr(book_lecture, "cells", lambda number: [check])
    with pytest.raises(ValueError, match=r"chapter 05 checks exercises \[3\] that it does not set"):
        book_lecture.exercises(5)
