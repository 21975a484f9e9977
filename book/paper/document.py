"""The pages of the built site as one HTML document for paper.

What a reader of the site opens, moves or presses is said otherwise here: an explorer shows its
first position, a prediction asks on paper, code that a page folds is left out, and what must not
stand beneath its question (answers, hints, solutions) is gathered at the end, with links there and
back. Ids get the name of their page in front, so that links between pages become links inside the
document. Nothing here needs a browser.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag

import yaml
from bs4 import BeautifulSoup, Tag

ELSEWHERE = ("http:", "https:", "mailto:")
ASIDE = "\ue000"  # around the name of what was put aside; no page has this sign
BOX = "\u2610"  # an empty box to tick
MEASURE = "The code of lab"  # a whole module, too long for paper
CODE = re.compile(r"(?<=<pre>)<span></span>.*?(?=</pre>)", re.DOTALL)  # as Pygments writes it
MARKS = re.compile(  # and the words of a result: it stands there itself
    r'<span class="c1">(?:### (?:BEGIN|END) SOLUTION|# [\w ]+: click to open)</span>\n?'
    r"|^guess\.reveal\((?:.*\)$|\n(?s:.*?)^\))\n?",
    re.MULTILINE,
)
LIVE = (  # what is of no use on paper
    ".headerlink, .explore-controls, .play-controls, script, style, button, input, "
    "textarea, select, canvas, [role=status], [role=alert]"
)


@dataclass
class Entry:
    """A page of the book: its name, its title in the contents, and the part that it opens."""

    docname: str
    title: str
    part: str = ""


@dataclass
class Item:
    """What was moved to the end: its id, where it was asked, what it is called, what it says."""

    id: str
    asked: str
    label: str
    content: list = field(default_factory=list)


@dataclass
class Page:
    """A page made ready: its article, its sections, and what was moved out of it."""

    entry: Entry
    id: str
    article: Tag
    sections: list[tuple[str, str]]
    code: list[str]
    answers: list[Item] = field(default_factory=list)
    hints: list[Item] = field(default_factory=list)
    solutions: list[Item] = field(default_factory=list)


# ---------------------------------------------------------------- the order of pages


def entries(toc: dict, title: str) -> list[Entry]:
    """List the pages in the order of _toc.yml; a page without a title there has its own."""
    found = [Entry(toc["root"], title)]
    for part in toc["parts"]:
        for number, chapter in enumerate(part["chapters"]):
            caption = part.get("caption", "") if number == 0 else ""
            found.append(Entry(chapter["file"], chapter.get("title", ""), caption))
    return found


def page_id(docname: str) -> str:
    """Name a page in the document."""
    return docname.replace("/", "-")


# ---------------------------------------------------------------- one page


class Maker:
    """Makes one page ready for paper."""

    def __init__(self, html: str, entry: Entry, known: Iterable[str], site: str = ""):
        """Read a page; links may lead to the known docnames, site is the site's own address."""
        self.entry = entry
        self.code: list[str] = []
        self.soup = BeautifulSoup(CODE.sub(self.keep, html), "html.parser")
        self.known, self.id = set(known), page_id(entry.docname)
        self.article = self.soup.select_one("article.bd-article").extract()
        self.page = Page(entry, self.id, self.article, [], self.code)
        self.site = site
        self.exercise: tuple[str, str] | None = None

    def keep(self, match: re.Match) -> str:
        """Put highlighted code aside: it has most of a page's tags, and none is looked at."""
        code = match[0].removeprefix("<span></span>")
        self.code.append(f"<span></span>{MARKS.sub('', code).rstrip()}\n")
        return f"{ASIDE}{page_id(self.entry.docname)} {len(self.code) - 1}{ASIDE}"

    def make(self) -> Page:
        """Do all that is to be done, in an order in which nothing is lost."""
        self.name_ids()
        self.lead_links()
        for badge in self.article.select('p > a[href*="colab.research.google.com"]'):
            badge.find_parent("p").decompose()
        for form in self.article.select("form:not(.predict)"):
            form.decompose()
        for image in self.article.select("img"):  # before any goes to the answers
            del image["loading"], image["decoding"]
        for note in self.article.select(".gpt-scriptless, .machine-scriptless"):
            note.string = "On the site it runs here."
        for note in self.article.select("noscript:has(.play-scriptless)"):
            note.replace_with(self.new("p", "shown", "On the site it can be moved."))
        for word in self.article.select(".hero-next button"):  # what it would add is what it shows
            word.name = "span"
        self.go_through(self.article)
        self.still_explorers()
        for live in self.article.select(LIVE):
            live.decompose()
        for cell in self.article.select("div.cell"):
            if not cell.get_text(strip=True) and not cell.select_one("img, svg"):
                cell.decompose()
        self.head_and_foot()
        return self.page

    # --- ids and links

    def name_ids(self) -> None:
        """Put the page's name in front of every id, and of what refers to one."""
        for tag in self.article.find_all(id=True):
            tag["id"] = f"{self.id}--{tag['id']}"
        drawn = [tag for svg in self.article.find_all("svg") for tag in svg.find_all(True)]
        for tag in drawn:
            for name, value in list(tag.attrs.items()):
                if isinstance(value, str) and "url(#" in value:
                    tag[name] = value.replace("url(#", f"url(#{self.id}--")
        for name in ("aria-labelledby", "aria-describedby", "for"):
            for tag in self.article.find_all(attrs={name: True}):
                tag[name] = " ".join(f"{self.id}--{ident}" for ident in tag[name].split())

    def lead_links(self) -> None:
        """Let links lead into the document, and pictures be found from the site's folder."""
        for image in self.article.select("img[src]"):
            if not image["src"].startswith("data:"):
                image["src"] = f"{self.site}{quote(self.beside(image['src']))}"
        for link in self.article.select("a.enlarge"):
            link.decompose()
        for link in self.article.select("a[href]"):
            if not link["href"].startswith(ELSEWHERE):
                target = self.inside(link["href"])
                if target is None:
                    link.unwrap()
                else:
                    link["href"] = f"#{target}"

    def beside(self, address: str) -> str:
        """Give an address that is relative to this page relative to the site's folder."""
        folder = posixpath.dirname(self.entry.docname)
        return posixpath.normpath(posixpath.join(folder, unquote(address)))

    def inside(self, href: str) -> str | None:
        """Give the id that an address of the site has in the document, or None."""
        address, anchor = urldefrag(href)
        docname = self.beside(address).removesuffix(".html") if address else self.entry.docname
        if docname not in self.known:
            return None
        named = anchor and "=" not in anchor  # else it is of the page's script
        return page_id(docname) + (f"--{unquote(anchor)}" if named else "")

    # --- predictions

    def ask(self, form: Tag) -> None:
        """Turn a prediction into a question; its result goes to the end."""
        box = self.new("div", "predict")
        question = self.new("p", "question")
        question.extend(list(form.legend.contents))
        box.append(question)
        if form["data-kind"] == "choice":
            choices = self.new("ul", "choices")
            for label in form.select("label"):
                choice = self.new("li")
                choice.append(f"{BOX} ")
                choice.extend(list(label.span.contents))
                choices.append(choice)
            box.append(choices)
        elif drawing := form.select_one("svg"):
            for guess in drawing.select(".guess"):
                guess.decompose()
            box.append(drawing.extract())
        else:
            box.append(self.new("p", "blank", "Your guess:"))
        form.replace_with(box)
        reveal = self.article.select_one(f'details.reveal[data-key="{form["data-key"]}"]')
        if reveal is not None:
            self.move_result(box, reveal)

    def move_result(self, box: Tag, reveal: Tag) -> None:
        """Move a prediction's result to the end, with what is said to each wrong choice.

        On the page all that tells the answer is folded into it, what cells show and their code
        (``postprocess/predictions.py``).
        """
        self.go_through(reveal)
        reveal.extract()
        for part in reveal.select("summary, .reveal-guess, .guess"):
            part.decompose()
        replies = json.loads(reveal["data-told"]).get("replies", {})
        first = reveal.select_one("div.cell")
        if replies:
            listed = "".join(f"<li><i>{escape(k)}</i>: {v}</li>" for k, v in replies.items())
            said = BeautifulSoup(f'<ul class="replies">{listed}</ul>', "html.parser")
            first.insert_before(said) if first else reveal.append(said)
        self.move(
            box,
            self.page.answers,
            "Answer",
            list(reveal.contents),
            "Guess, then read on. {label}: page {page}.",
            inside=True,
        )

    # --- what the site folds

    def go_through(self, place: Tag) -> None:
        """Decide on each question and fold in a place: open it, leave it out, or move it."""
        wanted = "form.predict, blockquote.callout-exercise, details:not(.reveal), div.cell"
        for part in place.select(wanted):
            if part.decomposed or part.find_parent("article") is not self.article:
                continue  # was moved or left out with what it stood in
            if part.name == "form":
                self.ask(part)
            elif part.name == "blockquote":
                number = re.search(r"Exercise\s+(\d+)", part.get_text())
                if number:
                    part.attrs.setdefault("id", f"{self.id}--exercise-{number[1]}")
                self.exercise = (f"Exercise {number[1]}", part["id"]) if number else None
            elif part.name == "details":
                self.sort_details(part)
            else:
                self.sort_cell(part)

    def sort_details(self, details: Tag) -> None:
        """Decide on a fold that the author wrote."""
        if "hide" in details.get("class", ()):
            return
        words = details.summary.get_text(strip=True)
        if words == "Hint" and self.exercise:
            self.move_hint(details)
        elif self.is_chapter and not words.startswith("Deeper") and not in_output(details):
            question = self.new("div", "recall")
            asked = self.new("p", "question")
            asked.extend(list(details.summary.extract().contents))
            question.append(asked)
            details.replace_with(question)
            self.move(
                question,
                self.page.answers,
                "Answer",
                list(details.contents),
                "{label}: page {page}.",
                inside=True,
            )
        elif details.summary.get_text(" ", strip=True) == MEASURE:
            note = self.new("p", "opened-title")
            note.string = "On the site, and in the chapter’s folder below helpers/chapters."
            details.replace_with(note)
        else:
            self.open(details)

    def sort_cell(self, cell: Tag) -> None:
        """Decide on a cell by its tags."""
        tags = set(cell["class"])
        if "tag_check" in tags:
            cell.decompose()
        elif "tag_solution" in tags:
            self.move_solution(cell)
        elif "tag_answer" in tags:
            note = self.new("div", "elsewhere")
            cell.replace_with(note)
            self.unfold(cell)
            self.move(
                note, self.page.answers, "Answer", [cell], "{label}: page {page}.", inside=True
            )
        elif "tag_deeper" in tags:
            self.unfold(cell)
        elif "tag_hide-input" in tags:
            for code in cell.select("div.cell_input"):
                code.decompose()
            for fold in cell.select("details.hide"):
                fold.decompose()
        elif "tag_hide-cell" in tags:  # what it shows, without its code
            self.unfold(cell)
            cell.select_one("div.cell_input").decompose()
        else:
            self.unfold(cell)

    def move_hint(self, details: Tag) -> None:
        """Move a hint to the end."""
        details.summary.decompose()
        assert self.exercise is not None  # it comes after its question
        label, asked = self.exercise
        item = Item(f"{asked}-hint", asked, label, list(details.contents))
        self.page.hints.append(item)
        note = self.pointer("Hint: page {page}.", item)
        note["id"] = f"{asked}-where"
        details.replace_with(note)

    def move_solution(self, cell: Tag) -> None:
        """Move a solution to the end, without the verdict that it is right."""
        self.unfold(cell)
        for verdict in cell.select("p.verdict"):  # a good answer to "explain" is a div
            verdict.decompose()
        for tick in cell.select("input"):
            tick.replace_with(BOX)
        for output in cell.select("div.cell_output"):
            if not output.get_text(strip=True) and not output.select_one("img, svg"):
                output.decompose()
        assert self.exercise is not None  # it comes after its question
        label, asked = self.exercise
        item = Item(f"{asked}-solution", asked, label, [cell])
        self.page.solutions.append(item)
        pointer = self.pointer("Solution: page {page}.", item)
        note = self.article.find(id=f"{asked}-where")
        if note is None:
            cell.replace_with(pointer)
        else:  # one line for both, above what is to be filled in
            cell.extract()
            note.append(" ")
            note.extend(list(pointer.contents))

    def unfold(self, cell: Tag) -> None:
        """Show a cell whole, without the lines that only say that it was folded."""
        for fold in cell.select("details.hide"):
            fold.summary.decompose()
            fold.unwrap()

    def open(self, details: Tag) -> None:
        """Turn a fold into an open box with its summary for a title."""
        box = self.new("div", "opened")
        title = self.new("p", "opened-title")
        title.extend(list(details.summary.extract().contents))
        box.append(title)
        box.extend(list(details.contents))
        details.replace_with(box)

    # --- moving

    def move(
        self, place: Tag, items: list, label: str, content: list, words: str, *, inside: bool
    ) -> None:
        """Move content to the end, and leave word of where it is."""
        number = f"{label} {self.number}{len(items) + 1}"
        ident = f"{self.id}--answer-{len(items) + 1}"
        place["id"] = f"{ident}-asked"
        item = Item(ident, place["id"], number, content)
        items.append(item)
        for part in content:
            part.extract()
        place.append(self.pointer(words, item))

    def pointer(self, words: str, item: Item) -> Tag:
        """Say on which page something stands; the number is filled in when pages are known."""
        note = self.new("p", "pointer")
        before, _, after = words.format(label=item.label, page="\0").partition("\0")
        link = self.soup.new_tag("a", href=f"#{item.id}")
        link.append(before)
        link.append(page_of(self.soup, item.id))
        note.append(link)
        note.append(after)
        return note

    # --- the rest

    def still_explorers(self) -> None:
        """Say which position of an explorer is shown."""
        for figure in self.article.select("figure.explore"):
            set_to = []
            for control in figure.select(".explore-control"):
                name, value = control.find("span"), control.find("output")
                if name and value:
                    set_to.append(f"{name.get_text(strip=True)}: {value.get_text(strip=True)}")
            says = figure.select_one(".explore-says")
            if set_to and says is not None:
                shown = f"Shown: {', '.join(set_to)}. On the site and in the notebook it moves."
                says.insert_after(self.new("p", "shown", shown))

    def head_and_foot(self) -> None:
        """Give the page its title, a word on left-out code, and its stamp; list its sections."""
        heading = self.article.h1
        title = self.entry.title or heading.get_text(" ", strip=True)
        self.entry.title = title
        heading.string = title
        heading["id"] = self.id
        if self.is_chapter:
            name = f"{self.entry.docname.rpartition('/')[2]}.ipynb"
            said = f"Code that the site folds is left out on paper; it is in the notebook {name}."
            heading.insert_after(self.new("p", "paper-note", said))
        stamp = self.soup.select_one("p.stamp")
        if stamp is not None:
            self.article.append(stamp.extract())
        for section in self.article.select("section"):
            first = section.find(["h2", "h3"], recursive=False)
            if first is not None and first.name == "h2" and section.get("id"):
                self.page.sections.append((section["id"], words_of(first)))

    @property
    def is_chapter(self) -> bool:
        """Whether the page is a chapter, from a notebook."""
        return self.entry.docname.startswith("notebooks/")

    @property
    def number(self) -> str:
        """What the numbers of a chapter's answers begin with."""
        stem = self.entry.docname.rpartition("/")[2]
        return f"{int(stem[:2])}." if self.is_chapter else ""

    def new(self, name: str, kind: str = "", text: str = "") -> Tag:
        """Make a tag of a class with a text."""
        tag = self.soup.new_tag(name)
        if kind:
            tag["class"] = [kind]
        if text:
            tag.string = text
        return tag


