"""Figures: what is drawn is the data that was given, and labels can be read as they are stored.

A figure of its own kind has further tests in its chapter's folder.
"""

import importlib
import inspect
import pkgutil
import re
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from support import NOTEBOOKS, chapter

from helpers import figures
from helpers.chapters import CHAPTERS
from helpers.figures import ladder, machine

OF_CHAPTER = {
    one.stem[:2]: module for one in CHAPTERS if (module := one.module("figures")) is not None
}
MODULES = [
    importlib.import_module(f"helpers.figures.{module.name}")
    for module in pkgutil.iter_modules(figures.__path__)
] + [*OF_CHAPTER.values()]
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


def shown(ax) -> dict[str, list]:
    """What a reader can read off: lines, bars, cells, words, and the labels of both axes."""
    flat = [(bars.orientation == "horizontal", bar) for bars in ax.containers for bar in bars]
    legend = ax.get_legend()
    return {
        "lines": [line.get_xydata() for line in ax.lines],
        "bars": [bar.get_width() if is_flat else bar.get_height() for is_flat, bar in flat],
        "cells": [np.ma.filled(image.get_array(), np.nan) for image in ax.images][0:1],
        "words": [text.get_text() for text in ax.texts if text.get_text()],
        "arrows": [text.xy for text in ax.texts if getattr(text, "arrow_patch", None) is not None],
        "x": [label.get_text() for label in ax.get_xticklabels()],
        "y": [label.get_text() for label in ax.get_yticklabels()],
        "legend": [text.get_text() for text in legend.get_texts()] if legend else [],
    }


def is_drawn(lines: list, wanted: list) -> bool:
    """Whether one of the lines has these points."""
    return any(len(line) == len(wanted) and np.allclose(line, wanted, atol=1e-9) for line in lines)


