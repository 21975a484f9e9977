"""Corrections for chapter 01: what a row of the embedding table holds, and how it is trained."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from helpers import minigpt
from helpers.chapters.lab import seeded
from helpers.corrections import corrects, number
from helpers.corrections.arrays import moved, span
from helpers.numerics import softmax

TC = Float[np.ndarray, "T C"]

# ------------------------------------------------------------ what the measurements are made of


def _self_attend(x_TC: TC) -> TC:
    """Self-attention with random W_Q, W_K and W_V that keep the scale of what they project."""
    C = x_TC.shape[1]
    w_QKV = np.random.default_rng(0).standard_normal((3, C, C)) / np.sqrt(C)
    q, k, v = x_TC @ w_QKV
    return softmax(q @ k.T / np.sqrt(C)) @ v


def _table(vocab_size: int, width: int) -> Float[np.ndarray, "V C"]:
    """An embedding table with normal entries of variance 1, as PyTorch starts one."""
    return np.random.default_rng(1).standard_normal((vocab_size, width))


def _positions(length: int, width: int) -> TC:
    """A table of learned positions as it starts, one row a position."""
    return np.random.default_rng(2).standard_normal((length, width))


# ---------------------------------------------------------------- a token beside a row of a table


@corrects(
    claim="The embedding of a token encodes its position in the sentence and its context there.",
    says="Each token embedding encodes “syntactic info (position, word identity, grammar role)” "
    "and “semantic info (meaning, context, relationships to other words)”",
    why="The lookup sees the token's id and nothing else. A row can hold what is usual for the "
    "token; where it stands this time comes from positions, and what stands around it from "
    "attention.",
)
def the_row_is_the_same_anywhere() -> str:
    """Distance between the vectors of one word at two places, at three stages."""
    words = ["the", "cat", "sees", "the", "dog"]
    vocabulary = sorted(set(words))
    x_TC = _table(len(vocabulary), 8)[[vocabulary.index(word) for word in words]]
    placed = x_TC + _positions(*x_TC.shape)
    read = placed + _self_attend(placed)
    apart = [number(np.linalg.norm(x[0] - x[3])) for x in (x_TC, placed, read)]
    return (
        f"In “{' '.join(words)}” the embeddings of both “the” are {apart[0]} apart, with positions "
        f"added {apart[1]}, after a layer of attention {apart[2]} (random tables of width 8)."
    )


@corrects(
    claim="For several heads the embedding space is split up among them.",
    says="“splitting the embedding space into multiple heads to train their information "
    "separately”",
    why="What the Transformer splits is the projections: each head has its own few columns of W_Q, "
    "W_K and W_V, and each of these columns reads the whole embedding. The heads are trained "
    "together, by one loss.",
)
def heads_read_all_features() -> str:
    """Number of features of an embedding that the query of one head depends on."""
    C, H = 8, 4
    D = C // H
    w_q, x = np.random.default_rng(0).standard_normal((C, C)), _table(1, C)[0]
    query = (x @ w_q).reshape(H, D)[0]
    moved = [((x + feature) @ w_q).reshape(H, D)[0] - query for feature in np.eye(C)]
    read = int(np.abs(moved).max(axis=1).astype(bool).sum())
    return (
        f"With {C} features and {H} heads, the query of the first head has {D} entries and "
        f"depends on {read} features."
    )


# --------------------------------------------------------------------------- what training does


def _recited(ids: Int[Tensor, " T"], seed: int) -> Int[Tensor, " T"]:
    """What a GPT of one block, trained on one text alone, makes of its first character."""
    with seeded(seed):
        model = minigpt.GPT(16, T=len(ids) - 1, C=32, H=1, L=1)
        list(minigpt.train(model, ids, steps=100, batch=1, lr=0.01))
        return minigpt.generate(model, ids[None, :1], len(ids) - 1, top_k=1)[0]


@corrects(
    claim="A Transformer does not memorise its training text; it learns a geometry in which "
    "language has structure.",
    says="“The Transformer doesn't memorize text; it learns a geometry”",
    why="Characters drawn at random have no structure to learn, so what is recited here is "
    "remembered. Nothing in the loss forbids it; how much is memorised depends on the size of the "
    "model, on the text, and on how often the text is seen.",
)
def random_text_is_recited() -> str:
    """Share of random texts that a trained small Transformer recites from their first character."""
    length, shares = 48, []
    for seed in range(5):
        generator = torch.Generator().manual_seed(100 + seed)
        ids = torch.randint(16, (length,), generator=generator)
        shares.append(float((_recited(ids, seed)[1:] == ids[1:]).double().mean()))
    return (
        f"Given the first of {length} random characters out of 16, one block of width 32 recites "
        f"{number(100 * min(shares))} % of the others correctly in the worst of {len(shares)} "
        f"trials; guessing finds about {number(100 / 16)} %."
    )


PAIRS = 6


def _used_alike() -> Float[np.ndarray, "V V"]:
    """P(next | current) of 12 tokens in 6 pairs; both tokens of a pair have the same row."""
    rows = np.random.default_rng(0).dirichlet(np.full(2 * PAIRS, 0.5), size=PAIRS)
    return np.repeat(rows, 2, axis=0)


def _cosine_of_pairs(deviation: float, width: int, seed: int) -> tuple[float, float]:
    """Train table and linear layer on those tokens: mean cosine in the pairs, excess loss.

    deviation: that of the table's entries at the start; the layer starts as PyTorch's does.
    """
    generator, target = torch.Generator().manual_seed(seed), torch.tensor(_used_alike()).float()
    table = deviation * torch.randn(2 * PAIRS, width, generator=generator)
    linear = (2 * torch.rand(2 * PAIRS, width, generator=generator) - 1) / width**0.5
    parameters = [table.requires_grad_(), linear.requires_grad_()]
    optimizer = torch.optim.Adam(parameters, lr=0.02)
    for _ in range(150):
        optimizer.zero_grad()
        loss = F.cross_entropy(table @ linear.T, target)
        loss.backward()
        optimizer.step()
    least = -torch.xlogy(target, target).sum(dim=1).mean()
    cosine = F.cosine_similarity(table[::2], table[1::2]).mean()
    return cosine.item(), (loss - least).item()


@corrects(
    claim="The loss of next-token prediction alone brings the embeddings of tokens that are used "
    "alike near one another.",
    says="“similar tokens end up with similar embeddings”, “by the pressure of the loss function "
    "and co-occurrence structure of language”",
    why="It does where there are far fewer features than tokens, as with a large vocabulary, or "
    "where the initial weights are very small. But the loss asks for the same predictions, not for "
    "near rows: where features are nearly as many as tokens, or more, a table has directions that "
    "the output reads little or not at all. What large random weights put there is hardly changed, "
    "and the rows stay apart.",
)
def used_alike_and_far_apart() -> str:
    """Cosine of the rows of tokens with the same continuations, by width and start, 8 seeds."""
    parts, excess = [], []
    for width, deviation in ((64, 1.0), (64, 0.02), (10, 1.0), (4, 1.0)):
        runs = [_cosine_of_pairs(deviation, width, seed) for seed in range(8)]
        parts.append(
            f"{span([cosine for cosine, _ in runs])} with {width} features and initial weights of "
            f"standard deviation {number(deviation)}"
        )
        excess += [extra for _, extra in runs] if width == 64 else []
    return (
        f"Mean cosine in {PAIRS} pairs of tokens with the same continuations, and no other tokens, "
        "trained without weight decay, in 8 trials each: "
        f"{'; '.join(parts)}. With 64 features, all trials end within {number(max(excess))} nats "
        "of the least possible loss."
    )


# ------------------------------------------------------------------------ lookup, and what is not


@corrects(
    claim="Every semantic embedding is, at heart, a trained lookup table.",
    says="“every semantic embedding you've ever seen is, at heart, just a well-trained lookup "
    "table”",
    why="That holds for the input layer, and for static word vectors such as those of Word2Vec. "
    "The embedding of a word in its sentence, or of a whole sentence, is computed from all the "
    "tokens there; no table could hold a row for each text.",
)
def contextual_embeddings_are_computed() -> str:
    """Distance of one token's vectors in two sentences, and the rows that a table would need."""
    table, places = _table(10, 8), _positions(3, 8)
    sentences = [table[ids] for ids in ([3, 5, 7], [4, 6, 7])]
    looked_up = moved(sentences[0][-1], sentences[1][-1])
    computed = moved(*(_self_attend(x + places)[-1] for x in sentences))
    return (
        f"Token 7 after the tokens 3, 5 and after 4, 6: its row differs by {number(looked_up)}, "
        f"its state after attention by up to {number(computed)}. A table of all texts of 10 "
        f"tokens out of 50,000 would need {number(50_000.0**10)} rows."
    )


