"""The manifests keep to the chapters: what needs what, headings, minutes, exercises, topics.

A rule takes the chapters and the courses and returns complaints. Each is held to them as they are,
and to a copy with a fault planted. What stands in a notebook is read here in another way than the
pages' extensions read it.
"""

import html
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache

import pytest
import support
from content import lecture, topics
from play import figures
from support import ROOT

from helpers.chapters import CHAPTERS, TAUGHT, Chapter, corrections

BOOKS = {chapter.number: support.chapter(ROOT / f"{chapter.docname}.ipynb") for chapter in CHAPTERS}
COURSES = lecture.courses()
NO_TOPICS = (
    "opening",
    "Exercises",
    "What we showed",
    "What we saw",
    "Laboratory",
    "What was measured",
)
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
    for cell in BOOKS[number].cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith(("## ", "### ")):
                    here = line.lstrip("#").strip()
                    found[here] = []
        found[here].append(cell)
    return found


def code(number: int, heading: str, call: str) -> str:
    """The code of a section's cells that call a function, its strings joined as Python joins."""
    cells = [c.source for c in parts(number).get(heading, []) if c.cell_type == "code"]
    return re.sub(r"[\"']\s*\n\s*f?[\"']", "", "\n".join(c for c in cells if call in c))


def sections(chapters):
    """Each section with its chapter's number."""
    return [(chapter.number, section) for chapter in chapters for section in chapter.sections]


@rule
def all_chapters_are_there(chapters, courses):
    stems = [chapter.stem for chapter in chapters]
    real = [path.stem for path in support.NOTEBOOKS]
    return [] if stems == real else [f"{stems} are not {real}"]


@rule
def needs_lie_behind_and_are_linked(chapters, courses):
    return [
        f"chapter {chapter.number} needs {n}, which comes later or is not linked"
        for chapter in chapters
        for n in chapter.needs
        if n >= chapter.number or n not in linked(BOOKS[chapter.number].prose)
    ]


@rule
def needs_are_what_the_chapter_says(chapters, courses):
    """The paragraph at a chapter's head that says what it builds on names the same chapters."""
    faults = []
    for chapter in chapters:
        prose = BOOKS[chapter.number].prose
        head = next(p for p in prose.split("\n\n") if re.search(r"\bbuilds on\b", p))
        said = {n for n in linked(head) if n < chapter.number}
        if said != set(chapter.needs):
            faults.append(f"chapter {chapter.number} says that it builds on {sorted(said)}")
    return faults


@rule
def headings_are_those_of_the_chapter(chapters, courses):
    return [
        f"chapter {chapter.number}: {listed} are not its headings {real}"
        for chapter in chapters
        for listed in [[section.heading for section in chapter.sections]]
        for real in [
            [
                heading
                for heading in parts(chapter.number)
                if heading not in ("Exercises", "References")
            ]
        ]
        if listed != real
    ]


@rule
def minutes_add_up(chapters, courses):
    faults = []
    for chapter in chapters:
        two = [section.two for section in chapter.sections if section.two]
        sums = [
            sum(section.one or 0 for section in chapter.sections),
            *(sum(long for which, long in two if which == i) for i in (1, 2)),
        ]
        if not all(
            (chapter.overview and not total) or MINUTES - 5 <= total <= MINUTES for total in sums
        ):
            faults.append(f"chapter {chapter.number}: {sums} minutes")
        if [which for which, _ in two] != sorted(which for which, _ in two):
            faults.append(f"chapter {chapter.number} goes back to the first lecture")
        if any(which not in (1, 2) or long < 1 for which, long in two):
            faults.append(f"chapter {chapter.number} has a third lecture, or no minutes")
    return faults


@rule
def shorter_path_is_part_of_the_longer(chapters, courses):
    return [
        f"chapter {number}: {s.heading} is in the single lecture alone"
        for number, s in sections(chapters)
        if s.one and not s.two
    ]


@rule
def votes_are_predictions_and_shown_are_explorers(chapters, courses):
    return [
        f"chapter {number}, {section.heading}: there is no {words!r}"
        for number, section in sections(chapters)
        for call, words in (
            ("predict(", section.vote),
            ("explore(", section.show and f'title="{section.show}"'),
        )
        if words not in code(number, section.heading, call)
    ]


