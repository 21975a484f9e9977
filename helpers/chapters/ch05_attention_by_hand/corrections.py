"""Corrections for chapter 05: the worked examples of attention, and what is said about it."""

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from helpers.corrections import corrects, number, shown
from helpers.corrections.arrays import given
from helpers.numerics import softmax

TC = Float[np.ndarray, "T C"]

# Each worked example stands here once: what is given, and, under names with PRINTED in them, what
# one finds printed as its result.

# Three tokens of width 4; one matrix (C, D) serves as W_Q, W_K and W_V. Printed are Q, K and V,
# which are alike, and what "The" gets.
THE_CAT_SAT_TOKENS = ("The", "cat", "sat")
THE_CAT_SAT_X = given([[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2]])
THE_CAT_SAT_W = given([*THE_CAT_SAT_X, [1.3, 1.4, 1.5, 1.6]])
THE_CAT_SAT_PRINTED_QKV = given([[0.3, 0.7, 1.1, 1.5], [0.7, 1.5, 2.3, 3.1], [1.1, 2.3, 3.5, 4.7]])
THE_CAT_SAT_PRINTED_SCORES = given([3.74, 8.74, 13.74])
THE_CAT_SAT_PRINTED_WEIGHTS = given([0.02, 0.28, 0.70])

# Six tokens of width 3, seen from the word "cat". The last three embeddings are means of two of the
# first three; no W_K makes the keys of them, and no W_V the values.
CAT_TOKENS = ("The", "cat", "sat", "on", "the", "mat")
CAT_X = given([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
CAT_QUERY = given([1, 0, 1])
CAT_KEYS = given([CAT_X[0], [1, 0.5, 0], *CAT_X[2:]])
CAT_VALUES = given([CAT_X[0], [0, 1, 0.5], *CAT_X[2:]])
CAT_PRINTED_WEIGHTS = given([0.217, 0.217, 0.217, 0.132, 0.217, 0.132])

# Seven tokens: three entries of their embeddings, of which "The" and "the" have the same, and the
# weights printed for "cat".
SITS_TOKENS = ("The", "cat", "sits", "on", "the", "mat", ".")
THE = [0.2, 0.1, 0.7]
SITS_X = given(
    [THE, [0.6, 0.4, 0.3], [0.5, 0.9, 0.2], [0.3, 0.7, 0.1], THE, [0.4, 0.6, 0.8], [0.1, 0.3, 0.4]]
)
SITS_PRINTED_WEIGHTS = given([0.1, 0.3, 0.4, 0.1, 0.05, 0.35, 0.1])

# ------------------------------------------------------------ what the measurements are made of


def _attend(q: TC, k: TC, v: TC) -> TC:
    """Scaled dot-product attention for one sequence, in one line of algebra."""
    return softmax(q @ k.T / np.sqrt(q.shape[-1])) @ v


def _projections(width: int, seed: int = 0) -> Float[np.ndarray, "3 C C"]:
    """Three random matrices W_Q, W_K, W_V that keep the scale of what they project."""
    return np.random.default_rng(seed).standard_normal((3, width, width)) / np.sqrt(width)


def _self_attend(x: TC, weights: Float[np.ndarray, "3 C C"]) -> TC:
    """Self-attention of a sequence with given W_Q, W_K, W_V."""
    q, k, v = (x @ w for w in weights)
    return _attend(q, k, v)


def _on_and_mat(name: str, given: TC) -> str:
    """What follows for on and mat from the vectors of The, cat and sat, whose embeddings are units.

    A matrix that gives these three their vectors has them as its rows.
    """
    on, mat = (CAT_X @ given[:3])[[CAT_TOKENS.index("on"), CAT_TOKENS.index("mat")]]
    return f"{name}(on) = {shown(on)}, {name}(mat) = {shown(mat)}."


def _cat_weights() -> Float[np.ndarray, "6"]:
    """Softmax of the scores that the query of "cat" has with the keys as given."""
    return softmax(CAT_KEYS @ CAT_QUERY)


def _the_cat_sat() -> Float[np.ndarray, "3 4"]:
    """Queries, keys and values of the 3-token example; they are alike."""
    return THE_CAT_SAT_X @ THE_CAT_SAT_W


# -------------------------------------------------------------------------- shapes and settings


@corrects(
    claim="The number of rows N of the matrix X that attention projects is the batch size, be it "
    "of sequences or of tokens.",
    says="“N is the batch size (number of input sequences or tokens)”",
    why="The rows of X are the tokens of one sequence, since the scores compare each row with "
    "each other. A batch needs an axis of its own; with the tokens of several sequences as rows "
    "of one X, each sequence would read the others.",
)
def rows_are_tokens() -> str:
    """How far one sequence's output moves when another changes, stacked and with a batch axis."""
    x_BTC = np.random.default_rng(0).standard_normal((2, 3, 4))
    other = x_BTC.copy()
    other[1] += 1.0
    weights = _projections(4)
    stacked = [_self_attend(x.reshape(6, 4), weights)[:3] for x in (x_BTC, other)]
    separate = [_self_attend(x[0], weights) for x in (x_BTC, other)]
    moved, still = (np.abs(a - b).max() for a, b in (stacked, separate))
    return (
        f"When the second of two sequences changes, outputs of the first move by {number(moved)} "
        f"if both are stacked as rows, and by {number(still)} with a batch axis."
    )


# ------------------------------------------------- three tokens of width 4: "The cat sat"


@corrects(
    claim="Queries, keys and values of the 3-token example are the three embeddings times the "
    "matrix W.",
    says="The: (0.3, 0.7, 1.1, 1.5); cat: (0.7, 1.5, 2.3, 3.1); sat: (1.1, 2.3, 3.5, 4.7)",
    why="These are not X · W: of the twelve entries only one is right, by chance.",
)
def x_times_w() -> str:
    """The product of X and W of the 3-token example."""
    rows = zip(THE_CAT_SAT_TOKENS, _the_cat_sat(), strict=True)
    return "; ".join(f"{token}: {shown(row)}" for token, row in rows)


@corrects(
    claim="In the 3-token example the dot products of the printed query of The with the three "
    "printed keys are 3.74, 8.74 and 13.74.",
    says="3.74, 8.74, 13.74",
    why="Even with the wrong vectors taken as they are, the printed products do not add up to the "
    "printed sums.",
)
def sums_of_printed_products() -> str:
    """Dot products of the printed vectors."""
    sums = THE_CAT_SAT_PRINTED_QKV @ THE_CAT_SAT_PRINTED_QKV[0]
    return f"The printed products add up to {', '.join(map(number, sums))}."


@corrects(
    claim="The inputs of the 3-token example give The the scores 3.74, 8.74 and 13.74.",
    says="3.74, 8.74, 13.74",
    why="They follow neither from the right queries and keys, which are X · W, nor from the "
    "printed ones.",
)
def scores_of_the() -> str:
    """Scores, before scaling, of the first token of the 3-token example."""
    qkv = _the_cat_sat()
    scores = ", ".join(map(number, qkv @ qkv[0]))
    return f"With queries and keys X · W the scores, before any scaling, are {scores}."


@corrects(
    claim="The softmax of the scores 3.74, 8.74 and 13.74 might be 0.02, 0.28 and 0.70.",
    says="The softmax “might be” (0.02, 0.28, 0.70).",
    why="The scores fix their softmax. Two weights are in the ratio of exp of the difference of "
    "their scores, so scores that are 5 apart give weights in the ratio e⁵.",
)
def softmax_of_printed_scores() -> str:
    """Softmax of the printed scores."""
    return f"The softmax of these scores is {shown(softmax(THE_CAT_SAT_PRINTED_SCORES))}."


@corrects(
    claim="In a worked example of scaled dot-product attention the scores go into the softmax "
    "as they are.",
    says="“The raw scores are normalized using softmax” (three tokens; likewise for cat)",
    why="The scores are first divided by √D, where D is the width of queries and keys: 4 for the "
    "three tokens, 3 for cat. Without it all the weights are other ones, and less even.",
)
def the_scaling_left_out() -> str:
    """Weights of the two worked examples, with the scaling and without it."""
    qkv = _the_cat_sat()
    examples = {"The": (qkv, qkv[0]), "cat, with its keys as given,": (CAT_KEYS, CAT_QUERY)}
    parts = []
    for name, (keys, query) in examples.items():
        scaled, raw = (shown(softmax(keys @ query / s)) for s in (np.sqrt(len(query)), 1))
        parts.append(f"{name} has the weights {scaled} with the scaling and {raw} without")
    return "; ".join(parts) + "."


@corrects(
    claim="The sum of the printed values with weights 0.02, 0.28 and 0.70 is 1, 2, 3 and 4.",
    says="(1.0, 2.0, 3.0, 4.0)",
    why="None of the four is right, even with these very weights and values. Rounded to the one "
    "decimal that is printed the first two would pass, but not the last two.",
)
def printed_weighted_sum() -> str:
    """Weighted sum of the printed values with the printed weights."""
    total = THE_CAT_SAT_PRINTED_WEIGHTS @ THE_CAT_SAT_PRINTED_QKV
    return f"With the printed weights and values the sum is {shown(total)}."


@corrects(
    claim="The inputs of the 3-token example give the token The the output (1, 2, 3, 4).",
    says="(1.0, 2.0, 3.0, 4.0)",
    why="Worked through from the inputs, with X · W, the scaling and a true softmax, the output is "
    "near the value of sat, which has almost all the weight.",
)
def output_of_the() -> str:
    """Output for the first token of the 3-token example, and the value of the last."""
    qkv = _the_cat_sat()
    return f"The output is {shown(_attend(qkv, qkv, qkv)[0])}; the value of sat is {shown(qkv[2])}."


@corrects(
    claim="In the 3-token example, which token is read most depends on what the query asks.",
    says="The scores “determine how much each token should pay attention to others”.",
    why="That is what scores are for, but this example cannot show it. The key of sat exceeds the "
    "other two in every entry, so every query with positive entries gives sat the highest score, "
    "and all three queries are such.",
)
def every_query_reads_sat() -> str:
    """Which token each of the three reads most, and with what weight."""
    qkv = _the_cat_sat()
    weights = softmax(qkv @ qkv.T / np.sqrt(qkv.shape[1]))
    read = (
        f"{token} reads {THE_CAT_SAT_TOKENS[row.argmax()]} with weight {row.max():.5f}"
        for token, row in zip(THE_CAT_SAT_TOKENS, weights, strict=True)
    )
    return "; ".join(read) + "."


# --------------------------------------------- six tokens of width 3, seen from the word "cat"


@corrects(
    claim="The six keys of the cat example come from the embeddings by a matrix W_K.",
    says="K(The) = (1, 0, 0), K(cat) = (1, 0.5, 0), K(sat) = (0, 0, 1), K(on) = (0.5, 0.5, 0), "
    "K(mat) = (0, 0.5, 0.5)",
    why="The embedding of on is the mean of those of The and cat, so its key must be the mean of "
    "their keys, whatever W_K is; likewise mat, cat and sat. A bias would not help. Or cat's own "
    "key is the one at fault: the identity makes the other five.",
)
def keys_from_no_matrix() -> str:
    """The keys of on and mat that follow from the other keys."""
    return f"From the keys of The, cat and sat follow {_on_and_mat('K', CAT_KEYS)}"


@corrects(
    claim="The six values of the cat example come from the embeddings by a matrix W_V.",
    says="V(The) = (1, 0, 0), V(cat) = (0, 1, 0.5), V(sat) = (0, 0, 1), V(on) = (0.5, 0.5, 0), "
    "V(mat) = (0, 0.5, 0.5)",
    why="As with the keys: given the values of The, cat and sat, the embeddings leave no choice "
    "for on and mat. Or cat's own value is the one at fault: the identity makes the other five.",
)
def values_from_no_matrix() -> str:
    """The values of on and mat that follow from the other values."""
    return f"From the values of The, cat and sat follow {_on_and_mat('V', CAT_VALUES)}"


@corrects(
    claim="The softmax of the scores (1, 1, 1, 0.5, 1, 0.5) is what the cat example prints, and "
    "sums to 1.",
    says="(0.217, 0.217, 0.217, 0.132, 0.217, 0.132); “These values now sum to 1.”",
    why="The printed weights are all too large by about the same factor: their ratio is right, "
    "the sum they were divided by is not.",
)
def weights_of_cat() -> str:
    """Softmax of the cat example's scores, with the keys as given, and what is printed added up."""
    return (
        f"The softmax is {shown(_cat_weights())}; the printed weights sum to "
        f"{number(CAT_PRINTED_WEIGHTS.sum())}."
    )


@corrects(
    claim="The output for cat, a weighted sum of the six values, is (0.391, 0.349, 0.499).",
    says="(0.391, 0.349, 0.499)",
    why="The additions are right but the weights are not. With weights that sum to 1, each of the "
    "three dimensions comes out smaller.",
)
def output_of_cat() -> str:
    """Output of the cat example, with keys and values as given and no scaling."""
    output = shown(_cat_weights() @ CAT_VALUES)
    return f"With keys and values as given, and no scaling either, the output is {output}."


# ------------------------------------------------------- seven tokens: "The cat sits on the mat."


@corrects(
    claim="In a sentence of seven tokens the attention weights of cat are 0.1, 0.3, 0.4, 0.1, "
    "0.05, 0.35 and 0.1.",
    says="(0.1, 0.3, 0.4, 0.1, 0.05, 0.35, 0.1)",
    why="Attention weights are a softmax and sum to 1; no scores whatever give these.",
)
def sum_of_seven_weights() -> str:
    """Sum of the printed weights over the seven tokens."""
    return f"The seven weights sum to {number(round(SITS_PRINTED_WEIGHTS.sum(), 9))}."


@corrects(
    claim="With positions added, the encoder's outputs for two occurrences of one word can be "
    "expected to begin with the same entries.",
    says="“The” and “the”, with one embedding, both show (0.25, 0.1, 0.7, …) as output.",
    why="Equal embeddings give equal outputs only where nothing tells the positions apart. Adding "
    "a different position vector to each makes the two queries, and so the outputs, different; "
    "three equal entries would be a coincidence.",
)
def same_word_other_position() -> str:
    """Largest difference of the two equal tokens' outputs, without and with positions."""
    first, second = SITS_TOKENS.index("The"), SITS_TOKENS.index("the")
    weights = _projections(SITS_X.shape[1])
    positions = np.random.default_rng(1).standard_normal(SITS_X.shape)
    apart = []
    for x in (SITS_X, SITS_X + positions):
        outputs = _self_attend(x, weights)
        apart.append(np.abs(outputs[first] - outputs[second]).max())
    return (
        f"With random projections the entries of the two outputs differ by up to "
        f"{number(round(apart[0], 12))} without positions, and by up to {number(apart[1])} with "
        "random position vectors."
    )


# ---------------------------------------------------------------- what attention is said to be


@corrects(
    claim="Self-attention is a linear operation on its input.",
    says="“Self-attention is a linear operation”, which combines its input in a simple, additive "
    "way.",
    why="Its steps are linear one by one, but for softmax: the scores in the queries with the keys "
    "held still, or the other way round, and the sum in the values with the weights held still. As "
    "a function of its input it is not: the weights are a softmax of products of the input with "
    "itself, so a larger input changes them too.",
)
def attention_is_not_linear() -> str:
    """Relative deviation of attention to 2X from twice attention to X, on the cat embeddings."""
    identity = np.stack([np.eye(3)] * 3)
    once, twice = _self_attend(CAT_X, identity), _self_attend(2 * CAT_X, identity)
    off = np.linalg.norm(twice - 2 * once) / np.linalg.norm(2 * once)
    q, k = CAT_X, CAT_X
    in_values = np.abs(_attend(q, k, 2 * CAT_X) - 2 * once).max()
    return (
        f"Doubling the input misses twice the output by {number(100 * off)} % of its length; "
        f"doubling only the values misses by {number(in_values)}."
    )


@corrects(
    claim="Each layer of the encoder or the decoder is self-attention followed by a feed-forward "
    "network.",
    says="“Each layer of the encoder or decoder consists of self-attention followed by an FFN.”",
    why="In the encoder-decoder Transformer a decoder layer has a second attention in between, "
    "which reads the encoder's output. Only a decoder that stands alone, as in GPT, lacks it.",
)
def attentions_in_a_layer() -> str:
    """Attention modules in torch's encoder and decoder layer."""
    kinds = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
    layers = [kind(8, 2, device="meta") for kind in kinds]
    encoder, decoder = (
        sum(isinstance(part, nn.MultiheadAttention) for part in layer.modules()) for layer in layers
    )
    return (
        f"Attention modules in PyTorch's layers: {encoder} in an encoder layer, {decoder} in a "
        "decoder layer."
    )


@corrects(
    claim="The input of the next layer's attention is the output of this layer's feed-forward "
    "network.",
    says="“the output of one layer's FFN becomes the input to the self-attention mechanism of the "
    "next layer”",
    why="What goes on is the sum of the network's output and its input: normalised in a post-norm "
    "layer, plain in a pre-norm one. If the network put out zeros, the next layer would still get "
    "a vector for each word.",
)
def what_the_next_layer_reads() -> str:
    """Length of each word's vector that a post-norm layer passes on when its network gives 0."""
    meta = nn.TransformerEncoderLayer(4, 1, 8, batch_first=True, dtype=torch.float64, device="meta")
    layer, generator = meta.to_empty(device="cpu").eval(), torch.Generator().manual_seed(0)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, generator=generator)
    for norm in (layer.norm1, layer.norm2):
        norm.reset_parameters()
    nn.init.zeros_(layer.linear2.weight)
    nn.init.zeros_(layer.linear2.bias)
    with torch.no_grad():
        passed = layer(torch.tensor(THE_CAT_SAT_X)[None])[0]
    lengths = passed.norm(dim=-1).tolist()
    return (
        "With a network that gives only zeros, a post-norm layer passes on vectors of length "
        f"{', '.join(number(length) for length in lengths)}."
    )


@corrects(
    claim="A word's query asks how relevant this word is to the others.",
    says="“How relevant is this word to the other words in the sequence?”",
    why="The other way round: it asks what this word wants from the others, and bears on its own "
    "row of weights. How much the others read this word stands in a column, which its key moves "
    "and its query does not.",
)
def whose_weights_a_query_sets() -> str:
    """Which rows and columns of the weights move when one word's query, or key, changes."""
    q, k = np.random.default_rng(0).standard_normal((2, 6, 3))
    word = CAT_TOKENS.index("cat")
    step = np.eye(len(q))[word][:, None]
    before = softmax(q @ k.T)
    by_query = np.abs(softmax((q + step) @ k.T) - before) > 1e-12
    by_key = np.abs(softmax(q @ (k + step).T) - before) > 1e-12
    others = np.delete(np.arange(len(q)), word)
    return (
        f"Another query for one word changes its own row and {by_query[others].any(axis=1).sum()} "
        f"of the other {len(others)}; another key changes how much {by_key[others, word].sum()} of "
        f"them read it."
    )
