"""Every public function of the core, given what it should not be given: right, or a clear refusal.

A call that is valid is spoilt in one argument or two. What comes back must then be free of nan
(where nothing that went in was nan or infinite), or the error be a ValueError or a TypeError that
names an argument of the function. Some three thousand calls; the checks of shapes that tests have
besides are off, as they are for a reader.
"""

import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from helpers import (
    attention,
    bigram,
    blocks,
    corpus,
    embeddings,
    gpt,
    initialise,
    norms,
    numerics,
    positions,
    probes,
    worked,
)
from helpers.training import optimizers, schedule

pytestmark = [pytest.mark.no_shape_check, pytest.mark.slow]

TEXT = "the fox saw the moon and the moon saw the fox"


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=seeded())


def ids(*shape: int) -> Tensor:
    return torch.randint(5, shape, generator=seeded())


def call(function, **valid):
    return function, valid


TABLE = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.1, 0.9]])
COUNTS = np.array([[1, 2, 0], [3, 0, 1], [1, 1, 1]])
SCORES = np.array([[0.1, 0.7, -0.2], [0.5, 1.1, 0.4]])
CONFIG = gpt.GPTConfig(vocab_size=5, context=8, layers=1, heads=2, width=8)
MODEL = gpt.GPT(CONFIG, generator=seeded()).eval()
HEADS = {"q": normal(2, 3, 4), "k": normal(2, 5, 4), "v": normal(2, 5, 6)}
ROWS = normal(6, 4)
CHARS = corpus.CharTokenizer(TEXT)
WORDS = corpus.WordTokenizer(TEXT)
CALLS = {
    "attention_steps": call(attention.attention_steps, **HEADS,
        allowed=torch.ones(3, 5, dtype=torch.bool), tilt=normal(3, 5)),
    "causal_mask": call(attention.causal_mask, length=4, queries=2),
    "SelfAttention": call(attention.SelfAttention, width=8, heads=2, causal=True, bias=True),
    "Block": call(blocks.Block, width=8, heads=2, placement="pre", norm="layer",
                                 activation="gelu", residual=True, causal=True, dropout=0.1),
    "FeedForward": call(blocks.FeedForward, width=4, hidden=8, activation="relu"),
    "count_bigrams": call(bigram.count_bigrams, ids=ids(9), vocab_size=5),
    "conditional_entropy": call(bigram.conditional_entropy, counts=COUNTS),
    "smoothed": call(bigram.smoothed, counts=COUNTS, add=0.5),
    "cross_entropy_of": call(bigram.cross_entropy_of, probabilities=TABLE, counts=COUNTS),
    "MarkovChain": call(bigram.MarkovChain, table=TABLE),
    "MarkovChain.sample": call(bigram.MarkovChain(TABLE).sample, n=4, generator=seeded()),
    "BigramLanguageModel": call(bigram.BigramLanguageModel, vocab_size=4),
    "BigramLanguageModel.generate": call(bigram.BigramLanguageModel(5).generate,
        ids_BT=ids(2, 3), n=2, generator=seeded()),
    "loss": call(bigram.loss, logits_BTV=normal(2, 3, 5), targets_BT=ids(2, 3)),
    "CharTokenizer": call(corpus.CharTokenizer, text=TEXT),
    "CharTokenizer.encode": call(CHARS.encode, text="the fox"),
    "CharTokenizer.decode": call(CHARS.decode, ids=ids(4)),
    "WordTokenizer": call(corpus.WordTokenizer, text=TEXT),
    "WordTokenizer.encode": call(WORDS.encode, text="the fox"),
    "WordTokenizer.decode": call(WORDS.decode, ids=ids(4)),
    "split": call(corpus.split, ids=ids(20), fraction=0.75),
    "batches": call(corpus.batches, ids=ids(20), batch_size=3, context=4, generator=seeded()),
    "windows": call(corpus.windows, ids=ids(20), context=4, batch_size=2),
    "frequent": call(embeddings.frequent, ids=ids(20), at_least=2),
    "surroundings": call(embeddings.surroundings, ids=ids(9), reach=2),
    "SurroundingsModel": call(embeddings.SurroundingsModel,
        vocab_size=5, width=4, generator=seeded()),
    "NGrams": call(embeddings.NGrams, vocab_size=5, width=4, longest=3),
    "one_hot": call(embeddings.one_hot, ids=ids(2, 3), vocab_size=5),
    "table_bytes": call(embeddings.table_bytes, vocab_size=5, width=4, bits=8),
    "migrated": call(embeddings.migrated, rows=normal(2, 4), old_words=["a", "b"],
                                           new_words=["b", "c"], start=normal(4)),
    "quantised": call(embeddings.quantised, table=ROWS, bits=8),
    "similarities": call(embeddings.similarities, query=normal(4), table=ROWS, measure="dot"),
    "neighbours": call(embeddings.neighbours, table=ROWS, row=1, k=2, measure="cosine"),
    "similarity_matrix": call(embeddings.similarity_matrix, table=ROWS, measure="euclid"),
    "nearest": call(embeddings.nearest, table=ROWS, measure="cosine"),
    "centre": call(embeddings.centre, table=ROWS),
    "principal": call(embeddings.principal, table=ROWS),
    "whiten": call(embeddings.whiten, table=normal(20, 3)),
    "anisotropy": call(embeddings.anisotropy, table=ROWS),
    "rank_correlation": call(embeddings.rank_correlation, first=normal(5), second=ids(5)),
    "GPTConfig": call(gpt.GPTConfig,
        vocab_size=5, context=8, layers=1, heads=2, width=8, norm="layer", placement="pre",
        positions="rope", ngrams=1, activation="gelu", tied=True, qk_norm=True, start="gpt2",
        dropout=0.1),
    "GPT": call(gpt.GPT, config=CONFIG, generator=seeded()),
    "GPT.forward": call(MODEL.forward, ids_BT=ids(2, 3), offset=0),
    "GPT.generate": call(MODEL.generate,
        ids_BT=ids(2, 3), n=2, generator=seeded(), temperature=0.8, top_k=3, top_p=0.9, stop=1,
        cache=True),
    "fixed": call(initialise.fixed, std=0.1, name="a", source="b"),
    "draw": call(initialise.draw,
        scheme=initialise.HE, fan_out=3, fan_in=4, generator=seeded()),
    "residual_factor": call(initialise.residual_factor, blocks=3),
    "initialise": call(initialise.initialise,
        model=nn.Linear(3, 4), scheme=initialise.HE, generator=seeded(), embedding=0.1,
        residual=0.5),
    "normalise": call(norms.normalise, x=normal(2, 3, 4), axes=(-1,), eps=1e-5, centred=True),
    "pooled": call(norms.pooled, x_BTC=normal(2, 3, 4), point=norms.POINTS["group"], eps=1e-5),
    "LayerNorm": call(norms.LayerNorm, width=4, eps=1e-5),
    "RMSNorm": call(norms.RMSNorm, width=4, eps=1e-5),
    "BatchNorm": call(norms.BatchNorm, width=4, eps=1e-5, momentum=0.1),
    "InstanceNorm": call(norms.InstanceNorm, width=4, eps=1e-5),
    "GroupNorm": call(norms.GroupNorm, width=4, groups=2, eps=1e-5),
    "masked_statistics": call(norms.masked_statistics,
        x=normal(2, 3, 4), real=torch.ones(2, 3, dtype=torch.bool)),
    **{name: call(getattr(numerics, name), scores=SCORES, axis=-1)
       for name in ("logsumexp", "softmax", "log_softmax")},
    "softmax_jacobian": call(numerics.softmax_jacobian, p=TABLE),
    "entropy": call(numerics.entropy, p=TABLE, axis=-1),
    "cross_entropy": call(numerics.cross_entropy, logits=SCORES, targets=np.array([0, 2])),
    "mean": call(numerics.mean, x=SCORES, axis=0),
    "variance": call(numerics.variance, x=SCORES, axis=(0, 1), ddof=1),
    "attention_weights": call(numerics.attention_weights,
        q=SCORES, k=TABLE, allowed=np.ones((2, 3), dtype=bool)),
    "attention": call(numerics.attention, q=SCORES, k=TABLE, v=TABLE),
    "sinusoidal": call(positions.sinusoidal, length=4, width=6, base=100.0),
    "Sinusoidal": call(positions.Sinusoidal, width=6, base=100.0),
    "Sinusoidal.forward": call(positions.Sinusoidal(6).forward, length=4, offset=2),
    "Learned": call(positions.Learned, context=8, width=4),
    "Learned.forward": call(positions.Learned(8, 4).forward, length=4, offset=2),
    "Rotary": call(positions.Rotary, width=6, base=100.0),
    "alibi_slopes": call(positions.alibi_slopes, heads=6),
    "alibi": call(positions.alibi, heads=2, queries=3, keys=5),
    "depends_on": call(partial(probes.depends_on, torch.tanh), x=normal(3, 4)),
    "reads": call(partial(probes.reads, torch.tanh), x_BTC=normal(2, 3, 4), at=(0, 1)),
    "leaks": call(partial(probes.leaks, torch.tanh), x_BTC=normal(2, 3, 4)),
    "number": call(worked.number, value=1.25, digits=3),
    "superscript": call(worked.superscript, number=12),
    "matrix": call(worked.matrix, values=SCORES, digits=2),
    "matrix_product": call(worked.matrix_product,
        name="Q", left_name="X", left=SCORES, right_name="W", right=TABLE),
    "dot_product": call(worked.dot_product, name="s", left=TABLE[0], right=TABLE[1]),
    "scale": call(worked.scale, name="s", scores=SCORES, width=4),
    "softmax_steps": call(worked.softmax_steps, name="w", scores=TABLE[0]),
    "weighted_sum": call(worked.weighted_sum, name="o", weights=TABLE[0], vectors=TABLE),
    "attention_of_one_query": call(worked.attention_of_one_query,
        query=TABLE[0], keys=TABLE, values=TABLE, tokens=["a", "b", "c"], asks="a"),
    "orthogonalised": call(optimizers.orthogonalised, matrices=normal(4, 3), rounds=3,
                           dtype=torch.float32),
    "share": call(schedule.share, step=2, steps=10, warmup=2, final=0.1, decay="cosine"),
}  # fmt: skip

