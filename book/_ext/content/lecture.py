"""The page for a teacher: what needs what, paths through each chapter, courses through the book.

``{lecture} graph`` draws which chapter needs which, ``{lecture} needs`` has the same as a table
with reasons, ``{lecture} chapters`` a section for each chapter, all of it from the manifests;
``{lecture} courses`` the routes of ``book/courses.toml``. What exercises are called, their points
and passing mentions of other chapters are read from the notebooks.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from statistics import mean
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from content.chapters import MANIFESTS, NOTEBOOKS, ROOT, cells, depend
from content.markdown import link, numbered, table, titled
from helpers.chapters import BY_NUMBER, TAUGHT, Chapter, Section

COURSES = ROOT / "book" / "courses.toml"


class Exercise(NamedTuple):
    """An exercise of a chapter: its number, what it is called, and its points."""

    number: int
    name: str
    points: int


def courses() -> dict[str, list[dict]]:
    """Return the courses by name, each a list of lectures."""
    return tomllib.loads(COURSES.read_text("utf-8"))


# --- what is read from a notebook -----------------------------------------------------------


def exercises(chapter: Chapter) -> list[Exercise]:
    """Return a chapter's exercises with the points of their checks (nbgrader's metadata).

    Raises: ValueError where one has points and no text.
    """
    names, points = {}, {}
    for cell in cells(chapter):
        grade = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "markdown":
            for found in re.finditer(r"^> \*\*Exercise (\d+)\.(.*)$", cell["source"], re.MULTILINE):
                names[int(found[1])] = name_of(found[2])
        elif grade.get("grade"):
            points[int(grade["grade_id"].rpartition("-")[2])] = grade["points"]
    if unset := sorted(points.keys() - names.keys()):
        raise ValueError(f"{chapter.stem} checks exercises {unset} that it does not set")
    return [Exercise(n, names[n], points[n]) for n in sorted(points)]


def name_of(text: str) -> str:
    """Return what an exercise is called: its title, or the function that is to be written."""
    title, _, rest = text.partition("**")
    function = re.search(r"[Ww]rite (`\w+)\(", rest)
    return title.strip().rstrip(".") or (f"{function[1]}`" if function else "")


def looks_back(chapter: Chapter) -> list[Chapter]:
    """Return the earlier chapters that a chapter links to anywhere in its text."""
    prose = "\n".join(c["source"] for c in cells(chapter) if c["cell_type"] == "markdown")
    linked = {int(n) for n in re.findall(r"\]\((\d\d)_\w+\.ipynb", prose)}
    return [BY_NUMBER[n] for n in sorted(linked) if n < chapter.number]


# --- tables ----------------------------------------------------------------------------------


def needs_table() -> str:
    """Return what needs what, and for what, as a table."""
    rows = []
    for chapter in TAUGHT:
        reasons = [f"{numbered([BY_NUMBER[n]])} for {why}" for n, why in chapter.needs.items()]
        also = numbered(c for c in looks_back(chapter) if c.number not in chapter.needs)
        rows.append([titled(chapter), "; ".join(reasons) or "nothing before it", also])
    return table(["Chapter", "Needs", "Also mentions"], rows)


def in_class(section: Section) -> str:
    """Return what is done with a class in one section."""
    parts = []
    if section.vote:
        opening = "… " if section.vote[0].islower() else ""
        parts.append(f"Vote: “{opening}{section.vote}”")
    if section.show:
        parts.append(f"Show: *{section.show}*")
    parts += [f"Move: *{title}*" for title in section.move]
    if section.do:
        parts.append(f"Do: {section.do}")
    return " ".join(part if part.endswith(("?”", ".”", "?*")) else f"{part}." for part in parts)


def paths_table(chapter: Chapter) -> str:
    """Return the two paths through a chapter, section by section."""
    rows, sums = [], [0, 0, 0]  # minutes of the single lecture, of the first and second of two
    for section in chapter.sections:
        which, long = section.two or (0, 0)
        sums[0] += section.one or 0
        sums[which] += long
        rows.append(
            [
                "<br>".join(filter(None, [link(chapter, section.heading), in_class(section)])),
                section.one or "home",
                f"{'I' * which}, {long}" if which else "home",
            ]
        )
    rows.append(["**Minutes**", f"**{sums[0]}**", f"**{sums[1]} + {sums[2]}**"])
    return table(["Section, and what to do", "One lecture", "Two"], rows)


def problems(chapter: Chapter) -> tuple[str, str]:
    """Return how large a chapter's problem set is, in a line, and the set as a table.

    The table has points, minutes and the section on which each exercise rests.
    """
    rests = {
        n: (section.heading, long)
        for section in chapter.sections
        for n, long in section.exercises.items()
    }
    found = [exercise for exercise in exercises(chapter) if exercise.number in rests]
    rows: list[list[Any]] = []
    for number, name, points in found:
        heading, long = rests[number]
        rows.append([f"{number}. {name}<br>Rests on: {link(chapter, heading)}", points, long])
    points, long = (sum(row[column] for row in rows) for column in (1, 2))
    rows.append([f"**All {len(found)}**", f"**{points}**", f"**{long}**"])
    words = f"Problem set: {len(found)} exercises, {points} points, {long} minutes (estimate)"
    return words, table(["Exercise", "Points", "Minutes (estimate)"], rows)


def course_table(course: list[dict]) -> str:
    """Return a course: its lectures, and what to say of chapters that are left out."""
    rows = []
    for n, part in enumerate(course, start=1):
        chapter = BY_NUMBER[part["chapter"]]
        words = [
            f"From {numbered([BY_NUMBER[int(k)]])}: {text}"
            for k, text in part.get("say", {}).items()
        ]
        plan = f"[{chapter.number} · {chapter.title}](#plan-{chapter.number:02d})"
        rows.append([n, plan, " ".join(words)])
    return table(["Lecture", "Chapter", "Say in a sentence"], rows)


# --- the picture -----------------------------------------------------------------------------

Needs = Mapping[int, Mapping[int, str]]  # as manifests have them: a chapter, what it needs, why
WIDE, HIGH, STEP, PAGE = 108, 42, 78, 348  # a box, from row to row, the whole (in px)


def needs_of_all() -> Needs:
    return {chapter.number: chapter.needs for chapter in TAUGHT}


def arrows(needs: Needs) -> list[tuple[int, int]]:
    """Return the arrows that are drawn: those that no longer way round replaces."""

    @cache
    def reaches(start: int, end: int) -> bool:
        return any(n == start or reaches(start, n) for n in needs[end])

    return [
        (n, chapter)
        for chapter, needed in needs.items()
        for n in needed
        if not any(reaches(n, other) for other in needed if other != n)
    ]


def places(needs: Needs) -> dict[int, tuple[float, float]]:
    """Return the middle of each box: a row below all that it needs, near to what leads to it."""
    row: dict[int, int] = {}
    for chapter in sorted(needs):
        row[chapter] = max((row[n] + 1 for n in needs[chapter]), default=0)
    at: dict[int, tuple[float, float]] = {}
    for level in range(max(row.values()) + 1):
        from_above = {
            chapter: mean([at[a][0] for a, b in arrows(needs) if b == chapter] or [PAGE / 2])
            for chapter in needs
            if row[chapter] == level
        }
        line = sorted(from_above, key=lambda chapter: (from_above[chapter], chapter))
        for n, chapter in enumerate(line):
            at[chapter] = (PAGE * (n + 0.5) / len(line), 25 + STEP * level)
    return at


def in_words(needs: Needs) -> str:
    """Return what the picture shows, for those who do not see it."""
    after: dict[int, list[int]] = {}
    for n, chapter in arrows(needs):
        after.setdefault(n, []).append(chapter)
    led = "; ".join(
        f"from {n} to {' and '.join(map(str, sorted(to)))}" for n, to in sorted(after.items())
    )
    return f"The {len(needs)} chapters as boxes, in rows from the top. Arrows lead {led}."


def picture(needs: Needs) -> str:
    """Return the graph as SVG that takes its colours from the page and fits a telephone."""
    at = places(needs)
    height = max(y for _, y in at.values()) + 25
    lines = "".join(
        f'<line x1="{at[a][0]:.0f}" y1="{at[a][1] + HIGH / 2:.0f}" marker-end="url(#needs-tip)" '
        f'x2="{at[a][0] + 0.94 * (at[b][0] - at[a][0]):.0f}" y2="{at[b][1] - HIGH / 2 - 3:.0f}"/>'
        for a, b in arrows(needs)
    )
    boxes = "".join(
        f'<rect x="{x - WIDE / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{WIDE}" height="{HIGH}" '
        'rx="6"/>'
        for x, y in at.values()
    )
    texts = "".join(
        f'<text x="{x:.0f}" y="{y - 4:.0f}" font-weight="700">{n}</text>'
        f'<text x="{x:.0f}" y="{y + 13:.0f}">{html.escape(BY_NUMBER[n].short)}</text>'
        for n, (x, y) in at.items()
    )
    soft = "var(--book-soft, #59636f)"
    return (
        f'<svg role="img" aria-label="{html.escape(in_words(needs))}" '
        f'viewBox="0 0 {PAGE} {height}" width="{PAGE}" height="{height}" '
        'style="display: block; max-width: 100%; height: auto" '
        'font-family="system-ui, sans-serif" font-size="13" text-anchor="middle">'
        '<defs><marker id="needs-tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 10 5 0 10z" style="fill: {soft}"/>'
        f'</marker></defs><g style="stroke: {soft}" stroke-width="1.5">{lines}</g>'
        '<g style="fill: var(--book-card, #f7f8fa); stroke: var(--pst-color-primary, #1f5c99)" '
        f'stroke-width="1.5">{boxes}</g><g style="fill: var(--book-ink, #1d2430)">{texts}</g></svg>'
    )


# --- the directive ---------------------------------------------------------------------------


class Lecture(SphinxDirective):
    """One part of the page: graph, needs, chapters or courses."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render it; a change to the data or to a notebook makes the page anew."""
        depend(self.env, COURSES, __file__, *MANIFESTS, *NOTEBOOKS)
        part = self.arguments[0]
        if part == "graph":
            drawn = picture(needs_of_all())
            return [nodes.raw("", f'<figure id="needs-picture">{drawn}</figure>', format="html")]
        if part == "needs":
            return self.parse_text_to_nodes(needs_table())
        if part == "chapters":
            return [self.chapter(chapter) for chapter in TAUGHT]
        if part == "courses":
            body = (f"**{name}.**\n\n{course_table(course)}" for name, course in courses().items())
            return self.parse_text_to_nodes("\n\n".join(body))
        raise self.error(f"lecture should be graph, needs, chapters or courses, got {part!r}")

    def chapter(self, chapter: Chapter) -> nodes.section:
        """Render the paths and the problem set of one chapter."""
        name = f"plan-{chapter.number:02d}"
        words, rows = problems(chapter)
        section = nodes.section(ids=[name], names=[name])
        section += nodes.title("", f"{chapter.number} · {chapter.title}")
        section.extend(self.parse_text_to_nodes(paths_table(chapter)))
        section += nodes.raw("", f"<details><summary>{words}</summary>", format="html")
        section.extend(self.parse_text_to_nodes(rows))
        section += nodes.raw("", "</details>", format="html")
        self.state.document.note_explicit_target(section, section)
        return section


def setup(app) -> None:
    app.add_directive("lecture", Lecture)
