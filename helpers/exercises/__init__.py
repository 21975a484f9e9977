"""Checks that tell a learner what is wrong without giving the answer."""

from helpers.exercises.answers import NotSerialisable, to_plain
from helpers.exercises.diagnose import CHECKS as CHECKS_OF_A_GPT
from helpers.exercises.diagnose import diagnose
from helpers.exercises.near_misses import (
    Diagnosis,
    NearMisses,
    NumericNearMisses,
    diagnosis,
    near_misses,
    numeric_near_misses,
)
from helpers.exercises.values import (
    SPOKEN,
    VALUES,
    drawn,
    filled,
    folded,
    generator,
    numbers_of,
    question,
    spoken,
    template,
    values,
)
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
    exercise,
    explanation,
    judged,
    numbers,
    unpacked,
    within,
    without_addresses,
)
