"""Questions for the class: the predictions of the chapters as one page to print or to project.

    python -m homework.questions --out questions.html
    python -m homework.questions --out questions.html --chapter 05 --chapter 06

Each question has a sheet of its own, in large type; after those of a chapter come the teacher's
sheets, with the answer, why it is so, and what to say to each wrong one. All is read from the
outputs stored in the notebooks, so an answer is the one that was computed.
"""

import html
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase

import nbformat
from bs4 import BeautifulSoup, Tag

from helpers.chapters import TAUGHT
from helpers.files import write_text
from homework.command import command, parser
from homework.release.assignment import chapter_file

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
RUN_FIRST = "run it first: make notebooks"
STYLE = """
body { font: 1rem/1.5 Georgia, serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: #111; background: #fff; --book-ink-1: #0072b2; --book-ink-2: #b84c00;
  --book-ink-3: #00795a; }
h1 { font-size: 1.4rem; } h2 { font-size: 1rem; font-weight: normal; color: #444; }
section { break-before: page; margin-block: 3rem; } section:first-of-type { break-before: auto; }
.question p, .question li { font-size: 1.5rem; line-height: 1.4; }
.question li { margin-block: .6rem; } ol { list-style: upper-alpha; }
svg { max-width: 100%; height: auto; } code { font-family: ui-monospace, monospace; }
.answer { break-inside: avoid; border-top: 1px solid #999; } dt { font-weight: bold; }
"""


@dataclass(frozen=True)
class Question:
    """A prediction with its answer: pieces of HTML, as they stand on the chapter's page.

    asked, section: the question, and the heading it stands under. choices: by their plain text,
    none where a number or a sketch is asked for; then picture may hold the axes. right: the
    choice that is, if there are any; because: what the page shows with the result. replies: to
    wrong choices or numbers.
    """

    section: str
    asked: str
    choices: dict[str, str]
    picture: str
    right: str
    because: str
    replies: dict[str, str]


def questions(notebook: Path) -> tuple[str, list[Question]]:
    """The title of a chapter and its questions in order, from the outputs stored in it.

    Raises: ValueError where questions or answers are missing: the notebook was not run whole.
    """
    title = section = ""
    asked: dict[str, tuple[str, Tag]] = {}
    reveals: dict[str, Tag] = {}
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    title = title or line.removeprefix("# ")
                elif line.startswith(("## ", "### ")):
                    section = line.lstrip("# ")
        shown = [o.get("data", {}).get("text/html", "") for o in cell.get("outputs", [])]
        found = BeautifulSoup("".join(shown), "html.parser")
        asked |= {form["data-key"]: (section, form) for form in found.select("form.predict")}
        reveals |= {result["data-key"]: result for result in found.select("details.reveal")}
        if cell.cell_type == "code" and "predict(" in cell.source and not found.select("form"):
            raise ValueError(f"{notebook.name}: cell {cell.id} has no output; {RUN_FIRST}")
    if asked.keys() != reveals.keys():
        raise ValueError(
            f"{notebook.name}: {len(asked)} questions, {len(reveals)} answers; {RUN_FIRST}"
        )
    return title, [_question(*asked[key], reveals[key]) for key in asked]


def _question(section: str, form: Tag, result: Tag) -> Question:
    legend = form.find("legend")
    legend.find("b").extract()  # the word Predict
    result.find("summary").extract()
    result.find(class_="reveal-guess").extract()
    knowledge = json.loads(result["data-told"])
    radios = form.select("input[type=radio]")
    if radios:
        result.find("p").extract()  # the result, which is the right choice
    for line in form.select("polyline.guess"):
        line.extract()
    return Question(
        section=section,
        asked=legend.decode_contents().strip(),
        choices={r["value"]: r.find_next_sibling("span").decode_contents() for r in radios},
        picture=str(form.find("svg") or ""),
        right=knowledge["answer"] if radios else "",
        because=result.decode_contents(),
        replies=knowledge["replies"],
    )


def page(chapters: Sequence[tuple[str, str, list[Question]]]) -> str:
    """All questions of some (number, title, questions) as one HTML page that loads nothing."""
    body = "".join(_chapter(*chapter) for chapter in chapters)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Questions for the class</title><style>{STYLE}</style></head>\n"
        f"<body>{body}</body></html>\n"
    )


def _chapter(number: str, title: str, asked: list[Question]) -> str:
    name = f"{number}. {html.escape(title)}"
    sheets = "".join(
        f'<section class="question"><h1>{name}</h1><h2>{at}. {html.escape(one.section)}</h2>'
        f"<p>{one.asked}</p>{one.picture}{_choices(one)}</section>\n"
        for at, one in enumerate(asked, start=1)
    )
    answers = "".join(_answer(at, one) for at, one in enumerate(asked, start=1))
    return f"{sheets}<section><h1>{name}: for the teacher</h1>{answers}</section>\n"


def _choices(one: Question) -> str:
    items = "".join(f"<li>{choice}</li>" for choice in one.choices.values())
    return f"<ol>{items}</ol>" if items else ""


def _answer(at: int, one: Question) -> str:
    names = {
        value: f"{letter}. {choice}"
        for letter, (value, choice) in zip(ascii_uppercase, one.choices.items(), strict=False)
    }
    right = f"<p><b>{names[one.right]}</b></p>" if one.choices else ""
    replies = "".join(
        f"<dt>{names.get(wrong, html.escape(wrong))}</dt><dd>{reply}</dd>"
        for wrong, reply in one.replies.items()
    )
    return (
        f'<div class="answer"><p><b>{at}.</b> {one.asked}</p>{right}{one.because}'
        f"<dl>{replies}</dl></div>\n"
    )


@command
def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    asked = parser("homework.questions", __doc__)
    asked.add_argument(
        "--out",
        type=Path,
        default=Path("questions.html"),
        metavar="FILE",
        help="the page to write (default: %(default)s)",
    )
    asked.add_argument(
        "--chapter",
        action="append",
        metavar="NN",
        help="such as 05; may be given several times (default: all)",
    )
    options = asked.parse_args(arguments)
    wanted = options.chapter or [f"{one.number:02d}" for one in TAUGHT]
    chapters = [(number, *questions(chapter_file(number))) for number in wanted]
    write_text(options.out, page(chapters))
    print(f"{options.out}: {sum(len(asked) for _, _, asked in chapters)} questions")


if __name__ == "__main__":
    sys.exit(main())
