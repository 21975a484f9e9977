"""Corrections for chapter 04: which numbers a norm averages, what it divides by, what it undoes."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from helpers.corrections import corrects, number, shown
from helpers.corrections.arrays import deviation, given, moved, rms, span, standardised
from helpers.norms import RMSNorm
from helpers.numerics import attention, mean, softmax, variance

Array = Float[np.ndarray, "..."]


# ------------------------------------------------------------------- inputs of worked examples

HUNDREDS = given([100, 110, 90])  # three numbers that are normalised to show what that means
# Three raw scores, normalised and then scaled and shifted with γ = 2, β = 1.
EIGHT_TEN_TWELVE = given([8, 10, 12])
# Two word vectors of width 3, to be normalised row by row.
TWO_WORDS = given([[3, 5, 2], [2, 4, 3]])
NEURON = given([4.1, 3.7, 4.2])  # what one neuron gives for the three samples of a batch
WORD = given([3.2, 2.9, 3.0, 3.1, 3.3, 2.8, 3.0, 2.9])  # a word embedding of width 8
# What is printed as that embedding normalised.
WORD_PRINTED = given([1.33, -0.66, 0.0, 0.66, 2.0, -1.33, 0.0, -0.66])
# Three tokens (rows) of three features (columns), for LayerNorm and for BatchNorm.
TABLE = given([[1, 2, -1], [3, 1, 0.5], [2, -1, 1.5]])
ONE_TO_FOUR = given([1, 2, 3, 4])  # one sample of four features
# The five entries that are shown of a vector of width 512.
CAT_BEFORE = given([10.5, -3.2, 0.0, 5.1, 7.3])
# What is printed for the same five entries after LayerNorm, before γ and β.
CAT_PRINTED_AFTER = given([1.2, -0.5, 0.0, 0.7, 1.0])
HEIGHTS = given([150, 180, 120])  # heights in cm of three children: one feature each
# Size in square feet and rooms of three houses; the first is the usual example.
HOUSES = given([[1700, 3], [900, 2], [2400, 5]])

# ------------------------------------------------------------ what the measurements are made of


def _layer_norm(x: Array) -> Array:
    """What torch's LayerNorm makes of the rows of x, at its start."""
    rows = torch.tensor(x)
    return F.layer_norm(rows, rows.shape[-1:]).numpy()


def _row(x: Array) -> str:
    """Write a vector to two decimals, as the worked examples print theirs."""
    return "(" + ", ".join(f"{v:.2f}" for v in x.tolist()).replace("-", "−") + ")"


def _batch_norm(x_BTC: Tensor) -> Tensor:
    """Torch's BatchNorm in training mode: each feature over the tokens of all sequences."""
    return F.batch_norm(x_BTC.transpose(1, 2), None, None, training=True).transpose(1, 2)


# ----------------------------------------------------------------------------- why one normalises


@corrects(
    claim="Internal covariate shift is the drift of the activations from layer to layer.",
    says="Under “Internal covariate shift”: “the distribution of activations (mean/std) could "
    "drift layer by layer”; with LayerNorm each token has “consistent scale … before entering the "
    "next layer”",
    why="The term means a change over time: that of a layer's inputs while training changes the "
    "layers before it. Drift with depth is there before any training. LayerNorm fixes the scale "
    "of each token in each layer, but lets the features go on shifting during training.",
)
def shift_over_time() -> str:
    """Fall of the activations with depth, and shift of normalised ones with training."""
    falls, shifts = np.array([_shifts(seed) for seed in range(5)]).T.tolist()
    return (
        "After 8 untrained ReLU layers without a norm, activations of size 1 have the size "
        f"{span(falls, 2)}, though no parameter has changed. With LayerNorm after each layer, 50 "
        f"steps of training move the feature means at the last layer by {span(shifts, 2)} of a "
        "standard deviation (5 seeds each)."
    )


