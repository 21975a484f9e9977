"""Where SmolLM2 can't be fetched, the cells that need it are skipped, each with a sentence."""

import ast

from IPython import get_ipython

from helpers.explore.page import static


class WithoutModel:
    """One of IPython's AST transformers: a cell needs the model if it calls ``smollm2``, or uses
    a name that a skipped cell would have made.
    """

    def __init__(self):
        self.missing: set[str] = set()

    def visit(self, cell: ast.Module) -> ast.Module:
        """The cell, or one that prints why it is skipped."""
        nodes = [*ast.walk(cell)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        made |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        made |= {(n.asname or n.name).split(".")[0] for n in nodes if isinstance(n, ast.alias)}
        needs = ({node.id for node in names} - made) & self.missing
        why = "Skipped, because it needs SmolLM2." if needs else ""
        if any(getattr(node, "attr", "") == "smollm2" for node in nodes):
            why = not_here()
        self.missing = self.missing | made if why else self.missing - made
        return ast.parse(f"print({why!r})") if why else cell


def not_here() -> str:
    """Why SmolLM2 isn't to be had; nothing where it is."""
    from helpers import pretrained

    try:
        pretrained.fetch()
    except (OSError, ValueError) as error:
        return f"Skipped, because it needs SmolLM2: {error}"
    return ""


if (shell := get_ipython()) is not None and not static():
    shell.ast_transformers.append(WithoutModel())
