"""Chapter 7's measurements: masks, lengths, and what is shown by hand."""

import pytest
import torch

from helpers.chapters.ch07_heads_masks_positions import lab


def test_the_same_letters_are_predicted_in_each_stretch():
    """A model that knows only the letter itself has one loss in all four stretches."""
    table = torch.randn(61, 61, generator=torch.Generator().manual_seed(0))
    places = lab.by_position(lambda ids: table[ids], 4000)
    first, *others = places.split(32)
    for stretch in others:
        torch.testing.assert_close(stretch, first, rtol=0, atol=1e-5)


def test_an_honest_loss_is_the_shown_one_where_nothing_leaks():
    torch.manual_seed(0)
    for mask in lab.MASKS:
        model = lab.one_head(mask, seed=0)
        shown, honest = lab.shown_and_honest(model, windows=8)
        leaks = mask in ("none at all", "one too far", "causal, after softmax")
        assert (abs(shown - honest) > 1e-5) == leaks


def test_sinusoids_are_made_as_large_as_in_the_paper():
    """There the embeddings have variance 1, here 0.02²; the rows keep their ratio to them."""
    quiet, _ = lab.in_training("sinusoidal", seed=0)
    loud, _ = lab.in_training("sinusoidal", seed=0, scale=1)
    torch.testing.assert_close(quiet.position.weight, 0.02 * loud.position.weight)
    assert torch.equal(quiet.embedding.weight, loud.embedding.weight)


def test_reading_near_by_cuts_off_what_stands_further_back():
    """Two layers that read four letters each see seven: the letter itself and six before it."""
    model, _ = lab.in_training("rope", seed=0)
    ids = torch.arange(20)[None]
    other = torch.cat([torch.tensor([[30]]), ids[:, 1:]], dim=1)
    with torch.no_grad(), lab.near_only(model, reach=4):
        moved = (model.double()(ids) - model(other)).abs().amax(dim=-1)[0]
    assert (moved[:7] > 1e-9).all()
    assert (moved[7:] < 1e-14).all()


def test_rope_by_hand_gives_the_cosines_of_the_angles():
    by_hand = lab.rope_by_hand()
    assert by_hand[r"q_5 \cdot k_3"] == pytest.approx(0.5)
    assert by_hand[r"q_5 \cdot k_4"] == pytest.approx(0.75**0.5)
