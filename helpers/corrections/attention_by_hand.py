"""Corrections for chapter 05: the worked examples of attention, and what is said about it."""

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from helpers.corrections.correction import Correction, collected, corrects, number
from helpers.corrections.examples import (
    CAT_KEYS,
    CAT_PRINTED_OUTPUT,
    CAT_PRINTED_WEIGHTS,
    CAT_QUERY,
    CAT_TOKENS,
    CAT_VALUES,
    CAT_X,
    SITS_PRINTED_WEIGHTS,
    SITS_TOKENS,
    SITS_X,
    THE_CAT_SAT_PRINTED_QKV,
    THE_CAT_SAT_PRINTED_SCORES,
    THE_CAT_SAT_PRINTED_WEIGHTS,
    THE_CAT_SAT_TOKENS,
    THE_CAT_SAT_W,
    THE_CAT_SAT_X,
)
from helpers.numerics import softmax

TC = Float[np.ndarray, "T C"]

# ------------------------------------------------------------ what the measurements are made of


def _attend(q: TC, k: TC, v: TC, allowed: np.ndarray | None = None) -> TC:
    """Scaled dot-product attention for one sequence, in one line of algebra."""
    scores = q @ k.T / np.sqrt(q.shape[-1])
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    return softmax(scores) @ v


def _projections(width: int, seed: int = 0) -> Float[np.ndarray, "3 C C"]:
    """Three random matrices W_Q, W_K, W_V that keep the scale of what they project."""
    return np.random.default_rng(seed).standard_normal((3, width, width)) / np.sqrt(width)


def _self_attend(x: TC, weights: Float[np.ndarray, "3 C C"], allowed=None) -> TC:
    """Self-attention of a sequence with given W_Q, W_K, W_V."""
    q, k, v = (x @ w for w in weights)
    return _attend(q, k, v, allowed)


def _made_from_embeddings(given: TC) -> TC:
    """What a matrix that gives the first three tokens of the cat example their vectors gives all.

    The first three embeddings are the unit vectors, so those three vectors are its rows.
    """
    matrix = np.linalg.solve(CAT_X[:3], given[:3])
    return CAT_X @ matrix


def _cat_weights() -> Float[np.ndarray, "6"]:
    """Softmax of the scores that the query of "cat" has with the keys as given."""
    return softmax(CAT_KEYS @ CAT_QUERY)


def _the_cat_sat() -> Float[np.ndarray, "3 4"]:
    """Queries, keys and values of the 3-token example; they are alike."""
    return THE_CAT_SAT_X @ THE_CAT_SAT_W


# -------------------------------------------------------------------------- shapes and settings


@corrects(
    "05",
    "003",
    5,
    claim="The number of rows N of the matrix X that attention projects is the batch size.",
    says="N: batch size",
    why="The rows of X are the tokens of one sequence, since the scores compare each row with "
    "each other. A batch needs an axis of its own; with the sequences of a batch as rows of one "
    "X, each would read the others.",
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
        f"When the second sequence changes, outputs of the first move by {number(moved)} if both "
        f"are stacked as rows, and by {number(still)} with a batch axis."
    )


@corrects(
    "05",
    "003",
    8,
    claim="The projections take the input to queries, keys and values of a lower dimension.",
    says="lower-dimensional spaces",
    why="The width of queries and keys is a choice. In the worked example it equals the "
    "embedding's, and heads that are narrower have the embedding's width again once they are "
    "put side by side.",
)
def width_of_the_projections() -> str:
    """Width before and after the projection in the 3-token example."""
    before, after = THE_CAT_SAT_X.shape[1], _the_cat_sat().shape[1]
    return f"In the 3-token example: {before} before, {after} after."


