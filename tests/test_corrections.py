"""Each correction is a regression test: what it computes is found again here by another route
(torch where it uses NumPy, a closed form where it measures), and differs from what is claimed by
more than rounding."""

import importlib
import inspect
import math
import pkgutil
import re
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import helpers.corrections
from helpers import corpus
from helpers.bigram import ABC_TABLE, MarkovChain
from helpers.corrections import CORRECTIONS, Correction, bigram_table, examples, number, shown
from helpers.corrections.correction import collected, corrects

BY_SLUG = {correction.slug: correction for correction in CORRECTIONS}
ABC = torch.tensor(ABC_TABLE)
ABC_LOGS = ABC.log()
ABC_STATIONARY = torch.linalg.matrix_power(ABC, 200)[0]
ABC_RATE = float(ABC_STATIONARY @ torch.distributions.Categorical(probs=ABC).entropy())

X, W = torch.tensor(examples.THE_CAT_SAT_X), torch.tensor(examples.THE_CAT_SAT_W)
PRINTED_QKV = torch.tensor(examples.THE_CAT_SAT_PRINTED_QKV)
CAT_X, CAT_K = torch.tensor(examples.CAT_X), torch.tensor(examples.CAT_KEYS)
CAT_V, CAT_Q = torch.tensor(examples.CAT_VALUES), torch.tensor(examples.CAT_QUERY)

SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(r"(?<![\w/.])(−?(?:\d+\.\d+|\d+)|∞)(?: × 10([⁻⁰-⁹¹²³]+))?")


def numbers(slug: str) -> list[float]:
    """Read the numbers in what a correction shows, in order."""
    return [
        (math.inf if digits == "∞" else float(digits.replace("−", "-")))
        * 10.0 ** int((power or "0").translate(SUPERSCRIPTS))
        for digits, power in NUMBER.findall(BY_SLUG[slug].shown())
    ]


def weighted_average(scale: float | None) -> torch.Tensor:
    """Output of the cat example by torch's own attention."""
    return F.scaled_dot_product_attention(CAT_Q[None], CAT_K, CAT_V, scale=scale)[0]


def weights(query: torch.Tensor, keys: torch.Tensor, scale: float | None) -> np.ndarray:
    """Attention weights by torch's own attention, read off with unit vectors for values."""
    values = torch.eye(len(keys), dtype=keys.dtype)
    return F.scaled_dot_product_attention(query[None], keys, values, scale=scale)[0].numpy()


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


def exact_x_times_w() -> list[list[float]]:
    """X · W of the 3-token example in exact fractions."""
    tenths = [[Fraction(round(10 * float(x)), 10) for x in row] for row in examples.THE_CAT_SAT_X]
    matrix = [[Fraction(round(10 * float(x)), 10) for x in row] for row in examples.THE_CAT_SAT_W]
    return [
        [float(sum(a * b for a, b in zip(row, column, strict=True))) for column in zip(*matrix)]  # noqa: B905
        for row in tenths
    ]


QKV = X @ W