def words_of(heading: Tag) -> str:
    """Give a heading's words as HTML, formulas in it included, links and ids not."""
    copied = BeautifulSoup(heading.decode_contents(), "html.parser")
    for tag in copied.find_all(True):
        del tag["id"]
        if tag.name == "a":
            tag.unwrap()
    return str(copied).strip()


def in_output(tag: Tag) -> bool:
    """Tell whether a tag is what a cell has put out."""
    return tag.find_parent(class_="cell_output") is not None


def page_of(soup: BeautifulSoup, ident: str) -> Tag:
    """Make room for the number of the page on which an id stands."""
    number = soup.new_tag("span")
    number["class"], number["data-page-of"] = ["page-of"], ident
    number.string = "000"
    return number


# ---------------------------------------------------------------- the whole


@dataclass
class Part:
    """A run of pages with one running head."""

    id: str
    head: str
    html: str
    contents: str


def back_matter(pages: list[Page]) -> list[Part]:
    """Gather answers, with hints, and solutions: a section for each chapter."""
    soup = BeautifulSoup("", "html.parser")
    parts = []
    asked = [page for page in pages if page.answers or page.hints]
    solved = [page for page in pages if page.solutions]
    for ident, title, words, chosen in (
        ("answers", "Answers and hints", ANSWERS_SAY, asked),
        ("solutions", "Solutions", SOLUTIONS_SAY, solved),
    ):
        if not chosen:
            continue
        pieces, listed = [], []
        for page in chosen:
            name = f"{ident}-{page.id}"
            lists = [page.answers, page.hints] if ident == "answers" else [page.solutions]
            pieces.append(f'<section id="{name}"><h2>{escape(page.entry.title)}</h2>')
            for items in lists:
                if items is page.hints and items:
                    pieces.append("<h3>Hints</h3>")
                pieces += [item_html(soup, item) for item in items]
            pieces.append("</section>")
            listed.append((name, escape(page.entry.title)))
        body = f'<h1 id="{ident}">{title}</h1><p>{words}</p>' + "".join(pieces)
        parts.append(Part(ident, title, body, contents_of(soup, ident, title, listed)))
    return parts


