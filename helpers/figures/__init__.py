"""Drawings that chapters share, and the style of all; a chapter's own stand in its folder."""

from importlib.resources import files

import matplotlib.pyplot as plt
from matplotlib_inline.backend_inline import set_matplotlib_formats

INKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8c6d00", "#56B4E9")  # legible on white
STYLE = str(files("helpers.figures") / "book.mplstyle")


def use_book_style() -> None:
    """Draw in the book's style from here on, as SVG that is the same on every run."""
    plt.style.use(STYLE)
    set_matplotlib_formats("svg", metadata={"Date": None, "Creator": None}, bbox_inches=None)
