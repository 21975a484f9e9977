"""All explorers of all chapters, held to what was computed for them.

Two tests. The first moves an explorer on its page, with no kernel, and holds sentence and picture
to what the notebook stored for that position; the list of sentences that a notebook stores beside
the frames is read here, not the frames' own copy. The second computes: it runs those cells of the
chapter on which the explorer rests, and no others, in a fresh Python, asks for the sentence at
several positions and holds it to the page's.
"""

import ast
import base64
import html
import itertools
import json
import math
import re
import symtable
import zlib
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

import matplotlib.pyplot as plt
import pytest
from chapters import NOTEBOOKS

import helpers.explore
from helpers.explore.page import text

pytestmark = pytest.mark.no_shape_check  # cells run here as a reader runs them

# What is not computed again here, and why: training it takes longer than a test may.
NOT_AGAIN = {
    ("11_small_gpt", "explore-sentence"): "rests on the chapter's run of a minute",
}
SEVERAL = 7


class Stored(NamedTuple):
    """An explorer as its notebook has it."""

    stem: str
    cell: str
    page: str
    plain: str

    @property
    def sizes(self) -> list[int]:
        """How many positions each slider has, from the page's own controls."""
        return [
            int(most) + 1 for most in re.findall(r'type="range" min="0" max="(\d+)"', self.page)
        ]

    @property
    def labels(self) -> list[list[str]]:
        """What each slider calls its positions."""
        found = re.findall(r'data-labels="([^"]*)"', self.page)
        return [json.loads(html.unescape(words)) for words in found]

    def lines(self) -> list[str]:
        """A line for each position, "label value, label value: sentence"."""
        return self.plain.splitlines()[1:]

    def frames(self) -> dict:
        """What the page's script unpacks."""
        packed = re.search(r'class="explore-frames">([^<]*)<', self.page)[1]
        return json.loads(zlib.decompress(base64.b64decode(packed)))

    def positions(self) -> list[tuple[int, ...]]:
        """All positions, the last slider running fastest."""
        return list(itertools.product(*map(range, self.sizes)))

    def some(self) -> list[int]:
        """Numbers of several positions: both ends, and places between that fall on all sliders."""
        count = len(self.positions())
        return sorted({round(n * (count - 1) / (SEVERAL - 1)) for n in range(SEVERAL)})


@cache
def notebook(stem: str) -> list[dict]:
    (path,) = (path for path in NOTEBOOKS if path.stem == stem)
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def explorers(stem: str) -> list[Stored]:
    found = []
    for cell in notebook(stem):
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            page = "".join(data.get("text/html", ""))
            if 'class="explore"' in page:
                found.append(Stored(stem, cell["id"], page, "".join(data["text/plain"])))
    return found


STEMS = [path.stem for path in NOTEBOOKS]
ALL = [stored for stem in STEMS for stored in explorers(stem)]


def test_every_chapter_has_an_explorer():
    assert {stored.stem for stored in ALL} == set(STEMS)


# --- the page shows what was stored ---------------------------------------------------------------

MOVE = """(figure, at) => new Promise(done => {
    const sliders = [...figure.querySelectorAll("input[type=range]")];
    sliders.forEach((slider, i) => { slider.value = at[i] });
    delete figure.dataset.at;
    sliders[0].dispatchEvent(new Event("input"));
    const look = () => figure.dataset.at === undefined ? setTimeout(look, 5) : done([
        figure.querySelector(".explore-says").textContent,
        figure.querySelector("img").src,
        sliders.map(slider => slider.getAttribute("aria-valuetext")),
    ]);
    look();
})"""


def words_of(sentence: str) -> str:
    """A stored sentence as its page shows it."""
    return html.unescape(re.sub(r"<[^>]+>", "", text(sentence)))


@pytest.mark.parametrize("stem", STEMS)
def test_each_position_shows_its_own_sentence_and_picture(visit, page, stem):
    visit(f"notebooks/{stem}.html")
    on_page = page.locator("figure.explore").all()
    known = explorers(stem)
    assert len(on_page) == len(known)
    for figure, stored in zip(on_page, known, strict=True):
        frames, lines, labels = stored.frames(), stored.lines(), stored.labels
        called = figure.locator(".explore-control > span").all_text_contents()
        positions = stored.positions()
        assert len(lines) == len(positions) == len(frames["frames"])
        heard = set()
        for number in stored.some():
            at = positions[number]
            said, picture, names = figure.evaluate(MOVE, list(at))
            heard.add(said)
            assert names == [label[n] for label, n in zip(labels, at, strict=True)]
            head = ", ".join(f"{what} {name}" for what, name in zip(called, names, strict=True))
            assert f"{head}: {said}" == words_of(lines[number])
            drawn = "".join(frames["pieces"][piece] for piece in frames["frames"][number])
            assert unquote(picture.partition(",")[2]) == drawn, (stored.cell, at)
        assert len(heard) > 1, f"{stored.cell} says the same everywhere"


