"""Make slides from a chapter's own cells: ``make slides CHAPTER=05``, or all chapters.

They are nbconvert's for reveal.js, in one file that loads nothing: the question, pictures, first
formulas, predictions and pencil tasks, each with what comes out on the slide after it, an error to
spot, *Our GPT so far* and *What we saw*. A browser then sets letters as large as fit, and cuts what
is too long (slides.js).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from html import escape, unescape
from itertools import pairwise
from pathlib import Path

import nbformat
import yaml
from bs4 import BeautifulSoup
from nbconvert import SlidesExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from postprocess import fonts, maths
from pygments.formatters import HtmlFormatter

from helpers import corpus
from helpers.files import write_text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = "sphinx-revealjs==3.2.1"  # its wheel holds reveal.js 5.2.0
WHEEL = "sphinx_revealjs-3.2.1-py3-none-any.whl"
SHA256 = "805bed3ca459346e0f01967d5ed1c40d6b7b917de1541e1e4566c8341fe7017b"
MEMBER = "sphinx_revealjs/_static/revealjs/dist/reveal"
SHORT = 150  # characters of a task that needs what was printed before it
OPEN = {"needs-smollm2", "nbval-ignore-output"}  # tags of cells that are not folded
QUESTION = re.compile(r"^\*\*The question\.\*\* (.+)", re.MULTILINE)
SPOT = re.compile(r"^> (\*\*Spot the error\.\*\*.*(?:\n>.*)*)", re.MULTILINE)
ANSWER = re.compile(r"<details><summary>(Answer)</summary>(.*?)</details>", re.DOTALL)
ASIDE = re.compile(r"<details>.*?</details>|^> \*\*[^\n]*(\n>[^\n]*)*", re.DOTALL | re.MULTILINE)
RESULT = re.compile(
    r'data-key="(\w+)"[^>]*data-told="([^"]*)".*?</summary>(.*?)</details>', re.DOTALL
)
TYPED = re.compile(r" *\b(Type|Each)[^.]*(turns green|decimals)\.")  # into a page's boxes
SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z*])")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\([^)\s]+\)")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)


def shown(cell, kind: str) -> str:
    """What a cell puts out of a kind, or ""."""
    return "".join(out.data.get(kind, "") for out in cell.get("outputs", ()) if "data" in out)


def results(cells: list) -> dict[str, str]:
    """What the result of each prediction says, and a reply to each wrong choice."""
    made = {}
    for key, told, because in RESULT.findall("".join(shown(cell, "text/html") for cell in cells)):
        replies = json.loads(unescape(told))["replies"].items()
        wrong = (
            f"<p><b>{re.sub('^-', '−', choice.rstrip('.'))}</b>: {reply}</p>"
            for choice, reply in replies
        )
        made[key] = because + "".join(wrong)
    return made


def slides(cells: list) -> list:
    """Choose what of a chapter stands on slides, as cells with nbconvert's metadata."""
    made: list = []
    told: list[str] = []
    replies, section, asked, set_in, printed = results(cells), "", False, "", ""

    def add(kind: str, *parts) -> None:
        for n, part in enumerate((f"## {section}", *parts)):
            if isinstance(part, str):
                part = new_markdown_cell(LINK.sub(r"\1", part).replace(" %", "\N{NO-BREAK SPACE}%"))
            slideshow = {"slide_type": "-" if n else "slide", "data": {"kind": kind}}
            made.append({**part, "metadata": {"slideshow": slideshow}})

    def tell() -> None:
        """Show a section's first formula with what is said before it."""
        nonlocal set_in
        for before, block in pairwise(told):
            if block.startswith("$$") and "{array}" not in block and section != set_in:
                add("formula", " ".join(SENTENCE.split(before)[-2:]), block)
                set_in = section
        told.clear()

    for cell in cells:
        tags, html = set(cell.metadata.get("tags", ())), shown(cell, "text/html")
        if cell.cell_type == "markdown":
            for text in re.split(r"^(?=##? )", cell.source, flags=re.MULTILINE):
                if text.startswith("#"):
                    tell()
                    heading, _, text = text.partition("\n")
                    section = heading.lstrip("# ")
                if section in ("Laboratory", "Exercises"):
                    return made
                if found := QUESTION.search(text):
                    add("title", found[1])
                if found := SPOT.search(text):
                    add("spot", found[1].replace("\n>", "\n"))
                if found := ANSWER.search(text):
                    add("answer", f"**{found[1]}.** {found[2].strip()}")
                text = ASIDE.sub("", text).strip()
                if section == "What we saw" and text:
                    add("saw", text)
                told += text.split("\n\n")
        elif 'class="predict"' in html:
            add("predict", html)
            add("result", replies[html.split('data-key="')[1].split('"')[0]])
        elif 'class="pencil"' in html:
            first = next((n for n, block in enumerate(told[:-1]) if "pencil" in block), 0)
            words = TYPED.sub("", "\n\n".join(told[first:]))
            add("task", words, *([f"```\n{printed}\n```"] if len(words) < SHORT else []))
            told, asked = [], True
        elif asked and tags & {"key", "hide-output"}:
            add("key", new_code_cell(outputs=cell.outputs))
            asked = False
        elif svg := shown(cell, "image/svg+xml"):
            data = base64.b64encode(svg.encode()).decode()
            alt = escape(cell.metadata.mystnb.image.alt)
            picture = f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'
            caption = cell.metadata.mystnb.figure.caption
            add("figure", f"<figure>{picture}\n\n{caption}\n\n</figure>")
        elif section.startswith("Our GPT so far") and not tags - OPEN:
            add("code", cell)
        if cell.cell_type == "code":
            tell()
            printed = "".join(out.get("text", "") for out in cell.outputs) or printed
    return made