HALVES = np.array([[0.2, 0.8], [0.9, 0.1]])
LOWER = np.array([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.2, 0.3, 0.5]])
RUNS = np.array([[3.0, 1.0], [5.0, 3.0]])
# Chapter, drawing, its arguments, and what can be read off.
DRAWN = [
    ("00", "shifted", (["The", " fox", " did"],), {}, {
        "words": ["input", "The", "fox", "target", "fox", "did"]}),
    ("00", "likeliest", ([" river", " ", "."], [0.75, 0.249, 0.001]), {}, {
        "bars": [0.75, 0.249, 0.001],
        "words": ["75 %", "25 %", "< 1 %"], "x": ["river", "␣", "."]}),
    ("00", "found", (["a", " fox", " ran"], np.array([np.nan, 0.49, 0.51])), {}, {
        "bars": [0, 0.49, 0.51]}),
    ("01", "neighbours", (["cried", "asked"], [0.9, 0.5]), {}, {
        "bars": [0.9, 0.5], "words": ["cried", "asked"]}),
    ("01", "shares", ([0, 400], {"the tales": RUNS / 10, "shuffled": RUNS / 20}),
     {"chance": 0.08}, {
        "lines": [[(0, 0.4), (400, 0.2)], [(0, 0.2), (400, 0.1)]],
        "x": ["0", "400"], "legend": ["the tales", "shuffled"]}),
    ("02", "correlations", ([25, 1200], {"input rows": HALVES, "output rows": -HALVES[:1]}), {}, {
        "lines": [[(25, 0.2), (1200, 0.8)], [(25, 0.9), (1200, 0.1)], [(25, -0.2), (1200, -0.8)]],
        "legend": ["input rows", "output rows"]}),
    ("03", "table", (LOWER, ["a", " ", "."]), {}, {"cells": [LOWER], "y": ["a", "␣", "."]}),
    ("03", "pull", (np.array([0.2, 0.7, 0.1]), np.array([0.0, 0.0, 1.0]), "ABC"), {}, {
        "bars": [0.2, 0.7, 0.1], "words": ["−0.20", "−0.70", "+0.90"],
        "arrows": [(0, 0), (1, 0), (2, 1)]}),
    ("03", "pull", ([1e-5, 1 - 1e-5], [0.0, 1.0], "AB"), {}, {"words": ["+0.00", "+0.00"]}),
    ("04", "reads", (np.array([[1.0, 0.0], [0.0, 2.0]]),), {"at": (0, 0)}, {
        "words": ["itself", "not read", "not read", "another sentence"]}),
    ("04", "gaps", ({"layer": (np.array([2.0, 2.1]),) * 2, "group": ([1.9], [2.2])},), {}, {
        "lines": [[(1.9, 1), (2.2, 1)], [(2.2, 1.12)]], "y": ["layer", "group"]}),
    ("05", "keys", (np.array([[1.2, 0.2], [-0.9, 0.3]]), [1.0, 0.5], ["a", "b"]), {}, {
        "lines": [[(1.2, 0.2)], [(-0.9, 0.3)]], "arrows": [(1.0, 0.5)]}),
    ("05", "keys", (np.array([[1.2, 0.2]]), [3.0, 4.0], ["a"]), {"scale": 0.25}, {
        "arrows": [(0.75, 1.0)]}),
    ("05", "values", (RUNS, [0.5, 0.5], RUNS.mean(0), ["a", "b"]), {}, {"lines": [[(4, 2)]]}),
    ("06", "barcode", (HALVES,), {"title": "", "ink": "#000000"}, {"cells": [HALVES]}),
    ("06", "gradients", ([1, 4], {"1": np.array([0.2, 1e-9])}), {"at": 4}, {
        "lines": [[(1, 0.2), (4, 1e-6)], [(4, 1e-6)]]}),
    ("06", "shares", ([0.2, 0.8], ["it", "was"]), {"title": "", "ink": "#000000"}, {
        "bars": [0.2, 0.8], "y": ["it", "was"]}),
    ("06", "losses", ([5, 15], {"√D": RUNS, "D": RUNS + 1}), {}, {
        "lines": [[(5, 4), (15, 2)], [(5, 5), (15, 3)]], "legend": ["÷ √D", "÷ D"]}),
    ("07", "heads", (np.stack([LOWER, LOWER**2]),), {}, {"cells": [LOWER], "words": [
        "head 1", "head 2", "words", "queries, keys,\nvalues", "side by side", "output",
        "W_Q, W_K, W_V", "W_O"]}),
    ("07", "turned", ([1.0, 0.0], [0.0, 2.0], (np.pi / 2, np.pi)), {}, {
        "arrows": [(1, 0), (0, 1), (0, 2), (0, -2)]}),
    ("07", "by_distance", ([0, 1, 2], {"a": [4.0, 3.0, 1.0], "b": [2.0, 1.0, 0.0]}), {"at": 1}, {
        "lines": [[(0, 4), (1, 3), (2, 1)], [(1, 3)], [(1, 1)]], "legend": ["a", "b"]}),
    ("07", "waves", (RUNS / 5,), {}, {"cells": [RUNS / 5]}),
    ("07", "positions", ({"rope": np.add.outer([0, 2], np.arange(16.0))},), {"trained": 8}, {
        "lines": [[(4, y), (12, y + 8)] for y in (3.5, 5.5, 4.5)]}),
    ("07", "writing", (3, 3), {"cache": False}, {
        "cells": [[[2, 2, 2, 0, 0], [2, 2, 2, 2, 0], [2, 2, 2, 2, 2]]]}),
    ("07", "writing", (3, 3), {"cache": True}, {
        "cells": [[[2, 2, 2, 0, 0], [1, 1, 1, 2, 0], [1, 1, 1, 1, 2]]]}),
    ("08", "levels", ("norm alone", np.array([[1.0, 10.0, 1e-20]])), {}, {
        "lines": [[(0, 0), (1, 1), (2, -12)]]}),
    ("09", "by_block", ({"post": np.array([[1, 1e-9, 100.0], [4, 1e-9, 100.0]])},),
     {"limits": (1e-3, 10.0)}, {
        "lines": [[(1, 0), (2, -3), (3, 1)], [(1, np.log10(2)), (2, -3), (3, 1)]]}),
    ("10", "sizes", ({"He": np.array([[1.0, 2.0], [4.0, 8.0]])},), {}, {
        "lines": [[(1, 2), (2, 4)]]}),
    ("10", "starts", ({"a": {0.01: np.array([2.0, 2.2])}, "b": {0.01: np.array([9.0, 2.5])}},),
     {"limits": (2.0, 3.0)}, {"y": ["a", "b"]}),
    ("11", "next", (np.array([0.1, 0.5, 0.3, 0.1]), ["a", "b", " ", "d"]), {"title": ""}, {
        "bars": [0.5, 0.3, 0.1, 0.1], "x": ["b", "␣", "a", "d"]}),
    ("11", "levers", ({"one": np.array([0.1, 0.3]), "two": np.array([-0.2, 0.0])},), {}, {
        "lines": [[(0.1, 0), (0.3, 0)], [(-0.2, 1), (0.0, 1)]], "y": ["one", "two"]}),
    ("11", "losses", ([0, 1, 2], [4.0, 3.0, 2.5], {"bigram": 2.3}), {"validation": {2: 2.6}}, {
        "lines": [[(0, 4), (1, 3), (2, 2.5)], [(2, 2.6)]], "words": ["2.30  bigram"]}),
    ("12", "map", (LOWER, "a b"), {}, {"cells": [LOWER], "x": list("a␣b"), "y": list("a␣b")}),
    ("12", "heads", (HALVES - 0.3,), {}, {
        "cells": [HALVES - 0.3], "words": ["−0.10", "0.50", "0.60", "−0.20"],
        "x": ["1", "2"], "y": ["1", "2"]}),
    ("12", "lens", ([["a", "b"], ["c", "d"]], HALVES, "xy"), {}, {
        "cells": [HALVES], "words": list("abcd"), "y": ["embedding", "layer 1"]}),
    ("12", "patches", (np.array([[0.0, 1.0], [-0.3, 0.02]]), ["it", "wide"]), {}, {
        "words": ["1.0", "−0.3"], "y": ["embedding", "after layer 1"]}),
    ("12", "lines", ([0, 50], {"loss": RUNS}), {"xlabel": "updates"}, {
        "lines": [[(0, 3), (50, 1)], [(0, 5), (50, 3)], [(0, 4), (50, 2)]], "legend": ["loss"]}),
    ("13", "counts", ({"w+i": 6, "i+d": 5},), {"most": 6}, {"bars": [6, 5]}),
    ("14", "carried", ([0, 2], HALVES, ["a", "b"]), {}, {
        "lines": [[(0, 0.2), (2, 0.9)], [(0, 0.8), (2, 0.1)]]}),
    ("14", "read", (HALVES, ["the", "fox"]), {}, {
        "cells": [HALVES], "x": ["the", "fox"], "y": ["1", "2"]}),
    ("15", "passes", (["a", "b", "c"], 1), {"cache": True}, {
        "words": ["a", "b", "prefill", "a", "b", "c", "decode"],
        "legend": ["passes through", "read from the cache"]}),
    ("15", "roofline", ([1, 4, 16], [0.4, 8 / 15, 0.8], 0.2, 0.04, 1e9), {}, {
        "lines": [[(0.25, 5), (2.5, 50), (16, 50)], [(0.5, 5), (2, 15), (8, 40)]],
        "words": ["1", "4", "16", "memory is the limit", "arithmetic is the limit"]}),
    ("15", "batch", ({"a": ("12", 2), "b": ("1", 3), "c": ("1", 1)}, 2), {}, {
        "lines": [[(4, 0.5), (4, 2.9)]], "y": ["a\nrow 1", "b\nrow 2", "c\nrow 1"]}),
    ("15", "frontier", ({9: 2.0}, 4.0, 7.0, 8.0), {}, {
        "lines": [[(8 / 6, 8 / 6), (1, 2), (0.8, 2.4)], [(1, 2)], [(0.8, 2.4)]],
        "words": ["2 people", "3 people"], "legend": ["conversations of 9 tokens"]}),
    ("15", "scaling", ({100: np.array([2.2, 2.1]), 1000: np.array([2.0])},), {"upto": 5e3}, {
        "lines": [[(1000, 2.0)]]}),
    ("16", "conversations", ({"one": [("a", "you type", False), ("|b|", "the template", True)]},),
     {}, {"words": ["one", "a", "|b|", "stop"], "bars": [0.7, 0.18, 0.7]}),
    ("16", "forgotten", ({"a": [2.0, 4.0], "b": [1.0]},), {"before": 0.5}, {
        "lines": [[(2, 0), (4, 0)], [(1, 1)]], "words": ["mean 3.00", "mean 1.00"],
        "y": ["a", "b"], "legend": ["before"]}),
    ("16", "rounds", ({"β = 0.1": [[1, 2], [3, 4]], "β = 1": [[5, 6]]},), {}, {
        "lines": [[(0, 1), (1, 2)], [(0, 3), (1, 4)], [(0, 5), (1, 6)]]}),
    ("16", "losses", (["a", " b"], np.array([2.0, 3.0]), np.array([1.0, 0.5]), 1), {}, {
        "bars": [2, 3, 1, 0.5], "legend": ["before", "after"]}),
    ("16", "token_probabilities", (["a", " b"], np.array([0.25, 0.75])), {}, {
        "bars": [0.25, 0.75]}),
    ("14", "shared", (4, {"all": 4, "groups": 2}), {}, {
        "lines": [[(0, 2), (0, 0.6)], [(8.5, 2), (8, 0.6)]],
        "words": ["all", *"qqqq", *"kvkvkvkv", "groups", *"qqqq", *"kvkv"]}),
    ("14", "runs", ({"linear": {"rate 1": np.array([2.0, 4.0])}},), {}, {
        "lines": [[(2, -0.15), (4, -0.15)], [(3, -0.28), (3, -0.02)]],
        "y": ["linear"], "legend": ["rate 1"]}),
    ("14", "pairs", (np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]), np.ones((2, 4))), {}, {
        "lines": [[(1, 2), (5, 6)], [(6.3, 4), (10.3, 8)], [(1, -2.3), (1, -2.3)]]}),
    ("17", "crossings", (["stay", "cross", "cross"],), {}, {
        "lines": [[(0, 0), (1, 0), (2, 1), (3, 0)]], "x": ["stay", "cross", "cross"],
        "y": ["near", "far"]}),
    ("17", "tiles", ([" far so far .", " near ."], [True, False]), {}, {
        "lines": [[(0, 1), (2, 1)], [(1, 1)], [(0, 0)]]}),
    ("17", "course", (np.array([[0.5, 0.25, 0.25], [0.4, 0.2, 0.4]]), ["a", "b", "c"]), {}, {
        "lines": [[(0, 0.5), (1, 0.4)], [(0, 0.25), (1, 0.4)]], "legend": ["a", "b", "c"]}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "draw", "given", "named", "wanted"),
    DRAWN,
    ids=[f"{number}-{draw}" for number, draw, *_ in DRAWN],
)
def test_what_is_drawn_is_what_was_given(ax, number, draw, given, named, wanted):
    assert getattr(OF_CHAPTER[number], f"draw_{draw}")(ax, *given, **named) is ax
    found = shown(ax)
    for line in wanted.pop("lines", []):
        assert is_drawn(found["lines"], line), (line, found["lines"])
    for kind, expected in wanted.items():
        if kind in ("bars", "cells", "arrows"):
            np.testing.assert_allclose(found[kind], expected, atol=1e-9)
        else:
            assert found[kind] == expected


