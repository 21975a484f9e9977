"""A room of the homework imports from itself and from those before it, and never a command."""

import ast

from support import ROOT

HOMEWORK = ROOT / "homework"
ORDER = ("release", "intake", "run", "report")
SHARED = {"homework.private", "homework.command"}  # which import nothing of the homework


def modules():
    """Each module's name and those of the homework's modules that it imports, also in functions."""
    for path in sorted(HOMEWORK.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name} imports from a place relative to it"
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
        yield name, {one for one in found if one.split(".")[0] == "homework"}


def room(name: str) -> int | None:
    """The place of a module's room in the order; None for a command and what all share."""
    part = name.split(".")[1]
    return ORDER.index(part) if part in ORDER and not name.endswith("__main__") else None


def test_no_arrow_leads_back():
    rooms = set()
    for name, imported in modules():
        if room(name) is None:
            assert name not in SHARED or not imported, name
            continue
        rooms.add(room(name))
        for other in imported:
            is_shared = any(other.startswith(shared) for shared in SHARED)
            is_before = room(other) is not None and room(other) <= room(name)
            assert is_shared or is_before, f"{name} imports {other}"
    assert rooms == set(range(len(ORDER)))


def test_what_runs_in_the_sandbox_imports_nothing_that_is_not_there():
    inside = {f"homework.run.{name}" for name in ("inside", "remote", "seccomp", "wire")}
    for name, imported in modules():
        if name in inside:
            assert all(other.rpartition(".")[0] in inside for other in imported), name
