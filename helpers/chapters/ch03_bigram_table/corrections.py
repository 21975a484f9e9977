"""Corrections for chapter 03: what a table of logits holds, how it is trained, when it is done."""

import inspect
from itertools import pairwise
from string import ascii_letters
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn
from torch.nn import functional as F

from helpers.bigram import (
    ABC_TABLE,
    MarkovChain,
    conditional_entropy,
    cross_entropy_of,
    smoothed,
)
from helpers.chapters.ch03_bigram_table.lab import adam, descend, loss_of, softmax, tales
from helpers.corrections import corrects, number
from helpers.corrections.arrays import given
from helpers.numerics import entropy

Matrix = Float[np.ndarray, "V V"]
Vector = Float[np.ndarray, " V"]

THIRDS = given([1 / 3] * 3)

# ------------------------------------------------------------ what the measurements are made of


def _chain(size: int = 65) -> MarkovChain:
    """A chain over as many states as a small text has characters, with common and rare ones."""
    common = 1 / np.arange(1, size + 1)
    common /= common.sum()
    rows = np.random.default_rng(0).dirichlet(4 * common, size=size)
    return MarkovChain(0.95 * rows + 0.05 * common)


def _counts(chain: MarkovChain, n: int, seed: int) -> Int[np.ndarray, "V V"]:
    """Counts of n transitions drawn from a chain."""
    pairs = chain.stationary[:, None] * chain.table
    draws = np.random.default_rng(seed).multinomial(n, pairs.ravel() / pairs.sum())
    return draws.reshape(pairs.shape)


def _abc_from_zeros() -> Matrix:
    """The A/B/C table's logits after training from zeros, to convergence."""
    return descend(np.zeros((3, 3)), ABC_TABLE, THIRDS, rate=3.0, steps=1000)


# ------------------------------------------------------------------------- what an entry means


@corrects(
    claim="Entry [i, j] of the trained table is the probability that token j follows token i.",
    says="“table[i, j] = p1 means: when current token is i, the probability of the next token "
    "being j is p1”",
    why="The table holds logits, which nothing keeps below 1 or above 0; the softmax of a row "
    "gives the probabilities. Trained from zeros by plain gradient descent, an entry is its "
    "log-probability minus the mean log-probability of its row.",
)
def entry_is_a_logit() -> str:
    """Entry [A, B] of the A/B/C table trained from zeros, beside its probability."""
    return (
        f"For P(B | A) = {number(ABC_TABLE[0, 1])} the entry [A, B] of a table trained from "
        f"zeros is {number(_abc_from_zeros()[0, 1])}."
    )


@corrects(
    claim="The entries of each row of the trained table sum to 1.",
    says="“sum(table[i, j], j = 1 to vocab_size) = 1”",
    why="The softmax of a row sums to 1, the row itself need not. The gradient of a row sums to 0, "
    "so plain gradient descent keeps each row's sum where it began; from zeros that is 0.",
)
def row_sums() -> str:
    """Row sums of the A/B/C table trained from zeros, cleared of float noise."""
    sums = np.round(_abc_from_zeros().sum(axis=1), 9) + 0.0
    return f"Trained from zeros on A/B/C, the rows sum to {', '.join(map(number, sums))}."


@corrects(
    claim="After training, entry [i, j] is approximately log P(j | i).",
    says="$W[i, j] \\approx \\log P(j \\mid i)$",
    why="Adding a constant to a row changes no probability, so the loss fixes each row only up to "
    "such a constant. Which it is depends on the initial weights and on the optimiser; it would "
    "have to be 0 in every row.",
)
def log_probability_up_to_a_constant() -> str:
    """The constant of each row of the A/B/C table trained from zeros."""
    constants = (_abc_from_zeros() - np.log(ABC_TABLE)).mean(axis=1)
    return (
        "Trained from zeros, the entries of the rows A, B, C lie "
        f"{', '.join(map(number, constants))} above the log-probabilities."
    )


@corrects(
    claim="In the A/B/C table, as its heading has it, current tokens run along the top and next "
    "tokens down the side.",
    says="“current token → next token ↓”",
    why="It is the other way round: a row belongs to the current token. Read along the arrows, "
    "no column is a distribution.",
)
def abc_heading() -> str:
    """Sums of the A/B/C table in both readings."""
    down, across = ABC_TABLE.sum(axis=0), ABC_TABLE.sum(axis=1)
    return (
        f"Read as headed, the probabilities after A, B, C sum to "
        f"{', '.join(map(number, down))}; read by rows, to {', '.join(map(number, across))}."
    )