@corrects(
    "05",
    "003",
    *(410, 412, 414),
    claim="A query is the embedding * W_q, with the shapes (3, 4) and (4, 4).",
    says="`X * W_q`",
    why="In NumPy and torch `*` multiplies entry by entry; the matrix product is `@`. A single "
    "embedding times W is worse, because it raises nothing and gives a matrix.",
)
def star_is_not_a_product() -> str:
    """What * does with the inputs of the 3-token example, all three and one of them."""
    one = THE_CAT_SAT_X[0] * THE_CAT_SAT_W
    try:
        THE_CAT_SAT_X * THE_CAT_SAT_W
    except ValueError as error:
        return (
            f"All three: `{type(error).__name__}`. One embedding: an array of shape {one.shape}; "
            f"with `@` the shape is {(THE_CAT_SAT_X[0] @ THE_CAT_SAT_W).shape}."
        )
    return "It runs."


# ------------------------------------------------- three tokens of width 4: "The cat sat"


@corrects(
    "05",
    "003",
    *(430, 431, 432, 435, 436, 437, 440, 441, 442),
    claim="Queries, keys and values are the three embeddings times the matrix W.",
    says="(0.3, 0.7, 1.1, 1.5), (0.7, 1.5, 2.3, 3.1), (1.1, 2.3, 3.5, 4.7)",
    why="These are not X · W: of the twelve entries only one is right, by chance.",
)
def x_times_w() -> Float[np.ndarray, "3 4"]:
    """The product of X and W of the 3-token example."""
    return _the_cat_sat()


@corrects(
    "05",
    "003",
    *(457, 459, 461),
    claim="These are the dot products of the printed query of The with the three printed keys.",
    says="3.74, 8.74, 13.74",
    why="Even with the wrong vectors taken as they are, the printed products do not add up to the "
    "printed sums.",
)
def sums_of_printed_products() -> Float[np.ndarray, "3"]:
    """Dot products of the printed vectors."""
    return THE_CAT_SAT_PRINTED_QKV @ THE_CAT_SAT_PRINTED_QKV[0]


@corrects(
    "05",
    "003",
    *(457, 459, 461, 463),
    claim="These are the scores of The with the three tokens.",
    says="3.74, 8.74, 13.74",
    why="They follow neither from the right queries and keys, which are X · W, nor from the "
    "printed ones.",
)
def scores_of_the() -> Float[np.ndarray, "3"]:
    """Scores, before scaling, of the first token of the 3-token example."""
    qkv = _the_cat_sat()
    return qkv @ qkv[0]


@corrects(
    "05",
    "003",
    *(463, 464, 465, 466),
    claim="The softmax of the scores 3.74, 8.74 and 13.74 might be 0.02, 0.28 and 0.70.",
    says="(0.02, 0.28, 0.70)",
    why="A softmax is no matter of might be. Each weight is exp of the difference of the scores "
    "times the next one, so two scores that are 5 apart have weights in the ratio e⁵.",
)
def softmax_of_printed_scores() -> Float[np.ndarray, "3"]:
    """Softmax of the printed scores."""
    return softmax(THE_CAT_SAT_PRINTED_SCORES)


@corrects(
    "05",
    "003",
    *(463, 466),
    claim="The scores of the 3-token example go into the softmax as they are.",
    says="softmax of the raw scores",
    why="Scaled dot-product attention, which is what is being explained, divides the scores by "
    "√D first, and here √D is 2. The second weight is then many times larger.",
)
def scaled_weights_of_the() -> Float[np.ndarray, "3"]:
    """Weights of the first token of the 3-token example, with the scaling."""
    qkv = _the_cat_sat()
    return softmax(qkv @ qkv[0] / np.sqrt(qkv.shape[1]))


@corrects(
    "05",
    "003",
    *(471, 472, 473),
    claim="The sum of the printed values with weights 0.02, 0.28 and 0.70 is 1, 2, 3 and 4.",
    says="(1.0, 2.0, 3.0, 4.0)",
    why="The four numbers are too round to be true: with these very weights and values only the "
    "first two come near.",
)
def printed_weighted_sum() -> Float[np.ndarray, "4"]:
    """Weighted sum of the printed values with the printed weights."""
    return THE_CAT_SAT_PRINTED_WEIGHTS @ THE_CAT_SAT_PRINTED_QKV


