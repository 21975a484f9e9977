"""Who may import whom, as ARCHITECTURE.md draws it."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import HELPERS, ROOT

FILES = sorted(HELPERS.rglob("*.py"))
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
LIGHT = {"figures", "exercises", "corrections"}  # what they are called in a chapter, too
HEAVY = {"explore", "interpret", "pretrained"}


def drawing(page: str) -> tuple[dict[str, set[str]], list[tuple[str, str]]]:
    """The modules by the name of their group (or their own), and the arrows (from, to)."""
    groups, arrows, group = {}, [], None
    for line in re.search(r"```mermaid\nflowchart TD\n(.*?)```", page, re.S)[1].splitlines():
        words = re.sub(r"\[.*?\]", "", line).split()
        if words[0] == "subgraph":
            group = words[1]
        elif words[0] == "end":
            group = None
        elif "-->" in words:
            at = words.index("-->")
            arrows += itertools.product(words[:at:2], words[at + 1 :: 2])  # & between them
        else:
            groups.setdefault(group or words[0], set()).add(words[0])
    return groups, arrows


GROUPS, ARROWS = drawing(PAGE)
MODULES = set.union(*GROUPS.values())
MAY_IMPORT = {module: {module} for module in MODULES} | {"__init__": {"shape_checks"}}
for start, end in ARROWS:
    for module in GROUPS.get(start, {start}):
        MAY_IMPORT[module] |= GROUPS.get(end, {end})


def module_of(path: Path) -> str:
    """The module of the drawing that a file of helpers belongs to."""
    return path.parts[0].removesuffix(".py")


def imports(path: Path, source: str) -> list[tuple[int, str]]:
    """(line, dotted name) of everything that a file imports, wherever in it that happens."""
    found = []
    package = ["helpers", *path.parent.parts]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *filter(None, [node.module])])
            found += [(node.lineno, f"{start}.{alias.name}") for alias in node.names]
    return found


def breaches(path: Path, source: str) -> list[str]:
    """The imports that the drawing, or the sentence below it, does not allow."""
    module = module_of(path)
    if module not in {*MODULES, "__init__"}:
        return [f"{module} is not in the drawing of ARCHITECTURE.md"]
    found = []
    for line, name in imports(path, source):
        top, _, rest = name.partition(".")
        ours = rest.split(".")[0] if top == "helpers" else ""
        part = path.stem if module == "chapters" else module
        forbidden = {
            f"{module} must not import {ours}": ours and ours not in MAY_IMPORT.get(module, ()),
            "only explore imports ipywidgets": top == "ipywidgets" and module != "explore",
            "what draws needs no torch": top == "torch" and part == "figures",
            f"{part} must be light, without {ours}": part in LIGHT and ours in HEAVY,
        }
        found += [f"{path}:{line}: {why}" for why, is_so in forbidden.items() if is_so]
    return found


def oracle_in_torch_modules(source: str) -> list[str]:
    """The torch modules that reach for the oracle they are judged by."""
    return [
        f"{inner.lineno}: {node.name} uses numerics"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef) and any("Module" in ast.unparse(b) for b in node.bases)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and inner.id == "numerics"
    ]


def test_imports_are_as_drawn():
    found = {path.relative_to(HELPERS): path.read_text("utf-8") for path in FILES}
    assert [complaint for item in found.items() for complaint in breaches(*item)] == []
    used = {
        (module_of(path), name.split(".")[1])
        for path, source in found.items()
        for _, name in imports(path, source)
        if name.startswith("helpers.")
    }
    between_modules = {arrow for arrow in ARROWS if set(arrow) <= MODULES}
    assert between_modules - used == set(), "an arrow that nothing uses"
    assert {module_of(path) for path in found} - {"__init__"} == MODULES


def test_no_torch_module_uses_the_oracle_that_judges_it():
    assert {path: oracle_in_torch_modules(path.read_text("utf-8")) for path in FILES} == {
        path: [] for path in FILES
    }


IMPORT_ALL = """
import contextlib, importlib, io, pathlib, pkgutil, random
import matplotlib as mpl, numpy as np, torch
import helpers

def state():
    return (torch.get_rng_state().tolist(), str(np.random.get_state()), random.getstate(),
            dict(mpl.rcParams), torch.get_default_dtype(), torch.get_num_threads())

before, said = state(), io.StringIO()
with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
    for module in pkgutil.walk_packages(helpers.__path__, "helpers."):
        importlib.import_module(module.name)
assert said.getvalue() == "", said.getvalue()
assert [a == b for a, b in zip(before, state())] == [True] * 6
"""


@pytest.mark.slow
def test_importing_does_nothing():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