NOTHING_FITS = st.sampled_from([None, "nonsense", [], {}, object(), 1j])
WHOLE = st.sampled_from([-1, 0, -7, 2.5, 1.0, math.nan, math.inf, True, np.int64(3), "3"])
REAL = st.sampled_from([-1.0, 0.0, math.nan, math.inf, -math.inf, 1e30, 1e-45, 3, "0.5"])
WORD = st.sampled_from(["", "nonsense", "\n", "Привет", 3, b"pre"])


def spoilt_array(array: np.ndarray) -> list[np.ndarray]:
    """An array with another shape, another kind of number, or numbers that make no sense."""
    wild = [array.astype(kind) for kind in ("float16", "float64", "int64", "bool", "complex64")]
    if array.dtype.kind == "f":
        wild += [np.where(array == array.flat[0], odd, array) for odd in (np.nan, np.inf, -np.inf)]
        wild += [array * 1e30, -array, np.zeros_like(array)]
    if array.dtype.kind == "i":
        wild += [array - 1, array + 100, -array]
    shapes = [array[None], array[..., None], array[:0], array[..., :0], array[0],
              np.concatenate([array, array[:1]])]  # fmt: skip
    return [*wild, *shapes]


def spoilt(value) -> st.SearchStrategy:
    """What might come in place of a valid argument."""
    if isinstance(value, Tensor):
        wild = [torch.from_numpy(np.array(one)) for one in spoilt_array(value.numpy())]
        return st.sampled_from([*wild, value.bfloat16(), value.tolist()]) | NOTHING_FITS
    if isinstance(value, np.ndarray):
        return st.sampled_from([*spoilt_array(value), value.tolist()]) | NOTHING_FITS
    for kind, strategy in ((bool, NOTHING_FITS), (int, WHOLE), (float, REAL), (str, WORD)):
        if isinstance(value, kind):
            return strategy | NOTHING_FITS
    if isinstance(value, list):
        return st.sampled_from([value[:1], value + value, [3, 4]]) | NOTHING_FITS
    if isinstance(value, tuple):
        return st.sampled_from([(), (0, 0), (9,), (-9, 0), (0.5,), ("a",)]) | NOTHING_FITS
    return NOTHING_FITS