def _shifts(seed: int) -> tuple[float, float]:
    """Size after 8 untrained layers, and shift of the last layer's input in 50 steps."""
    rng = np.random.default_rng(seed)
    x, y = (torch.tensor(rng.standard_normal(shape)) for shape in ((64, 16), (64, 16)))
    layers = torch.tensor(rng.standard_normal((9, 16, 16)) / 4, requires_grad=True)

    def inputs(norm: bool) -> Tensor:
        h = x
        for w in layers[:-1]:
            h = torch.relu(h @ w)
            h = F.layer_norm(h, (16,)) if norm else h
        return h

    size, before = rms(inputs(False).detach().numpy()), inputs(True).detach()
    for _ in range(50):
        loss = F.mse_loss(inputs(True) @ layers[-1], y)
        (slope,) = torch.autograd.grad(loss, layers)
        layers = (layers - 0.5 * slope).detach().requires_grad_()
    shift = inputs(True).detach().mean(dim=0) - before.mean(dim=0)
    return size, rms((shift / before.std(dim=0, correction=0)).numpy())


@corrects(
    claim="LayerNorm does to a token's features what standardising the columns does to a table.",
    says="“just like you'd standardize columns in tabular ML”; “exactly like feature "
    "standardization in tabular ML (just row-wise)”",
    why="That it goes by row is granted, but by row it is another operation. Standardising a "
    "column compares one feature between samples, and keeps their differences. LayerNorm compares "
    "the different features of one sample with each other: of two features, be they feet and "
    "rooms, it keeps only which is larger.",
)
def rows_are_not_columns() -> str:
    """Three houses with two features, normalised by row and by column."""
    by_row = ", ".join(_row(row) for row in standardised(HOUSES))
    by_column = ", ".join(_row(row) for row in standardised(HOUSES, axis=0))
    houses = ", ".join(shown(row) for row in HOUSES)
    return (
        f"Three houses with size and rooms {houses} become {by_column} by column, but "
        f"{by_row} by row."
    )


# ------------------------------------------------------------------------------ axis by axis


@corrects(
    claim="Where BatchNorm compares a child's height with a crowd of tall ones, LayerNorm is the "
    "cure: it measures each child relative to itself.",
    says="Alice 150 cm, Bob 180 cm, Carol 120 cm: “LayerNorm would normalize per child … No one is "
    "left behind due to others in the batch”",
    why="A child here has a single feature, and a number less its own mean is 0. LayerNorm removes "
    "the very differences between the children; it needs several features that can be compared "
    "with one another.",
)
def one_feature_vanishes() -> str:
    """LayerNorm of each child's one height."""
    out = shown(_layer_norm(HEIGHTS[:, None])[:, 0])
    return f"LayerNorm turns the three heights {shown(HEIGHTS)} into {out}."


# ------------------------------------------------------------------- what a norm divides by


@corrects(
    claim="LayerNorm divides by what `x.std()` gives, so that (100, 110, 90) becomes (0, 1, −1), "
    "(8, 10, 12) becomes (−1, 0, 1), and (2, 4, 3) becomes (−1, 1, 0).",
    says="[0, 1, −1]; “std = 2.0 … [−1.0, 0.0, 1.0]”; [−1, 1, 0]; “Internally, PyTorch is doing: … "
    "`std = word_vector.std()`”",
    why="`Tensor.std` divides by n − 1 unless it is told otherwise. That serves to estimate a "
    "spread from a sample. LayerNorm and BatchNorm divide by the standard deviation with n, and "
    "only then is the mean of the squares 1. The fewer the features, the more it matters.",
)
def three_numbers_normalised() -> str:
    """The three examples under LayerNorm, and how much smaller everything is with n - 1."""
    examples = (HUNDREDS, EIGHT_TEN_TWELVE, TWO_WORDS[1])
    results = ", ".join(shown(standardised(x)) for x in examples)
    squares = number(round((standardised(HUNDREDS, ddof=1) ** 2).mean(), 9))
    larger, of_eight = (
        number(round(100 * standardised(x)[0] / standardised(x, ddof=1)[0] - 100, 1))
        for x in (EIGHT_TEN_TWELVE, WORD)
    )
    return (
        f"`nn.LayerNorm` gives {results}, but for a tiny ε. With n − 1 the mean of the squares is "
        f"{squares}. The right entries are larger by {larger} % with 3 features, and by {of_eight} "
        "% with 8."
    )