@corrects(
    "05",
    "003",
    *(472, 473),
    claim="Attention turns the token The into (1, 2, 3, 4).",
    says="(1.0, 2.0, 3.0, 4.0)",
    why="Worked through from the inputs, with X · W, the scaling and a true softmax, the output is "
    "nearly the value of sat, which has almost all the weight.",
)
def output_of_the() -> Float[np.ndarray, "4"]:
    """Output for the first token of the 3-token example."""
    qkv = _the_cat_sat()
    return _attend(qkv, qkv, qkv)[0]


@corrects(
    "05",
    "003",
    *(474, 484),
    claim="The 3-token example shows each token gathering context from those that matter to it.",
    says="The reads from cat and from sat.",
    why="All entries are positive and the vectors point nearly the same way, so the longest key "
    "has the highest score whatever is asked. No query in the example changes the winner.",
)
def longest_key_wins() -> str:
    """Which token each of the three reads most, and with what weight."""
    qkv = _the_cat_sat()
    weights = softmax(qkv @ qkv.T / np.sqrt(qkv.shape[1]))
    read = (
        f"{token} reads {THE_CAT_SAT_TOKENS[row.argmax()]} with weight {number(row.max())}"
        for token, row in zip(THE_CAT_SAT_TOKENS, weights, strict=True)
    )
    return "; ".join(read) + "."


# --------------------------------------------- six tokens of width 3, seen from the word "cat"


@corrects(
    "05",
    "003",
    *(139, 143, 152, 154, 156),
    claim="The six keys of the cat example come from the embeddings by a matrix W_K.",
    says="K(on) = (0.5, 0.5, 0), K(mat) = (0, 0.5, 0.5)",
    why="The embedding of on is the mean of those of The and cat, so its key must be the mean of "
    "their keys, whatever W_K is; likewise mat, cat and sat. The keys of on and mat stayed "
    "copies of the embeddings when that of cat was changed. No bias could mend it.",
)
def keys_from_no_matrix() -> Float[np.ndarray, "2 3"]:
    """The keys of on and mat that follow from the other keys, as rows."""
    made = _made_from_embeddings(CAT_KEYS)
    return made[[CAT_TOKENS.index("on"), CAT_TOKENS.index("mat")]]


@corrects(
    "05",
    "003",
    *(139, 144, 197, 199, 201),
    claim="The six values of the cat example come from the embeddings by a matrix W_V.",
    says="V(on) = (0.5, 0.5, 0), V(mat) = (0, 0.5, 0.5)",
    why="As with the keys: given the values of The, cat and sat, the embeddings leave no choice "
    "for on and mat.",
)
def values_from_no_matrix() -> Float[np.ndarray, "2 3"]:
    """The values of on and mat that follow from the other values, as rows."""
    made = _made_from_embeddings(CAT_VALUES)
    return made[[CAT_TOKENS.index("on"), CAT_TOKENS.index("mat")]]


@corrects(
    "05",
    "003",
    *(154, 156, 162),
    claim="The word cat pays less attention to on and mat than to the other four words.",
    says="scores (1, 1, 1, 0.5, 1, 0.5)",
    why="The difference comes from the two keys that no W_K makes. With keys that follow from the "
    "embeddings all six scores are equal, and so are the weights: this query tells no word from "
    "another.",
)
def consistent_keys_tie() -> str:
    """Scores and weights of the cat example with keys that a matrix makes."""
    scores = _made_from_embeddings(CAT_KEYS) @ CAT_QUERY
    weights = softmax(scores)
    return (
        f"Scores ({', '.join(number(s) for s in scores)}), "
        f"each weight {number(weights.min())} to {number(weights.max())}."
    )


