"""What is done to finished pages: each is read, goes through `STEPS`, and is written, once.

A build may write some pages and leave others as an earlier build made them, and each step must see
the whole site (a font holds the signs of all pages): so all pages go through all steps, and each
step leaves a page as it is that has been through it before. In order: formulas are put back as
they came (`maths.unset`), `STEPS` change the tree, it becomes text (`body.plain_code`), and `SITE`
has all pages at hand.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

from bs4 import BeautifulSoup
from bs4.dammit import EntitySubstitution
from bs4.formatter import HTMLFormatter

from passes import body, explorers, figures, head, images, maths, predictions, static

STEPS = (  # each gets a page and changes its soup
    head.scripts_that_wait,
    head.light_or_dark_at_once,
    head.names_of_landmarks,
    body.one_heading,
    body.scopes_of_tables,
    body.cells_without_paragraphs,
    body.roles,
    predictions.results_at_guesses,
    explorers.frames_beside_the_page,
    figures.follow_the_page,
    images.room_for_images,
    images.ways_to_enlarge,
)
SITE = (maths.set_formulas, static.cut_icons, static.leave_out)  # each gets all pages
ASIDE = "\ue000"  # around the number of what was put aside; no page has this sign
CODE = re.compile(r"(?<=<pre>)<span></span>.*?(?=</pre>)", re.DOTALL)  # as Pygments writes it


class Page:
    """A page of the built site."""

    def __init__(self, file: Path, site: Path):
        """Read it; highlighted code is put aside, which has most of a page's tags."""
        self.file, self.site = file, site
        self.name = file.relative_to(site).as_posix()
        self.before = file.read_text("utf-8")
        self.code: list[str] = []
        text = maths.unset(CODE.sub(self._keep, self.before))
        self.soup = BeautifulSoup(text, "html.parser")
        self.text = ""

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
    return sorted(page for page in site.glob("**/*.html")
                  if page != site / "index.html" and "_static" not in page.parts)  # fmt: skip


def finish(app, exception) -> None:
    """Lead all pages through all steps."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = [Page(file, site) for file in built_pages(site)]
    for page in pages:
        for step in STEPS:
            step(page)
        page.serialise()
    for whole in SITE:
        whole(app, pages)
    for page in pages:
        if page.text != page.before:
            page.file.write_text(page.text, "utf-8")


def setup(app) -> dict:
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
