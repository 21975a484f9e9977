"""The pages of the built site as one HTML document for paper.

What a reader of the site opens, moves or presses is said otherwise here: an explorer shows its
first position, a prediction asks on paper, code that a page folds is left out, and what must not
stand beneath its question (answers, hints, solutions) is gathered at the end, with links there and
back. Ids get the name of their page in front, so that links between pages become links inside the
document. Nothing here needs a browser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from html import escape
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from bs4 import BeautifulSoup, Tag

ELSEWHERE = ("http:", "https:", "mailto:")
BOX = "\u2610"  # an empty box to tick
MEASURE = "The code of lab"  # a whole module, too long for paper
IDS = re.compile(r'(?<=\s)((?:id|for|aria-labelledby|aria-describedby)=")|(url\(#)')
CODE = re.compile(r"(?<=<pre>)<span></span>.*?(?=</pre>)", re.DOTALL)  # as Pygments writes it
MARKS = re.compile(  # and the words of a result: it stands there itself
    r'<span class="c1">(?:### (?:BEGIN|END) SOLUTION|# [\w ]+: click to open)</span>\n?'
    r"|^guess\.reveal\((?:.*\)$|\n(?s:.*?)^\))\n?",
    re.MULTILINE,
)
DROPPED = (  # what is of no use on paper, and what the site folds
    'p:has(> a[href*="colab.research.google.com"]), a.enlarge, .headerlink, '
    ".explore-controls, .play-controls, script, style, button, input, textarea, select, canvas, "
    "[role=status], [role=alert], form:not(.predict), .guess, .reveal-guess, "
    "details.hide > summary, .reveal > summary, .tag_check, p.verdict, "
    ".tag_hide-input div.cell_input, "
    ".tag_hide-cell:not(.tag_solution, .tag_answer, .tag_deeper) div.cell_input"
)
SORTED = "form.predict, .callout-exercise, details:not(.reveal), .tag_solution, .tag_answer"
BACK = {
    "answers": (
        "Answers and hints",
        "Results of predictions, with a reply to each choice that is not right; answers to "
        "questions and to what the chapters fold; hints to exercises. The page in brackets is "
        "where it is asked.",
    ),
    "solutions": (
        "Solutions",
        "One for each exercise. The code runs in the chapter's notebook, where the same check that "
        "judges a reader's answer judges it.",
    ),
}


def page_id(docname: str) -> str:
    """Name a page in the document."""
    return docname.replace("/", "-")


def page_of(ident: str) -> str:
    """Make room for the number of the page on which an id stands."""
    return f'<span class="page-of" data-page-of="{ident}">000</span>'


def made(html: str) -> Tag:
    """Make a tag of its HTML."""
    return BeautifulSoup(html, "html.parser").contents[0]


# ---------------------------------------------------------------- one page


class Page:
    """A page made ready: its article, its sections, and what was moved out of it to the end."""

    def __init__(self, html: str, entry: dict, known: Collection[str], site: str = ""):
        """Do all that is to be done, in an order in which nothing is lost.

        entry: of _toc.yml. Links may lead to the known files; site is the site's own address.
        """
        docname, self.part = entry["file"], entry.get("part", "")
        self.docname, self.id, self.known, self.site = docname, page_id(docname), known, site
        self.is_chapter = docname.startswith("notebooks/")
        html = CODE.sub(lambda code: f"{MARKS.sub('', code[0]).rstrip()}\n", html)
        soup = BeautifulSoup(IDS.sub(rf"\1\2{self.id}--", html), "html.parser")
        self.article = soup.select_one("article.bd-article")
        self.back: dict[str, list[str]] = {name: [] for name in BACK}
        self.hints: list[str] = []
        self.still()
        self.lead_links()
        self.go_through(self.article)
        if self.hints:
            self.back["answers"] += ["<h3>Hints</h3>", *self.hints]
        heading = self.article.h1
        self.title = heading.string = entry.get("title") or heading.get_text(" ", strip=True)
        heading["id"] = self.id
        if self.is_chapter:
            name = f"{docname.rpartition('/')[2]}.ipynb"
            said = f"Code that the site folds is left out on paper; it is in the notebook {name}."
            heading.insert_after(made(f'<p class="paper-note">{said}</p>'))
        self.article.extend(soup.select("p.stamp"))
        self.sections = [
            (section["id"], words_of(section.h2))
            for section in self.article.select("section[id]:has(> h2)")
        ]

    def lead_links(self) -> None:
        """Let links lead into the document, and pictures be found from the site's folder."""
        here = f"{self.site}{self.docname}.html"
        for image in self.article.select("img"):
            image["src"] = urljoin(here, image["src"])
            del image["loading"], image["decoding"]
        for link in self.article.select("a[href]"):
            if link["href"].startswith(ELSEWHERE):
                continue
            address, anchor = urldefrag(urljoin(here, link["href"]))
            docname = address.removeprefix(self.site).removesuffix(".html")
            if docname in self.known:
                named = anchor and "=" not in anchor  # else it is of the page's script
                link["href"] = f"#{page_id(docname)}" + f"--{unquote(anchor)}" * bool(named)
            else:
                link.unwrap()

    def still(self) -> None:
        """Say what could be moved, and drop what nobody can press or open on paper."""
        for figure in self.article.select("figure.explore:has(.explore-says)"):
            at = [
                f"{control.span.get_text(strip=True)}: {control.output.get_text(strip=True)}"
                for control in figure.select(".explore-control:has(span):has(output)")
            ]
            if at:
                shown = f"Shown: {', '.join(at)}. On the site and in the notebook it moves."
                says = figure.select_one(".explore-says")
                says.insert_after(made(f'<p class="shown">{escape(shown)}</p>'))
        for note in self.article.select(".gpt-scriptless, .machine-scriptless"):
            note.string = "On the site it runs here."
        for note in self.article.select("noscript:has(.play-scriptless)"):
            note.replace_with(made('<p class="shown">On the site it can be moved.</p>'))
        for word in self.article.select(".hero-next button"):  # what it would add is what it shows
            word.name = "span"
        for tick in self.article.select(".tag_solution input"):
            tick.replace_with(BOX)
        for part in self.article.select(DROPPED):
            part.decompose()
        for fold in self.article.select("details.hide"):
            fold.unwrap()
        for cell in self.article.select("div.cell, div.cell_output"):
            if not cell.decomposed and not cell.text.strip() and not cell.select_one("img, svg"):
                cell.decompose()

    # --- what must not stand beneath its question

    def go_through(self, place: Tag) -> None:
        """Decide on each question and fold in a place: open it, or move its answer to the end."""
        for part in place.select(SORTED):
            if part.find_parent("article") is not self.article:
                continue  # was moved with what it stood in
            if part.name == "form":
                self.ask(part)
            elif part.name == "blockquote":
                number = re.findall(r"Exercise\s+(\d+)", part.text)[0]
                part.attrs.setdefault("id", f"{self.id}--exercise-{number}")
                self.exercise, self.asked, self.hint = f"Exercise {number}", part["id"], None
            elif part.name == "details":
                self.sort_details(part)
            elif "tag_solution" in part["class"]:
                pointer = self.for_exercise(self.back["solutions"], "Solution", part)
                if self.hint:  # one line for both, above what is to be filled in
                    self.hint.extend([" ", *pointer.extract().contents])
            else:
                note = made('<div class="elsewhere"></div>')
                part.replace_with(note)
                self.answer(note, str(part))

    def ask(self, form: Tag) -> None:
        """Turn a prediction into a question; its result goes to the end.

        On the page all that tells the answer is folded into the result, what cells show and their
        code (``postprocess/predictions.py``).
        """
        if form["data-kind"] == "choice":
            choices = (f"<li>{BOX} {one.span.decode_contents()}</li>" for one in form("label"))
            field = f'<ul class="choices">{"".join(choices)}</ul>'
        else:
            field = str(form.svg or '<p class="blank">Your guess:</p>')
        question = f'<p class="question">{form.legend.decode_contents()}</p>'
        box = made(f'<div class="predict">{question}{field}</div>')
        form.replace_with(box)
        reveal = self.article.select_one(f'details.reveal[data-key="{form["data-key"]}"]')
        if reveal is None:
            return
        self.go_through(reveal)
        replies = json.loads(reveal.extract()["data-told"]).get("replies", {})
        if replies:
            said = "".join(f"<li><i>{escape(k)}</i>: {v}</li>" for k, v in replies.items())
            listed, first = made(f'<ul class="replies">{said}</ul>'), reveal.select_one("div.cell")
            first.insert_before(listed) if first else reveal.append(listed)
        self.answer(box, reveal.decode_contents(), "Guess, then read on. {}")

    def sort_details(self, details: Tag) -> None:
        """Decide on a fold that the author wrote."""
        title = details.summary.extract()
        words = title.get_text(" ", strip=True)
        shown = words.startswith("Deeper") or details.find_parent(class_="cell_output")
        if words == "Hint":
            self.hint = self.for_exercise(self.hints, "Hint", details)
        elif self.is_chapter and not shown:
            question = f'<p class="question">{title.decode_contents()}</p>'
            details.replace_with(asked := made(f'<div class="recall">{question}</div>'))
            self.answer(asked, details.decode_contents())
        elif words == MEASURE:
            said = "On the site, and in the chapter’s folder below helpers/chapters."
            details.replace_with(made(f'<p class="opened-title">{said}</p>'))
        else:
            title.name, title["class"] = "p", ["opened-title"]
            details.name, details["class"] = "div", ["opened"]
            details.insert(0, title)

    def answer(self, place: Tag, content: str, words: str = "{}") -> None:
        """Move an answer to the end, and say so in its place."""
        items = self.back["answers"]
        ident = f"{self.id}--answer-{len(items) + 1}"
        chapter = f"{int(self.docname[10:12])}." if self.is_chapter else ""  # notebooks/NN_…
        label = f"Answer {chapter}{len(items) + 1}"
        place["id"] = f"{ident}-asked"
        items.append(item(ident, label, place["id"], content))
        place.append(pointer(ident, words.format(label)))

    def for_exercise(self, items: list[str], what: str, part: Tag) -> Tag:
        """Move a hint or a solution to the end; the line that is in its place."""
        content = part.decode_contents() if what == "Hint" else str(part)
        ident = f"{self.asked}-{what.lower()}"
        items.append(item(ident, self.exercise, self.asked, content))
        note = pointer(ident, what)
        part.replace_with(note)
        return note


