"""What is done to finished pages: each is read, goes through `STEPS`, and is written, once.

A build may write some pages and leave others as an earlier build made them. Those that it wrote go
through `STEPS`, which change the tree, and become text (`body.plain_code`); the others are known by
the hash with which they were left (`DONE`, beside what Sphinx remembers). `SITE` has all pages at
hand, since a font holds the signs of all. What a site holds, and who may read it, is the same
whether it was built at once or page by page.
"""

from __future__ import annotations

import html
import json
import os
import re
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from bs4 import BeautifulSoup
from bs4.dammit import EntitySubstitution
from bs4.formatter import HTMLFormatter

from helpers.files import write_text
from passes import body, explorers, figures, head, images, maths, predictions, static

STEPS = (  # each gets a page and changes its soup
    head.scripts_that_wait,
    head.light_or_dark_at_once,
    head.text_face_at_once,
    head.names_of_landmarks,
    head.ways_without_scripts,
    body.one_heading,
    body.words_of_titles,
    body.scopes_of_tables,
    body.cells_without_paragraphs,
    body.roles,
    predictions.results_at_guesses,
    explorers.frames_beside_the_page,
    figures.follow_the_page,
    images.room_for_images,
    images.ways_to_enlarge,
)
SITE = (  # each gets all pages
    maths.set_formulas,
    static.cut_icons,
    static.face_in_style,
    static.leave_out,
)
BOOK = Path(__file__).parents[2]
DONE = "finished-pages.json"
ASIDE = "\ue000"  # around the number of what was put aside; no page has this sign
CODE = re.compile(r"(?<=<pre>)<span></span>.*?(?=</pre>)", re.DOTALL)  # as Pygments writes it


class Page:
    """A page of the built site."""

    def __init__(self, file: Path, site: Path):
        """Read it."""
        self.file, self.site = file, site
        self.name = file.relative_to(site).as_posix()
        self.text = self.before = file.read_text("utf-8")
        self.code: list[str] = []

    @cached_property
    def soup(self) -> BeautifulSoup:
        """Its tree, without highlighted code, which has most of a page's tags."""
        return BeautifulSoup(CODE.sub(self._keep, self.before), "html.parser")

    @property
    def hash(self) -> str:
        """What its text is known by."""
        return sha256(self.text.encode()).hexdigest()

    def _keep(self, found: re.Match) -> str:
        self.code.append(found[0])
        return f"{ASIDE}{len(self.code) - 1}{ASIDE}"

    def way_to(self, name: str) -> str:
        """Return the address of a file of the site as this page writes it."""
        return Path(os.path.relpath(self.site / name, self.file.parent)).as_posix()

    def serialise(self) -> None:
        """Write the soup into ``text``, the code in its place."""
        text = self.soup.decode(formatter=Plain(EntitySubstitution.substitute_xml))
        text = re.sub(f"{ASIDE}(\\d+){ASIDE}", lambda at: self.code[int(at[1])], text)
        self.text = body.plain_code(text)


class Plain(HTMLFormatter):
    """Attributes as they come, always in double quotes, whatever they hold."""

    def attributes(self, tag):
        """Keep their order."""
        return tag.attrs.items()

    def attribute_value(self, value: str) -> str:
        """Escape a value."""
        return html.escape(value).replace("&#x27;", "'")


def built_pages(site: Path) -> list[Path]:
    """Return all pages of the site, written in this build or an earlier one.

    The page at the root is none: it only leads on.
    """
    return sorted(
        page
        for page in site.glob("**/*.html")
        if page != site / "index.html" and "_static" not in page.parts
    )


def finish(app, exception) -> None:
    """Lead the pages that this build wrote through all steps."""
    if exception is not None or app.builder.format != "html":
        return
    site, record = Path(app.outdir), Path(app.doctreedir, DONE)
    done = json.loads(record.read_text("utf-8")) if record.exists() else {}
    pages = [Page(file, site) for file in built_pages(site)]
    new = [page for page in pages if done.get(page.name) != page.hash]
    for page in new:
        for step in STEPS:
            step(page)
        page.serialise()
    if new:
        for whole in SITE:
            whole(app, pages)
        write_text(record, json.dumps({page.name: page.hash for page in pages}))
    for page in new:
        write_text(page.file, page.text)
    readable(site)


def readable(site: Path) -> None:
    """Let everybody read a site, whoever built it: a server is often another user."""
    for path in (site, *site.rglob("*")):
        mode = 0o755 if path.is_dir() else 0o644
        if path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)


def hashed(*patterns: str) -> str:
    """Hash the files of the book's folder that match: what they hold, and their names."""
    files = sorted({file for pattern in patterns for file in BOOK.glob(pattern) if file.is_file()})
    digest = sha256()
    for file in files:
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def setup(app) -> dict:
    # Another code reads all pages again, other styles and scripts write them again.
    code = hashed("_ext/**/*.py", "_ext/**/*.js", "../requirements.txt")
    app.add_config_value("book_code", code, "env")
    app.add_config_value("book_looks", hashed("_assets/**/*", "_templates/**/*"), "html")
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
