"""Common claims that are wrong, each with a function that computes what is right."""

from helpers.corrections import (
    attention_by_hand,
    bigram_table,
    embeddings_as_features,
    heads_and_positions,
    initialisation,
    inside,
    norms,
    placement,
    residual,
    scaling,
    similarity,
)
from helpers.corrections.correction import Correction, Result, corrects, number, shown

__all__ = ["CORRECTIONS", "Correction", "Result", "corrects", "number", "shown"]

CORRECTIONS: tuple[Correction, ...] = (
    *embeddings_as_features.CORRECTIONS,
    *similarity.CORRECTIONS,
    *bigram_table.CORRECTIONS,
    *norms.CORRECTIONS,
    *attention_by_hand.CORRECTIONS,
    *scaling.CORRECTIONS,
    *heads_and_positions.CORRECTIONS,
    *residual.CORRECTIONS,
    *placement.CORRECTIONS,
    *initialisation.CORRECTIONS,
    *inside.CORRECTIONS,
)