# What is printed or claimed, what is right by another route, and how near the numbers shown must
# come to it: SHOWN, the rounding to four digits, unless they were measured on random draws.
SHOWN = 5.1e-4
NUMERIC = {
    "c03-row-sums": ([1, 1, 1], [0, 0, 0], SHOWN),
    "c03-log-probability-up-to-a-constant": ([0, 0, 0], -ABC_LOGS.mean(dim=1), SHOWN),
    "c05-x-times-w": (PRINTED_QKV.flatten(), np.ravel(exact_x_times_w()), SHOWN),
    "c05-sums-of-printed-products": (
        examples.THE_CAT_SAT_PRINTED_SCORES,
        [
            0.3 * 0.3 + 0.7 * 0.7 + 1.1 * 1.1 + 1.5 * 1.5,
            0.3 * 0.7 + 0.7 * 1.5 + 1.1 * 2.3 + 1.5 * 3.1,
            0.3 * 1.1 + 0.7 * 2.3 + 1.1 * 3.5 + 1.5 * 4.7,
        ],
        SHOWN,
    ),
    "c05-scores-of-the": (
        examples.THE_CAT_SAT_PRINTED_SCORES,
        torch.einsum("c,cd,td->t", X[0], W, QKV),
        SHOWN,
    ),
    "c05-softmax-of-printed-scores": (
        examples.THE_CAT_SAT_PRINTED_WEIGHTS,
        [math.exp(-10), math.exp(-5), 1] / np.sum([math.exp(-10), math.exp(-5), 1]),
        SHOWN,
    ),
    "c05-printed-weighted-sum": (
        examples.THE_CAT_SAT_PRINTED_OUTPUT,
        [0.02 * a + 0.28 * b + 0.7 * c for a, b, c in PRINTED_QKV.T.tolist()],
        SHOWN,
    ),
    "c05-output-of-the": (
        [*examples.THE_CAT_SAT_PRINTED_OUTPUT, *QKV[2]],
        [*F.scaled_dot_product_attention(QKV, QKV, QKV)[0], *QKV[2]],
        SHOWN,
    ),
    "c05-keys-from-no-matrix": (
        CAT_K[[3, 5]].flatten(),
        torch.cat([(CAT_K[0] + CAT_K[1]) / 2, (CAT_K[1] + CAT_K[2]) / 2]),
        SHOWN,
    ),
    "c05-values-from-no-matrix": (
        CAT_V[[3, 5]].flatten(),
        torch.cat([(CAT_V[0] + CAT_V[1]) / 2, (CAT_V[1] + CAT_V[2]) / 2]),
        SHOWN,
    ),
    "c05-weights-of-cat": (
        [*examples.CAT_PRINTED_WEIGHTS, 1],
        [*weights(CAT_Q, CAT_K, 1.0), 4 * 0.217 + 2 * 0.132],
        SHOWN,
    ),
    "c05-output-of-cat": (examples.CAT_PRINTED_OUTPUT, weighted_average(1.0), SHOWN),
    "c05-sum-of-seven-weights": (1, [1.4], SHOWN),
}


@pytest.mark.parametrize("slug", NUMERIC)
def test_number_is_right_and_the_printed_one_is_not(slug):
    printed, expected, tolerance = (np.asarray(value, dtype=float) for value in NUMERIC[slug])
    right = np.array(numbers(slug))
    assert right.shape == expected.shape
    np.testing.assert_allclose(right, expected, rtol=float(tolerance), atol=1e-8)
    assert np.abs(np.broadcast_to(printed, right.shape) - right).max() > 0.006


# -------------------------------------------------------- those that say it in a sentence: 03


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
    text = BY_SLUG["c03-embedding-keywords"].shown()
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
    chain = bigram_table._chain()
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
    counts = torch.tensor(bigram_table._counts(bigram_table._chain(), 20_000, seed=1)).double()
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
    chain = bigram_table._chain()
    train, validation = (torch.tensor(bigram_table._counts(chain, 20_000, s)) for s in (1, 2))
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
        counts = torch.tensor(bigram_table._counts(chain, int(n), seed)).double()
        exact, added = (
            ((counts + add) / (counts + add).sum(dim=1, keepdim=True)).log() for add in (0, 1)
        )
        better += bool((ABC_STATIONARY[:, None] * ABC * (added - exact)).sum() > 0)
    assert share == pytest.approx(100 * better / samples)
    assert share > 50


def rows_of_nan():
    assert numbers("c03-rows-of-nan") == [3, 9]
    assert BY_SLUG["c03-rows-of-nan"].shown().endswith(": nan.")


def mean_difference_is_always_small():
    uniform, size, bound = numbers("c03-mean-difference-is-always-small")
    table = torch.tensor(bigram_table._chain().table)
    assert uniform == pytest.approx(float((table - 1 / 65).abs().mean()), rel=1e-3)
    assert bound == pytest.approx(2 / size, rel=1e-3)
    apart = torch.eye(65) - torch.eye(65).roll(1, dims=1)  # two tables that share no pair
    assert float(apart.abs().mean()) == pytest.approx(2 / 65)
    assert uniform < bound < 0.04