@corrects(
    claim="In a GPT the embedding table no longer has a direct part in predicting the next token, "
    "even where the output layer shares its weights.",
    says="“not directly responsible for predicting next tokens anymore”, though the output layer "
    "is “often tied to the embedding weights”",
    why="With shared weights each logit is the dot product of the last state with a row of that "
    "very table, so one prediction sends a gradient into each row. Untied, it reaches only the "
    "rows of the tokens in the context.",
)
def tied_table_predicts() -> str:
    """Rows of the embedding table that one prediction's gradient reaches, untied and tied."""
    size, width = 10, 4
    reached = {}
    for tied in (False, True):
        generator = torch.Generator().manual_seed(0)
        table = torch.randn(size, width, generator=generator).requires_grad_()
        head = table if tied else torch.randn(size, width, generator=generator)
        F.cross_entropy(head @ table[3], torch.tensor(7)).backward()
        assert table.grad is not None
        reached[tied] = int((table.grad.abs().sum(dim=1) > 0).sum())
    return (
        f"The gradient of one prediction from one token reaches {reached[False]} of {size} rows "
        f"untied, {reached[True]} tied."
    )


@corrects(
    claim="An embedding layer is made by naming its two sizes vocab_size and n_embd.",
    says="`E = nn.Embedding(vocab_size=5, n_embd=3)`",
    why="PyTorch has other names for the two arguments, so the line stops with an error; passed "
    "by position they work.",
)
def embedding_keywords() -> str:
    """What the call raises, and the names that the class does take."""
    first, second = list(inspect.signature(nn.Embedding.__init__).parameters)[1:3]
    wrong: dict[str, Any] = {"vocab_size": 5, "n_embd": 3}
    try:
        nn.Embedding(**wrong)
    except TypeError as error:
        return f"`{type(error).__name__}`: the names are `{first}` and `{second}`."
    return "It runs."


# -------------------------------------------------------------------------- what training does


@corrects(
    claim="In training to convergence the logits converge, each to about the log of an empirical "
    "probability.",
    says="“At convergence” $W[i, j] \\approx \\log P_{\\text{data}}(j \\mid i)$",
    why="The probabilities converge, the logits need not. For a pair that the text lacks the log "
    "is minus infinity: its probability goes to 0, and its logit never comes to rest. By gradient "
    "descent at a constant rate it falls by about the same amount each time the number of steps "
    "is multiplied by ten.",
)
def unseen_pairs_sink() -> str:
    """Logit of an unseen pair, against the mean of the seen ones, after ever more steps."""
    target, one = np.array([[0.7, 0.3, 0.0]]), np.ones(1)
    logits, done, gaps = np.zeros((1, 3)), 0, []
    steps = (10, 100, 1000)
    for until in steps:
        logits, done = descend(logits, target, one, 1.0, until - done), until
        gaps.append(logits[0, 2] - logits[0, :2].mean())
    return (
        f"After {', '.join(map(number, steps))} steps at rate 1 the unseen pair's logit lies at "
        f"{', '.join(map(number, gaps))} against the mean of the seen ones."
    )


@corrects(
    claim="The losses of a bigram model level off very quickly, often within a few hundred "
    "iterations.",
    says="“should plateau very quickly (often within a few hundred iterations)”",
    why="How long it takes is set by the learning rate. As a rule Adam moves a weight by about its "
    "learning rate per step or less, and where gradients are rare by up to about three times as "
    "much (Kingma and Ba's bound, $(1-\\beta_1)/\\sqrt{1-\\beta_2}$, is 3.16). So at the usual "
    "0.001 some hundred steps cannot carry logits the several units that they have to go.",
)
def a_few_hundred_iterations() -> str:
    """Excess over the floor after 300 steps of Adam, on a known chain of 65 states."""
    chain, steps = _chain(), 300
    start = np.random.default_rng(0).standard_normal(chain.table.shape)
    gaps, far = {}, 0.0
    for rate in (0.1, 0.01, 0.001):
        trained = adam(start, chain.table, chain.stationary, rate, steps)
        gaps[rate] = loss_of(trained, chain.table, chain.stationary) - chain.entropy_rate
        far = np.abs(trained - start).max()
    before = loss_of(start, chain.table, chain.stationary) - chain.entropy_rate
    return (
        f"On a known chain of {len(start)} tokens the logits begin {number(before)} nats above the "
        f"floor; {steps} steps of Adam leave "
        + ", ".join(f"{number(gap)} at rate {rate}" for rate, gap in gaps.items())
        + f". At the last rate no logit has moved by more than {number(far)}."
    )


