"""Whose answers are alike: a hint of where to look, never a grade.

    groups(answers, assignment)   the groups of students whose answers are nearly one

Of each answer the lines are compared, as what they do: without comments and layout, and with own
names left out. Lines of the book, of the solutions and of what was given out count for nothing, and
neither do short ones, so that who has little of their own is like nobody.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from homework.intake.cellcode import parsed
from homework.release.assignment import Assignment

ALIKE = 0.8  # share of the lines of who has fewer
FEWEST = 6  # lines that two must share
SHORTEST = 3  # names, numbers and signs of a line of code that counts
FEWEST_WORDS = 6  # of a sentence that counts
MOST_PAIRS, MOST_LINES = 10, 30  # that are shown of a group and of a pair

Lines = Mapping[tuple[str, str], str]  # of a task and what a line does: the line as it stands


@dataclass(frozen=True)
class Pair:
    """The keys of two students, the share of lines that they have in common, and these lines."""

    members: tuple[str, str]
    share: float
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """The keys of students of whom each is like another of them, and the pairs most alike."""

    members: tuple[str, ...]
    pairs: tuple[Pair, ...]
    more: int


def groups(
    answers: Mapping[str, Mapping[str, tuple[str, ...]]], assignment: Assignment
) -> list[Group]:
    """The groups of students whose answers are nearly one, the largest first.

    answers: by student the cells of each task.
    """
    public = _public(assignment)
    own = {}
    for student, tasks in answers.items():
        texts = ((task, text) for task, cells in tasks.items() for text in cells)
        lines = {(task, does): line for task, text in texts for does, line in lines_of(text)}
        own[student] = {key: line for key, line in lines.items() if key[1] not in public}
    pairs = list(_pairs(own))
    groups: dict[str, set[str]] = {}
    for one in pairs:
        joined = set().union(*(groups.get(student, {student}) for student in one.members))
        groups |= dict.fromkeys(joined, joined)
    found = []
    for members in {id(group): group for group in groups.values()}.values():
        alike = sorted(
            (p for p in pairs if p.members[0] in members),
            key=lambda pair: (-pair.share, -len(pair.lines), pair.members),
        )
        shown = tuple(alike[:MOST_PAIRS])
        found.append(Group(tuple(sorted(members)), shown, len(alike) - len(shown)))
    return sorted(found, key=lambda group: (-len(group.members), group.members))


def _pairs(own: Mapping[str, Lines]) -> Iterator[Pair]:
    enough = {student: lines for student, lines in own.items() if len(lines) >= FEWEST}
    for (a, mine), (b, theirs) in combinations(enough.items(), 2):
        both = mine.keys() & theirs.keys()
        share = len(both) / min(len(mine), len(theirs))
        if len(both) >= FEWEST and share >= ALIKE:
            lines = [
                f"{task}: {line}" for (task, does), line in mine.items() if (task, does) in both
            ]
            yield Pair((a, b), share, tuple(lines[:MOST_LINES]))


def _public(assignment: Assignment) -> set[str]:
    """What the lines do that everybody may have: given out, in the book, or of a solution."""
    texts = [cell.source for task in assignment.tasks for cell in task.cells]
    texts += [cell.source for cell in assignment.setup]
    texts += [text for task in assignment.tasks for text in (task.check, task.solution)]
    texts += [point for task in assignment.tasks for point, _ in task.rubric]
    return {does for text in (*texts, *assignment.secrets) for does, _ in lines_of(text)}


def lines_of(text: str) -> Iterator[tuple[str, str]]:
    """What each line of an answer does, and the line as it stands; of prose, each sentence."""
    tree = parsed(text)
    if tree is None or not tree.body:
        for sentence in re.split(r"(?<=[.!?:;])\s+|\n+", text):
            words = re.findall(r"\w+", sentence.casefold())
            if len(words) >= FEWEST_WORDS:
                yield " ".join(words), sentence.strip()
        return
    own = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    written = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            does = _does(node, own)
            if does and len(re.findall(r"\w+|[^\w\s()\[\],.]", does)) >= SHORTEST:
                line = written[node.lineno - 1] if node.lineno <= len(written) else ""
                yield does, line.strip()


def _does(node: ast.stmt, own: set[str]) -> str:
    """A statement, of a longer one its head, with all own names as one; "" of a text alone."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return ""
    parts = [
        child
        for child in ast.iter_child_nodes(node)
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
    ]
    try:
        text = " ".join([type(node).__name__, *map(ast.unparse, parts)])
    except (RecursionError, ValueError):
        return ""
    return re.sub(r"(?<![\w.])[A-Za-z_]\w*", lambda n: "_" if n[0] in own else n[0], text)
