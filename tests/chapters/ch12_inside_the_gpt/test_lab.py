"""Chapter 12's measurements: what the models are asked, and what is looked at in them."""

import pytest
import torch

from helpers import checkpoint
from helpers.chapters.ch12_inside_the_gpt import copiers, lab, probes, readers
from helpers.chapters.ch12_inside_the_gpt.probes import AFTER_NAME, ASK, IT, NAME, TOO, WATER
from helpers.chapters.ch12_inside_the_gpt.readers import ANSWER, HOW, WHO, sentences

# --- what they are asked --------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    return checkpoint.load()


def test_every_hero_is_at_every_water_and_words_are_where_they_are_said(shipped):
    vocab = shipped[1].vocab
    assert probes.tales().tokenizer.vocab == vocab
    ids, ends = probes.crossings()
    assert len({tuple(row) for row in ids.tolist()}) == len(ids) == 24 * 6
    waters = {vocab[i] for i in ids[:, WATER].tolist()}
    assert waters == {" stream", " river", " brook", " ford", " ditch", " marsh"}
    assert {vocab[i] for i in ids[:, IT].tolist()} == {" it"}
    assert ids.shape[1] == TOO + 1
    (end,) = {vocab[i] for i in ends[ids[:, WATER] == vocab.index(" stream")].tolist()}
    assert end == " wide"
    theirs, _ = probes.crossings("they")
    assert {vocab[i] for i in theirs[:, IT].tolist()} == {" she", " he"}


def test_offers_of_help_differ_in_the_name_alone(shipped):
    here, there, name, other = probes.named()
    assert torch.equal(here[:, NAME], name)
    assert torch.equal(there[:, NAME], other)
    assert (here != there).sum(dim=0).nonzero().flatten().tolist() == [NAME]
    assert (name != other).all()
    assert here.shape[1] == ASK + 1
    assert {shipped[1].vocab[i] for i in here[:, AFTER_NAME].tolist()} == {" the"}


def test_patches_find_by_necessity_what_they_must():
    """In a model that was never trained: all at the name below, at the last token above."""
    model, _ = lab.storyteller(0, stop=0)
    here, there, name, other = (part[:3] for part in probes.named())
    moved = probes.how_far(model, here, there, name, other)
    assert moved.shape == (5, ASK + 1)
    assert moved[0, NAME] == pytest.approx(1, abs=1e-3)
    assert moved[-1, ASK] == pytest.approx(1, abs=1e-3)
    assert moved[:, :NAME].abs().max() < 1e-3


def test_costs_are_those_of_each_head_and_of_a_layer():
    model, _ = lab.storyteller(1, stop=0)
    x, y = (part[:4] for part in probes.windows())
    cost, together = lab.costs(model, x, y)
    assert (cost.shape, together.shape) == ((4, 4), (4,))
    model.blocks[1].attention.out.weight.data[:, 32:48] = 0  # layer 2, head 3
    assert lab.costs(model, x, y)[0][1, 2] == 0


def test_verb_and_adjective_decide_and_neither_does_alone():
    by_verb, by_adjective, by_both = {}, {}, {}
    for animal, verb, _, adjective, referent in sentences().every_case:
        kind = referent == animal
        by_verb.setdefault(verb, set()).add(kind)
        by_adjective.setdefault(adjective, set()).add(kind)
        by_both.setdefault((verb, adjective), set()).add(kind)
    assert all(len(kinds) == 1 for kinds in by_both.values())
    assert all(len(kinds) == 2 for kinds in by_verb.values())
    assert {a for a, kinds in by_adjective.items() if len(kinds) == 2} >= {"wide", "small"}


def test_readers_see_the_deciding_word_and_not_the_answer():
    shown, answer = readers.question(sentences().asked_ids[:5])
    assert shown.shape[1] == HOW + 1 == readers.SIZES["T"]
    assert torch.equal(answer, sentences().asked_ids[:5, ANSWER])
    reader = readers.reader_of_words(2, seed=3).eval()
    changed = shown.clone()
    changed[:, HOW] = shown[0, WHO]
    here, there = reader(shown)[:, readers.IT], reader(changed)[:, readers.IT]
    assert not torch.allclose(here, there)


def test_repeats_repeat_with_their_length():
    rows, length = copiers.repeats(20, torch.Generator().manual_seed(1))
    for row, n in zip(rows.tolist(), length.tolist(), strict=True):
        assert 4 <= n <= 16
        assert len(set(row[:n])) == n
        assert row[n:] == row[: len(row) - n]