@corrects(
    claim="Starting from zeros works because training soon breaks the symmetry, the rows seeing "
    "different tokens.",
    says="“Works fine—training quickly breaks symmetry because rows see different tokens.”",
    why="It works, but no symmetry stands in the way. One layer has no interchangeable hidden "
    "units; each row is a convex problem of its own, with the gradient p − y from the first step "
    "on. Rows that see the same successors stay equal, and still reach the floor.",
)
def zeros_need_no_breaking() -> str:
    """Training from zeros where all rows have the same target."""
    target = np.tile(ABC_TABLE[0], (3, 1))
    trained = descend(np.zeros((3, 3)), target, THIRDS, rate=3.0, steps=1000)
    floor = float(entropy(ABC_TABLE[0]))
    gap = max(loss_of(trained, target, THIRDS) - floor, 0.0)
    apart = np.ptp(trained, axis=0).max()
    return (
        f"With the same target for all three rows they differ by {number(apart)} after "
        f"training, and the loss is {number(round(gap, 9))} nats above its floor."
    )


@corrects(
    claim="The log of add-one counts is the best warm start for the fastest convergence.",
    says="“Best warm-start (if you want fastest convergence)”: counts from `torch.ones(V, V)`, "
    "“+1 Laplace”",
    why="The training loss has its minimum at the log of the frequencies as they are. Adding 1 to "
    "each of V × V cells moves the logits away from it, the more so the fewer the data; a "
    "thousandth also guards against the log of 0, and starts far closer.",
)
def add_one_start() -> str:
    """Training loss above its floor at the start, for three amounts added to the counts."""
    counts = _counts(_chain(), 20_000, seed=1)
    floor = conditional_entropy(counts)
    gaps = {a: cross_entropy_of(smoothed(counts, a), counts) - floor for a in (1.0, 0.1, 0.001)}
    return (
        f"On {counts.sum()} transitions between {len(counts)} tokens the logits begin above the "
        "floor by "
        + ", ".join(f"{number(gap)} nats with +{number(add)}" for add, gap in gaps.items())
        + "."
    )


# ---------------------------------------------------------------------------- when it is done


@corrects(
    claim="A loss that stops decreasing significantly over many iterations has converged.",
    says="“stops decreasing significantly over many iterations”, as in 2.31 → 2.30 → 2.30 → 2.31",
    why="A small learning rate makes a flat curve anywhere. For a bigram table there is a better "
    "yardstick: the conditional entropy of the counts is the floor, and the gap to it is known.",
)
def flat_loss() -> str:
    """Change of the loss over 500 slow steps, and how far it still is from the floor."""
    chain, steps = MarkovChain(ABC_TABLE), 500
    slow = descend(np.zeros((3, 3)), ABC_TABLE, chain.stationary, rate=1e-4, steps=steps)
    before, after = (loss_of(w, ABC_TABLE, chain.stationary) for w in (np.zeros((3, 3)), slow))
    return (
        f"On A/B/C at rate 0.0001 the loss moves by {number(before - after)} in the first {steps} "
        f"steps, and is then {number(after - chain.entropy_rate)} nats above the floor."
    )


@corrects(
    claim="When the loss has levelled off, the distributions in all rows have essentially matched "
    "the data.",
    says="“the bigram conditional distributions have essentially matched the data statistics”",
    why="A row counts in the loss in proportion to how often its token occurs, and in plain "
    "gradient descent it moves in the same proportion. A rare token's row can be far off while "
    "the loss is as good as at its floor.",
)
def a_rare_row_lags() -> str:
    """Gap of the loss, and L1 distance of each row, where one token is rare."""
    rows = np.array([0.6, 0.399, 0.001])
    logits = descend(np.zeros((3, 3)), ABC_TABLE, rows, rate=1.0, steps=1000)
    gap = loss_of(logits, ABC_TABLE, rows) - float(rows @ entropy(ABC_TABLE))
    apart = np.abs(softmax(logits) - ABC_TABLE).sum(axis=1)
    return (
        f"With the rows of A/B/C read with frequency {', '.join(map(number, rows))} the loss ends "
        f"{number(gap)} nats above its floor, while the rows are off by "
        f"{', '.join(number(round(d, 9)) for d in apart)} (sum of absolute differences)."
    )


