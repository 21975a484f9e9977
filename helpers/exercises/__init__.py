"""Checks that tell a learner what is wrong without giving the answer, one module a chapter."""

from helpers.exercises import (
    chapter01,
    chapter02,
    chapter03,
    chapter04,
    chapter05,
    chapter06,
    chapter07,
    chapter08,
    chapter09,
    chapter10,
    chapter11,
    chapter12,
)
from helpers.exercises.verdict import CHECKS, NotRight, Verdict, check, judged

__all__ = [
    "CHECKS",
    "NotRight",
    "Verdict",
    "chapter01",
    "chapter02",
    "chapter03",
    "chapter04",
    "chapter05",
    "chapter06",
    "chapter07",
    "chapter08",
    "chapter09",
    "chapter10",
    "chapter11",
    "chapter12",
    "check",
    "judged",
]
