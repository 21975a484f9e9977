"""Adjustments of the stock theme, before a page is written.

- One search field: the header's own lists are emptied, the sidebar keeps its button. Search is ours
  (``postprocess/search.py``), so Sphinx makes no index.
- Light or dark as the reader's system has it, until the reader chooses.
- What folds a cell says what it opens, and its name is its text.
- Captions without a number that would run through all pages.
- The repository's address is found at each build (``book/address.py``). Launch buttons, badges and
  the notebooks that are offered take it; pages write REPOSITORY-URL, REPOSITORY-NAME
  (of its folder), and UNPUBLISHED-NOTE where readers must know that there is none, and so nothing
  that opens Colab.
- The foot of a chapter shows when its outputs were computed (``content/chapters.py``).
- Callouts, anchors, and what a published site has have a module each.
"""

from __future__ import annotations

import os
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode

from book import address
from helpers.files import write_text
from theme import anchors, callouts, published


def set_options(app, config) -> None:
    """Change theme options in place, so that Jupyter Book's own (Colab, download) stay."""
    for part in ("start", "center", "end", "persistent"):
        config.html_theme_options[f"navbar_{part}"] = []
    config.html_theme_options.update(
        article_footer_items=["stamp", "page-links"],
        footer_content_items=["copyright", "extra-footer"],
        use_fullscreen_button=False,
        show_toc_level=2,
        toc_title="On this page",
        pygments_light_style="a11y-high-contrast-light",
        pygments_dark_style="a11y-high-contrast-dark",
        search_bar_text="Search this book",
        logo={"text": config.html_title},
    )
    config.html_context["default_mode"] = "auto"
    config.mathjax_path = "mathjax.js"  # nothing is there: postprocess/maths.py sets formulas
    config.numfig = False
    config.html_baseurl = config.html_baseurl or os.environ.get("BOOK_SITE", "")
    set_address(app, config)


def set_address(app, config) -> None:
    """Find out where the book lives; where Colab cannot open and run it there are no buttons."""
    root = Path(app.srcdir)
    config.book_address = address.address(root)
    config.version = config.release = address.stored(root)[1]
    opens = bool(address.colab(config.book_address, "", "")) and address.is_written(root)
    options = config.html_theme_options
    options["repository_url"] = (
        config.book_address if opens else ""
    )  # it refuses hosts that are new
    if not opens:
        options.pop("launch_buttons", None)


UNPUBLISHED = (
    "**This copy is not published yet**, so none of its pages opens in Colab, and there is nothing "
    "to `git clone`. Use the folder that you were given instead. If you have put the book on "
    "GitHub, run `make address URL=https://github.com/you/your-book` and build it again."
)
UNWRITTEN = (
    "**The chapters of this copy do not have its address yet**, so none of its pages opens in "
    "Colab. If you look after the copy, run `make address URL=REPOSITORY-URL`, commit, push, and "
    "build it again."
)
ELSEWHERE = "**Colab opens only what is on GitHub**, and this copy is somewhere else."


def colab_note(url: str | None, root: Path) -> str:
    """What a page says where no button opens Colab; nothing where they do."""
    if not url:
        return UNPUBLISHED
    if not address.colab(url, "", ""):
        return ELSEWHERE
    return "" if address.is_written(root) else UNWRITTEN


def fill_in_address(app, docname, source) -> None:
    url = app.config.book_address
    if docname.startswith("book/"):
        note = colab_note(url, Path(app.srcdir))
        source[0] = source[0].replace("UNPUBLISHED-NOTE", note)
        source[0] = source[0].replace("REPOSITORY-URL", url or "ADDRESS-OF-THE-BOOK")
        name = (url or "transformers-worked-out").rpartition("/")[2]
        source[0] = source[0].replace("REPOSITORY-NAME", name)
        if "CITATION-BIBTEX" in source[0]:
            entry = published.bibtex(Path(app.srcdir), app.config.html_baseurl or url)
            source[0] = source[0].replace("CITATION-BIBTEX", entry)
    elif docname.startswith("notebooks/"):
        source[0] = with_address(app, docname, source[0])


def with_address(app, docname, text: str) -> str:
    release = address.stored(Path(app.srcdir))[1]
    stem = docname.removeprefix("notebooks/")
    # Jupyter Book has a default of its own, in which no place is named.
    badge = bool(app.config.html_theme_options.get("launch_buttons", {}).get("colab_url"))
    return address.addressed(text, stem, app.config.book_address, release, badge=badge)


def update_offered_notebooks(app, error) -> None:
    """Let the notebooks that the site offers install from where the site was built."""
    for path in Path(app.outdir, "_sources", "notebooks").glob("*.ipynb"):
        text = path.read_text("utf-8")
        if (now := with_address(app, f"notebooks/{path.stem}", text)) != text:
            write_text(path, now)


TAGGED = {
    **{tag: f"the {tag}" for tag in ("solution", "answer", "key")},
    "deeper": "the computation",
}
FOLDED = {"all": "this cell", "input": "the code", "output": "the output"}


def label_folded_cells(app, doctree) -> None:
    """Say of each folded cell what it holds."""
    for cell in doctree.findall(nodes.container):
        if cell.get("hide_mode"):
            what = FOLDED.get(cell["hide_mode"], "the {type}")
            for tag, holds in TAGGED.items():
                what = holds if f"tag_{tag}" in cell["classes"] else what
            cell["prompt_show"], cell["prompt_hide"] = f"Show {what}", f"Hide {what}"


def open_details(self, node) -> None:
    classes = " ".join(["hide", *node["classes"]])
    self.body.append(
        f'<details class="{classes}"><summary>'
        f'<span class="collapsed">{node["prompt_show"]}</span>'
        f'<span class="expanded">{node["prompt_hide"]}</span></summary>\n'
    )


def close_details(self, node) -> None:
    self.body.append("</details>\n")


def setup(app) -> dict:
    app.add_config_value("comments_config", {}, "html")  # Jupyter Book sets it in any case
    app.connect("config-inited", set_options, priority=900)
    app.add_config_value("book_address", None, "env", (str, type(None)))
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("source-read", fill_in_address)
    app.connect("build-finished", update_offered_notebooks)
    app.connect("doctree-read", label_folded_cells)
    app.add_node(HideCodeCellNode, override=True, html=(open_details, close_details))
    for module in (callouts, anchors, published):
        module.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
