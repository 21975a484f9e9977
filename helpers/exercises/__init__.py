"""Checks that tell a learner what is wrong without giving the answer; judges stand by chapter."""

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
    check,
    close,
    diagnosed,
    exercise,
    explanation,
    judged,
    numbers,
)
