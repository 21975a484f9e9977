"""Checks that tell a learner what is wrong without giving the answer; judges stand by chapter."""

from helpers.exercises.answers import NotSerialisable, to_plain
from helpers.exercises.verdict import (
    CHECKS,
    EXPLANATIONS,
    Explanation,
    NotRight,
    NotYet,
    Verdict,
    Wrong,
    array,
    call,
    changes,
    check,
    close,
    diagnosed,
    exercise,
    explanation,
    judged,
    numbers,
    without_addresses,
)