# --------------------------------------------------------------------------------- tied weights


@corrects(
    claim="Where input and output share one table, the gradient of its row $w_j$ is "
    r"$(p_j - \mathbf{1}\{j=y\})\,h$.",
    says=r"Under “Input output and tied embeddings”: "
    r"$\nabla_{w_j}\ell = (p_j - \mathbf{1}\{j=y\})\,h$",
    why="That is the gradient through the output, and all there is when the two tables are "
    "separate. In a tied table the row of an input token also shapes h itself, so it gets a "
    "second part, back through the whole network.",
)
def tied_rows_have_two_parts() -> str:
    """Miss of the formula in a tied table, for the row of the input token and for the others."""
    table, token, target = _table(6, 4) / 2, 1, 2
    rows = torch.tensor(table, requires_grad=True)  # scores of an embedding against the same rows
    F.cross_entropy(rows @ rows[token], torch.tensor(target)).backward()
    hidden, slope = table[token], rows.grad.numpy()  # type: ignore[union-attr]
    formula = np.outer(softmax(table @ hidden) - np.eye(6)[target], hidden)
    missing = np.linalg.norm(slope - formula, axis=1)
    others = round(np.delete(missing, token).max(), 6) + 0.0
    return (
        "In the smallest tied model, h being the row of the input token, the gradient of that row "
        f"has length {number(np.linalg.norm(slope[token]))}, and by the formula "
        f"{number(np.linalg.norm(formula[token]))}; the two are {number(missing[token])} apart. In "
        f"the other rows formula and gradient differ by {number(others)}."
    )
