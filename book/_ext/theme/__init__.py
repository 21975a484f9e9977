"""Mends of the stock theme, before a page is written.

- One search field: the header's own lists are emptied, the sidebar keeps its button. Search puts
  titles that were typed, chapters and the glossary first (``search-scorer.js``).
- Light or dark as the reader's system has it, until the reader chooses.
- What folds a cell says what it opens, and its name is its text.
- Captions without a number that would run through all pages.
- The repository's address comes from ``_config.yml``: pages write REPOSITORY-URL, and
  UNPUBLISHED-NOTE where readers must know that it is still a place-holder.
- The foot of a chapter shows when its outputs were computed (see ``content/stamp.py``).
- Callouts, images and anchors have a module each.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode

from theme import anchors, callouts, images


def set_options(app, config) -> None:
    """Change theme options in place, so that Jupyter Book's own (Colab, download) stay."""
    for part in ("start", "center", "end", "persistent"):
        config.html_theme_options[f"navbar_{part}"] = []
    config.html_theme_options.update(
        article_footer_items=["stamp"],
        footer_content_items=["copyright", "extra-footer"],
        use_fullscreen_button=False,
        show_toc_level=2,
        toc_title="On this page",
        pygments_light_style="a11y-high-contrast-light",
        pygments_dark_style="a11y-high-contrast-dark",
        search_bar_text="Search this book",
    )
    config.html_context["default_mode"] = "auto"
    config.html_search_scorer = str(Path(__file__).with_name("search-scorer.js"))
    config.mathjax_path = "mathjax.js"  # nothing is there: passes/maths.py sets formulas
    config.numfig = False


UNPUBLISHED = (
    "**Not published yet.** The address below is a place-holder: Colab and `git clone` will work "
    "once the book has a home. Until then, unpack the folder that you were given and type "
    "`make lab`."
)


def fill_in_address(app, docname, source) -> None:
    if docname.startswith("book/"):
        url = app.config.html_theme_options["repository_url"]
        note = UNPUBLISHED if "/OWNER/" in url else ""
        source[0] = source[0].replace("REPOSITORY-URL", url).replace("UNPUBLISHED-NOTE", note)


TAGGED = {"solution": "the solution", "answer": "the answer", "deeper": "the computation"}
FOLDED = {"all": "this cell", "input": "the code", "output": "the output"}


def name_folds(app, doctree) -> None:
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
    app.connect("source-read", fill_in_address)
    app.connect("doctree-read", name_folds)
    app.add_node(HideCodeCellNode, override=True, html=(open_details, close_details))
    for module in (callouts, images, anchors):
        module.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