@cache
def drawn(name: str) -> str:
    return figures.drawn(name, "x")


def moved(chapter: Chapter) -> set[tuple[str, str]]:
    """Sections and titles of the figures that the chapter's page computes itself."""
    title = re.compile(r'class="play-title"[^>]*>([^<]*)<')
    return {
        (heading, title.search(drawn(widget["figure"]))[1])
        for widget in chapter.widgets
        if widget["figure"] != "gpt"
        for heading, cells in parts(chapter.number).items()
        if widget["after"] in {cell.id for cell in cells}
    }


@rule
def moved_are_figures_of_the_page(chapters, courses):
    """All of them, each in its section."""
    return [
        f"chapter {chapter.number}: {sorted(listed ^ moved(chapter))}"
        for chapter in chapters
        for listed in [{(s.heading, title) for s in chapter.sections for title in s.move}]
        if listed != moved(chapter)
    ]


@rule
def each_path_has_a_vote_and_an_explorer(chapters, courses):
    return [
        f"chapter {chapter.number}, path {path}: nothing to {what}"
        for chapter in chapters
        for path in ("one", "two")
        for what in ("vote", "show")
        if not chapter.overview
        and not any(getattr(s, path) and getattr(s, what) for s in chapter.sections)
    ]


@rule
def only_what_is_met_is_put_to_the_class(chapters, courses):
    return [
        f"chapter {number}, {s.heading} is left to reading"
        for number, s in sections(chapters)
        if not s.two and (s.vote or s.show or s.move or s.do)
    ]


@rule
def exercises_are_listed_once(chapters, courses):
    faults = []
    for chapter in chapters:
        listed = sorted(n for section in chapter.sections for n in section.exercises)
        real = [int(name.split(".")[1]) for name in support.exercises(BOOKS[chapter.number])]
        if listed != real:
            faults.append(f"chapter {chapter.number} has exercises {real}, listed are {listed}")
    return faults


@rule
def sections_have_topics(chapters, courses):
    faults = [
        f"{number}: no topics: {s.heading}"
        for number, s in sections(chapters)
        if not s.topics and s.heading not in NO_TOPICS
    ]
    return faults + [
        f"twice: {s.topics}" for _, s in sections(chapters) if len(set(s.topics)) < len(s.topics)
    ]


@rule
def corrections_rest_on_one_section_each(chapters, courses):
    listed = sorted(slug for _, section in sections(chapters) for slug in section.corrections)
    real = sorted(correction.slug for correction in corrections())
    return [] if listed == real else [str(set(listed) ^ set(real) or "one stands twice")]


@rule
def courses_need_nothing_that_was_not_said(chapters, courses):
    needs, faults = {chapter.number: chapter.needs for chapter in chapters}, []
    for name, course in courses.items():
        met = set()
        for part in course:
            said = {int(n) for n in part.get("say", {})}
            faults += [
                f"{name}: chapter {part['chapter']} needs {n}"
                for n in set(needs[part["chapter"]]) - met - said
            ]
            met |= {part["chapter"], *said}
        order = [part["chapter"] for part in course]
        if order != sorted(set(order)):
            faults.append(f"{name} goes back: {order}")
    return faults


@rule
def courses_say_only_what_is_left_out(chapters, courses):
    needs = {chapter.number: chapter.needs for chapter in chapters}
    return [
        f"{name}: chapter {n} is met and told"
        for name, course in courses.items()
        for part in course
        for n in map(int, part.get("say", {}))
        if n in {p["chapter"] for p in course} or n not in needs[part["chapter"]]
    ]


# --- the rules --------------------------------------------------------------------------------


@pytest.mark.no_shape_check  # figures are drawn as the site draws them
@pytest.mark.parametrize("name", RULES)
def test_the_manifests_keep_the_rule(name):
    assert RULES[name](CHAPTERS, COURSES) == []


def with_chapter(number: int, **other) -> tuple:
    return tuple(replace(c, **other) if c.number == number else c for c in CHAPTERS), COURSES