def rare_rows_rule_the_mean():
    size, in_text, in_mean, plain, weighted = numbers("c03-rare-rows-rule-the-mean")
    counts = torch.tensor(bigram_table._counts(bigram_table._chain(), 20_000, seed=1)).double()
    rows, exact = counts.sum(dim=1) / counts.sum(), counts / counts.sum(dim=1, keepdim=True)
    table = descend(exact, rows, torch.zeros(65, 65).double(), 10.0, 300)
    apart = (table.softmax(dim=-1) - exact).abs().sum(dim=1)
    rare = rows.argsort()[:32]
    assert size == 65
    assert in_text == pytest.approx(100 * float(rows[rare].sum()), rel=1e-3)
    assert in_mean == pytest.approx(100 * float(apart[rare].sum() / apart.sum()), rel=0.02)
    assert (plain, weighted) == pytest.approx((float(apart.mean()), float(rows @ apart)), rel=1e-3)
    assert in_text < 10 < 50 < in_mean


# --------------------------------------------------------------------------- in a sentence: 05


def rows_are_tokens():
    stacked, separate = numbers("c05-rows-are-tokens")
    assert stacked > 0.1
    assert separate == 0


def width_of_the_projections():
    assert numbers("c05-width-of-the-projections")[1:] == [X.shape[1], QKV.shape[1]] == [4, 4]


def the_scaling_left_out():
    found = np.reshape(numbers("c05-the-scaling-left-out")[:6], (2, 3))
    of_cat = np.reshape(numbers("c05-the-scaling-left-out")[6:], (2, 6))
    for shown_, query, keys in ((found, QKV[0], QKV), (of_cat, CAT_Q, CAT_K)):
        scaled, raw = weights(query, keys, None), weights(query, keys, 1.0)
        np.testing.assert_allclose(shown_, [scaled, raw], rtol=SHOWN)
        assert np.abs(shown_[0] - shown_[1]).min() > 0.001  # every weight is another one
        assert raw.max() > scaled.max() > scaled.min() > raw.min()


def every_query_reads_sat():
    text = BY_SLUG["c05-every-query-reads-sat"].shown()
    assert re.findall(r"(\w+) reads (\w+)", text) == [
        ("The", "sat"),
        ("cat", "sat"),
        ("sat", "sat"),
    ]
    found = [float(x) for x in re.findall(r"weight ([\d.]*\d)", text)]
    assert found == pytest.approx([weights(q, QKV, None)[2] for q in QKV], abs=5.1e-6)
    assert max(found) < 1
    # sat's key exceeds the others in every entry, so no positive query prefers another token.
    assert bool((QKV[2] > QKV[:2]).all())
    assert bool((QKV > 0).all())
    # Only "without negative entries" makes it so: this query reads The.
    other = torch.tensor([3.0, 0.0, 0.0, -2.11], dtype=torch.float64)
    assert int((QKV @ other).argmax()) == 0


def same_word_other_position():
    without, with_positions = numbers("c05-same-word-other-position")
    assert without == 0
    assert with_positions > 0.01
    assert (examples.SITS_X[0] == examples.SITS_X[4]).all()


def attention_is_not_linear():
    percent, in_values = numbers("c05-attention-is-not-linear")
    once, twice = (F.scaled_dot_product_attention(s * CAT_X, s * CAT_X, s * CAT_X) for s in (1, 2))
    assert percent == pytest.approx(
        100 * float((twice - 2 * once).norm() / (2 * once).norm()), abs=0.1
    )
    assert percent > 10
    assert in_values == 0


def attentions_in_a_layer():
    assert numbers("c05-attentions-in-a-layer") == [1, 2]
    assert not hasattr(torch.nn.TransformerEncoderLayer(4, 1), "multihead_attn")
    assert hasattr(torch.nn.TransformerDecoderLayer(4, 1), "multihead_attn")


def what_the_next_layer_reads():
    # A normalised vector of width C has length √C; a network's zeros would have length 0.
    assert numbers("c05-what-the-next-layer-reads") == pytest.approx([math.sqrt(4)] * 3, abs=1e-3)


def whose_weights_a_query_sets():
    assert numbers("c05-whose-weights-a-query-sets") == [0, 5, 5]