@corrects(
    claim="The row of the character t in the table is found with ord('t').",
    says="`model.token_embedding_table.weight[ord('t')]`",
    why="ord gives a code point, not the row that the tokenizer gave the character. In a table of "
    "65 characters the index does not exist; in a larger one it silently names another token, "
    "unless ids happen to be code points.",
)
def row_of_a_character() -> str:
    """Row of t where 65 characters are numbered in sorted order, beside ord('t')."""
    vocabulary = sorted(set("\n !$&',-.3:;?" + ascii_letters))
    return (
        f"Among {len(vocabulary)} sorted characters t has row {vocabulary.index('t')}; "
        f"`ord('t')` is {ord('t')}."
    )


@corrects(
    claim="A row whose distribution moved by less than 1e-4 between two looks has converged.",
    says="“When diff becomes very small (e.g. < 1e-4), the row's learned probabilities have "
    "stabilized.”",
    why="The difference measures the speed, not the distance to go: with a small learning rate, "
    "or few steps between the looks, it is small anywhere.",
)
def small_difference_far_away() -> str:
    """Movement of row A over ten slow steps from zeros, and its distance from the data."""
    chain = MarkovChain(ABC_TABLE)
    before = np.zeros((3, 3))
    after = descend(before, ABC_TABLE, chain.stationary, rate=1e-4, steps=10)
    moved = np.abs(softmax(after) - softmax(before))[0].sum()
    distance = np.abs(softmax(after) - ABC_TABLE)[0].sum()
    return (
        f"From zeros on A/B/C, ten steps at rate 0.0001 move row A by {number(moved)}, with "
        f"{number(distance)} to go."
    )


@corrects(
    claim="The same test serves in training on batches: a row that has arrived will pass it.",
    says="“When diff becomes very small (e.g. < 1e-4)”, after N more steps",
    why="This is the test's other failure, which the notes do not mention. Batches are samples, so "
    "at a constant learning rate the row goes on jittering about the optimum, by an amount that "
    "learning rate and batch size set. The wait may never end.",
)
def difference_at_the_optimum() -> str:
    """How row A moves in 100 steps of stochastic gradient descent begun at the optimum."""
    rng, target = np.random.default_rng(0), ABC_TABLE[0]
    logits = np.tile(np.log(target), (200, 1))  # 200 runs at once
    for _ in range(100):
        seen = rng.multinomial(32, target, size=len(logits)) / 32
        logits = logits - 0.1 * (softmax(logits) - seen)
    moved = np.abs(softmax(logits) - target).sum(axis=1)
    return (
        f"Begun at the optimum of A/B/C, 100 steps at rate 0.1 with 32 examples each move row A by "
        f"{number(np.median(moved))} (median of {len(moved)} runs); "
        f"{number(100 * (moved < 1e-4).mean())} % of the runs stay below 0.0001."
    )


@corrects(
    claim="Training and validation curves that are flat and close together are a sign that the "
    "table has converged.",
    says="Among the signals of convergence: “Training vs. validation loss gap small”, “both "
    "curves flatten”.",
    why="Flatness tells the speed, and the gap compares two losses with each other; neither "
    "compares them with the floor. After a few steps at a small learning rate the curves are flat "
    "and close, and the table has learned next to nothing.",
)
def flat_close_and_far() -> str:
    """Change of the loss, gap, and distance from the floor after a few slow steps on the tales."""
    train, validation = tales().counts, tales().validation
    rows, zeros = train.sum(axis=1) / train.sum(), np.zeros(train.shape)
    steps = 50
    slow = softmax(descend(zeros, smoothed(train, 0), rows, rate=0.001, steps=steps))
    before = cross_entropy_of(softmax(zeros), train)
    after, unseen = (cross_entropy_of(slow, counts) for counts in (train, validation))
    return (
        f"On the characters of the tales, {steps} steps from zeros at rate 0.001 move the training "
        f"loss by {number(before - after)} nats; the gap is then {number(abs(unseen - after))}, "
        f"and the loss {number(after - conditional_entropy(train))} above its floor."
    )


@corrects(
    claim="Where the curves of training and validation loss flatten and do not part, the table "
    "fits the training frequencies about as well as it can.",
    says="If “there's no divergence, the model has fit the empirical bigram frequencies about as "
    "well as possible”.",
    why="With the best fit the curves part as far as they can: it gives probability 0 to each pair "
    "that the training text lacks, and one such pair in the validation text makes its loss "
    "infinite. Training approaches just that.",
)
def best_fit_infinite_loss() -> str:
    """Losses of the count model on its own sample and on a second one."""
    chain = _chain()
    train, validation = (_counts(chain, 20_000, seed) for seed in (1, 2))
    table = smoothed(train, 0)
    unseen = validation[train == 0].sum()
    return (
        f"The exact fit has a loss of {number(cross_entropy_of(table, train))} on training data "
        f"and {number(cross_entropy_of(table, validation))} on validation data, where {unseen} of "
        f"{validation.sum()} transitions are of unseen pairs; with +1 it is "
        f"{number(cross_entropy_of(smoothed(train, 1), validation))}."
    )


