"""Checks that tell a learner what is wrong without giving the answer, one module a chapter."""

from helpers.exercises import chapter03, chapter05, chapter06
from helpers.exercises.verdict import CHECKS, Verdict, check

__all__ = ["CHECKS", "Verdict", "chapter03", "chapter05", "chapter06", "check"]