def with_section(number: int, at: int, **other) -> tuple:
    (chapter,) = (c for c in CHAPTERS if c.number == number)
    kept = list(chapter.sections)
    kept[at] = replace(kept[at], **other)
    return with_chapter(number, sections=tuple(kept))


def with_course(change) -> tuple:
    course = [dict(part) for part in COURSES["Eight lectures"]]
    change(course)
    return CHAPTERS, {"Eight lectures": course}


FAULTS = {
    "all_chapters_are_there": lambda: (CHAPTERS[:-1], COURSES),
    "needs_lie_behind_and_are_linked": lambda: with_chapter(5, needs={3: "softmax", 8: "block"}),
    "needs_are_what_the_chapter_says": lambda: with_chapter(5, needs={1: "the embedding"}),
    "headings_are_those_of_the_chapter": lambda: with_section(5, 2, heading="Who?"),
    "minutes_add_up": lambda: with_section(7, 1, one=30),
    "shorter_path_is_part_of_the_longer": lambda: with_section(7, 1, two=None),
    "votes_are_predictions_and_shown_are_explorers": lambda: with_section(6, 4, show="Barcodes"),
    "moved_are_figures_of_the_page": lambda: with_section(5, 9, move=()),
    "each_path_has_a_vote_and_an_explorer": lambda: with_section(6, 4, show=""),
    "only_what_is_met_is_put_to_the_class": lambda: with_section(6, 6, two=None, do="x"),
    "exercises_are_listed_once": lambda: with_section(8, 1, exercises={1: 10, 99: 1}),
    "sections_have_topics": lambda: with_section(5, 2, topics=("a", "a")),
    "corrections_rest_on_one_section_each": lambda: with_section(5, 1, corrections=("c05-none",)),
    "courses_need_nothing_that_was_not_said": lambda: with_course(lambda course: course.pop(1)),
    "courses_say_only_what_is_left_out": lambda: with_course(
        lambda course: course[5].update(say={"7": "Masks."})
    ),
}


@pytest.mark.no_shape_check  # figures are drawn as the site draws them
@pytest.mark.parametrize("name", RULES)
def test_a_planted_fault_is_seen(name):
    assert RULES[name](*FAULTS[name]())


# --- the picture of needs ---------------------------------------------------------------------

NEEDS = lecture.needs_of_all()


def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """All pairs that a chain of arrows leads through."""
    while True:
        more = edges | {(a, d) for a, b in edges for c, d in edges if b == c}
        if more == edges:
            return edges
        edges = more


def test_picture_leaves_out_only_what_other_arrows_make_up_for():
    needed = {(n, chapter) for chapter, needs in NEEDS.items() for n in needs}
    arrows = set(lecture.arrows(NEEDS))
    assert arrows <= needed
    assert closure(arrows) == closure(needed)
    for arrow in arrows:
        assert closure(arrows - {arrow}) != closure(arrows), f"{arrow} could be left out"


def test_boxes_stand_apart_and_arrows_cross_none():
    at = lecture.places(NEEDS)
    assert set(at) == {chapter.number for chapter in TAUGHT}
    for a, b in lecture.arrows(NEEDS):
        assert at[b][1] - at[a][1] == lecture.STEP, f"the arrow from {a} to {b} passes a row"
    for y in {y for _, y in at.values()}:
        middles = sorted(x for x, other in at.values() if other == y)
        edges = [x + side * lecture.WIDE / 2 for x in middles for side in (-1, 1)]
        assert edges == sorted(edges)
        assert edges[0] >= 1
        assert edges[-1] <= lecture.PAGE - 1


def test_picture_has_words_and_asks_nobody():
    svg = lecture.picture(NEEDS)
    root = ElementTree.fromstring(svg)
    assert sum(element.tag == "line" for element in root.iter()) == len(lecture.arrows(NEEDS))
    for a, b in lecture.arrows(NEEDS):
        assert re.search(rf"from {a} to [^;]*\b{b}\b", root.attrib["aria-label"]), (a, b)
    assert not re.search(r"https?:|@import|<script", svg)


# --- tables -----------------------------------------------------------------------------------


