"""Corrections for chapter 07: heads put together, who reads whom, order, and what writing fixes."""

import numpy as np
from jaxtyping import Bool, Float

from helpers import corpus, tokenizers
from helpers.bigram import count_bigrams
from helpers.corrections import corrects, number
from helpers.numerics import softmax
from helpers.positions import sinusoidal

# --------------------------------------------------------- the inputs of the worked examples

# The example of eight heads of width 64 over five tokens; its shapes are printed rightly.
HEADS, HEAD_WIDTH, TOKENS = 8, 64, 5
# A person corrects himself: I bought at the supermarket … oh no, I went to the bookshop.
CORRECTED_SPEECH = "我昨天去超市买了……哦,不对,我是去了书店。"
BEFORE_THE_CORRECTION = "我昨天去超市买了"  # what that person had said before
# Vocabulary, context, width and layers of GPT-2 small. Source: Radford et al. 2019.
GPT2_SMALL = {"V": 50257, "T": 1024, "C": 768, "L": 12}

# ------------------------------------------------------------ what the measurements are made of

Tokens = Float[np.ndarray, "T C"]


def _causal(length: int) -> Bool[np.ndarray, "T T"]:
    """True where a token (row) may read another (column): itself, and what came before."""
    return np.tri(length, dtype=bool)


def _layer(x: Tokens, tables: Float[np.ndarray, "3 C C"], *, causal: bool) -> Tokens:
    """One head of attention with random tables, added to its input; no positions."""
    q, k, v = (x @ table for table in tables)
    scaled = q @ k.T / np.sqrt(x.shape[1])
    return x + softmax(np.where(_causal(len(x)), scaled, -np.inf) if causal else scaled) @ v


# --------------------------------------------------------------------------------- heads


@corrects(
    claim="Multi-head attention is done once the outputs of its heads are concatenated.",
    says="“Each attention head computes its own set of queries, keys, and values, and the outputs "
    "are concatenated at the end.”",
    why="Behind the concatenation stands one more learned matrix, W_O, which is not mentioned. "
    "Without it each number of the output comes from a single head.",
)
def the_output_projection() -> str:
    """How many heads reach an output number without and with W_O, and the share of W_O."""
    width, rng = HEADS * HEAD_WIDTH, np.random.default_rng(0)
    w_o = rng.standard_normal((width, width))
    of_head = np.arange(width) // HEAD_WIDTH
    without = {len(set(of_head[column != 0])) for column in np.eye(width).T}
    with_it = {len(set(of_head[column != 0])) for column in w_o.T}
    share = 100 * w_o.size / (4 * w_o.size)
    return (
        f"With {HEADS} heads of width {HEAD_WIDTH}, each output number depends on "
        f"{', '.join(map(str, without))} head without W_O and on {', '.join(map(str, with_it))} "
        f"with it; W_O holds {number(share)} per cent of the four matrices' entries."
    )


# ------------------------------------------------------------------------- who reads whom


@corrects(
    claim="A token attends to the other tokens; in a GPT, to the previous ones only.",
    says="“it can only attend to previous tokens”; “how it attends to all other words”; queries "
    "meet the keys “of every other token”",
    why="It reads itself as well. With the own token left out, the first one of a text would have "
    "nothing to read, and a softmax over nothing has no answer.",
)
def a_token_reads_itself() -> str:
    """The weights of the first tokens on themselves at equal scores, and the first sum without."""
    mask = _causal(4)
    own = np.diagonal(softmax(np.where(mask, 0.0, -np.inf)))
    strict = np.exp(np.where(mask & ~np.eye(4, dtype=bool), 0.0, -np.inf)).sum(axis=1)
    return (
        "With a causal mask and equal scores the first four tokens give themselves the weights "
        f"{', '.join(number(weight) for weight in own)}. With themselves left out, the sum that "
        f"softmax divides by is {number(strict[0])} for the first token."
    )


@corrects(
    claim="A GPT consists of masked self-attention and feed-forward layers only.",
    says="“Therefore, GPT consists of masked self-attention and feed-forward layers only.”",
    why="That it has no cross-attention is right. But it has embeddings, positions, norms and "
    "residual connections besides, and the embeddings and positions are no small part of it.",
)
def what_else_a_gpt_has() -> str:
    """Parameters of GPT-2 small in the embeddings of tokens and positions and in the norms."""
    V, T, C, L = (GPT2_SMALL[axis] for axis in "VTCL")
    tables, norms = (V + T) * C, (2 * L + 1) * 2 * C
    layers = L * (12 * C**2 + 9 * C)
    every = tables + norms + layers
    return (
        f"Of the {every} parameters of GPT-2 small, {layers} are in attention and feed-forward "
        f"layers, {tables} in the embeddings of tokens and positions "
        f"({number(round(100 * tables / every, 1))} per cent), and {norms} in the norms."
    )


# ------------------------------------------------------------------------------- order


@corrects(
    claim="Transformers have no sense of order unless positions are added to the embeddings.",
    says="“Transformers do not have built-in sequence awareness”, so “positional encoding is added "
    "to the word embeddings”",
    why="That is so in an encoder, of which the passage speaks: there every token reads every "
    "other. It is not so of all Transformers. A causal mask is a kind of order by itself: with two "
    "layers a token can tell in which order those before it came.",
)
def order_from_the_mask() -> str:
    """How far the last token's output moves when the first two of six change places."""
    rng = np.random.default_rng(0)
    x, tables = rng.standard_normal((6, 8)), rng.standard_normal((2, 3, 8, 8)) / np.sqrt(8)
    moved = {}
    for causal in (False, True):
        ours, theirs = x, x[[1, 0, 2, 3, 4, 5]]
        for depth, of_layer in enumerate(tables, start=1):
            ours = _layer(ours, of_layer, causal=causal)
            theirs = _layer(theirs, of_layer, causal=causal)
            moved[causal, depth] = np.round(np.abs(ours[-1] - theirs[-1]).max(), 9)
    return (
        "The first two of six tokens change places. In two random layers without positions the "
        f"last token's output moves by {number(moved[False, 2])} where there is no mask; with a "
        f"causal mask by {number(moved[True, 1])} after one layer and "
        f"{number(moved[True, 2])} after two."
    )