# --------------------------------------------------------------------------- in a sentence: 06


def mean_one_needs_more():
    found = numbers("c06-mean-one-needs-more")
    assert [found[i] for i in (0, 1, 3, 5)] == [1, 1, 64, 1024]
    assert [found[2], found[4]] == pytest.approx([8, 32], rel=0.02) != [1, 1]


def power_of_growth():
    _, _, small, d, large, more, *fit = numbers("c06-power-of-growth")
    assert (d, more, *fit[:2]) == (64, 1024, 4, 1024)
    assert (small, large) == pytest.approx((8, 32), rel=0.02)
    assert fit[2] == pytest.approx(0.5, abs=0.02)


def gradient_without_division():
    found = np.reshape(numbers("c06-gradient-without-division")[1:], (4, 3))
    assert found[:, 2].tolist() == [64, 64, 1024, 1024]
    (median, mean, _), (median_root, mean_root, _) = found[:2]
    assert median > 2 * median_root
    assert mean > 4 * mean_root
    (median, mean, _), (median_root, mean_root, _) = found[2:]
    assert median < median_root / 100
    assert mean > 3 * mean_root
    # ÷ √D, a query's weights answer alike at every width: the Jacobian at 16 scores of spread 1,
    # times keys of length √D, over √D.
    w = np.exp(np.random.default_rng(0).standard_normal((4000, 16)))
    w /= w.sum(axis=1, keepdims=True)
    squares = (w**2).sum(axis=1) - 2 * (w**3).sum(axis=1) + (w**2).sum(axis=1) ** 2
    assert [mean_root, found[1, 1]] == pytest.approx([np.sqrt(squares).mean()] * 2, rel=0.05)


def aligned_after_scaling():
    assert numbers("c06-aligned-after-scaling")[1::2] == [64, 1024]
    assert numbers("c06-aligned-after-scaling")[::2] == pytest.approx([8, 32], rel=0.02)


def dividing_by_d():
    found = numbers("c06-dividing-by-d")
    assert found[:2] == [64, 1024]
    assert found[2:4] == pytest.approx([1, 1], abs=0.05)  # the mean of 1; found[4] is that mean
    assert found[5:7] == pytest.approx([64**-0.5, 1024**-0.5], rel=0.05)


def lengths_are_not_the_reason():
    width, *found = numbers("c06-lengths-are-not-the-reason")
    assert width == 256
    assert found == pytest.approx([16, 16, 256, 16, 1 / 16], rel=0.05)


def variance_and_magnitude():
    assert numbers("c06-variance-and-magnitude") == pytest.approx([64, 1024, 1, 16, 4], rel=0.05)


def extremes_become_rarer():
    shares = numbers("c06-extremes-become-rarer")[::2]
    outer_ten = 2 * sum(math.comb(k + 9, k) for k in range(6)) / 6**10  # totals 10 to 15, twice
    assert shares == pytest.approx([2 / 6, 6 / 36, outer_ten], rel=1e-3)
    assert shares[0] > shares[1] > shares[2]
    by_the_normal_law = 2 * NormalDist(35, math.sqrt(10 * 35 / 12)).cdf(15.5)
    assert shares[2] == pytest.approx(by_the_normal_law, rel=4)


def dice_have_a_mean():
    found = numbers("c06-dice-have-a-mean")
    for n, (mean, deviation, dice) in zip((1, 2, 100), np.reshape(found, (3, 3)), strict=True):
        assert (mean, dice) == (3.5 * n, n)
        assert deviation == pytest.approx(math.sqrt(n * 35 / 12), rel=1e-3)


