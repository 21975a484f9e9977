"""Embeddings against torch and plain loops, and their properties."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import numbers, seeded

from helpers import corpus, tokenizers
from helpers.embeddings import (
    CBOW,
    WORD_GROUPS,
    context_windows,
    prune_rare,
    quantised,
)

IDS = st.lists(st.integers(0, 5), min_size=1, max_size=30).map(torch.tensor)


# ------------------------------------------------------------------ fewer words


def test_prune_rare_renumbers_and_returns_old_ids():
    ids, kept = prune_rare(torch.tensor([7, 2, 7, 9, 2, 7, 4]), at_least=2)
    assert ids.tolist() == [1, 0, 1, 2, 0, 1, 2]
    assert kept.tolist() == [2, 7]


@given(IDS, st.integers(1, 3))
def test_prune_rare_keeps_exactly_the_frequent_ids(ids, at_least):
    counts = ids.bincount(minlength=6)
    if counts.max() < at_least:
        return
    new, kept = prune_rare(ids, at_least=at_least)
    assert kept.tolist() == [i for i in range(6) if counts[i] >= at_least]
    back = [int(kept[i]) if i < len(kept) else None for i in new]
    assert back == [int(i) if counts[i] >= at_least else None for i in ids]


# ------------------------------------------------------------------ context_windows


@given(st.integers(1, 3), st.integers(0, 6))
def test_context_windows_are_the_neighbours_on_both_sides(reach, more):
    ids = torch.arange(10, 10 + 2 * reach + 1 + more)
    around, covered = context_windows(ids, window=reach)
    assert around.shape == (more + 1, 2 * reach)
    for row, middle in zip(around.tolist(), covered.tolist(), strict=True):
        assert row == [middle + step for step in range(-reach, reach + 1) if step]


def test_cbow_is_mean_then_dot_products():
    model = CBOW(7, 4, generator=seeded(1)).double()
    with torch.no_grad():
        model.output.copy_(numbers(7, 4, seed=2))
    ids = torch.tensor([[3, 6, 6, 0], [1, 2, 5, 1]])
    rows, output = model.table.weight.detach().numpy(), model.output.detach().numpy()
    expected = [
        [sum(rows[i] for i in row) @ output[v] / 4 for v in range(7)] for row in ids.tolist()
    ]
    np.testing.assert_allclose(model(ids).detach(), expected, rtol=0, atol=1e-12)


def test_cbow_is_initialised_reproducibly_with_uniform_output():
    first, again, other = (CBOW(50, 8, generator=seeded(seed)) for seed in (3, 3, 4))
    assert torch.equal(first.table.weight, again.table.weight)
    assert not torch.equal(first.table.weight, other.table.weight)
    assert (first(torch.tensor([[1, 2]])) == 0).all()
    assert all(part.requires_grad for part in first.parameters())
    assert first.table.weight.std().item() == pytest.approx(0.3, rel=0.1)


def test_every_grouped_word_is_frequent_and_in_one_group():
    text = corpus.load()
    tokenizer = tokenizers.WordTokenizer(text)
    _, kept = prune_rare(tokenizer.encode(text), at_least=5)
    words = {tokenizer.vocab[i] for i in kept}
    grouped = [word for group in WORD_GROUPS.values() for word in group]
    assert len(set(grouped)) == len(grouped)
    assert set(grouped) <= words


# ------------------------------------------------------------------ rounding


@given(st.integers(2, 8), st.integers(0, 1000))
def test_rounding_error_is_at_most_half_a_scale(bits, seed):
    table = numbers(4, 6, seed=seed) * torch.tensor([[0.01], [1.0], [3.0], [100.0]])
    codes, scale = quantised(table, bits)
    assert codes.dtype == torch.int8
    assert scale.shape == (4, 1)
    largest = 2 ** (bits - 1) - 1
    assert codes.abs().amax(dim=1).tolist() == [largest] * 4
    assert ((codes * scale - table).abs() <= scale / 2 * (1 + 1e-12)).all()
    torch.testing.assert_close(codes.double(), (table / scale).round())


def test_codes_of_16_bit_numbers_fit():
    table = numbers(40, 64).to(torch.bfloat16)
    codes, scale = quantised(table, 8)
    assert codes.abs().amax(dim=1).tolist() == [127] * 40
    assert ((codes * scale - table).abs() <= scale / 2 * (1 + 1e-6)).all()


def test_rounding_leaves_zeros_alone():
    codes, scale = quantised(torch.zeros(2, 3, dtype=torch.float64), 4)
    assert (codes == 0).all()
    assert (scale == 1).all()
