"""Drawings that chapters share, and the style of all; a chapter's own stand in its folder."""

from importlib.resources import files

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython import get_ipython
from matplotlib_inline.backend_inline import set_matplotlib_formats

INKS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8c6d00", "#56B4E9")  # legible on white
IN_NOTEBOOKS = ("inline", "ipympl", "nbagg", "widget")  # parts of the names of such backends
STYLE = str(files("helpers.figures") / "book.mplstyle")


def use_book_style() -> None:
    """Draw in the book's style from here on, as SVG that is the same on every run.

    A kernel whose matplotlib draws elsewhere (``MPLBACKEND=agg``) draws in the notebook.
    """
    shell = get_ipython()
    if hasattr(shell, "kernel") and not any(n in mpl.get_backend().lower() for n in IN_NOTEBOOKS):
        shell.run_line_magic("matplotlib", "inline")
    plt.style.use(STYLE)
    set_matplotlib_formats("svg", metadata={"Date": None, "Creator": None}, bbox_inches=None)