SENTENCES = {
    f"c{chapter}-{check.__name__.replace('_', '-')}": check
    for chapter, checks in {
        "03": (
            entry_is_a_logit, abc_heading, tied_table_predicts, embedding_keywords,
            unseen_pairs_sink, a_few_hundred_iterations, zeros_need_no_breaking, add_one_start,
            flat_loss, a_rare_row_lags, row_of_a_character, small_difference_far_away,
            difference_at_the_optimum, flat_close_and_far, best_fit_infinite_loss,
            smoothing_knows_more, rows_of_nan, mean_difference_is_always_small,
            rare_rows_rule_the_mean,
        ),
        "05": (
            rows_are_tokens, width_of_the_projections, the_scaling_left_out,
            every_query_reads_sat, same_word_other_position, attention_is_not_linear,
            attentions_in_a_layer, what_the_next_layer_reads, whose_weights_a_query_sets,
        ),
        "06": (
            mean_one_needs_more, power_of_growth, dividing_by_d, lengths_are_not_the_reason,
            variance_and_magnitude, gradient_without_division, aligned_after_scaling,
            extremes_become_rarer, dice_have_a_mean,
        ),
    }.items()
    for check in checks
}  # fmt: skip


@pytest.mark.parametrize("slug", SENTENCES)
def test_sentence_states_what_another_route_finds(slug):
    SENTENCES[slug]()


# --------------------------------------------------------------- claims made inside a `why`


def test_one_of_the_twelve_printed_projections_is_right():
    assert int((PRINTED_QKV.sub(QKV).abs() < 0.006).sum()) == 1


def test_two_of_the_four_printed_entries_of_a_sum_pass_as_rounded():
    off = np.abs(numbers("c05-printed-weighted-sum") - examples.THE_CAT_SAT_PRINTED_OUTPUT)
    assert (off > 0.01).all()
    assert (off < 0.05).tolist() == [True, True, False, False]


def test_the_output_for_the_is_near_the_value_of_sat():
    found = np.reshape(numbers("c05-output-of-the"), (2, 4))
    assert np.abs(found[0] / found[1] - 1).max() < 0.025


@pytest.mark.parametrize("given", [CAT_K, CAT_V])
def test_no_bias_mends_the_keys_and_values(given):
    with_bias = torch.cat([CAT_X, torch.ones(6, 1)], dim=1)
    solution = torch.linalg.lstsq(with_bias, given, driver="gelsd").solution
    assert float((with_bias @ solution - given).abs().max()) > 0.05


@pytest.mark.parametrize("given", [CAT_K, CAT_V])
def test_the_identity_makes_all_but_the_key_and_value_of_cat(given):
    assert (given == CAT_X).all(dim=1).tolist() == [token != "cat" for token in examples.CAT_TOKENS]


def test_the_weights_of_cat_are_too_large_by_one_factor():
    factor = examples.CAT_PRINTED_WEIGHTS / weights(CAT_Q, CAT_K, 1.0)
    assert factor.max() - factor.min() < 0.01
    assert factor.min() > 1.1


# ------------------------------------------------------------------------------ form of the data


def test_every_correction_is_tested_once():
    assert set(NUMERIC) | set(SENTENCES) == {c.slug for c in CORRECTIONS if c.chapter in
                                             ("03", "05", "06")}  # fmt: skip
    assert not set(NUMERIC) & set(SENTENCES)


def test_several_dozen_with_slugs_of_their_own():
    assert len(CORRECTIONS) >= 85
    assert len(BY_SLUG) == len(CORRECTIONS)
    assert all(re.fullmatch(r"c\d\d(-[a-z0-9]+)+", slug) for slug in BY_SLUG)
    assert len({c.claim for c in CORRECTIONS}) == len(CORRECTIONS)


def test_every_module_of_the_package_is_listed():
    written = []
    for module in pkgutil.iter_modules(helpers.corrections.__path__, "helpers.corrections."):
        written += collected(vars(importlib.import_module(module.name)))
    assert {c.slug for c in written} == set(BY_SLUG)


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_form(correction):
    assert correction.chapter in {f"{n:02d}" for n in range(1, 13)}
    assert correction.document in {"000", "001", "002", "003", "004"}
    assert correction.lines == tuple(sorted(set(correction.lines)))
    assert all(type(n) is int and n > 0 for n in correction.lines)
    assert correction.claim.endswith(".")
    assert correction.why.endswith(".")
    assert correction.right.__doc__
    assert len(inspect.signature(correction.right).parameters) == 0
    for text in (correction.claim, correction.says, correction.why, correction.shown()):
        assert text.count("$") % 2 == text.count("`") % 2 == 0  # it is parsed as Markdown
        assert "\n" not in text


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_no_decimal_in_the_reason_is_typed_only_there(correction):
    known = correction.claim + correction.says + correction.shown()
    assert all(decimal in known for decimal in re.findall(r"\d+\.\d+", correction.why))


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda c: c.slug)
def test_deterministic_and_leaves_the_global_generators_alone(correction):
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    assert correction.shown() == correction.shown()
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert (np.random.get_state()[1] == numpy_before).all()  # noqa: NPY002