# ------------------------------------------------------------- as they are stored

COLUMN = 640  # CSS pixels: a figure that is wider is shown smaller
OUTLINE = re.compile(r'<path id="(\w+-\w+)" d="([^"]*)"')
LABEL = re.compile(
    r'<g[^>]* transform="translate\((\S+) (\S+)\)(?: rotate\((\S+)\))? scale\((\S+) \S+\)">'
    r"((?:<defs>.*?</defs>)?(?:<use [^>]*/>)+)</g>"
)
USE = re.compile(r'<use xlink:href="#(\S+?)"(?: transform="translate\((\S+) \S+\)")?')


def letters(svg: str) -> list[tuple[int, float, np.ndarray]]:
    """Of each letter the number of its label, its size in points, and two corners of its box."""
    outlines = {
        name: np.array(re.findall(r"-?[\d.]+", path), dtype=float).reshape(-1, 2) / 64
        for name, path in OUTLINE.findall(svg)
    }
    found = []
    for label, (x, y, angle, scale, uses) in enumerate(LABEL.findall(svg)):
        turn = np.deg2rad(float(angle or 0))
        turned = np.array([[np.cos(turn), np.sin(turn)], [np.sin(turn), -np.cos(turn)]])
        for letter, along in USE.findall(uses):
            if letter in outlines:  # a space has none
                at = float(scale) * (outlines[letter] + [float(along or 0), 0]) @ turned
                at += [float(x), float(y)]
                found.append((label, 100 * float(scale), np.array([at.min(0), at.max(0)])))
    return found


