"""Count what a reader meets in a chapter: ``python notebooks/readings.py [05 …]``.

A chapter has a first reading (all before its Laboratory) and a laboratory (from there to its
Exercises). Words are all prose that the page shows: Markdown, captions, sentences made by cells,
questions and their options; not code, not replies to guesses, not exercises.

The minutes in a chapter's head are computed here, and written there whenever the chapter is run:

    words / 200 + lines of open code / 4 + lines of folded code / 8
    + 1 for each figure and each question whose answer is folded in the text
    + 2 for each prediction + 3 for each explorer + 4 for each table

rounded to five. Folded code counts at half; an exercise says its own minutes. What a pencil takes
is said apart: 3/4 of a minute for each field that the reader fills in, rounded to five as well.
"""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDED = {"hide-input", "hide-cell"}
UNSEEN = {"remove-input", "remove-cell"}
ANSWERS = {"exercise", "check", "solution"}
RULE_OF_TABLE = re.compile(r"^\s*\|(\s*:?-+:?\s*\|)+\s*$", re.M)
HEAD = re.compile(r"The first reading takes about \d+ minutes\b[^.]*\.")
EXERCISE = re.compile(
    r"\*\*Exercise \d+\.\*\* "
    r"\((first reading|laboratory) · (●{1,3}) · (\d+) min\)"
)


@dataclass(frozen=True)
class Reading:
    """One reading of a chapter, counted.

    open: lines of each cell whose code is shown; folded: of each that is folded. asked: questions
    whose answer is folded in the text. fields: for numbers that are worked out with a pencil.
    """

    words: int
    open: tuple[int, ...]
    folded: tuple[int, ...]
    asked: int
    guesses: int
    figures: int
    tables: int
    explorers: int
    experiments: int
    fields: int

    @property
    def exact(self) -> float:
        """Minutes that it takes."""
        return (
            self.words / 200
            + sum(self.open) / 4
            + sum(self.folded) / 8
            + self.figures
            + self.asked
            + 2 * self.guesses
            + 3 * self.explorers
            + 4 * self.tables
        )

    @property
    def minutes(self) -> int:
        """Minutes that it takes, to the nearest five."""
        return 5 * max(1, round(self.exact / 5))

    @property
    def pencil(self) -> int:
        """Minutes that its pencil tasks take beside, to the nearest five."""
        return 5 * round(self.fields * 0.75 / 5)


def parts(cells: list) -> dict[str, list]:
    """The cells of "first", "laboratory" and "exercises"; what follows exercises is in none."""
    found: dict[str, list] = {"first": [], "laboratory": []}
    found["exercises"] = []
    here = "first"
    for cell in cells:
        if cell["cell_type"] == "markdown":
            heads = re.findall(r"^## (.+)$", text(cell), re.MULTILINE)
            if "Laboratory" in heads:
                here = "laboratory"
            elif "Exercises" in heads:
                here = "exercises"
            elif heads and here == "exercises":
                here = "after"
        found.setdefault(here, []).append(cell)
    return found


def sections(cells: list) -> dict[str, list]:
    """The cells of the first reading by the heading they stand under; the head's is "".

    A cell with headings inside is cut at each.
    """
    found: dict[str, list] = {"": []}
    here = ""
    for cell in parts(cells)["first"]:
        pieces = [text(cell)]
        if cell["cell_type"] == "markdown":
            pieces = re.split(r"^## (.+)$", text(cell), flags=re.M)
        found[here].append(cell | {"source": pieces[0]})
        for here, after in zip(pieces[1::2], pieces[2::2], strict=True):
            found[here] = [cell | {"source": after}]
    return found


def text(cell: dict) -> str:
    """A cell's source as one string."""
    return "".join(cell["source"])


def words(prose: str) -> int:
    """The words of Markdown or HTML; a formula is one, what only a script reads is none."""
    prose = re.sub(
        r"```.*?```|<(script|style)\b.*?</\1>", " ", prose, flags=re.S
    )
    prose = re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", " x ", prose, flags=re.S)
    prose = re.sub(r"<[^>]*>|\]\([^)]*\)", " ", prose)
    return sum(any(map(str.isalnum, word)) for word in prose.split())