def exported(cells: list) -> BeautifulSoup:
    """Let nbconvert write slides: a section each, whose children are what stands on it."""
    exporter = SlidesExporter(
        extra_template_basedirs=[str(HERE.parent)],
        template_name=HERE.name,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    notebook = nbformat.from_dict(new_notebook(cells=cells))
    soup = BeautifulSoup(exporter.from_notebook_node(notebook)[0], "html.parser")
    for shell in soup.select('.slides > section, div[class^="jp-"], div[class^="cm-"]'):
        shell.unwrap()
    return soup


def set_formulas(soup: BeautifulSoup, folder: Path) -> str:
    """Set all formulas, as on the site's pages. Returns their styles."""

    def source(found: re.Match) -> str:
        block, line = (unescape(part or "") for part in found.groups())
        return rf"\[{block}\]" if block else rf"\({line}\)"

    found = soup.find_all(string=FORMULA)
    texts = [text for text in found if not text.find_parent(["pre", "code"])]
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
    asked = sorted({source(found) for text in texts for found in FORMULA.finditer(text)})
    html, css = maths.typeset(asked, config["mathjax3_config"])
    for text in texts:
        put = FORMULA.sub(lambda found: html[source(found)], escape(text, quote=False))
        text.replace_with(BeautifulSoup(put, "html.parser"))
    maths.write_style(css, folder)
    return fonts.inlined(folder / maths.STYLE)


def reveal_js() -> zipfile.ZipFile:
    """Open the wheel that holds reveal.js, in the cache folder or from the package index."""
    path = corpus.cache_dir() / WHEEL
    if not path.is_file():
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
        subprocess.run([*fetch, "--dest", str(path.parent)], check=True)
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise ValueError(f"{path} is not the file that the slides were made with: remove it")
    return zipfile.ZipFile(path)


def document(notebook: Path) -> str:
    """The slides of a chapter. Raises: as `reveal_js`."""
    made = slides(nbformat.read(notebook, as_version=4).cells)
    soup = exported(made)
    with reveal_js() as wheel, tempfile.TemporaryDirectory() as folder:
        script, sheet = (wheel.read(f"{MEMBER}.{kind}").decode() for kind in ("js", "css"))
        styles = (
            sheet,
            fonts.inlined(ROOT / "book/_assets/fonts.css"),
            set_formulas(soup, Path(folder)),
            HtmlFormatter(style="a11y-high-contrast-light").get_style_defs(".highlight"),
            (HERE / "slides.css").read_text("utf-8"),
        )
    soup.title.string = made[0]["source"].lstrip("# ")
    soup.style.string = "\n".join(styles)
    soup.script.string = script + (HERE / "slides.js").read_text("utf-8")
    return str(soup)


def main(chapter: str = "") -> int:
    """The command; see the head of this module."""
    try:
        if not (found := sorted(Path(ROOT, "notebooks").glob(f"{chapter}*.ipynb"))):
            raise ValueError(f"there is no chapter {chapter}: give two digits, as in 05")
        for notebook in found:
            out = ROOT / "_build" / "slides" / f"{notebook.stem}.html"
            write_text(out, document(notebook))
            print(f"The slides: {out}")
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"slides: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
