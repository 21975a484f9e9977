"""Steps over the pages that Sphinx has written: each page is read once and written once.

`PAGE_STEPS` change the parsed page; `SITE_STEPS` get all pages, since fonts are cut down to the
characters of all.
"""

from __future__ import annotations

import html
import os
import re
from functools import cached_property
from pathlib import Path

from bs4 import BeautifulSoup
from bs4.dammit import EntitySubstitution
from bs4.formatter import HTMLFormatter

from helpers.files import write_text
from postprocess import body, explorers, figures, head, images, maths, predictions, search, static

PAGE_STEPS = (  # each gets a page and changes its soup
    head.defer_scripts,
    head.set_initial_theme,
    head.load_text_font,
    head.name_landmarks,
    head.noscript_nav,
    body.drop_print_copy,
    body.keep_hyphenated_words,
    body.set_indices,
    body.mark_titles,
    body.fold_code_below,
    body.set_table_scopes,
    body.keep_ranges_together,
    body.unwrap_cell_paragraphs,
    body.drop_invalid_roles,
    predictions.move_results,
    explorers.extract_frames,
    figures.add_colour_schemes,
    images.set_image_sizes,
    images.add_enlarge_links,
)
SITE_STEPS = (  # each gets all pages
    search.write_index,
    maths.typeset_formulas,
    static.remove_unused_files,
    static.purge_styles,
    static.subset_icon_fonts,
    static.inline_text_font,
    static.join_styles,
)
PLACEHOLDER = "\ue000"  # around the number of what was put aside; no page has this sign
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
        """The parsed page, without highlighted code, which has most of a page's tags."""
        return BeautifulSoup(CODE.sub(self._keep, self.before), "html.parser")

    def _keep(self, found: re.Match) -> str:
        self.code.append(found[0])
        return f"{PLACEHOLDER}{len(self.code) - 1}{PLACEHOLDER}"

    def relative_url(self, name: str) -> str:
        """Return the relative URL of a file of the site."""
        return Path(os.path.relpath(self.site / name, self.file.parent)).as_posix()

    def serialise(self) -> None:
        """Serialise the parsed page and its code into ``text``."""
        text = self.soup.decode(formatter=AttributeFormatter(EntitySubstitution.substitute_xml))
        text = re.sub(f"{PLACEHOLDER}(\\d+){PLACEHOLDER}", lambda at: self.code[int(at[1])], text)
        self.text = body.drop_plain_tokens(text)


class AttributeFormatter(HTMLFormatter):
    """Keeps the order of attributes and quotes them with double quotes."""

    def attributes(self, tag):
        """Keep their order."""
        return tag.attrs.items()

    def attribute_value(self, value: str) -> str:
        """Escape a value."""
        return html.escape(value).replace("&#x27;", "'")


def site_files(site: Path) -> list[Path]:
    """Return all pages of the site but that at its root, which only redirects."""
    return sorted(
        page
        for page in site.glob("**/*.html")
        if page != site / "index.html" and "_static" not in page.parts
    )


def finish(app, exception) -> None:
    """Apply all steps to all pages."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = [Page(file, site) for file in site_files(site)]
    for page in pages:
        for step in PAGE_STEPS:
            step(page)
        page.serialise()
    for whole in SITE_STEPS:
        whole(app, pages)
    for page in pages:
        write_text(page.file, page.text)


def read_all(app, env, added, changed, removed) -> list[str]:
    """Make all pages at every build, since the steps expect them as Sphinx writes them."""
    return sorted(env.found_docs)


def setup(app) -> dict:
    app.connect("env-get-outdated", read_all)
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