def prose(cell: dict) -> list[str]:
    """All prose that the page shows of a cell."""
    if cell["cell_type"] == "markdown":
        return [text(cell)]
    if "remove-cell" in tags(cell):
        return []
    said = []
    for output in cell.get("outputs", []):
        data = {
            kind: "".join(value)
            for kind, value in output.get("data", {}).items()
        }
        if any(kind.startswith("image/") for kind in data):
            figure = cell["metadata"].get("mystnb", {}).get("figure", {})
            said.append(figure.get("caption", ""))
        elif "text/markdown" in data:
            said.append(data["text/markdown"])
        elif 'class="source"' not in data.get("text/html", ""):
            said.append(data.get("text/html", ""))
    return said


def figures(cell: dict) -> int:
    """The pictures that the page shows of a cell."""
    kinds = [output.get("data", {}) for output in cell.get("outputs", [])]
    if "remove-cell" in tags(cell):
        return 0
    return sum(any(k.startswith("image/") for k in data) for data in kinds)


def tags(cell: dict) -> set[str]:
    """A cell's tags."""
    return set(cell["metadata"].get("tags", []))


def count(cells: list) -> Reading:
    """What a reader meets in these cells."""
    shown = [said for cell in cells for said in prose(cell)]
    everything = "\n".join(shown)
    code = [
        (
            tags(cell),
            sum(map(bool, map(str.strip, text(cell).splitlines()))),
        )
        for cell in cells
        if cell["cell_type"] == "code" and not tags(cell) & ANSWERS
    ]
    return Reading(
        words=sum(map(words, shown)),
        open=tuple(n for tags, n in code if not tags & (FOLDED | UNSEEN)),
        folded=tuple(n for tags, n in code if tags & FOLDED),
        asked=sum(
            text(c).count("<details")
            for c in cells
            if c["cell_type"] == "markdown"
        ),
        guesses=everything.count('<form class="predict"'),
        figures=sum(map(figures, cells)),
        tables=len(RULE_OF_TABLE.findall(everything))
        + everything.count("<table"),
        explorers=everything.count('<figure class="explore"'),
        experiments=len(re.findall(r"^### ", everything, re.MULTILINE)),
        fields=sum(
            said.count("<input")
            for said in shown
            if '<form class="pencil"' in said
        ),
    )


def exercises(cells: list) -> dict[int, tuple[str, int, int]]:
    """Of each exercise by its number: the reading it needs, its marks and its minutes."""
    heads = [
        EXERCISE.search(text(cell))
        for cell in cells
        if cell["cell_type"] == "markdown" and "**Exercise " in text(cell)
    ]
    return {
        n: (head[1], len(head[2]), int(head[3]))
        for n, head in enumerate(heads, 1)
        if head
    }


def head(cells: list) -> str:
    """The sentence about minutes in a chapter's head, computed."""
    found = parts(cells)
    first, laboratory = count(found["first"]), count(found["laboratory"])
    said = f"The first reading takes about {first.minutes} minutes"
    if first.pencil:
        said += f", its pencil tasks {first.pencil} more"
    if found["laboratory"]:
        more = "" if first.pencil else " more"
        said += f", the laboratory {laboratory.minutes}{more}"
    if found["exercises"]:
        long = sum(m for _, _, m in exercises(found["exercises"]).values())
        said += f" and the exercises {long}"
    return said + "."


def tell(cells: list) -> None:
    """Write the minutes into the head of a chapter that has the sentence: in place."""
    for cell in cells[:4]:
        if cell["cell_type"] == "markdown":
            cell["source"] = HEAD.sub(head(cells), text(cell))


def main(names: list[str]) -> int:
    """Print a table of the chapters in the current folder's ``notebooks``."""
    print(
        "first reading and laboratory: words, minutes, lines of open code"
    )
    for path in sorted(Path("notebooks").glob("[0-9][0-9]_*.ipynb")):
        if not names or path.stem[:2] in names:
            found = parts(json.loads(path.read_text("utf-8"))["cells"])
            for one in map(count, (found["first"], found["laboratory"])):
                counts = one.words, f"{one.exact:.1f}", sum(one.open)
                print(path.stem[:2], *counts, sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
