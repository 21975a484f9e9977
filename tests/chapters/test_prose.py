"""No result is typed: a decimal in prose stands in an input or an output of its chapter.

That chapters keep this rule holds test_notebooks.py, with all others.
"""

import copy
import json
import re
import unicodedata

import pytest
from pybtex.database import parse_file
from pybtex.richtext import Text
from support import NOTEBOOKS, ROOT, chapter

from chapters import rules

PAGES = [*sorted((ROOT / "book").glob("*.md")), ROOT / "README.md"]


def test_pages_type_no_number():
    """Pages under book/ compute nothing; what they need of results comes through data."""
    typed = {path.name: rules.decimals(path.read_text("utf-8")) for path in PAGES}
    assert {name: found for name, found in typed.items() if found} == {}


def test_pages_and_chapters_code_avoid_what_no_native_writer_says():
    """What notebooks say themselves is a rule's."""
    texts = {path: path.read_text("utf-8") for path in PAGES}
    for folder in (ROOT / "helpers" / "chapters").glob("ch*"):
        texts |= {path: rules.sentences(path.read_text("utf-8")) for path in folder.glob("*.py")}
        texts[folder] = (folder / "chapter.toml").read_text("utf-8")
    found = {str(path): rules.unidiomatic(text) for path, text in texts.items()}
    for path in PAGES:
        found[str(path)] += rules.misformed(texts[path])
    assert {path: turns for path, turns in found.items() if turns} == {}


def test_turns_are_found_as_whole_words_across_lines_and_outside_code():
    assert rules.unidiomatic("They fetch\nback what you know.") == ["fetch back what you know"]
    assert rules.unidiomatic("`fetch back what you know`") == []
    assert rules.misformed("`x[-1]`, $x - 1$, [a](b-1.ipynb), bit-1, 2017-12") == []
    assert rules.misformed("Chapter 3 says so. [Chapter 4](x) too; chapters 5 and 6.") == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_decimal_typed_into_prose_is_caught(path):
    planted = copy.deepcopy(chapter(path))
    cell = next(cell for cell in planted.cells if cell.cell_type == "markdown")
    cell.source += "\n\nThe loss falls to 2.71937 nats."
    assert ["2.71937" in complaint for complaint in rules.no_number_is_typed(planted)] == [True]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is 0.217, or −0.5.", ["0.217", "0.5"]),
        ("$w = 0.217$ and `x = 1.5`, $0.5x$, $\\cdot0.25$", ["0.217", "1.5", "0.5", "0.25"]),
        ("9.306 × 10⁻⁶ and $2.5 \\times 10^{3}$", ["9.306e-6", "2.5e3"]),
        ("12% of 1,000 in 2017; (3, 4); 5 … 7", []),
        ("See section 3.4, Exercise 05.2 and equation (2.1) of §4.5.", []),
        ("CC BY 4.0, Python 3.11, torch ≥ 2.5, v0.1.0 and 3.2.2", []),
        ("[paper](https://arxiv.org/abs/1706.03762), arXiv:1706.03762v5, doi:10.1000/18.2", []),
        ("Ends in 1.5.", ["1.5"]),
        ("chapter 5 says 0.25", ["0.25"]),
    ],
)
def test_decimals_in_prose(text, found):
    assert rules.decimals(text) == found


@pytest.mark.parametrize(
    ("text", "known", "typed"),
    [
        ("0.217", "array([0.217, 0.132])", []),
        ("0.2170", "0.217", []),
        ("0.217", "0.2171", ["0.217"]),
        ("0.5", "x = .5", []),
        ("2.5", "12.5", ["2.5"]),
        ("0.001", "1e-3", []),
        ("1.5", "[-1.5]", []),
        ("9.3 × 10⁻⁶", "9.3 × 10⁻⁶", []),
        ("0.25", "`0.25`", []),
    ],
)
def test_typed_is_what_nothing_holds(text, known, typed):
    assert rules.typed(text, rules.numbers(known)) == typed


# --- the bibliography -----------------------------------------------------------------------------


def plain(text: str) -> str:
    """Letters and figures alone, in lower case, each accent taken off."""
    letters = unicodedata.normalize("NFKD", text.replace("ł", "l"))
    return " ".join(re.findall(r"[a-z0-9]+", "".join(c for c in letters if c.isascii()).lower()))


def is_cited(entry, text: str) -> bool:
    """Whether a first author stands a little before the title or the year of the paper."""
    name = plain(str(Text.from_latex(entry.persons["author"][0].last_names[-1])))
    title = plain(str(Text.from_latex(entry.fields["title"])).partition(":")[0])
    year = re.search(r"\d{4}", entry.key)[0]  # of the first edition
    return bool(re.search(rf"\b{name}\b.{{0,250}}\b(?:{title}|{year})\b", text))


def test_every_paper_of_the_bibliography_is_cited():
    pages = [path.read_text("utf-8") for path in (ROOT / "book").glob("*.md")]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        pages.append(" ".join("".join(cell["source"]) for cell in cells))
    text, keys = " ".join(plain(page) for page in pages), " ".join(pages)
    papers = parse_file(str(ROOT / "book" / "references.bib")).entries
    assert len(papers) > 80
    cited = {key for key, paper in papers.items() if f"`{key}`" in keys or is_cited(paper, text)}
    assert papers.keys() - cited == set()