@corrects(
    claim="A table equal to the training frequencies has learned all that one token of context "
    "can tell.",
    says="Once the table matches the empirical frequencies, “it's learned all it can from the "
    "1-token context”.",
    why="The frequencies are those of a sample. With little text a smoothed table is often nearer "
    "to what produced it, and where a possible pair was not seen the frequencies have an infinite "
    "true loss.",
)
def smoothing_knows_more() -> str:
    """Share of small samples in which add-one has a lower true loss than the frequencies."""
    chain = MarkovChain(ABC_TABLE)
    pairs = chain.stationary[:, None] * chain.table
    n, seeds, better = 60, 200, 0
    for seed in range(seeds):
        counts = _counts(chain, n, seed)
        exact, added = (cross_entropy_of(smoothed(counts, a), pairs) for a in (0, 1))
        better += added < exact
    return (
        f"In {number(100 * better / seeds)} % of {seeds} samples of {n} transitions of A/B/C "
        "the add-one table has the lower true loss."
    )


# ------------------------------------------------------------- comparing with the count matrix


@corrects(
    claim="Dividing each row of the count matrix by its sum gives an empirical distribution for "
    "every token.",
    says="`empirical = counts / counts.sum(1, keepdim=True)`",
    why="A token that is never followed by another, such as one of the vocabulary that the text "
    "lacks, has a row of zeros; 0 / 0 is nan, and one nan makes the mean difference nan.",
)
def rows_of_nan() -> str:
    """The comparison as printed, with three tokens of which the text has two."""
    ids = torch.tensor([0, 1, 0, 0, 1])
    counts = torch.zeros(3, 3)
    for a, b in pairwise(ids):
        counts[a, b] += 1
    empirical = counts / counts.sum(1, keepdim=True)
    difference = torch.mean(torch.abs(empirical - torch.full((3, 3), 1 / 3)))
    return (
        f"With three tokens of which the text has two, {int(empirical.isnan().sum())} of "
        f"{empirical.numel()} entries are nan, and so is the mean difference: "
        f"{number(difference.item())}."
    )


@corrects(
    claim="A small mean absolute difference between trained and counted table shows that they "
    "match.",
    says="“If diff is small, the learned bigram table has ‘stabilized’ to the true dataset "
    "statistics.”",
    why="Rows sum to 1, so the mean over V × V entries cannot exceed 2 / V, for whatever two "
    "tables. With 65 tokens even an untrained table looks close.",
)
def mean_difference_is_always_small() -> str:
    """Mean absolute difference of a uniform table from a chain of 65 states, and its bound."""
    table = _chain().table
    uniform = np.abs(table - 1 / len(table)).mean()
    return (
        f"An untrained, uniform table is off by {number(uniform)} on average; two tables of "
        f"{len(table)} tokens can differ by at most {number(2 / len(table))}."
    )


@corrects(
    claim="The mean absolute difference over all entries tells how well the table fits the text.",
    says="`diff = torch.mean(torch.abs(empirical - trained))`",
    why="It weighs all rows alike, while the text does not: rows of rare tokens, which training "
    "touches least, can make up most of it. Weighted by how often each row is read it says "
    "something else.",
)
def rare_rows_rule_the_mean() -> str:
    """Share of the rarer half of the rows in the text and in the mean difference."""
    counts = _counts(_chain(), 20_000, seed=1)
    empirical, rows = smoothed(counts, 0), counts.sum(axis=1) / counts.sum()
    trained = softmax(descend(np.zeros(counts.shape), empirical, rows, rate=10.0, steps=300))
    apart = np.abs(trained - empirical).sum(axis=1)
    rare = np.argsort(rows)[: len(rows) // 2]
    return (
        f"The rarer half of {len(rows)} tokens makes up {number(100 * rows[rare].sum())} % of the "
        f"text and {number(100 * apart[rare].sum() / apart.sum())} % of the difference; a row is "
        f"off by {number(apart.mean())} on average, by {number(rows @ apart)} weighted by "
        "frequency."
    )
