"""What the corrections of chapter 03 compute, found again by another route: torch's optimisers and
autograd where they use NumPy, closed forms and counting where they measure."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from corrected import SHOWN, by_another_route, numbers, said
from torch.nn import functional as F

from helpers import corpus
from helpers.bigram import ABC_TABLE, MarkovChain
from helpers.chapters.ch03_bigram_table import corrections as module

ABC = torch.tensor(ABC_TABLE)
ABC_LOGS = ABC.log()
ABC_STATIONARY = torch.linalg.matrix_power(ABC, 200)[0]
ABC_RATE = float(ABC_STATIONARY @ torch.distributions.Categorical(probs=ABC).entropy())


def descend(target: torch.Tensor, rows: torch.Tensor, start: torch.Tensor, rate, steps, kind=None):
    """Train a table with autograd and torch's optimisers on the expected loss."""
    table = start.clone().requires_grad_()
    optimizer = (kind or torch.optim.SGD)([table], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -(rows[:, None] * target * table.log_softmax(dim=-1)).sum()
        loss.backward()
        optimizer.step()
    return table.detach()


def expected_loss(table: torch.Tensor, target: torch.Tensor, rows: torch.Tensor) -> float:
    """Expected loss of a table of logits."""
    return -float((rows[:, None] * target * table.log_softmax(dim=-1)).sum())


# ------------------------------------------------------------------------- one check a correction


def entry_is_a_logit():
    probability, entry = numbers("c03-entry-is-a-logit")
    assert probability == ABC_TABLE[0, 1]
    assert entry == pytest.approx(float(ABC_LOGS[0, 1] - ABC_LOGS[0].mean()), rel=SHOWN)
    assert entry > 1  # so it cannot be a probability


def abc_heading():
    columns = [float(sum(Fraction(str(x)) for x in column)) for column in zip(*ABC_TABLE.tolist())]  # noqa: B905
    assert numbers("c03-abc-heading") == [*columns, 1, 1, 1]
    assert 1 not in columns


def tied_table_predicts():
    generator = torch.Generator().manual_seed(0)
    table, head = (torch.randn(10, 4, generator=generator, dtype=torch.float64) for _ in range(2))

    def loss(rows, output):
        return F.cross_entropy(output @ rows[3], torch.tensor(7)).item()

    moved = {"untied": 0, "tied": 0}
    for row in range(10):
        nudged = table.clone()
        nudged[row] += 1e-3
        moved["untied"] += loss(nudged, head) != loss(table, head)
        moved["tied"] += loss(nudged, nudged) != loss(table, table)
    assert numbers("c03-tied-table-predicts") == [moved["untied"], 10, moved["tied"]] == [1, 10, 10]


def embedding_keywords():
    text = said("c03-embedding-keywords")
    first, second = re.findall(r"`(\w+)`", text)[1:]
    assert torch.nn.Embedding(**{first: 5, second: 3}).weight.shape == (5, 3)
    with pytest.raises(TypeError, match="vocab_size"):
        torch.nn.Embedding(**{"vocab_size": 5, "n_embd": 3})


def unseen_pairs_sink():
    found = numbers("c03-unseen-pairs-sink")
    assert found[:4] == [10, 100, 1000, 1]
    target, one = torch.tensor([[0.7, 0.3, 0.0]], dtype=torch.float64), torch.ones(1)
    for steps, gap in zip((10, 100), found[4:], strict=False):
        row = descend(target, one.double(), torch.zeros(1, 3).double(), 1.0, steps)[0]
        assert gap == pytest.approx(float(row[2] - row[:2].mean()), abs=1e-3)
    assert found[6] - found[5] == pytest.approx(-math.log(10), abs=0.05)


def a_few_hundred_iterations():
    size, start, steps, *rest = numbers("c03-a-few-hundred-iterations")
    gaps = dict(zip(rest[1::2], rest[::2], strict=True))  # by learning rate
    assert (size, steps) == (65, 300)
    chain = module._chain()
    target, rows = torch.tensor(chain.table), torch.tensor(chain.stationary)
    begin = torch.tensor(np.random.default_rng(0).standard_normal((65, 65)))
    assert start == pytest.approx(expected_loss(begin, target, rows) - chain.entropy_rate, rel=1e-3)
    for rate, gap in gaps.items():
        table = descend(target, rows, begin, rate, 300, torch.optim.Adam)
        assert gap == pytest.approx(
            expected_loss(table, target, rows) - chain.entropy_rate, rel=0.01
        )
    assert gaps[0.001] > 1 > 0.01 > gaps[0.1]


def zeros_need_no_breaking():
    assert numbers("c03-zeros-need-no-breaking") == [0, 0]
    target, thirds = ABC[:1].repeat(3, 1), torch.full((3,), 1 / 3, dtype=torch.float64)
    table = descend(target, thirds, torch.zeros(3, 3).double(), 3.0, 200)
    assert torch.equal(table[0], table[1])
    assert torch.equal(table[0], table[2])
    torch.testing.assert_close(table.softmax(dim=-1), target, atol=1e-6, rtol=0)


def add_one_start():
    n, size, *rest = numbers("c03-add-one-start")
    counts = torch.tensor(module._counts(module._chain(), 20_000, seed=1)).double()
    share = counts / counts.sum()
    exact = counts / counts.sum(dim=1, keepdim=True)
    gaps = dict(zip(rest[1::2], rest[::2], strict=True))  # by what is added
    assert (n, size, list(gaps)) == (20_000, 65, [1, 0.1, 0.001])
    for add, gap in gaps.items():
        start = (counts + add) / (counts + add).sum(dim=1, keepdim=True)
        assert gap == pytest.approx(
            float(torch.special.xlogy(share, exact / start).sum()), rel=1e-3
        )
    assert gaps[1] > 100 * gaps[0.001]


def flat_loss():
    _, change, steps, gap = numbers("c03-flat-loss")
    slow = descend(ABC, ABC_STATIONARY, torch.zeros(3, 3).double(), 1e-4, int(steps))
    now = expected_loss(slow, ABC, ABC_STATIONARY)
    assert steps == 500
    assert change == pytest.approx(math.log(3) - now, rel=1e-3)
    assert gap == pytest.approx(now - ABC_RATE, rel=1e-3)
    assert change < 0.01 < 0.1 < gap


def a_rare_row_lags():
    found = numbers("c03-a-rare-row-lags")
    rows = torch.tensor(found[:3], dtype=torch.float64)
    table = descend(ABC, rows, torch.zeros(3, 3).double(), 1.0, 1000)
    apart = (table.softmax(dim=-1) - ABC).abs().sum(dim=1)
    gap = expected_loss(table, ABC, rows) - expected_loss(ABC_LOGS, ABC, rows)
    assert found[3] == pytest.approx(gap, rel=1e-3)
    assert found[4:] == pytest.approx(apart.tolist(), abs=1e-4)
    assert found[3] < 1e-4 < 0.2 < found[6]


def row_of_a_character():
    size, row, code = numbers("c03-row-of-a-character")
    assert (size, row, code) == (65, 13 + 26 + 19, 116)  # marks, capitals, then a to s
    assert code >= size


def small_difference_far_away():
    _, moved, distance = numbers("c03-small-difference-far-away")
    row = descend(ABC, ABC_STATIONARY, torch.zeros(3, 3).double(), 1e-4, 10)[0].softmax(dim=-1)
    assert moved == pytest.approx(float((row - 1 / 3).abs().sum()), rel=1e-3)
    assert distance == pytest.approx(float((row - ABC[0]).abs().sum()), rel=1e-3)
    assert moved < 1e-4 < 0.5 < distance


def difference_at_the_optimum():
    *_, moved, runs, share, _ = numbers("c03-difference-at-the-optimum")
    generator = torch.Generator().manual_seed(1)
    row = ABC_LOGS[0].repeat(200, 1)
    for _ in range(100):
        drawn = torch.multinomial(ABC[0].repeat(200, 1), 32, True, generator=generator)
        row = row - 0.1 * (row.softmax(dim=-1) - F.one_hot(drawn, 3).double().mean(dim=1))
    again = (row.softmax(dim=-1) - ABC[0]).abs().sum(dim=1).median().item()
    assert moved == pytest.approx(again, rel=0.3)
    assert (runs, share) == (200, 0)
    assert moved > 1e-3


def flat_close_and_far():
    steps, _, change, gap, excess = numbers("c03-flat-close-and-far")
    text = corpus.load()
    tokenizer = corpus.CharTokenizer(text)
    size = len(tokenizer)
    train, validation = corpus.split(tokenizer.encode(text))
    pairs = torch.zeros(size, size).double()
    pairs.index_put_((train[:-1], train[1:]), torch.ones(1).double(), accumulate=True)
    rows, exact = pairs.sum(dim=1) / pairs.sum(), pairs / pairs.sum(dim=1, keepdim=True)
    table = descend(exact, rows, torch.zeros(size, size).double(), 0.001, int(steps))
    on_train, on_validation = (
        F.cross_entropy(table[ids[:-1]], ids[1:]).item() for ids in (train, validation)
    )
    floor = -float((rows[:, None] * torch.special.xlogy(exact, exact)).sum())
    assert steps == 50
    assert change == pytest.approx(math.log(size) - on_train, rel=1e-3)
    assert gap == pytest.approx(abs(on_validation - on_train), rel=1e-2)
    assert excess == pytest.approx(on_train - floor, rel=1e-3)
    assert gap < change < 0.001 < 1.8 < excess


def best_fit_infinite_loss():
    train_loss, infinite, unseen, n, _, added = numbers("c03-best-fit-infinite-loss")
    chain = module._chain()
    train, validation = (torch.tensor(module._counts(chain, 20_000, s)) for s in (1, 2))
    exact = train / train.sum(dim=1, keepdim=True)
    assert train_loss == pytest.approx(-float(torch.xlogy(train, exact).sum() / n), rel=1e-3)
    assert infinite == math.inf == -float((validation * exact.log()).nansum())
    assert unseen == sum(validation[i, j].item() for i, j in (train == 0).nonzero()) > 0
    one = (train + 1) / (train + 1).sum(dim=1, keepdim=True)
    assert added == pytest.approx(-float((validation * one.log()).sum() / n), rel=1e-3)


def smoothing_knows_more():
    share, samples, n = numbers("c03-smoothing-knows-more")
    chain, better = MarkovChain(ABC_TABLE), 0
    for seed in range(int(samples)):
        counts = torch.tensor(module._counts(chain, int(n), seed)).double()
        exact, added = (
            ((counts + add) / (counts + add).sum(dim=1, keepdim=True)).log() for add in (0, 1)
        )
        better += bool((ABC_STATIONARY[:, None] * ABC * (added - exact)).sum() > 0)
    assert share == pytest.approx(100 * better / samples)
    assert share > 50


def rows_of_nan():
    assert numbers("c03-rows-of-nan") == [3, 9]
    assert said("c03-rows-of-nan").endswith(": nan.")


def mean_difference_is_always_small():
    uniform, size, bound = numbers("c03-mean-difference-is-always-small")
    table = torch.tensor(module._chain().table)
    assert uniform == pytest.approx(float((table - 1 / 65).abs().mean()), rel=1e-3)
    assert bound == pytest.approx(2 / size, rel=1e-3)
    apart = torch.eye(65) - torch.eye(65).roll(1, dims=1)  # two tables that share no pair
    assert float(apart.abs().mean()) == pytest.approx(2 / 65)
    assert uniform < bound < 0.04


def rare_rows_rule_the_mean():
    size, in_text, in_mean, plain, weighted = numbers("c03-rare-rows-rule-the-mean")
    counts = torch.tensor(module._counts(module._chain(), 20_000, seed=1)).double()
    rows, exact = counts.sum(dim=1) / counts.sum(), counts / counts.sum(dim=1, keepdim=True)
    table = descend(exact, rows, torch.zeros(65, 65).double(), 10.0, 300)
    apart = (table.softmax(dim=-1) - exact).abs().sum(dim=1)
    rare = rows.argsort()[:32]
    assert size == 65
    assert in_text == pytest.approx(100 * float(rows[rare].sum()), rel=1e-3)
    assert in_mean == pytest.approx(100 * float(apart[rare].sum() / apart.sum()), rel=0.02)
    assert (plain, weighted) == pytest.approx((float(apart.mean()), float(rows @ apart)), rel=1e-3)
    assert in_text < 10 < 50 < in_mean


NUMERIC = {
    "row_sums": ([1, 1, 1], [0, 0, 0]),
    "log_probability_up_to_a_constant": ([0, 0, 0], -ABC_LOGS.mean(dim=1)),
}
test_corrections = by_another_route(module.CORRECTIONS, globals(), NUMERIC)
