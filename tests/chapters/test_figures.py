"""Figures: the data behind what is drawn, and that drawing changes nothing else."""

import importlib
import inspect
import pkgutil
from types import SimpleNamespace

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch

from helpers import figures
from helpers.chapters import CHAPTERS
from helpers.figures import machine

MODULES = [
    importlib.import_module(f"helpers.figures.{module.name}")
    for module in pkgutil.iter_modules(figures.__path__)
] + [module for chapter in CHAPTERS if (module := chapter.module("figures"))]
DRAWS = [
    function
    for module in MODULES
    for name, function in vars(module).items()
    if name.startswith("draw_") and function.__module__ == module.__name__
]


# ------------------------------------------------------------- every drawing


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: f"{draw.__module__}.{draw.__name__}")
def test_drawing_takes_axes_and_gives_them_back(draw):
    parameters = list(inspect.signature(draw).parameters.values())
    assert parameters[0].annotation in (Axes, "Axes"), "the first argument is an Axes"
    assert inspect.signature(draw).return_annotation in (Axes, "Axes")
    source = inspect.getsource(draw)
    for forbidden in ("plt.", "savefig", "rcParams", ".style.use"):
        assert forbidden not in source, forbidden


def test_style_is_a_file_and_taken_on_request_only():
    settings = mpl.rc_params_from_file(figures.STYLE, use_default_template=False)
    assert settings["svg.hashsalt"]
    with mpl.rc_context():
        figures.use_book_style()
        assert mpl.rcParams["figure.figsize"] == settings["figure.figsize"]


@pytest.mark.parametrize(
    ("backend", "kernel", "asked"),
    [
        ("agg", True, ["matplotlib inline"]),
        ("agg", False, []),
        ("module://matplotlib_inline.backend_inline", True, []),
        ("module://ipympl.backend_nbagg", True, []),
    ],
)
def test_a_kernel_draws_in_the_notebook(monkeypatch, backend, kernel, asked):
    said = []
    shell = SimpleNamespace(run_line_magic=lambda *words: said.append(" ".join(words)))
    if kernel:
        shell.kernel = None
    monkeypatch.setattr(figures, "get_ipython", lambda: shell)
    monkeypatch.setattr(figures.mpl, "get_backend", lambda: backend)
    monkeypatch.setattr(figures, "set_matplotlib_formats", lambda *_, **__: None)
    figures.use_book_style()
    assert said == asked


# ------------------------------------------------------------- the machine


def test_machine_lights_what_is_named(ax):
    assert machine.draw_machine(ax, lit=["attention", "add 1"], built=["attention", "norm 1"]) is ax
    boxes = [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    inks = [to_hex(box.get_facecolor()) for box in boxes]
    assert [inks.count(ink) for ink in (machine.LIT, machine.BUILT)] == [2, 4]  # three norms, one +
    names = {text.get_text() for text in ax.texts}
    assert {words for *_, words in machine.PARTS.values()} <= names


def test_machine_knows_its_parts(ax):
    with pytest.raises(ValueError, match=r"got \['softmaxer'\]"):
        machine.draw_machine(ax, lit=["softmaxer"])