@corrects(
    "05",
    "003",
    162,
    claim="The softmax of the scores (1, 1, 1, 0.5, 1, 0.5) is what the cat example prints.",
    says="(0.217, 0.217, 0.217, 0.132, 0.217, 0.132)",
    why="The printed weights are all too large by about the same factor: their ratio is right, "
    "the sum they were divided by is not.",
)
def weights_of_cat() -> Float[np.ndarray, "6"]:
    """Softmax of the scores of the cat example, with the keys as given and no scaling."""
    return _cat_weights()


@corrects(
    "05",
    "003",
    163,
    claim="The printed attention weights of the cat example sum to 1.",
    says="sum 1",
    why="Weights from a softmax do; these were not computed by one. The output built on them is "
    "too long in every dimension.",
)
def sum_of_cat_weights() -> float:
    """Sum of the printed weights of the cat example."""
    return float(CAT_PRINTED_WEIGHTS.sum())


@corrects(
    "05",
    "003",
    *(181, 182, 186, 187, 192, 193, 206, 207, 208, 209),
    claim="The weighted sum of the six values is the printed output for cat.",
    says="(0.391, 0.349, 0.499)",
    why="The additions are right but the weights are not. With weights that sum to 1, keys and "
    "values taken as given, each of the three dimensions comes out smaller.",
)
def output_of_cat() -> Float[np.ndarray, "3"]:
    """Output of the cat example, with keys and values as given and no scaling."""
    return _cat_weights() @ CAT_VALUES


@corrects(
    "05",
    "003",
    *(208, 209, 210),
    claim="The printed output for cat is a weighted average of the six values.",
    says="(0.391, 0.349, 0.499) lies among the values.",
    why="An average lies inside the hull of what is averaged. The sum of a vector's entries "
    "minus half its second entry is at most 1 for all six values, so for every average of them; "
    "for the printed output it is more.",
)
def output_outside_the_hull() -> str:
    """A linear measure that bounds the six values, and what the printed output has for it."""
    measure = np.array([1.0, 0.5, 1.0])
    return (
        f"All six values reach at most {number((CAT_VALUES @ measure).max())}; the printed output "
        f"has {number(CAT_PRINTED_OUTPUT @ measure)}."
    )


@corrects(
    "05",
    "003",
    *(160, 162),
    claim="The scores of the cat example go into the softmax as they are.",
    says="softmax of the raw scores",
    why="The scaling by √D is missing, and D is 3 here. With it the weights are more even.",
)
def scaled_weights_of_cat() -> Float[np.ndarray, "6"]:
    """Weights of the cat example with the scaling, keys as given."""
    return softmax(CAT_KEYS @ CAT_QUERY / np.sqrt(len(CAT_QUERY)))


@corrects(
    "05",
    "003",
    *(149, 252),
    claim="The dot product measures the similarity of query and key: a higher score means more "
    "similar.",
    says="equal scores: equally similar",
    why="A score is length times length times cosine. Four keys of the cat example have the same "
    "score, though one points exactly the query's way and another is well off it but longer.",
)
def cosines_of_equal_scores() -> str:
    """Scores of the cat example beside the cosines of the same pairs."""
    scores = CAT_KEYS @ CAT_QUERY
    cosines = scores / np.linalg.norm(CAT_KEYS, axis=1) / np.linalg.norm(CAT_QUERY)
    return (
        f"Scores ({', '.join(map(number, scores))}), "
        f"cosines ({', '.join(number(c) for c in np.round(cosines, 12))})."
    )


@corrects(
    "05",
    "003",
    159,
    claim="The softmax brings out the more relevant words and pushes back the others.",
    says="The contrast grows.",
    why="A softmax depends on differences only. Where scores differ by less than the log of their "
    "ratio, as in the cat example, the weights are more alike than the scores were; it sharpens "
    "only differences that are large.",
)
def softmax_can_flatten() -> str:
    """Ratio of the larger to the smaller score, and of their weights, in the cat example."""
    scores, weights = CAT_KEYS @ CAT_QUERY, _cat_weights()
    return (
        f"Largest over smallest score: {number(scores.max() / scores.min())}; largest over "
        f"smallest weight: {number(weights.max() / weights.min())}."
    )


