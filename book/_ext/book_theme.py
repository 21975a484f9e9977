"""Mends of the stock theme.

- No second search field: the header's own lists are emptied, the sidebar keeps its button.
- Light or dark as the reader's system has it, until the reader chooses.
- No ``fontawesome.js`` (1.5 MB): the icons come from the theme's style sheet and fonts.
- One ``<h1>`` a page: the copy that the theme keeps for printing becomes a paragraph.
- What folds a cell says what it opens, and its name is its text.
- Captions without a number that would run through all pages.
- Files that no page loads (source maps, other languages) are taken out of the built site.
- The repository's address comes from ``_config.yml``: pages write REPOSITORY-URL, and
  UNPUBLISHED-NOTE where readers must know that it is still a place-holder.
- The foot of a chapter shows when its outputs were computed (see ``book_stamp``).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode

SCRIPT = re.compile(r"\s*(<!-- So that users can add custom icons -->)?\s*"
                    r"<script[^>]*scripts/fontawesome\.js[^>]*></script>")  # fmt: skip
PRINT_HEADING = re.compile(r'(<div id="jb-print-docs-body"[^>]*>\s*)<h1>(.*?)</h1>', re.DOTALL)


def without_fontawesome(html: str) -> str:
    """Drop the script that redraws every icon as SVG."""
    return SCRIPT.sub("", str(html))


def with_one_h1(html: str) -> str:
    """Turn the print copy of the page's title into a paragraph."""
    return PRINT_HEADING.sub(r'\1<p class="print-title">\2</p>', str(html))


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
    config.numfig = False


def add_filters(app) -> None:
    filters = app.builder.templates.environment.filters
    filters["without_fontawesome"] = without_fontawesome
    filters["with_one_h1"] = with_one_h1


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


def prune(app, exception) -> None:
    static = Path(app.outdir, "_static")
    if exception is not None or app.builder.format != "html":
        return
    for pattern in ("**/*.map", "scripts/fontawesome.js*", "vendor/**/*.ttf", "images/logo_[bdj]*"):
        for file in static.glob(pattern):
            file.unlink()
    shutil.rmtree(static / "locales", ignore_errors=True)


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
    app.connect("builder-inited", add_filters)
    app.connect("source-read", fill_in_address)
    app.connect("doctree-read", name_folds)
    app.connect("build-finished", prune)
    app.add_node(HideCodeCellNode, override=True, html=(open_details, close_details))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
