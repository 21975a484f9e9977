"""Predictions: below a guess stands its result, then what that rests on, and the code last.

A notebook has a question, then the cells that compute, one of which holds the result (a folded
``details``, see ``helpers/explore/predictions.py``). On the site the result stands right below its
question, and all that follows up to the next text is folded into it: what cells put out, in their
order, then their code in a fold of its own. So nothing tells an answer before it is asked for, with
or without scripts, and paper has one thing to move (``book/paper/document.py``).
"""

from __future__ import annotations

from bs4 import BeautifulSoup

FOLD = (
    '<div class="cell"><details class="hide above-input"><summary><span class="collapsed">Show the '
    'code</span><span class="expanded">Hide the code</span></summary></details></div>'
)


def move_results(page) -> None:
    """Move results, and the cells that belong to them, below their questions."""
    for form in page.soup.select("div.cell form.predict"):
        reveal = page.soup.select_one(f'details.reveal[data-key="{form["data-key"]}"]')
        home = reveal.find_parent("div", class_="cell") if reveal else None
        if home is None:
            continue  # there is none, or it has been moved
        asked = form.find_parent("div", class_="cell")
        waiting = cells_until_text(asked)
        waiting += [] if home in waiting else [home]
        asked.insert_after(reveal.extract())
        fold = BeautifulSoup(FOLD, "html.parser").div
        for part in waiting:
            if part.name == "div" and "tag_hide-cell" not in part["class"]:
                move_code(page, part, fold.details)
            part.extract()
            if part.get_text(strip=True) or part.select_one("img, svg"):
                reveal.append(part)
        if fold.select_one("div.cell_input"):
            reveal.append(fold)


def cells_until_text(asked) -> list:
    """List the cells and folds from a question to the next text or question."""
    waiting = []
    for part in asked.find_next_siblings():
        cell = part.name == "details" or "cell" in part.get("class", ())
        if not cell or part.select_one("form.predict"):
            break
        waiting.append(part)
    return waiting


def move_code(page, cell, fold) -> None:
    """Move a cell's code, in a cell with its tags: paper leaves out what was folded before."""
    for written in cell.select("div.cell_input"):
        shell = page.soup.new_tag("div")
        shell["class"] = list(cell["class"])
        shell.append(written.extract())
        fold.append(shell)
    for empty in cell.select("details.above-input"):
        empty.decompose()