def test_inputs_of_the_examples():
    np.testing.assert_allclose(examples.THE_CAT_SAT_X, np.arange(1, 13).reshape(3, 4) / 10)
    np.testing.assert_allclose(examples.THE_CAT_SAT_W, np.arange(1, 17).reshape(4, 4) / 10)
    unit = np.eye(3)
    pairs = [unit[[0, 1]], unit[[0, 2]], unit[[1, 2]]]
    np.testing.assert_array_equal(examples.CAT_X[:3], unit)
    np.testing.assert_array_equal(examples.CAT_X[3:], [pair.mean(axis=0) for pair in pairs])
    np.testing.assert_array_equal(
        examples.CAT_KEYS @ examples.CAT_QUERY, examples.CAT_PRINTED_SCORES
    )
    for given in (examples.CAT_KEYS, examples.CAT_VALUES):  # only the row of "cat" is not X's own
        np.testing.assert_array_equal((given != examples.CAT_X).any(axis=1), np.arange(6) == 1)
    for tokens, x in (("THE_CAT_SAT", 3), ("CAT", 6), ("SITS", 7)):
        assert (
            len(getattr(examples, f"{tokens}_TOKENS")) == len(getattr(examples, f"{tokens}_X")) == x
        )


@pytest.mark.parametrize(
    "name", [name for name in vars(examples) if name.isupper() and "TOKENS" not in name]
)
def test_examples_are_read_only(name):
    array = getattr(examples, name)
    assert array.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0.0


# --------------------------------------------------------------------------- number and shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (8.0, "8"),
        (-3, "−3"),
        (0.0, "0"),
        (1.0662243, "1.066"),
        (-0.35667, "−0.3567"),
        (4.509e-5, "4.509 × 10⁻⁵"),
        (-1.25e12 - 0.5, "−1.25 × 10¹²"),
        (20000, "20000"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "nan"),
    ],
)
def test_number(value, text):
    assert number(value) == text


def test_shown():
    assert shown("as it is") == "as it is"
    assert shown(0.5) == "0.5"
    assert shown(6) == "6"
    assert shown(np.array([1.0, 0.33333])) == "(1, 0.3333)"
    assert shown(np.array([[1.0, 0.25], [-2.0, 1e-7]])) == (
        r"$\begin{bmatrix}1 & 0.25 \\ -2 & 1e-07\end{bmatrix}$"
    )
    with pytest.raises(ValueError, match="3 axes"):
        shown(np.zeros((1, 1, 1)))


def a_right_value() -> float:
    """One."""
    return 1.0


GOOD = {
    "chapter": "05",
    "document": "003",
    "lines": (1, 2),
    "claim": "One is two.",
    "says": "2",
    "right": a_right_value,
    "why": "It is one.",
}


def test_correction_and_its_decorator_agree():
    correction = Correction(**GOOD)
    rest = {name: GOOD[name] for name in ("claim", "says", "why")}
    assert corrects("05", "003", 1, 2, **rest)(a_right_value) == correction
    assert (correction.slug, correction.shown()) == ("c05-a-right-value", "1")
    assert collected({"a": 1, "b": correction}) == (correction,)
    with pytest.raises(AttributeError):
        correction.says = "3"


@pytest.mark.no_shape_check
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("chapter", "5"),
        ("chapter", "005"),
        ("document", "005"),
        ("lines", ()),
        ("lines", (0,)),
        ("lines", (1.5,)),
        ("claim", " "),
        ("says", ""),
        ("why", ""),
        ("right", lambda: 1.0),
    ],
)
def test_fields_are_checked(field, value):
    with pytest.raises(ValueError, match=field):
        Correction(**{**GOOD, field: value})
