"""Common claims that are wrong, each with a function that computes what is right."""

from helpers.corrections import attention_by_hand, bigram_table, scaling
from helpers.corrections.correction import Correction, Result, corrects, number, shown

__all__ = ["CORRECTIONS", "Correction", "Result", "corrects", "number", "shown"]

CORRECTIONS: tuple[Correction, ...] = (
    *bigram_table.CORRECTIONS,
    *attention_by_hand.CORRECTIONS,
    *scaling.CORRECTIONS,
)
