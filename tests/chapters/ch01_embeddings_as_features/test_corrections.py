"""What the corrections of chapter 01 compute, found again by another route: torch's own modules
where they use NumPy, counting and closed forms where they measure."""

import math

import numpy as np
import pytest
import torch
from corrected import by_another_route, numbers
from torch import nn
from torch.nn import functional as F

from helpers.chapters.ch01_embeddings_as_features import corrections as module


def drawn(*shape: int, seed: int) -> torch.Tensor:
    """Normal numbers of a generator of NumPy, as a tensor."""
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


def attended(x: torch.Tensor) -> torch.Tensor:
    """Self-attention by torch's own function, with the random matrices of the module."""
    q, k, v = (x @ w / math.sqrt(x.shape[1]) for w in drawn(3, *[x.shape[1]] * 2, seed=0))
    return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """Largest difference of an entry."""
    return float((a - b).abs().max())


# ------------------------------------------------------------------------- one check a correction


def the_row_is_the_same_anywhere():
    row, placed, read, width = numbers("c01-the-row-is-the-same-anywhere")
    table, places = drawn(4, 8, seed=1), drawn(5, 8, seed=2)
    x = table[[3, 0, 2, 3, 1]] + places  # cat, dog, sees, the
    assert (row, width) == (0, 8)
    assert placed == pytest.approx(float((places[0] - places[3]).norm()), rel=1e-3)
    state = x + attended(x)
    assert read == pytest.approx(float((state[0] - state[3]).norm()), rel=1e-3)
    assert min(placed, read) > 1


def heads_read_all_features():
    found = numbers("c01-heads-read-all-features")
    w_q = drawn(8, 8, seed=0)
    slopes = torch.autograd.functional.jacobian(lambda x: (x @ w_q)[:2], drawn(8, seed=1))
    assert found == [8, 4, *slopes.shape[:1], int(slopes.abs().sum(dim=0).gt(0).sum())]
    assert found[-1] != 8 // 4


def random_text_is_recited():
    length, vocabulary, width, worst, trials, guess = numbers("c01-random-text-is-recited")
    assert (length, vocabulary, width, trials) == (48, 16, 32, 5)
    assert guess == 100 / vocabulary
    best = 0.0  # what the best table of one character of context could get, with hindsight
    for seed in range(5):
        generator = torch.Generator().manual_seed(100 + seed)
        ids = torch.randint(16, (48,), generator=generator)
        counts = torch.zeros(16, 16).index_put((ids[:-1], ids[1:]), torch.ones(47), True)
        best = max(best, float(counts.amax(dim=1).sum() / 47))
    assert worst / 100 > best + 0.2
    assert recited_by_torch(ids) == worst / 100 == 1


def recited_by_torch(ids: torch.Tensor) -> float:
    """Share of a text that torch's own Transformer layer predicts once trained on it."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        table, places, head = nn.Embedding(16, 32), nn.Embedding(48, 32), nn.Linear(32, 16)
    parts = nn.ModuleList([layer, table, places, head])

    def logits(seen):
        x = (table(seen) + places.weight[: len(seen)])[None]
        mask = nn.Transformer.generate_square_subsequent_mask(len(seen))
        return head(layer(x, src_mask=mask, is_causal=True))[0]

    optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)
    for _ in range(80):
        optimizer.zero_grad()
        F.cross_entropy(logits(ids[:-1]), ids[1:]).backward()
        optimizer.step()
    # Where each next character is predicted right, reciting from the first gives the same.
    with torch.no_grad():
        return float((logits(ids[:-1]).argmax(dim=-1) == ids[1:]).double().mean())


def used_alike_and_far_apart():
    found = numbers("c01-used-alike-and-far-apart")
    assert found[:2] == [6, 8]
    spans = np.reshape(found[2:18], (4, 4))
    assert spans[:, 2:].tolist() == [[64, 1], [64, 0.02], [10, 1], [4, 1]]
    assert found[18] == 64
    assert found[19] < 1e-3
    assert spans[0, :2].max() < 0.5 < 0.9 < spans[[1, 3], :2].min()
    assert spans[0, 1] < spans[2, 1] < spans[1, 0], "nearly as many features as tokens: in between"
    apart_wide, excess = by_descent(64, 1.0, steps=500)
    assert apart_wide < 0.5
    assert excess < 1e-3
    assert by_descent(64, 0.02, steps=500)[0] > 0.95
    assert by_descent(4, 1.0, steps=1000)[0] > 0.95
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert spans[0, 0] > -0.5  # apart, not opposite


def by_descent(width: int, deviation: float, steps: int) -> tuple[float, float]:
    """The same by plain gradient descent, in float64, with torch's own layers and starts."""
    target = torch.tensor(module._used_alike())
    with torch.random.fork_rng():
        torch.manual_seed(11)
        table, layer = nn.Embedding(12, width), nn.Linear(width, 12, bias=False)
    model = nn.Sequential(table, layer).double()
    with torch.no_grad():
        table.weight.mul_(deviation)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.arange(12)), target)
        loss.backward()
        optimizer.step()
    rows = table.weight.detach()
    least = torch.distributions.Categorical(probs=target).entropy().mean()
    return float(F.cosine_similarity(rows[::2], rows[1::2]).mean()), float(loss.detach() - least)


