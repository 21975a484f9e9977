"""Chapter 11's measurements: levers, counted tables, and what a model costs and writes."""

import numpy as np
import pytest
import torch

from helpers import corpus, minigpt
from helpers.chapters.ch11_small_gpt import lab


def test_the_page_says_between_which_tables_training_ends():
    for text, shorter in (("tales", 4), ("tinyshakespeare", 3)):
        [run] = lab.PARTS["counted"].runs(text=text)
        above, below = run["losses"][shorter - 1 : shorter + 1]
        ends = lab.PARTS["whole"].final(text=text)
        assert below < min(ends)
        assert max(ends) < above


# --- levers ---------------------------------------------------------------------------------


def test_wider_weights_have_the_deviation_of_their_inputs():
    torch.manual_seed(0)
    model = minigpt.GPT(V=200, T=64, C=64, H=2, L=8)
    lab.widen(model)
    assert model.blocks[0].feed_forward.up.weight.std().item() == pytest.approx(1 / 8, rel=0.05)
    down = model.blocks[0].feed_forward.down.weight  # which GPT-2 scales by 1/√(2L)
    assert down.std().item() == pytest.approx(1 / 16 / 4, rel=0.05)


# --- counted tables -------------------------------------------------------------------------


def test_counts_agree_with_counting_one_by_one():
    """Against the formula of the chapter written out with dictionaries, on a short text."""
    text = corpus.load()[:1500]
    tokenizer = minigpt.Tokenizer(text)
    ids, V, k = tokenizer.encode(text).numpy(), len(tokenizer.vocab), 5
    train, test = ids[:1300].tolist(), ids[1300:].tolist()

    def p(x, before, n):
        if n == 0:
            return 1 / V
        if n - 1 > len(before):
            return p(x, before, n - 1)
        head = before[len(before) - n + 1 :]
        runs = [train[i : i + n] for i in range(len(train) - n + 1)]
        times = sum(run == [*head, x] for run in runs)
        seen = sum(run[:-1] == head for run in runs)
        return (times + k * p(x, before, n - 1)) / (seen + k)

    found = np.full(len(test) - 1, 1 / V)
    for n in (1, 2, 3):
        counts = lab.tally(np.array(train), n, V)
        found = lab.along(found, counts, np.array(test), n, V, k)
    for place in (1, 2, 3, 50, 150):
        expected = p(test[place], test[:place], 3)
        assert found[place - 1] == pytest.approx(expected, rel=1e-9)


# --- what a model costs and writes ----------------------------------------------------------


def test_costs_are_the_losses_of_whole_windows():
    torch.manual_seed(0)
    model, ids = minigpt.GPT(V=7, T=4, C=8, H=1, L=1), torch.arange(12) % 7
    costs_NT = lab.costs_of(model, ids)  # the last three targets fill no window
    assert costs_NT.shape == (2, 4)
    p = model(ids[None, 4:8]).softmax(dim=-1)[0, 1, ids[6]]
    assert costs_NT[1, 1].item() == pytest.approx(-p.log().item(), rel=1e-5)
