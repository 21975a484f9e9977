"""Misconceptions of chapter 1: what an id and a row of the embedding matrix say."""

import numpy as np
import torch
from torch.nn import functional as F

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


def _cosines_of_pairs(width: int) -> tuple[torch.Tensor, float]:
    """Train 12 tokens, of which each two have the same continuations, with 8 seeds at once.

    Returns the mean cosine of two such rows for each seed, and the greatest loss above the least
    possible one.
    """
    rows = np.random.default_rng(0).dirichlet(np.full(12, 0.5), size=6)
    target = torch.tensor(rows).repeat_interleave(2, dim=0)
    drawn = np.random.default_rng(1).standard_normal((2, 8, 12, width))
    table, output = torch.tensor(drawn[0]), torch.tensor(drawn[1] / width**0.5)
    table.requires_grad_()
    output.requires_grad_()
    optimizer = torch.optim.Adam([table, output], lr=0.02)
    for _ in range(200):
        optimizer.zero_grad()
        losses = -(target * (table @ output.mT).log_softmax(dim=-1)).sum(dim=-1).mean(dim=-1)
        losses.sum().backward()
        optimizer.step()
    least = -torch.xlogy(target, target).sum(dim=-1).mean()
    cosines = F.cosine_similarity(table[:, ::2], table[:, 1::2], dim=-1).mean(dim=-1)
    return cosines, (losses - least).max().item()


@corrects(
    claim="Training always brings tokens that are used alike close together.",
    says="“Similar words end up with similar embeddings.”",
    why="It does where there are far fewer features than tokens, as in a large vocabulary. But the "
    "loss asks for the same predictions and not for rows that lie close. With as many features as "
    "tokens there are directions that the output hardly reads, and what the initial weights put "
    "there stays.",
    section="What do trained embeddings know?",
)
def used_alike_and_far_apart() -> str:
    """Cosine of the rows of tokens with the same continuations, for two widths, 8 seeds."""
    spans = []
    for width in (4, 64):
        cosines, extra = _cosines_of_pairs(width)
        least, most = (number(round(c.item(), 1) + 0.0) for c in (cosines.min(), cosines.max()))
        spans.append(f"{least} to {most}")
    return (
        f"Twelve tokens form six pairs, and the two of a pair always have the same continuations. "
        f"With 4 features the cosine of their rows ends at {spans[0]} in 8 trainings. With 64 "
        f"features it ends at {spans[1]}, though the loss comes within "
        f"{number(np.ceil(1000 * extra) / 1000)} nats of the least possible one."
    )