@corrects(
    claim="A LayerNorm of one's own that divides by `x.std() + eps` stands in for PyTorch's "
    "`nn.LayerNorm`.",
    says="`x_norm = (x - mean) / (std + self.eps)`; “Use it just like PyTorch's `nn.LayerNorm`.”",
    why="PyTorch divides by the root of variance + ε. With the usual ε that damps a vector whose "
    "deviation is small, and bounds the gradient of one with equal entries, such as padding with "
    "zeros. The same ε outside the root does so some three hundred times less. For an ordinary "
    "vector of many features the two hardly differ.",
)
def eps_outside_the_root() -> str:
    """Output for a small row, and steepest derivative at a row of zeros, of both norms."""

    def own(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)

    def torchs(x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], eps=1e-5)

    small, zeros = torch.tensor([1e-4, -1e-4] * 4).double(), torch.zeros(8).double()
    sizes = [number(norm(small)[0].item()) for norm in (own, torchs)]
    steepest = [
        number(torch.autograd.functional.jacobian(norm, zeros).max().item())
        for norm in (own, torchs)
    ]
    return (
        f"With ε = 10⁻⁵, 8 entries of ±0.0001 become ±{sizes[0]} with the home-made norm and "
        f"±{sizes[1]} with PyTorch's; at 8 zeros the largest derivative is {steepest[0]} and "
        f"{steepest[1]}."
    )


@corrects(
    claim="LayerNorm gives each token an output of mean 0 and standard deviation 1, and so keeps "
    "the activations in one range throughout training.",
    says="“Layer normalization ensures that the output for each token has a mean of 0 and a "
    "standard deviation of 1 … throughout training.”",
    why="That holds at the start, when γ is 1 and β is 0. The output is what γ and β make of the "
    "normalised vector, and both are learned. Besides, LayerNorm divides by "
    "$\\sqrt{\\sigma^2 + \\varepsilon}$, so a vector of nearly equal entries comes out with less, "
    "and one of equal entries, such as padding with zeros, is not 0/0.",
)
def gamma_and_beta_come_after() -> str:
    """Mean and deviation of LayerNorm's output with γ = 2 and β = 1, and of small vectors."""
    norm = nn.LayerNorm(8, dtype=torch.float64)
    nn.init.constant_(norm.weight, 2.0)
    nn.init.constant_(norm.bias, 1.0)
    out = norm(torch.tensor(WORD)).detach().numpy()
    before = (0.001, 0.0)
    after = deviation(_layer_norm(np.outer(before, [1.0, -1.0] * 4)))[:, 0]
    return (
        f"With γ = 2 and β = 1 in all features, the output for a word of 8 features has mean "
        f"{number(round(float(mean(out, -1)), 9))} and standard deviation "
        f"{number(deviation(out).item())}. At the start, vectors with a standard deviation of "
        f"{' and '.join(map(number, before))} come out with {' and '.join(map(number, after))} "
        "(ε = 10⁻⁵)."
    )


# -------------------------------------------------------------------- worked examples by hand


@corrects(
    claim="The third feature of the 3 × 3 table, the column (−1, 0.5, 1.5), has the variance 1.11 "
    "and is normalised to (−1.26, 0.16, 1.10).",
    says="Variance ≈ 1.11; −1.26, 0.16, 1.10",
    why="The squares of the three deviations −4/3, 1/6 and 7/6 add up to 19/6, a third of which "
    "is 19/18. The first and last normalised entries are too small accordingly.",
)
def variance_of_the_third_feature() -> str:
    """Variance and normalised entries of the table's third column."""
    column = TABLE[:, 2]
    return f"The variance is {number(variance(column, 0))}, and normalised it is " + (
        f"{shown(standardised(column))}."
    )