@corrects(
    claim="A positional encoding has as many numbers as a word embedding.",
    says="“the dimensionality of the positional encoding is the same as the dimensionality of the "
    "word embedding vector”",
    why="It must where it is added to the embedding, as sinusoidal and learned positions are. RoPE "
    "turns the pairs of a query or key of one head, and ALiBi subtracts a multiple of the distance "
    "from each score.",
)
def numbers_a_position_has() -> str:
    """Numbers for each place in a model of width 64 with four heads."""
    C, H = 64, 4
    return (
        f"With C = {C} and {H} heads: sinusoidal {sinusoidal(1, C).shape[1]} numbers for each "
        f"position, RoPE {C // H // 2} angles, and ALiBi no vector but {H} slopes in all."
    )


@corrects(
    claim="The formula of sinusoidal positions belongs to norms and frequency effects of "
    "embeddings, that of RoPE to nearest neighbours.",
    says="Printed under “Norms and frequency effects” and “Nearest neighbors”, as the formulas of "
    "these sections.",
    why="Both formulas are right and neither has to do with its section. All sinusoidal rows have "
    "one length; and RoPE turns queries and keys in attention, and no embeddings.",
)
def formulas_in_the_wrong_place() -> str:
    """Lengths of sinusoidal rows; what one rotation changes among distances; the identity."""
    lengths = sinusoidal(100, 64).double().norm(dim=1)
    rng = np.random.default_rng(0)
    z = rng.standard_normal((20, 4)) + 1j * rng.standard_normal((20, 4))
    hands = np.exp(7j / 10_000 ** (np.arange(4) / 4))
    apart, turned = (np.linalg.norm(a[:, None] - a, axis=-1) for a in (z, z * hands))
    changed = np.round(np.abs(apart - turned).max(), 9)
    return (
        f"Rows for 100 positions of width 64 have lengths from {number(lengths.min())} "
        f"to {number(lengths.max())}. Turned as at one position, 20 random vectors "
        f"change their distances by {number(changed)}."
    )


# ------------------------------------------------------------------------------- writing


@corrects(
    claim="A GPT writes by predicting the most likely next token at each step.",
    says="“takes the prompt as input and predicts the most likely next token”",
    why="It gives a probability for every token. To take the likeliest is one way to choose, and "
    "it tends to run in circles; usually the next token is sampled. That the "
    "text is appended to and read again is right.",
)
def the_likeliest_runs_in_circles() -> str:
    """Where the likeliest next character leads in a bigram table of the tales."""
    tokenizer = tokenizers.CharTokenizer(corpus.load())
    following = count_bigrams(tokenizer.encode(corpus.load()), len(tokenizer)).argmax(axis=1)
    path = [tokenizer.vocab.index("T")]
    while path.count(path[-1]) < 2:
        path.append(int(following[path[-1]]))
    circle = path[path.index(path[-1]) : -1]
    text = "".join(tokenizer.vocab[i] for i in path).replace(" ", "␣")
    return (
        f"In a table of which character follows which in the tales, the likeliest path from T is "
        f"“{text}” and then the same {len(circle)} characters for ever."
    )


@corrects(
    claim="A person can correct a mistake while speaking, and a GPT cannot, since what it has "
    "written is fixed.",
    says="“Without the ability to revise … it cannot find errors and correct them as people do”, "
    "with the example “Yesterday I went to the supermarket and bought … oh no, I went to the "
    "bookshop.” (our translation)",
    why="The person of the example revises nothing either: the correction is appended, and the "
    "words before it stay. A model that only appends can write the same text. Whether it does is "
    "a matter of what it has learned.",
)
def a_correction_is_appended() -> str:
    """How much of what was said before the correction still stands in what was said."""
    said, all_said = BEFORE_THE_CORRECTION, CORRECTED_SPEECH
    kept = sum(a == b for a, b in zip(said, all_said, strict=False))
    return (
        f"Of the {len(said)} characters that were said before the correction, {kept} stand "
        f"unchanged at the beginning of the {len(all_said)} of the whole."
    )


@corrects(
    claim="Written words cannot be changed because attention is causal.",
    says="“The attention of GPT is causal … so it goes in sequence and cannot go back to change "
    "words or sentences already generated.” (our translation)",
    why="The words stay because the loop of writing only appends; without a mask they would stay "
    "too. What the causal mask keeps as it was is what has been computed for them, and that is "
    "why keys and values can be kept.",
)
def what_the_mask_fixes() -> str:
    """How far the outputs at six tokens move when a seventh is appended."""
    rng = np.random.default_rng(0)
    x, tables = rng.standard_normal((7, 8)), rng.standard_normal((3, 8, 8)) / np.sqrt(8)
    moved = [
        np.abs(_layer(x, tables, causal=causal)[:6] - _layer(x[:6], tables, causal=causal)).max()
        for causal in (True, False)
    ]
    return (
        "A seventh token is appended. What one layer puts out at the six before it moves by "
        f"{number(np.round(moved[0], 9))} with a causal mask and by up to {number(moved[1])} "
        "without one; the six tokens themselves are the same in both."
    )