# --- the computation says the same ----------------------------------------------------------------


def names_of(source: str) -> tuple[set[str], set[str]]:
    """Names that a cell gives or changes, and names that it takes from cells before it."""
    gives, takes = set(), set()
    for statement in ast.parse(source).body:
        table = symtable.symtable(ast.unparse(statement), "<cell>", "exec")
        own = {target.id for node in ast.walk(statement)
               if isinstance(node, (ast.For, ast.withitem))
               for target in ast.walk(getattr(node, "target", None) or node.optional_vars or node)
               if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)}  # fmt: skip
        takes |= taken(table) - gives - own
        gives |= {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        for node in ast.walk(statement):
            if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                while isinstance(node, (ast.Subscript, ast.Attribute)):
                    node = node.value
                gives |= {node.id} if isinstance(node, ast.Name) else set()
    return gives, takes


def taken(table: symtable.SymbolTable) -> set[str]:
    """Names that a piece of code looks up outside its functions."""
    outside = table.get_type() == "module"
    names = {s.get_name() for s in table.get_symbols()
             if s.is_referenced() and (outside or s.is_global())}  # fmt: skip
    return names.union(*map(taken, table.get_children()))


def rests_on(stem: str, ident: str) -> list[str]:
    """The cells on which a cell rests, in their order, itself the last."""
    cells = [cell for cell in notebook(stem) if cell["cell_type"] == "code"]
    cells = cells[: [cell["id"] for cell in cells].index(ident) + 1]
    told = {
        n: names_of(cell["source"])
        for n, cell in enumerate(cells)
        if "%pip" not in cell["source"]
        and not {"solution", "exercise", "check"} & set(cell["metadata"].get("tags", ()))
    }
    chosen, wanted = {len(cells) - 1}, told[len(cells) - 1][1]
    while more := {n for n, (gives, _) in told.items() if gives & wanted} - chosen:
        chosen |= more
        wanted = wanted.union(*(told[n][1] for n in more))
    return [cells[n]["source"] for n in sorted(chosen)]


def asked(sources: list[str], monkeypatch) -> tuple:
    """Run cells; gives the explorer that the last of them makes."""
    made = []

    def note(draw, **given):
        made.append(whole(draw, **given))
        return made[-1]

    whole = helpers.explore.explore
    monkeypatch.setattr(helpers.explore, "explore", note)
    monkeypatch.setenv("BOOK_STATIC", "1")
    names = {"__name__": "chapter"}
    for source in sources:
        exec(compile(source, "<cell>", "exec"), names)
        plt.close("all")
    return made[-1]


@pytest.mark.parametrize("stored", ALL, ids=lambda stored: f"{stored.stem[:2]}-{stored.cell}")
def test_sentences_are_what_the_cells_compute(stored, monkeypatch, capsys):
    if why := NOT_AGAIN.get((stored.stem, stored.cell)):
        pytest.skip(why)
    explorer = asked(rests_on(stored.stem, stored.cell), monkeypatch)
    positions, lines = explorer.positions(), stored.lines()
    assert len(positions) == len(lines)
    for number in stored.some():
        at = positions[number]
        head = ", ".join(f"{explorer.label(n)} {helpers.explore.page.shown(v)}"
                         for n, v in at.items())  # fmt: skip
        assert lines[number] == f"{head}: {explorer.describe(**at)}"


def test_what_is_left_out_is_there_and_agrees_with_itself():
    """Where nothing is computed again, the two numbers of a sentence still go together."""
    for stem, cell in NOT_AGAIN:
        (stored,) = (s for s in ALL if (s.stem, s.cell) == (stem, cell))
        for line in stored.lines():
            p, nats = map(
                float, re.search(r"probability ([\d.]+) and costs ([\d.]+)", line).groups()
            )
            assert abs(math.exp(-nats) - p) <= 0.005 + 0.005 * p + 1e-9, line