def stored_figures() -> dict[str, str]:
    return {
        f"{path.stem[:2]}-{cell.id}-{n}": output.data["image/svg+xml"]
        for path in NOTEBOOKS
        for cell in chapter(path).code
        for n, output in enumerate(cell.outputs)
        if "image/svg+xml" in output.get("data", {})
    }


FIGURES = stored_figures()


@pytest.mark.parametrize("name", FIGURES)
def test_labels_are_large_enough_and_keep_apart(name):
    svg = FIGURES[name]
    [width] = re.findall(r'<svg[^>]* width="([\d.]+)pt"', svg)
    shrunk = min(1, COLUMN / (float(width) * 4 / 3))
    label, size, box = map(np.array, zip(*letters(svg), strict=True))
    assert round(size.min() * 4 / 3 * shrunk) >= 9
    low, high = box[:, 0], box[:, 1]
    common = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    overlap = (common > 0.5).all(axis=2) & (label[:, None] != label)
    assert not overlap.any(), low[overlap.any(axis=1)]


# ------------------------------------------------------------- style and machine


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


def test_machine_names_its_parts_and_no_other(ax):
    assert machine.draw_machine(ax, lit=["attention"], built=["norm 1"]) is ax
    assert {words for *_, words in machine.PARTS.values()} <= {*shown(ax)["words"]}
    with pytest.raises(ValueError, match=r"got \['softmaxer'\]"):
        machine.draw_machine(ax, lit=["softmaxer"])


def test_lora_is_drawn_to_scale_with_its_entries(ax):
    assert OF_CHAPTER["16"].draw_lora(ax, width=64, rank=4) is ax
    assert {"a: 4 × 64 = 256", "b: 64 × 4\n= 256"} <= {*shown(ax)["words"]}
    sizes = {(bar.get_width(), bar.get_height()) for bar in ax.patches}
    assert {(1, 1), (1, 4 / 64), (4 / 64, 1)} <= sizes


def test_rungs_hang_at_their_losses(ax):
    assert ladder.draw_ladder(ax, {"uniform": 4.1, "bigram": 2.3}, new=1) is ax
    assert {4.1, 2.3} <= {y for line in ax.lines for y in line.get_ydata()}
    assert shown(ax)["words"] == ["4.100  uniform", "2.300  bigram"]