@corrects(
    "05",
    "003",
    *(121, 170, 231),
    claim="Attention gives each word a weighted sum of the representations of all other words.",
    says="the sum over the other words",
    why="A word reads itself too, and what is summed are values, not the representations they are "
    "projected from. Leaving the word out of its own sum gives another output.",
)
def a_word_reads_itself() -> str:
    """Weight of cat on itself, and the output of the cat example with and without it."""
    own = CAT_TOKENS.index("cat")
    others = np.delete(np.arange(len(CAT_TOKENS)), own)
    weights = _cat_weights()
    without = softmax(CAT_KEYS[others] @ CAT_QUERY) @ CAT_VALUES[others]
    return (
        f"cat has weight {number(weights[own])} on itself. Its output is "
        f"({', '.join(map(number, weights @ CAT_VALUES))}), and without itself "
        f"({', '.join(map(number, without))})."
    )


# ------------------------------------------------------- seven tokens: "The cat sits on the mat."


@corrects(
    "05",
    "003",
    *(88, 89, 90, 91, 92, 93, 94),
    claim="The attention weights of cat over the seven tokens are 0.1, 0.3, 0.4, 0.1, 0.05, 0.35 "
    "and 0.1.",
    says="(0.1, 0.3, 0.4, 0.1, 0.05, 0.35, 0.1)",
    why="Attention weights are a softmax and sum to 1; no scores whatever give these. The value "
    "computed is their sum.",
)
def sum_of_seven_weights() -> float:
    """Sum of the printed weights over the seven tokens."""
    return float(SITS_PRINTED_WEIGHTS.sum())


@corrects(
    "05",
    "003",
    *(101, 105),
    claim="With positions added, the encoder gives both occurrences of the word the one and the "
    "same output.",
    says="The and the: (0.25, 0.1, 0.7, …) both times",
    why="Equal embeddings give equal outputs only where nothing tells the positions apart. Adding "
    "a different position vector to each makes the two queries, and so the outputs, different.",
)
def same_word_other_position() -> str:
    """Distance between the outputs of the two equal tokens, without and with positions."""
    first, second = SITS_TOKENS.index("The"), SITS_TOKENS.index("the")
    weights = _projections(SITS_X.shape[1])
    positions = np.random.default_rng(1).standard_normal(SITS_X.shape)
    apart = []
    for x in (SITS_X, SITS_X + positions):
        outputs = _self_attend(x, weights)
        apart.append(np.abs(outputs[first] - outputs[second]).max())
    return (
        f"Without positions the two outputs differ by {number(round(apart[0], 12))}, with random "
        f"position vectors by {number(apart[1])}."
    )


# ---------------------------------------------------------------- what attention is said to be


@corrects(
    "05",
    "003",
    111,
    claim="Self-attention is a linear operation on its input.",
    says="Twice the input gives twice the output.",
    why="It is linear in the values alone, for fixed weights. The weights are a softmax of "
    "products of the input with itself, so a larger input changes them too.",
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
    "05",
    "003",
    112,
    claim="Without the feed-forward network the model could represent linear relations only.",
    says="no feed-forward network: a linear map",
    why="Attention without it is not linear, and would not be even without its softmax: queries "
    "times keys times values is a product of three copies of the input, of degree three.",
)
def degree_of_attention() -> str:
    """How the output grows when the input doubles, with the softmax left out."""
    w_q, w_k, w_v = _projections(3)

    def without_softmax(x: TC) -> TC:
        return (x @ w_q) @ (x @ w_k).T @ (x @ w_v)

    growth = np.linalg.norm(without_softmax(2 * CAT_X)) / np.linalg.norm(without_softmax(CAT_X))
    return (
        f"Twice the input gives {number(round(growth, 9))} times the output with the softmax "
        "left out; a linear map would give 2 times."
    )