def contextual_embeddings_are_computed():
    *ids, row, state, length, vocabulary, rows = numbers("c01-contextual-embeddings-are-computed")
    table, places = drawn(10, 8, seed=1), drawn(3, 8, seed=2)
    states = [attended(table[sentence] + places)[-1] for sentence in ([3, 5, 7], [4, 6, 7])]
    assert (ids, row, length, vocabulary) == ([7, 3, 5, 4, 6], 0, 10, 50_000)
    assert state == pytest.approx(apart(*states), rel=1e-3)
    assert state > 0.1
    assert rows == pytest.approx(50_000**10, rel=1e-3)


def tied_rows_have_two_parts():
    true, formula, missing, others = numbers("c01-tied-rows-have-two-parts")
    table = (drawn(6, 4, seed=1) / 2).requires_grad_()
    F.cross_entropy(table @ table[1], torch.tensor(2)).backward()
    slope, rows = table.grad, table.detach()
    separate = rows.clone().requires_grad_()
    F.cross_entropy(separate @ rows[1], torch.tensor(2)).backward()
    assert true == pytest.approx(float(slope[1].norm()), rel=1e-3)
    assert formula == pytest.approx(float(separate.grad[1].norm()), rel=1e-3)
    error = (rows @ rows[1]).softmax(dim=0) - F.one_hot(torch.tensor(2), 6)
    second = rows.T @ error  # what comes back through h, the part left out
    assert missing == pytest.approx(float(second.norm()), rel=1e-3)
    assert torch.allclose(slope[1], separate.grad[1] + second)
    assert missing > 0.05
    assert others == 0


test_corrections = by_another_route(module.CORRECTIONS, globals())


# --------------------------------------------------------------------- claims made inside a `why`


def test_rows_stay_apart_in_the_directions_that_the_output_does_not_read():
    """Descent adds to a row only what output rows span, and there the two rows of a pair meet."""
    target = torch.tensor(module._used_alike())
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(12, 64, generator=generator).double().requires_grad_()
    layer = ((2 * torch.rand(12, 64, generator=generator) - 1) / 8).double().requires_grad_()
    gaps, shares = [], []
    optimizer = torch.optim.SGD([table, layer], lr=1.0)
    for step in range(501):
        if step in (0, 500):
            gap = (table[::2] - table[1::2]).detach()
            read = torch.linalg.svd(layer.detach(), full_matrices=False).Vh  # what outputs span
            gaps.append(gap.norm(dim=1))
            shares.append(float(((gap @ read.T).norm(dim=1) / gap.norm(dim=1)).mean()))
        optimizer.zero_grad()
        F.cross_entropy(table @ layer.T, target).backward()
        optimizer.step()
    assert shares[0] == pytest.approx(math.sqrt(12 / 64), rel=0.2)  # 12 directions of 64
    assert shares[1] < shares[0] / 2
    assert float((gaps[1] / gaps[0]).min()) > 0.5