@corrects(
    claim="After normalisation all values lie between −1 and 1.",
    says="“After normalization, all your values are around 0 and between -1 and 1.” Just before, a "
    "column was normalised to [0.5, −1.5, 1.0].",
    why="A standard deviation of 1 is a typical distance from 0, not a limit. Unless all are "
    "exactly at ±1, some must lie beyond, as −1.5 does. A single one among n can reach the root "
    "of n − 1.",
)
def values_beyond_one() -> str:
    """Least entry of the column, share of normal entries beyond 1, and the extreme."""
    beyond = []
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(512)
        beyond.append(100 * float((np.abs(standardised(x)) > 1).mean()))
    spike = standardised(np.eye(512)[0]).max()
    return (
        f"The column (4.1, 3.7, 4.2) gives {number(standardised(NEURON).min())}; of 512 normal "
        f"entries {span(beyond, 2)} % lie outside (5 seeds); one entry that differs from 511 equal "
        f"ones gets {number(spike)}."
    )


@corrects(
    claim="LayerNorm takes the word vector (3, 5, 2) to (0.2, 1.2, −1.4).",
    says="[3, 5, 2] → [0.2, 1.2, −1.4]",
    why="With n − 1 it would not come out either. The mean is above 3, so the first entry must be "
    "negative; and 5 is further from the mean than 2, so it must get the larger size.",
)
def the_word_three_five_two() -> str:
    """The row normalised with n, and with n - 1."""
    word = TWO_WORDS[0]
    return (
        f"The mean is {number(mean(word, 0))}; LayerNorm gives {shown(standardised(word))}, and "
        f"n − 1 would give {shown(standardised(word, ddof=1))}."
    )


@corrects(
    claim="The word embedding (3.2, 2.9, 3.0, 3.1, 3.3, 2.8, 3.0, 2.9) has the standard deviation "
    "0.15 and is normalised to about (1.33, −0.66, 0, 0.66, 2, −1.33, 0, −0.66).",
    says="“mean = 3.0, std = 0.15 → becomes like: [1.33, −0.66, 0.0, 0.66, 2.0, −1.33, 0.0, "
    "−0.66]”",
    why="The mean was rounded to 3.0, and against so small a deviation that shows: every entry "
    "comes out too high. Normalised entries add up to 0, and these do not.",
)
def the_word_of_eight() -> str:
    """Mean, deviation and normalised entries of the 8-wide word, and the sum of what is printed."""
    return (
        f"The mean is {number(mean(WORD, 0))}, the standard deviation "
        f"{number(deviation(WORD).item())}, the result {_row(standardised(WORD))}; the printed "
        f"entries add up to {number(round(WORD_PRINTED.sum(), 9))}."
    )


@corrects(
    claim="LayerNorm takes a vector (10.5, −3.2, 0, 5.1, …, 7.3) of width 512 to something like "
    "(1.2, −0.5, 0, 0.7, …, 1.0).",
    says="[10.5, −3.2, 0.0, 5.1, …, 7.3] looks like [1.2, −0.5, 0.0, 0.7, …, 1.0] afterwards",
    why="Whatever the entries not shown, all are shifted by one mean and divided by one deviation, "
    "so equal steps before are equal steps after. No mean and deviation give the printed ones, "
    "not even as rounded.",
)
def one_line_through_a_vector() -> str:
    """Slopes of the printed output over the input, between neighbours in size, with rounding."""
    order = np.argsort(CAT_BEFORE)
    step, rise = np.diff(CAT_BEFORE[order]), np.diff(CAT_PRINTED_AFTER[order])
    first, last = ((rise + room) / step for room in (-0.1, 0.1))
    return (
        f"From −3.2 to 0 the printed output rises by at least {number(first[0])} for each unit, "
        f"from 7.3 to 10.5 by at most {number(last[-1])}; it should be one and the same rate."
    )


@corrects(
    claim="Normalising spreads numbers out evenly.",
    says="“Spread out evenly (standard deviation = 1)”; “Evenly spread”",
    why="It shifts and rescales, so the shape of a distribution stays what it was: lopsided "
    "numbers stay lopsided, outliers stay outliers. The example looks even after it because 90, "
    "100 and 110 were even before.",
)
def shape_stays() -> str:
    """A lopsided row normalised, and the skewness before and after."""
    x = np.array([1.0, 1.0, 1.0, 1.0, 11.0])
    skew = [
        round(((v - v.mean()) ** 3).mean() / v.var() ** 1.5, 9) for v in (x, standardised(x) + 0.0)
    ]
    return (
        f"{shown(x)} becomes {shown(standardised(x).round(9))}; its skewness is {number(skew[0])} "
        f"before and {number(skew[1])} after."
    )


