"""Who may import whom, as a table, and what no module of helpers does: print, or draw at random
from anywhere but a Generator.
"""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from chapters import ROOT

HELPERS = ROOT / "helpers"

# module: the modules of ours that it may import. A package may import its own parts.
NOTHING: frozenset[str] = frozenset()
ORACLE = frozenset({"numerics"})
LEAVES = ("numerics", "positions", "norms", "attention", "initialise", "corpus", "explore")
COMMANDS = ("train", "generate")
MAY_IMPORT: dict[str, frozenset[str] | set[str]] = {
    **dict.fromkeys(LEAVES, NOTHING),
    **dict.fromkeys(("worked", "bigram", "embeddings"), ORACLE),
    "blocks": {"norms", "attention", "positions"},
    "gpt": {"blocks", "embeddings", "norms", "attention", "positions", "initialise"},
    "training": {"corpus"},
    "figures": NOTHING,
}
EVERYTHING = frozenset({*MAY_IMPORT, "corrections", "exercises"})
MAY_IMPORT |= dict.fromkeys(
    ("corrections", "exercises"), EVERYTHING - {"training", "explore", "gpt"}
)
MAY_IMPORT |= dict.fromkeys(COMMANDS, EVERYTHING | {*COMMANDS})


def module_of(path: Path, helpers: Path) -> str:
    """The module of the table that a file belongs to."""
    return path.relative_to(helpers).parts[0].removesuffix(".py")


def imports(path: Path, helpers: Path) -> list[tuple[int, str]]:
    """(line, dotted name) of everything that a file imports, wherever in it that happens."""
    found = []
    package = ["helpers", *path.relative_to(helpers).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *filter(None, [node.module])])
            found += [(node.lineno, f"{start}.{alias.name}") for alias in node.names]
    return found


def breaches(helpers: Path) -> list[str]:
    """Every import that the table does not allow."""
    found = []
    for path in sorted(helpers.rglob("*.py")):
        module = module_of(path, helpers)
        if module == "__init__":
            allowed = NOTHING
        elif module not in MAY_IMPORT:
            found.append(f"{module} is not in the table of layers")
            continue
        else:
            allowed = MAY_IMPORT[module] | {module}
        for line, name in imports(path, helpers):
            parts = name.split(".")
            where = f"{path.relative_to(helpers)}:{line}"
            if parts[0] == "helpers" and len(parts) > 1 and parts[1] not in allowed:
                found.append(f"{where}: {module} must not import {parts[1]}")
            if parts[0] == "ipywidgets" and module != "explore":
                found.append(f"{where}: only explore imports ipywidgets")
            if parts[0] == "torch" and module == "figures":
                found.append(f"{where}: figures take arrays and need no torch")
    return found


def oracle_in_torch_modules(path: Path) -> list[str]:
    """The torch modules that reach for the oracle they are judged by."""
    return [
        f"{path.name}:{inner.lineno}: {node.name} uses numerics"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and any("Module" in ast.unparse(b) for b in node.bases)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and inner.id == "numerics"
    ]


DRAWS = {"rand", "randn", "randint", "randperm", "multinomial", "bernoulli", "normal"}
SEEDED = {"default_rng", "Generator", "SeedSequence", "PCG64"}


def global_randomness(path: Path) -> list[str]:
    """Calls that draw from, or seed, a generator which the whole process shares."""
    found, tree = [], ast.parse(path.read_text("utf-8"))
    forked = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.With) and "fork_rng" in ast.unparse(node.items[0])
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node in forked:  # what is drawn in here leaves the shared generator as it was
            continue
        called = ast.unparse(node.func)
        has_generator = any(keyword.arg == "generator" for keyword in node.keywords)
        whose = ast.unparse(node.func.value)
        shared = whose in ("np.random", "numpy.random") and node.func.attr not in SEEDED
        shared |= called in ("torch.manual_seed", "torch.seed", "random.seed")
        shared |= whose == "torch" and node.func.attr in DRAWS and not has_generator
        if shared:
            found.append(f"{path.name}:{node.lineno}: {called} draws without a Generator")
    return found


def prints(path: Path) -> list[str]:
    return [
        f"{path.name}:{node.lineno}: print"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]


FILES = sorted(HELPERS.rglob("*.py"))


def test_imports_run_downward():
    assert breaches(HELPERS) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(HELPERS).as_posix())
def test_file_keeps_quiet(path):
    assert oracle_in_torch_modules(path) == []
    assert global_randomness(path) == []
    if module_of(path, HELPERS) not in COMMANDS:
        assert prints(path) == []


PLANTED = {
    "numerics.py": "from helpers import bigram",
    "attention.py": "import helpers.numerics",
    "corpus.py": "from .training import train",
    "worked.py": "from helpers.attention import attention_steps",
    "figures/machine.py": "from helpers import attention",
    "figures/__init__.py": "def draw():\n    import torch.nn as nn",
    "exercises/verdict.py": "from ..explore import predict",
    "corrections/__init__.py": "from .. import training",
    "bigram.py": "import ipywidgets",
    "training/loop.py": "def late():\n    from helpers.explore import explore",
    "__init__.py": "from helpers import numerics",
    "unheard_of.py": "x = 1",
}


@pytest.mark.parametrize("where", PLANTED)
def test_an_upward_import_is_caught(where, tmp_path):
    copy = tmp_path / "helpers"
    shutil.copytree(HELPERS, copy, ignore=shutil.ignore_patterns("data", "__pycache__"))
    with (copy / where).open("a", encoding="utf-8") as file:
        file.write(f"\n{PLANTED[where]}\n")
    assert breaches(copy) != []


@pytest.mark.parametrize(
    ("check", "planted"),
    [
        (oracle_in_torch_modules, "class A(nn.Module):\n    def f(x): return numerics.softmax(x)"),
        (global_randomness, "x = torch.randn(3)"),
        (global_randomness, "x = np.random.normal(size=3)"),
        (global_randomness, "torch.manual_seed(0)"),
        (prints, "print('done')"),
    ],
)
def test_what_is_not_done_is_caught(check, planted, tmp_path):
    file = tmp_path / "planted.py"
    file.write_text(planted, "utf-8")
    assert check(file)


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


def test_importing_does_nothing():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
