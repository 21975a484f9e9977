"""What the corrections of chapter 02 compute, found again by another route: torch's own functions
where they use NumPy, arithmetic by hand and closed forms where they measure."""

import math

import numpy as np
import pytest
import torch
from corrected import by_another_route, numbers
from torch.nn import functional as F

from helpers.chapters.ch02_similarity_geometry import corrections as module

# ------------------------------------------------------------------------- one check a correction


def keys_have_lengths_again():
    n, width, head, trials, *ratios, mean, least, most = numbers("c02-keys-have-lengths-again")
    assert (n, width, head, trials) == (32, 64, 16, 20)
    found, shares = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = F.layer_norm(torch.tensor(rng.standard_normal((32, 64))), (64,), eps=0.0)
        assert torch.allclose(x.norm(dim=1), torch.full((32,), 8.0).double())
        q, k = (x @ torch.tensor(w) / 8 for w in rng.standard_normal((2, 64, 16)))
        found.append(float(k.norm(dim=1).max() / k.norm(dim=1).min()))
        cosine = F.cosine_similarity(q[:, None], k[None], dim=-1)
        shares.append(100 * float((cosine.argmax(1) != (q @ k.T).argmax(1)).double().mean()))
    assert ratios == pytest.approx([min(found), max(found)], rel=1e-3)
    assert [mean, least, most] == pytest.approx([np.mean(shares), min(shares), max(shares)], 1e-3)
    assert min(ratios) > 1.2
    assert least > 1


def two_dimensions_become_two_points():
    *points, angle, a, b, c, d = numbers("c02-two-dimensions-become-two-points")
    assert points == [1000, 2, 3, 1, 1, -3]
    assert angle == 90  # 3 · 1 + 1 · (−3) = 0
    expected = F.layer_norm(torch.tensor([[3.0, 1.0], [1.0, -3.0]]), (2,))
    assert [[a, b], [c, d]] == [[1, -1]] * 2
    assert torch.allclose(torch.tensor([[a, b], [c, d]]), expected, atol=1e-4)


def formulas_and_their_headings():
    found = numbers("c02-formulas-and-their-headings")
    vectors, once, twice, example, (cosine, far, loss, a, b) = (
        found[i:j] for i, j in ((0, 6), (6, 9), (9, 12), (12, 20), (20, 25))
    )
    assert vectors == [1, 2, 2, 2, 1, 2]
    assert once == pytest.approx([2 + 2 + 4, 8 / 9, math.sqrt(2)], rel=1e-3)  # both of length 3
    assert twice == pytest.approx([2 * 8, 8 / 9, math.sqrt(0 + 9 + 4)], rel=1e-3)
    assert example == [1, 1, 1, 1, 0, 1, -1, 0]
    assert (cosine, far) == (1, 0)
    # The scores are 2, 1, −1.
    assert loss == pytest.approx(math.log(1 + math.exp(-1) + math.exp(-3)), rel=1e-3)
    h = torch.tensor([1.0, 1.0])
    row = h.clone().requires_grad_()
    rows = torch.stack([row, torch.tensor([0.0, 1.0]), torch.tensor([-1.0, 0.0])])
    F.cross_entropy(rows @ h, torch.tensor(0)).backward()
    assert [a, b] == pytest.approx(row.grad.tolist(), rel=1e-3)
    assert min(loss, math.hypot(a, b)) > 0.1


test_corrections = by_another_route(module.CORRECTIONS, globals())


# --------------------------------------------------------------------- claims made inside a `why`


def test_dividing_by_the_length_works_in_two_dimensions():
    points = np.random.default_rng(0).standard_normal((1000, 2))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    assert len(np.unique(np.round(unit, 9), axis=0)) == len(points)
    directions = (np.arctan2(*x.T) for x in (unit, points))
    np.testing.assert_allclose(*directions)


def test_three_dimensions_leave_a_circle():
    normal = module.standardised(np.random.default_rng(0).standard_normal((1000, 3)))
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), math.sqrt(3))
    np.testing.assert_allclose(normal.sum(axis=1), 0, atol=1e-12)
    assert len(np.unique(np.round(normal, 9), axis=0)) == len(normal)


def test_normalised_queries_and_keys_have_cosines_for_scores():
    rng = np.random.default_rng(0)
    q, k = (module._unit(x) for x in rng.standard_normal((2, 32, 16)))
    cosine = F.cosine_similarity(torch.tensor(q)[:, None], torch.tensor(k)[None], dim=-1)
    np.testing.assert_allclose(q @ k.T, cosine.numpy(), atol=1e-12)