@corrects(
    claim="Histograms of a vector drawn by `torch.randn`, before and after LayerNorm, show what "
    "LayerNorm does.",
    says="`x = torch.randn(1, 3, 512)` … “You'll see that the post-norm data is centered "
    "(mean ≈ 0, std ≈ 1). That's what you want!”",
    why="It is centred afterwards, but it was so before: `randn` draws with mean 0 and variance 1. "
    "The two histograms look alike, and would do so had the norm been left out. A vector with "
    "another mean and scale would show it.",
)
def nothing_to_see() -> str:
    """Mean and deviation of 512 normal entries before and after LayerNorm."""
    x = np.stack([np.random.default_rng(seed).standard_normal(512) for seed in range(5)])
    means, deviations = np.asarray(mean(x, -1)).tolist(), deviation(x)[:, 0].tolist()
    changed = np.abs(_layer_norm(x) - x).max(axis=1)
    return (
        f"Before LayerNorm, 512 such entries have a mean of {span(means, 2)} and a standard "
        f"deviation of {span(deviations, 2)}; no entry moves by more than {number(changed.max())} "
        "(5 seeds)."
    )


# -------------------------------------------------------------------------- γ and β, and undoing


@corrects(
    claim="With γ and β, LayerNorm can undo its normalisation if that is better.",
    says="γ and β “allow the model to undo or modify the normalization if needed”; “They undo the "
    "normalization if needed.”",
    why="γ and β are the same for all tokens, while each token is normalised by its own mean and "
    "deviation, and these are gone. BatchNorm has one mean and deviation for each feature, and γ "
    "and β of these undo it exactly, in training for one batch at a time.",
)
def gamma_and_beta_undo() -> str:
    """Two tokens LayerNorm makes equal, and a table that BatchNorm's γ and β give back."""
    word = TWO_WORDS[0]
    pair = np.stack([word, 2 * word + 3])
    apart = moved(*standardised(pair))
    restored = standardised(TABLE, axis=0) * deviation(TABLE, axis=0) + mean(TABLE, 0)
    return (
        f"{shown(pair[0])} and {shown(pair[1])} differ by {number(apart)} after LayerNorm (with "
        f"ε = 0), so no γ and β tell them apart; a 3 × 3 table normalised by column is given back "
        f"by γ = σ and β = μ with an error of {number(moved(restored, TABLE))}."
    )


# --------------------------------------------------------------------- batches, padding, and use


@corrects(
    claim="BatchNorm fails for Transformers because zero padding gets into its statistics.",
    says="“BatchNorm fails … Because Transformers use padded sequences → zeros skew results”",
    why="Zeros do skew the statistics. But padding can be left out of them, or be avoided, as when "
    "a GPT is trained on full blocks. What remains is that the words read each other through the "
    "statistics: earlier ones read later ones, and sentences read other sentences.",
)
def without_padding_it_still_leaks() -> str:
    """Movement of real words' outputs by padding and by a later word, masked and not."""
    real = np.ones((2, 3), dtype=bool)
    real[1, 2] = False
    x_BTC = np.random.default_rng(0).standard_normal((2, 3, 4)) + 1.0
    x_BTC[1, 2] = 0.0
    loud, later = x_BTC.copy(), x_BTC.copy()
    loud[1, 2], later[0, 2] = 5.0, x_BTC[0, 2] + 1.0

    def masked(x: Array) -> Array:
        return (x - mean(x[real], 0)) / deviation(x[real], axis=0)

    def plain(x: Array) -> Array:
        return _batch_norm(torch.tensor(x)).numpy()

    return (
        f"When the padding of 2 sentences of up to 3 words goes from 0 to 5, plain BatchNorm moves "
        f"real words by up to {number(moved(plain(loud)[real], plain(x_BTC)[real]))}, and with "
        f"masked statistics by {number(moved(masked(loud)[real], masked(x_BTC)[real]))}. But "
        f"when the third word changes by 1, the masked norm still moves the first by up to "
        f"{number(moved(masked(later)[0, 0], masked(x_BTC)[0, 0]))}."
    )