@corrects(
    "05",
    "003",
    120,
    claim="Each layer of the encoder or the decoder is self-attention followed by a feed-forward "
    "network.",
    says="one attention in each layer of both",
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
    return f"{encoder} in an encoder layer, {decoder} in a decoder layer."


@corrects(
    "05",
    "003",
    *(215, 217, 227),
    claim="A Transformer handles all words at once, not one after the other.",
    says="all words in one pass",
    why="That holds for a text that is there, in training or in an encoder. In generating, each "
    "token is part of the input of the next, so tokens come one pass after the other.",
)
def passes_to_generate() -> str:
    """Passes for a given text, and passes to write one greedily from a single start token."""
    table = np.random.default_rng(0).standard_normal((8, 8))
    weights, length = _projections(8), 8

    def predict(ids: list[int]) -> np.ndarray:
        causal = np.tri(len(ids), dtype=bool)
        return (_self_attend(table[ids], weights, causal) @ table.T).argmax(axis=-1)

    passes, ids = 0, [0]
    while len(ids) < length + 1:
        ids.append(int(predict(ids)[-1]))
        passes += 1
    in_one = bool((predict(ids[:-1]) == ids[1:]).all())
    return (
        f"Writing {length} tokens takes {passes} passes; once written, "
        f"one pass {'gives' if in_one else 'does not give'} all {length} predictions again."
    )


@corrects(
    "05",
    "003",
    *(222, 229),
    claim="In a Transformer every word attends to every other word.",
    says="every word to every word",
    why="In an encoder. In a decoder the causal mask lets a word read itself and what stands "
    "before it, and nothing else.",
)
def pairs_under_a_causal_mask() -> str:
    """How many of the pairs of six words a causal mask allows."""
    allowed = np.tri(len(CAT_TOKENS), dtype=bool)
    return f"Of {allowed.size} pairs of {len(allowed)} words a causal mask allows {allowed.sum()}."


@corrects(
    "05",
    "003",
    *(227, 229),
    claim="Because all words are computed in parallel, each is processed independently of the "
    "others.",
    says="parallel, so independent",
    why="Parallel means that no word waits for another's result, not that it does without the "
    "other's input. With the projections each output depends on one word only; in attention it "
    "depends on all.",
)
def parallel_is_not_independent() -> str:
    """Number of (output, input) pairs of words where the second changes the first."""
    weights, size = _projections(3), len(CAT_TOKENS)
    reached = {"projection": 0, "attention": 0}
    for j in range(size):
        moved = CAT_X + 0.1 * np.eye(size)[j][:, None]
        for name, layer in (
            ("projection", lambda x: x @ weights[0]),
            ("attention", lambda x: _self_attend(x, weights)),
        ):
            reached[name] += int((np.abs(layer(moved) - layer(CAT_X)).max(axis=1) > 1e-9).sum())
    return (
        f"Of {size * size} pairs of words, an input changes an output in {reached['projection']} "
        f"through a projection and in {reached['attention']} through attention."
    )


@corrects(
    "05",
    "003",
    237,
    claim="The input of the next layer's attention is the output of this layer's feed-forward "
    "network.",
    says="next input = FFN(x)",
    why="What goes on is the normalised sum of the network's output and its input. If the network "
    "put out zeros, the next layer would still get a vector for each word.",
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
        "With a network that gives only zeros the next layer reads vectors of length "
        f"{', '.join(number(length) for length in lengths)}."
    )


@corrects(
    "05",
    "003",
    241,
    claim="A word's query asks how relevant this word is to the others.",
    says="How relevant am I to them?",
    why="The other way round: it asks what this word wants from the others, and fixes its own row "
    "of weights. How much the others read this word is a column, and its key decides that.",
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


CORRECTIONS: tuple[Correction, ...] = collected(vars())
