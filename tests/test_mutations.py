"""What `make mutations` plants: operators make what they say, and the two lists are not stale."""

import ast

import pytest
from mutations.operators import OPERATORS, mutants, near_miss
from mutations.run import equivalents, every_mutant, near_misses
from support import ROOT

HELPERS = ROOT / "helpers"
SOURCE = b'''
def normalise(x, y, dim=-1, eps=1e-5):
    """A docstring of 3 words."""
    if x.ndim < 2:
        raise ValueError(f"x has {x.ndim + 1} axes")
    mean = x.mean(dim=dim, keepdim=True)
    mean = mean.detach()
    masked = where(mean == 0, x.tril(), self.norm(y))
    masked.append(mean)
    return masked and (x - mean) / sqrt(x.var(dim, correction=0) + eps) ** 0.5 @ x[1:, -1].T
'''
MADE = [
    ("comparison", "x.ndim < 2", "x.ndim <= 2"),
    ("comparison", "mean == 0", "mean != 0"),
    ("arithmetic", "x - mean", "x + mean"),
    ("arithmetic", "x - mean", "mean - x"),
    ("number", "0", "1"),
    ("number", "1", "2"),
    ("sign", "-1", "1"),
    ("truth", "True", "False"),
    ("truth", "x.ndim < 2", "False"),
    ("boolean", None, "masked"),
    ("twin", "x.mean", "x.sum"),
    ("dropped_call", "x[1:, -1].T", "x[1:, -1]"),
    ("dropped_call", "mean.detach()", "mean"),
    ("dropped_call", None, "sqrt(x.var(dim, correction=0)) + eps"),
    ("arithmetic", "x.var(dim, correction=0) + eps", "x.var(dim, correction=0)"),
    ("branch", None, "where(mean == 0, self.norm(y), x.tril())"),
    ("order", "self.norm(y)", "y"),
    ("argument", "x.tril()", "x.tril(0 - 1)"),
    ("removed", "masked.append(mean)", "pass"),
    ("argument", "x.mean(dim=dim, keepdim=True)", "x.mean(dim=dim)"),
    ("bound", "x[1:, -1]", "x[:, -1]"),
    ("twin", "x", "y"),
    ("exponent", None, "sqrt(x.var(dim, correction=0) + eps) ** 2"),
]


@pytest.fixture(scope="module")
def made():
    return mutants("norms.py", SOURCE)


@pytest.mark.parametrize(("operator", "before", "after"), MADE)
def test_operators_make_what_people_write(made, operator, before, after):
    found = [m for m in made if m.id.startswith(f"norms.normalise:{operator}:")]
    assert any(before in (None, m.before) and m.after in (after, f"({after})") for m in found)


def test_every_operator_makes_something(made):
    assert {m.id.split(":")[1] for m in made} == set(OPERATORS)


def test_each_is_another_program_with_its_own_id(made):
    programs = {ast.dump(ast.parse(m.planted(SOURCE))) for m in made}
    assert ast.dump(ast.parse(SOURCE)) not in programs
    assert len({m.id for m in made}) == len(made) >= len(programs) > 0.95 * len(made)


def test_messages_and_docstrings_stay(made):
    assert not any("axes" in m.before or "docstring" in m.before for m in made)


def test_ids_do_not_move_with_the_text_above(made):
    later = mutants("norms.py", b"X = 1\n\n\ndef before():\n    return 2\n" + SOURCE)
    assert {(m.id, m.change) for m in made} < {(m.id, m.change) for m in later}


def test_near_misses_are_found_whatever_the_layout():
    [found] = near_miss("norms.py", SOURCE, "norms.normalise", "mean==0", "mean  >  0")
    assert b"where((mean  >  0), x.tril()" in found.planted(SOURCE)
    assert near_miss("norms.py", SOURCE, "norms.other", "mean == 0", "mean > 0") == []


def test_near_misses_stand_where_they_are_said_to():
    found, stale = near_misses(HELPERS)
    assert stale == []
    for mutant in found:
        ast.parse(mutant.planted((HELPERS / mutant.path).read_bytes()))


def test_equivalents_are_those_of_today():
    assert equivalents(every_mutant(HELPERS))[1] == []
