"""A misconception of chapter 1: what an id says."""

import numpy as np

from helpers.corrections import corrects, number, vector

IDS = np.array([3, 1, 0, 3, 2])  # the fox crossed the stream, with 7 words in all


@corrects(
    claim="Token ids say something about the tokens, and neighbouring ids mean similar things.",
    says="“The model turns each word into a number and calculates with it.”",
    why="An id is only the number of a row, like the ticket of a cloakroom. Give every token "
    "another id and put its row there, and the model computes exactly what it computed before.",
    section="What is an embedding?",
)
def ids_have_no_order() -> str:
    """Difference between what is looked up before and after the ids are dealt out anew."""
    rng = np.random.default_rng(0)
    E_VC, new_id = rng.standard_normal((7, 3)), rng.permutation(7)
    moved_VC = np.empty_like(E_VC)
    moved_VC[new_id] = E_VC
    apart = np.abs(moved_VC[new_id[IDS]] - E_VC[IDS]).max()
    return (
        f"*The fox crossed the stream* has the ids {vector(IDS)}. If we deal out new ids, "
        f"{vector(new_id[IDS])}, and move the rows along, the five rows that we look up differ by "
        f"{number(apart)}."
    )