def test_table_of_needs_gives_every_reason():
    rows = lecture.needs_table().splitlines()[2:]
    for row, chapter in zip(rows, TAUGHT, strict=True):
        assert row.startswith(f"| [{chapter.number} · ")
        assert all(reason in row for reason in chapter.needs.values())
        earlier = sorted(n for n in linked(BOOKS[chapter.number].prose) if n < chapter.number)
        assert [c.number for c in lecture.looks_back(chapter)] == earlier


def test_problem_set_has_each_exercise_with_its_points():
    for chapter in TAUGHT:
        graded = [
            cell.metadata["nbgrader"]
            for cell in BOOKS[chapter.number].code
            if cell.metadata.get("nbgrader", {}).get("grade")
        ]
        words, rows = lecture.problems(chapter)
        rows = rows.splitlines()
        assert words.startswith(f"Problem set: {len(graded)} exercises")
        assert "estimate" in rows[0]
        assert len(rows) == 2 + len(graded) + 1
        for n, (row, check) in enumerate(zip(rows[2:], graded, strict=False), start=1):
            name, points, minutes = (cell.strip() for cell in row.split("|")[1:4])
            assert check["grade_id"] == f"check-{chapter.number:02d}-{n}"
            assert re.fullmatch(rf"{n}\. \S.*", name)
            assert int(points) == check["points"]
            assert 5 <= int(minutes) <= 60
        assert f"**{sum(check['points'] for check in graded)}**" in rows[-1]


def test_paths_say_what_is_left_to_reading():
    for chapter in TAUGHT:
        rows = lecture.paths_table(chapter).splitlines()[2:-1]
        for row, section in zip(rows, chapter.sections, strict=True):
            one, two = (cell.strip() for cell in row.strip("| ").split(" | ")[1:])
            assert one == str(section.one or "home")
            assert (two == "home") == (section.two is None)


def test_an_exercise_that_is_checked_and_not_set_is_named(monkeypatch):
    grade = {"grade": True, "grade_id": "check-3", "points": 2}
    check = {"cell_type": "code", "source": "", "metadata": {"nbgrader": grade}}
    monkeypatch.setattr(lecture, "cells", lambda chapter: [check])
    with pytest.raises(ValueError, match=r"05_.* checks exercises \[3\] that it does not set"):
        lecture.exercises(TAUGHT[4])


# --- topics -----------------------------------------------------------------------------------


def test_topics_stand_from_a_to_z():
    listed = list(topics.by_topic())
    assert listed == sorted(listed, key=topics.sorting_key)
    assert topics.sorting_key("√D, arguments") == "root d arguments"
    assert topics.sorting_key("`nn.Embedding`: shape") == "nnembedding shape"
    assert topics.sorting_key("ε inside")[0] == "e"
    assert len(set(map(str.casefold, listed))) == len(listed)


def test_the_page_of_topics_has_all_of_them(html_root):
    page = (html_root / "book" / "topics.html").read_text("utf-8")
    plain = " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).replace("’", "'").split())
    for topic in topics.by_topic():
        assert " ".join(topic.replace("`", "").split()) in plain, topic
    for correction in corrections():
        assert f'href="corrections.html#{correction.slug}"' in page
    for chapter in CHAPTERS:
        built = (html_root / f"{chapter.docname}.html").read_text("utf-8")
        for section in chapter.sections:
            if section.topics:
                said = re.escape(html.escape(section.heading, quote=False))
                ids = re.findall(
                    rf'href="\.\./{chapter.docname}\.html#([^"]+)"[^>]*>'
                    rf"(?:<[^>]+>)*{said}",
                    page,
                )
                assert ids, section.heading
                for ident in set(ids):
                    assert re.search(rf'<section id="{re.escape(ident)}">\s*<h[23]>', built), ident


def test_wrong_guesses_are_read_from_the_chapters():
    """As many as the stored results have replies, counted in another way."""
    for chapter in CHAPTERS:
        replies = 0
        for cell in BOOKS[chapter.number].code:
            for output in cell.get("outputs", ()):
                page = "".join(output.get("data", {}).get("text/html", ""))
                for words in re.findall(r'data-told="([^"]*)"', page):
                    replies += len(json.loads(html.unescape(words))["replies"])
        found = topics.guesses(chapter)
        assert sum(len(guess.replies) for guess in found) == replies > 0
        assert {guess.heading for guess in found} <= set(parts(chapter.number))