ANSWERS_SAY = (
    "Results of predictions, with a reply to each choice that is not right; answers to questions "
    "and to what the chapters fold; hints to exercises. The page in brackets is where it is asked."
)
SOLUTIONS_SAY = (
    "One for each exercise. The code runs in the chapter's notebook, where the same check that "
    "judges a reader's answer judges it."
)


def item_html(soup: BeautifulSoup, item: Item) -> str:
    """Write something that was moved, with the way back."""
    content = "".join(str(part) for part in item.content)
    return (
        f'<div class="item" id="{item.id}"><p class="item-title">{item.label} '
        f'<a href="#{item.asked}">(page {page_of(soup, item.asked)})</a></p>{content}</div>'
    )


def contents_of(soup: BeautifulSoup, ident: str, title: str, sections: list) -> str:
    """Write the lines of the contents for one page and its sections."""
    lines = [(ident, escape(title), "page")]
    lines += [(name, words, "section") for name, words in sections]
    return "".join(
        f'<li class="{kind}"><a href="#{name}"><span class="title">{words}</span>'
        f'<span class="dots"></span>{page_of(soup, name)}</a></li>'
        for name, words, kind in lines
    )


def join(pages: list[Page], *, title: str, front: str, head: str) -> str:
    """Join pages into a document: title page, contents, pages, answers, solutions."""
    soup = BeautifulSoup("", "html.parser")
    contents, parts = [], []
    for page in pages:
        if page.entry.part:
            contents.append(f'<li class="caption">{escape(page.entry.part)}</li>')
        shown = page.sections if page.answers or page.solutions else []
        lines = contents_of(soup, page.id, page.entry.title, shown)
        contents.append(lines)
        parts.append(Part(f"page-{page.id}", page.entry.title, page.article.decode_contents(), ""))
    back = back_matter(pages)
    if back:
        contents.append('<li class="caption">At the end</li>')
    contents += [part.contents for part in back]
    parts += [Part(f"page-{part.id}", part.head, part.html, "") for part in back]
    bodies = "".join(
        f'<article class="part" style="page: {css_name(part.id)}">{part.html}</article>\n'
        for part in parts
    )
    html = (
        f'<!DOCTYPE html>\n<html lang="en" data-theme="light">\n<head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>\n{head}\n<style>{running_heads(title, parts)}</style>"
        f'</head>\n<body class="tex2jax_ignore mathjax_ignore">\n{front}\n'
        f'<nav class="contents"><h1 id="contents">Contents</h1><ul>{"".join(contents)}</ul></nav>\n'
        f"{bodies}</body></html>\n"
    )
    return without_dead_links(with_code(html, pages))