def item(ident: str, label: str, asked: str, content: str) -> str:
    """Write something that is moved, with the way back."""
    return (
        f'<div class="item" id="{ident}"><p class="item-title">{label} '
        f'<a href="#{asked}">(page {page_of(asked)})</a></p>{content}</div>'
    )


def pointer(ident: str, words: str) -> Tag:
    """Say on which page something stands; the number is filled in when pages are known."""
    return made(f'<p class="pointer"><a href="#{ident}">{words}: page {page_of(ident)}</a>.</p>')


def words_of(heading: Tag) -> str:
    """Give a heading's words as HTML, formulas in it included, links and ids not."""
    copied = made(str(heading))
    for tag in copied.find_all(True):
        del tag["id"]
        if tag.name == "a":
            tag.unwrap()
    return copied.decode_contents().strip()


# ---------------------------------------------------------------- the whole


def line(ident: str, words: str, kind: str = "page") -> str:
    """Write a line of the contents."""
    return (
        f'<li class="{kind}"><a href="#{ident}"><span class="title">{words}</span>'
        f'<span class="dots"></span>{page_of(ident)}</a></li>'
    )


def join(pages: list[Page], *, title: str, front: str, head: str) -> str:
    """Join pages into a document: title page, contents, pages, answers, solutions."""
    contents, parts = [], []
    for page in pages:
        contents.append(f'<li class="caption">{escape(page.part)}</li>' if page.part else "")
        contents.append(line(page.id, escape(page.title)))
        if any(page.back.values()):
            contents += [line(*section, "section") for section in page.sections]
        parts.append((page.id, page.title, page.article.decode_contents()))
    contents.append('<li class="caption">At the end</li>')
    for name, (words, said) in BACK.items():
        contents.append(line(name, words))
        html = f'<h1 id="{name}">{words}</h1><p>{said}</p>'
        for page in pages:
            if page.back[name]:
                ident, heading = f"{name}-{page.id}", escape(page.title)
                contents.append(line(ident, heading, "section"))
                items = "".join(page.back[name])
                html += f'<section id="{ident}"><h2>{heading}</h2>{items}</section>'
        parts.append((name, words, html))
    heads = [("contents", "Contents"), *((ident, words) for ident, words, _ in parts)]
    rules = "\n".join(  # the book's and the chapter's title above each page
        f"@page page-{name} {{ @top-left {{ content: {json.dumps(title, ensure_ascii=False)}; }} "
        f"@top-right {{ content: {json.dumps(words, ensure_ascii=False)}; }} "
        "@bottom-center { content: counter(page); } }"
        for name, words in heads
    )
    bodies = "".join(
        f'<article class="part" style="page: page-{name}">{html}</article>\n'
        for name, _, html in parts
    )
    html = (
        f'<!DOCTYPE html>\n<html lang="en" data-theme="light">\n<head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>\n{head}\n<style>{rules}</style>"
        f'</head>\n<body class="tex2jax_ignore mathjax_ignore">\n{front}\n'
        f'<nav class="contents"><h1 id="contents">Contents</h1><ul>{"".join(contents)}</ul></nav>\n'
        f"{bodies}</body></html>\n"
    )
    return without_dead_links(html)


def without_dead_links(html: str) -> str:
    """Let a link whose target did not come onto paper lead to the page on which it stood."""
    ids = set(re.findall(r'\bid="([^"]+)"', html))

    def mended(match: re.Match) -> str:
        target = match[1]
        return match[0] if target in ids else f'href="#{target.partition("--")[0]}"'

    return re.sub(r'\bhref="#([^"]+)"', mended, html)


def read_pages(site: Path, toc: dict, title: str) -> list[Page]:
    """Make all pages of a built site ready, in the order of _toc.yml; the first has a title.

    Raises: ValueError where the site lacks one of them.
    """
    listed = [{"file": toc["root"], "title": title}]
    for part in toc["parts"]:
        first, *others = part["chapters"]
        listed += [{**first, "part": part.get("caption", "")}, *others]
    files = {entry["file"]: site / f"{entry['file']}.html" for entry in listed}
    if missing := [name for name, file in files.items() if not file.is_file()]:
        raise ValueError(
            f"{site} should hold every page of _toc.yml and lacks {missing}: make book"
        )
    address = site.resolve().as_uri() + "/"
    return [Page(files[one["file"]].read_text("utf-8"), one, files, address) for one in listed]
