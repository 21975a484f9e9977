"""Checks that tell a learner what is wrong without giving the answer, one module a chapter."""

from helpers.exercises import chapter05
from helpers.exercises.verdict import CHECKS, Verdict, check

__all__ = ["CHECKS", "Verdict", "chapter05", "check"]