def css_name(ident: str) -> str:
    """Make a name that a style sheet takes for a kind of page."""
    return re.sub(r"[^\w-]", "-", ident)


def running_heads(title: str, parts: list[Part]) -> str:
    """Write the rules that put the book's and the chapter's title above each page."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    heads = {"page-contents": "Contents", **{css_name(part.id): part.head for part in parts}}
    return "\n".join(
        f"@page {name} {{ @top-left {{ content: {quoted(title)}; }} "
        f"@top-right {{ content: {quoted(head)}; }} @bottom-center {{ content: counter(page); }} }}"
        for name, head in heads.items()
    )


def with_code(html: str, pages: list[Page]) -> str:
    """Put highlighted code back in its place."""
    code = {page.id: page.code for page in pages}
    return re.sub(rf"{ASIDE}(\S+) (\d+){ASIDE}", lambda at: code[at[1]][int(at[2])], html)


def without_dead_links(html: str) -> str:
    """Let a link whose target did not come onto paper lead to the page on which it stood."""
    ids = set(re.findall(r'\bid="([^"]+)"', html))

    def mended(match: re.Match) -> str:
        target = match[1]
        return match[0] if target in ids else f'href="#{target.partition("--")[0]}"'

    return re.sub(r'\bhref="#([^"]+)"', mended, html)


def read_pages(site: Path, toc: dict, title: str) -> list[Page]:
    """Make all pages of a built site ready, in the book's order.

    Raises: ValueError where the site lacks one of them.
    """
    listed = entries(toc, title)
    known = [entry.docname for entry in listed]
    missing = [name for name in known if not (site / f"{name}.html").is_file()]
    if missing:
        raise ValueError(
            f"{site} should hold every page of _toc.yml and lacks {missing}: make book"
        )
    address = site.resolve().as_uri() + "/"
    return [
        Maker((site / f"{entry.docname}.html").read_text("utf-8"), entry, known, address).make()
        for entry in listed
    ]


def load_toc(root: Path) -> dict:
    """Read the order of the pages."""
    return yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