@corrects(
    claim="Since LayerNorm treats each word by itself, a Transformer that has it copes with "
    "padding.",
    says="“Works even if some words are padding”; “Handles padding?” Yes; “Ignores padding because "
    "it works per-sample”. The block offered as production code takes no mask.",
    why="Words do not read the padding in LayerNorm. But LayerNorm normalises padding like any "
    "other token, and words do read it in the attention that follows, unless a mask forbids it. "
    "Even a vector of zeros, with scores of 0, gets its share of the softmax.",
)
def padding_needs_a_mask() -> str:
    """What another padding vector moves in norm and attention, and the weight of zero padding."""
    rng = np.random.default_rng(0)
    x_TC, other = rng.standard_normal((2, 4, 8))
    other[:3] = x_TC[:3]
    h, g = _layer_norm(x_TC), _layer_norm(other)
    free, masked = (
        moved(attention(h, h, h, allowed)[:3], attention(g, g, g, allowed)[:3])
        for allowed in (None, np.array([True, True, True, False]))
    )
    h[3] = 0.0  # what LayerNorm makes of zeros
    share = 100 * softmax(h[:3] @ h.T / np.sqrt(8))[:, 3]
    return (
        f"With three words and one padding vector, another padding vector moves the words by "
        f"{number(moved(_layer_norm(x_TC)[:3], g[:3]))} in LayerNorm, by up to {number(free)} in "
        f"the attention after it, and by {number(masked)} there with a mask. A padding vector of "
        f"zeros gets {number(share.min())} to {number(share.max())} % of a word's attention."
    )


@corrects(
    claim="BatchNorm depends on the batch, so it always needs more than one sample.",
    says="“Depends on batch?” “Yes, needs >1 sample”",
    why="In training it needs more than one value for each feature, and a single sequence or image "
    "holds many. In evaluation it uses the running mean and variance stored in training: then a "
    "sample does not depend on the others, and one alone will do.",
)
def one_sample_can_do() -> str:
    """What BatchNorm does with one sample, in training and in evaluation."""
    x_NCT = torch.tensor(np.random.default_rng(0).standard_normal((3, 4, 5)))
    norm, by_mode = nn.BatchNorm1d(4, dtype=torch.float64), {}
    try:
        norm(x_NCT[:1, :, 0])
        verdict = "accepts"
    except ValueError:
        verdict = "refuses"
    alone = norm(x_NCT[:1]).detach().numpy()
    for mode in (True, False):
        norm.train(mode)
        by_mode[mode] = moved(*(norm(x)[0].detach().numpy() for x in (x_NCT, x_NCT[:1])))
    return (
        f"In training PyTorch's BatchNorm {verdict} one sample of 4 features, but takes one with "
        f"5 positions and gives it the variance {number(round(alone.var(axis=2).mean(), 3))}. "
        f"Two more samples move the output for that one by up to {number(by_mode[True])} in "
        f"training and by {number(by_mode[False])} in evaluation."
    )


@corrects(
    claim="All Transformers have LayerNorm, GPT, BERT, T5 and LLaMA alike, and it follows each "
    "sub-layer.",
    says="“Every major block is followed by LayerNorm”, “Especially in models like” GPT, BERT, T5 "
    "and LLaMA; “Always in Transformers”",
    why="T5 and LLaMA have RMSNorm: it divides by the root of the mean square and subtracts no "
    "mean, so what comes out need not have mean 0. And in both, as in GPT from GPT-2 on, the norm "
    "stands before each sub-layer; BERT's does stand after it.",
)
def rms_norm_in_its_place() -> str:
    """RMSNorm and LayerNorm of the row (1, 2, 3, 4), and their means."""
    norm = RMSNorm(4).double()
    rms, layer = norm(torch.tensor(ONE_TO_FOUR)).detach().numpy(), _layer_norm(ONE_TO_FOUR)
    return (
        f"RMSNorm makes {shown(rms)} of (1, 2, 3, 4), with mean {number(mean(rms, 0))}; LayerNorm "
        f"makes {shown(layer)}, with mean {number(round(float(mean(layer, 0)), 9))}."
    )