def numbers_in(value) -> list[np.ndarray]:
    """All numbers that a value holds, array by array."""
    if isinstance(value, Tensor):
        value = value.detach()
        return [value.double().numpy() if value.is_floating_point() else value.numpy()]
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, bool | int | float | complex):
        return [np.array(value)]
    if isinstance(value, list | tuple):
        return [array for one in value for array in numbers_in(one)]
    if isinstance(value, dict):
        return numbers_in(list(value.values()))
    if isinstance(value, nn.Module):
        return numbers_in(list(value.parameters()))
    return numbers_in(vars(value)) if hasattr(value, "__dict__") else []


def sound(value) -> bool:
    """Whether nothing in it is nan."""
    return not any(np.isnan(one).any() for one in numbers_in(value) if one.dtype.kind in "fc")


def tame(value) -> bool:
    """Whether no number in it is nan, infinite, or so large that its square is."""
    found = [one for one in numbers_in(value) if one.dtype.kind in "fc"]
    return all(np.isfinite(one).all() and (np.abs(one) < 1e15).all() for one in found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=35)
@given(data=st.data())
def test_it_is_right_or_says_what_is_wrong(name, data):
    function, valid = CALLS[name]
    chosen = data.draw(st.sets(st.sampled_from(sorted(valid)), min_size=1, max_size=2))
    given_now = valid | {one: data.draw(spoilt(valid[one]), label=one) for one in sorted(chosen)}
    try:
        found = function(**given_now)
        if name in ("batches", "windows"):
            found = next(iter(found))
    except (ValueError, TypeError) as error:
        said = str(error)
        assert any(argument in said for argument in valid), f"names no argument: {said}"
    else:
        assert sound(found) or not tame(given_now), f"nan from {given_now}"


@pytest.mark.parametrize("name", CALLS)
def test_what_is_valid_is_taken(name):
    function, valid = CALLS[name]
    assert sound(function(**valid))
