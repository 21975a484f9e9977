"""Our GPT so far: the pieces that chapters show are those of helpers.minigpt and minillama."""

import ast
from pathlib import Path

import pytest
from support import NOTEBOOKS, readings
from support import chapter as read

from chapters.rules import is_folded
from helpers import minigpt, minillama

BUILT_IN = {
    "Tokenizer": "03",
    "get_batch": "03",
    "LayerNorm": "04",
    "CausalSelfAttention": "07",
    "FeedForward": "08",
    "Block": "09",
    "init_weights": "10",
    "GPT": "11",
    "make_optimizer": "11",
    "lr_at": "11",
    "train": "11",
    "generate": "11",
    "join": "13",
    "learn_merges": "13",
    "merged": "13",
    "BytePairTokenizer": "13",
    "RMSNorm": "14",
    "rotate": "14",
    "attend": "14",
    "GroupedQueryAttention": "14",
    "SwiGLU": "14",
    "LlamaBlock": "14",
    "Llama": "14",
    "CachedAttention": "15",
    "set_attention": "15",
    "read": "15",
    "stream": "15",
    "chat_ids": "16",
    "LoRA": "16",
    "sample": "17",
    "reinforce": "17",
}
LONGEST = 15  # lines of code, blank ones, comments and docstrings apart


def definitions(source: str) -> dict[str, ast.stmt]:
    """The classes and functions of a source by name, without their docstrings."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(inner):
                    del inner.body[0]
            found[node.name] = node
    return found


MODULE = {
    name: node
    for module in (minigpt, minillama)
    for name, node in definitions(Path(module.__file__).read_text("utf-8")).items()
}


def test_every_piece_of_the_modules_has_its_chapter():
    assert set(MODULE) == set(BUILT_IN)


@pytest.mark.parametrize(
    ("piece", "number"),
    [*BUILT_IN.items(), ("init_weights", "11")],  # shown once more
)
def test_chapter_shows_the_piece_as_the_module_has_it(piece, number):
    [chapter] = [read(path) for path in NOTEBOOKS if path.stem.startswith(number)]
    shown = [
        ast.dump(found[piece])
        for cell in readings.parts(chapter.cells)["first"]
        if cell.cell_type == "code" and not is_folded(cell)
        for found in [definitions(cell.source)]
        if piece in found
    ]
    assert shown, f"no open cell of {chapter.stem} defines {piece}"
    assert ast.dump(MODULE[piece]) in shown


@pytest.mark.parametrize("piece", BUILT_IN)
def test_piece_fits_into_a_cell(piece):
    assert len([line for line in ast.unparse(MODULE[piece]).splitlines() if line]) <= LONGEST
