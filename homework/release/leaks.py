"""What leaked: the edition as it was written, searched for the lines of what is secret."""

import json
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from homework.release.assignment import Assignment

SHORTEST = 12  # characters of a line that tells anything
TOP = {"cells", "metadata", "nbformat", "nbformat_minor"}
CELL_KEYS = {
    "code": {"id", "cell_type", "metadata", "source", "outputs", "execution_count"},
    "markdown": {"id", "cell_type", "metadata", "source"},
}
METADATA = {"homework", "nbgrader", "tags", "editable", "deletable"}


class LeakError(ValueError):
    """The student edition holds what students may not see; says what and where."""


def leaks(notebook: bytes, assignment: Assignment, released: NotebookNode) -> list[str]:
    """What a written edition holds and should not, a sentence each; none where all is well.

    Its structure is held to a list of what may be there, its texts to the edition as made, and
    every text in it, wherever it stands, to the lines of the solutions and of the private file.
    """
    found = json.loads(notebook)
    complaints = [f"the notebook has {key}" for key in _beyond(found, TOP)]
    allowed = {"kernelspec", "language_info", "homework"}
    complaints += [f"its metadata has {key}" for key in _beyond(found["metadata"], allowed)]
    for cell in found["cells"]:
        complaints += [f"cell {cell.get('id')}: {fault}" for fault in _structure(cell)]
    sources = [cell.source for cell in released.cells]
    if [_joined(cell["source"]) for cell in found["cells"]] != sources:
        complaints.append("its cells are not those of the edition")
    secret = _secret_lines(assignment)
    for text in map(_squeezed, _texts(found)):
        held = [line for line in secret if line in text]
        complaints += [f"a line of a solution or a hidden test: {line}" for line in held]
    return complaints


def _beyond(found: dict, allowed: set[str]) -> list[str]:
    return sorted(set(found) - allowed)


def _structure(cell: dict) -> Iterator[str]:
    for key in _beyond(cell, CELL_KEYS.get(cell["cell_type"], set())):
        yield f"it has {key}"
    for key in _beyond(cell["metadata"], METADATA):
        yield f"its metadata has {key}"
    if cell.get("outputs") or cell.get("execution_count") is not None:
        yield "it has an output"


def _texts(value: object) -> Iterator[str]:
    """Every text in a notebook, names of entries too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        if value and all(isinstance(part, str) for part in value):
            yield "".join(value)
        yield from (text for part in value for text in _texts(part))
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for part in pair for text in _texts(part))


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _secret_lines(assignment: Assignment) -> set[str]:
    """Lines of what is secret that tell anything and do not stand in what students are given."""
    given = [*assignment.setup, assignment.install]
    given += [cell for task in assignment.tasks for cell in task.cells]
    texts = [cell.source for cell in given] + [task.check for task in assignment.tasks]
    public = _squeezed("\n".join(texts))
    secret = {_squeezed(line) for text in assignment.secrets for line in text.splitlines()}
    return {line for line in secret if len(line) >= SHORTEST and line not in public}
