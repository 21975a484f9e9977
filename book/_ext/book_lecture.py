"""The page for a teacher: what needs what, paths through each chapter, courses through the book.

All of it stands in ``book/lecture.yml`` (its head says in what form); what exercises are called,
their points and passing mentions of other chapters are read from the notebooks. ``{lecture} graph``
draws which chapter needs which, ``{lecture} needs`` has the same as a table with reasons,
``{lecture} chapters`` a section for each chapter, ``{lecture} courses`` the routes through all.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import NamedTuple

import yaml
from book_chapters import BY_NUMBER, CHAPTERS
from docutils import nodes
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
DATA = ROOT / "book" / "lecture.yml"
OPENING = "opening"  # the name in the data of what stands before a chapter's first heading
# The rows of the picture from the top, each chapter below all that it needs; a test holds it.
ROWS = ((1,), (2, 3), (4, 5), (8, 6), (9, 10, 7), (11,), (12,))
SHORT = {1: "Embeddings", 2: "Similarity", 3: "Bigram table", 4: "Norms", 5: "Attention",
         6: "√dₖ", 7: "Heads, masks", 8: "Add & Norm", 9: "Pre/post-norm",
         10: "Initialisation", 11: "A small GPT", 12: "Inside it"}  # fmt: skip


class Exercise(NamedTuple):
    """An exercise of a chapter: its number, what it is called, and its points."""

    number: int
    name: str
    points: int


def lecture() -> dict:
    return yaml.safe_load(DATA.read_text("utf-8"))


# --- what is read from a notebook -----------------------------------------------------------


def notebook(number: int) -> Path:
    return ROOT / f"{BY_NUMBER[number].docname}.ipynb"


def cells(number: int) -> list[dict]:
    """Return a chapter's cells, the source of each as one string."""
    stored = json.loads(notebook(number).read_text("utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in stored]


def exercises(number: int) -> list[Exercise]:
    """Return a chapter's exercises with the points of their checks (nbgrader's metadata).

    Raises: ValueError where one has points and no text.
    """
    told, points = {}, {}
    for cell in cells(number):
        grade = cell["metadata"].get("nbgrader", {})
        if cell["cell_type"] == "markdown":
            for found in re.finditer(r"^> \*\*Exercise (\d+)\.(.*)$", cell["source"], re.MULTILINE):
                told[int(found[1])] = name_of(found[2])
        elif grade.get("grade"):
            points[int(grade["grade_id"].rpartition("-")[2])] = grade["points"]
    if untold := sorted(points.keys() - told.keys()):
        raise ValueError(f"chapter {number:02} checks exercises {untold} that it does not set")
    return [Exercise(n, told[n], points[n]) for n in sorted(points)]


def name_of(text: str) -> str:
    """Return what an exercise is called: its title, or the function that is to be written."""
    title, _, rest = text.partition("**")
    function = re.search(r"[Ww]rite (`\w+)\(", rest)
    return title.strip().rstrip(".") or (f"{function[1]}`" if function else "")


# --- Markdown --------------------------------------------------------------------------------


def link(number: int, heading: str = OPENING, text: str | None = None) -> str:
    """Return a link to a section, as one writes it on a page under book/."""
    path = f"../{BY_NUMBER[number].docname}.ipynb"
    if heading == OPENING:
        return f"[{text or 'Question, map, opening questions'}]({path})"
    return f"[{text or heading}]({path}#{default_slugify(heading)})"


def table(columns: list[str], rows: list[list]) -> str:
    """Return a table in Markdown; a bar inside a cell is escaped."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(str(entry).replace("|", r"\|") for entry in line) + " |" for line in lines
    )


def listed(numbers) -> str:
    return ", ".join(link(n, text=str(n)) for n in numbers)


def looks_back(number: int) -> list[int]:
    """Return the earlier chapters that a chapter links to anywhere in its text."""
    prose = "\n".join(c["source"] for c in cells(number) if c["cell_type"] == "markdown")
    linked = {int(n) for n in re.findall(r"\]\((\d\d)_\w+\.ipynb", prose)}
    return sorted(n for n in linked if n < number)


def needs_table(data: dict) -> str:
    """Return what needs what, and for what, as a table."""
    rows = []
    for chapter in CHAPTERS:
        needed = data["needs"][chapter.number]
        reasons = "; ".join(f"{link(n, text=str(n))} for {why}" for n, why in needed.items())
        also = listed(n for n in looks_back(chapter.number) if n not in needed)
        title = link(chapter.number, text=f"{chapter.number} · {chapter.title}")
        rows.append([title, reasons or "nothing before it", also])
    return table(["Chapter", "Needs", "Also mentions"], rows)


def in_class(section: dict) -> str:
    """Return what is done with a class in one section."""
    parts = []
    if "vote" in section:
        opening = "… " if section["vote"][0].islower() else ""
        parts.append(f"Vote: “{opening}{section['vote']}”")
    if "show" in section:
        parts.append(f"Show: *{section['show']}*")
    parts += [f"Move: *{title}*" for title in section.get("move", ())]
    if "do" in section:
        parts.append(f"Do: {section['do']}")
    return " ".join(part if part.endswith(("?”", ".”", "?*")) else f"{part}." for part in parts)


def minutes(plan: list[dict], part: int) -> int:
    """Return the minutes of the single lecture (part 0), or of lecture 1 or 2 of two."""
    if part == 0:
        return sum(section.get("one", 0) for section in plan)
    return sum(section["two"][1] for section in plan if section.get("two", [0])[0] == part)


def paths_table(number: int, plan: list[dict]) -> str:
    """Return the two paths through a chapter, section by section."""
    rows = []
    for section in plan:
        which, long = section.get("two", ["", ""])
        rows.append([
            "<br>".join(filter(None, [link(number, section["section"]), in_class(section)])),
            section.get("one", "home"),
            f"{'I' * which}, {long}" if which else "home",
        ])  # fmt: skip
    total = f"**{minutes(plan, 1)} + {minutes(plan, 2)}**"
    rows.append(["**Minutes**", f"**{minutes(plan, 0)}**", total])
    return table(["Section, and what to do", "One lecture", "Two"], rows)


def problems_table(number: int, plan: list[dict]) -> str:
    """Return a chapter's exercises with points, minutes and the section that each rests on."""
    rests = {n: (section["section"], long) for section in plan
             for n, long in section.get("exercises", {}).items()}  # fmt: skip
    found = [e for e in exercises(number) if e.number in rests]
    rows = []
    for e in found:
        section, long = rests[e.number]
        words = f"{e.number}. {e.name}<br>Rests on: {link(number, section)}"
        rows.append([words, e.points, long])
    points, long = sum(e.points for e in found), sum(rests[e.number][1] for e in found)
    rows.append([f"**All {len(found)}**", f"**{points}**", f"**{long}**"])
    return table(["Exercise", "Points", "Minutes (estimate)"], rows)


def problems_in_short(number: int, plan: list[dict]) -> str:
    """Return a line that says how large a chapter's problem set is."""
    found = exercises(number)
    long = sum(sum(section.get("exercises", {}).values()) for section in plan)
    points = sum(e.points for e in found)
    return f"Problem set: {len(found)} exercises, {points} points, {long} minutes (estimate)"


def course_table(course: list[dict]) -> str:
    """Return a course: its lectures, and what to say of chapters that are left out."""
    rows = []
    for n, part in enumerate(course, start=1):
        chapter = BY_NUMBER[part["chapter"]]
        said = " ".join(
            f"From {link(k, text=str(k))}: {text}" for k, text in part.get("say", {}).items()
        )
        plan = f"[{chapter.number} · {chapter.title}](#plan-{chapter.number:02d})"
        rows.append([n, plan, said])
    return table(["Lecture", "Chapter", "Say in a sentence"], rows)


# --- the picture -----------------------------------------------------------------------------


def drawn(needs: dict) -> list[tuple[int, int]]:
    """Return the arrows that are drawn: those that no longer way round replaces."""

    def reaches(start: int, end: int) -> bool:
        return any(n == start or reaches(start, n) for n in needs[end])

    return [(n, chapter) for chapter, needed in needs.items() for n in needed
            if not any(reaches(n, other) for other in needed if other != n)]  # fmt: skip


def in_words(needs: dict) -> str:
    """Return what the picture shows, for those who do not see it."""
    after: dict[int, list[int]] = {}
    for n, chapter in drawn(needs):
        after.setdefault(n, []).append(chapter)
    arrows = "; ".join(f"from {n} to {' and '.join(map(str, sorted(to)))}"
                       for n, to in sorted(after.items()))  # fmt: skip
    return f"The twelve chapters as boxes, in {len(ROWS)} rows from the top. Arrows lead {arrows}."


WIDE, HIGH, STEP, PAGE = 108, 42, 78, 348  # a box, from row to row, the whole (in px)


def places() -> dict[int, tuple[float, float]]:
    """Return the middle of each box; two in a row stand wider apart than three."""
    columns = {1: (0.5,), 2: (0.25, 0.75), 3: (0.165, 0.5, 0.835)}
    return {
        chapter: (PAGE * x, 25 + STEP * row)
        for row, line in enumerate(ROWS)
        for chapter, x in zip(line, columns[len(line)], strict=True)
    }


def picture(needs: dict) -> str:
    """Return the graph as SVG that takes its colours from the page and fits a telephone."""
    at, height = places(), 25 + STEP * (len(ROWS) - 1) + 25
    lines = [
        f'<line x1="{at[a][0]:.0f}" y1="{at[a][1] + HIGH / 2:.0f}" '
        f'x2="{at[a][0] + 0.94 * (at[b][0] - at[a][0]):.0f}" y2="{at[b][1] - HIGH / 2 - 3:.0f}"/>'
        for a, b in drawn(needs)
    ]
    boxes = [
        f'<rect x="{x - WIDE / 2:.0f}" y="{y - HIGH / 2:.0f}" '
        f'width="{WIDE}" height="{HIGH}" rx="6"/>'
        for x, y in at.values()
    ]
    texts = [
        f'<text x="{x:.0f}" y="{y - 4:.0f}" font-weight="700">{n}</text>'
        f'<text x="{x:.0f}" y="{y + 13:.0f}">{html.escape(SHORT[n])}</text>'
        for n, (x, y) in at.items()
    ]
    ink, soft = "var(--book-ink, #1d2430)", "var(--book-soft, #59636f)"
    return "\n".join([
        f'<svg role="img" aria-label="{html.escape(in_words(needs))}" '
        f'viewBox="0 0 {PAGE} {height}" width="{PAGE}" height="{height}" '
        'style="display: block; max-width: 100%; height: auto" '
        'font-family="system-ui, sans-serif" font-size="13" text-anchor="middle">',
        '<defs><marker id="needs-tip" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 10 5 0 10z" style="fill: {soft}"/>'
        "</marker></defs>",
        f'<g style="stroke: {soft}" stroke-width="1.5">',
        *(line.replace("/>", ' marker-end="url(#needs-tip)"/>') for line in lines),
        "</g>",
        '<g style="fill: var(--book-card, #f7f8fa); stroke: var(--pst-color-primary, #1f5c99)" '
        'stroke-width="1.5">',
        *boxes,
        "</g>",
        f'<g style="fill: {ink}">',
        *texts,
        "</g></svg>",
    ])  # fmt: skip


# --- the directive ---------------------------------------------------------------------------


PARTS = ("graph", "needs", "chapters", "courses")  # what the directive renders, a method each


class Lecture(SphinxDirective):
    """One part of the page: graph, needs, chapters or courses."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Render it; a change to the data or to a notebook makes the page anew."""
        for file in (DATA, Path(__file__), *(notebook(chapter.number) for chapter in CHAPTERS)):
            self.env.note_dependency(str(file))
        part = self.arguments[0]
        if part not in PARTS:
            raise self.error(f"lecture should be one of {', '.join(PARTS)}, got {part!r}")
        return getattr(self, f"run_{part}")(lecture())

    def run_graph(self, data: dict) -> list[nodes.Node]:
        """Draw which chapter needs which."""
        figure = f'<figure id="needs-picture">\n{picture(data["needs"])}\n</figure>'
        return [nodes.raw("", figure, format="html")]

    def run_needs(self, data: dict) -> list[nodes.Node]:
        """List what each chapter needs, and for what."""
        return self.parse_text_to_nodes(needs_table(data))

    def run_chapters(self, data: dict) -> list[nodes.Node]:
        """Render a section for each chapter."""
        return [self.chapter(n, plan) for n, plan in data["chapters"].items()]

    def chapter(self, number: int, plan: list[dict]) -> nodes.section:
        """Render the paths and the problem set of one chapter."""
        section = nodes.section(ids=[f"plan-{number:02d}"], names=[f"plan-{number:02d}"])
        section += nodes.title("", f"{number} · {BY_NUMBER[number].title}")
        section.extend(self.parse_text_to_nodes(paths_table(number, plan)))
        opening = f"<details><summary>{problems_in_short(number, plan)}</summary>"
        section += nodes.raw("", opening, format="html")
        section.extend(self.parse_text_to_nodes(problems_table(number, plan)))
        section += nodes.raw("", "</details>", format="html")
        self.state.document.note_explicit_target(section, section)
        return section

    def run_courses(self, data: dict) -> list[nodes.Node]:
        """Render the routes through the whole book."""
        found = []
        for name, course in data["courses"].items():
            found += self.parse_text_to_nodes(f"**{name}.**\n\n{course_table(course)}")
        return found


def setup(app) -> dict:
    app.add_directive("lecture", Lecture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
