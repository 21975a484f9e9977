"""A valid call of every public function of the core: what the tests of doors begin with."""

from functools import partial

import numpy as np
import torch
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
from helpers.training import config, fit, loop, optimizers, schedule

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
PAIRS = [(normal(4, 3), normal(4, 2))] * 3
TWO_STEPS = config.TrainingConfig(steps=2, batch_size=2, context=4)
CHARS = corpus.CharTokenizer(TEXT)
PIECES = corpus.PieceTokenizer(TEXT, 2)
WORDS = corpus.WordTokenizer(TEXT)
CALLS = {
    "attention_steps": call(
        attention.attention_steps,
        **HEADS,
        mask=torch.ones(3, 5, dtype=torch.bool),
        attn_bias=normal(3, 5),
    ),
    "causal_mask": call(attention.causal_mask, length=4, queries=2),
    "kv_cache": call(attention.kv_cache, module=MODEL),
    "record_attention": call(attention.record_attention, module=MODEL),
    "SelfAttention": call(attention.SelfAttention, width=8, heads=2, causal=True, bias=True),
    "SelfAttention.forward": call(attention.SelfAttention(4, 2).forward, x_BTC=normal(2, 3, 4)),
    "AddNorm": call(
        blocks.AddNorm,
        sublayer=nn.Identity(),
        norm=nn.Identity(),
        placement="pre",
        residual=True,
        dropout=0.1,
    ),
    "Block": call(
        blocks.Block,
        width=8,
        heads=2,
        placement="pre",
        norm="layer",
        activation="gelu",
        residual=True,
        causal=True,
        dropout=0.1,
    ),
    "FeedForward": call(blocks.FeedForward, width=4, hidden=8, activation="relu"),
    "FeedForward.forward": call(blocks.FeedForward(4).forward, x=normal(2, 3, 4)),
    "count_bigrams": call(bigram.count_bigrams, ids=ids(9), vocab_size=5),
    "conditional_entropy": call(bigram.conditional_entropy, counts=COUNTS),
    "smoothed": call(bigram.smoothed, counts=COUNTS, add=0.5),
    "cross_entropy_of": call(bigram.cross_entropy_of, probabilities=TABLE, counts=COUNTS),
    "MarkovChain": call(bigram.MarkovChain, table=TABLE),
    "MarkovChain.sample": call(bigram.MarkovChain(TABLE).sample, n=4, generator=seeded()),
    "BigramLanguageModel": call(bigram.BigramLanguageModel, vocab_size=4),
    "BigramLanguageModel.forward": call(bigram.BigramLanguageModel(5).forward, ids_BT=ids(2, 3)),
    "BigramLanguageModel.generate": call(
        bigram.BigramLanguageModel(5).generate, ids_BT=ids(2, 3), n=2, generator=seeded()
    ),
    "loss": call(bigram.loss, logits_BTV=normal(2, 3, 5), targets_BT=ids(2, 3)),
    "load": call(corpus.load, name="tales", context=8, progress=None),
    "CharTokenizer": call(corpus.CharTokenizer, text=TEXT),
    "CharTokenizer.encode": call(CHARS.encode, text="the fox"),
    "CharTokenizer.decode": call(CHARS.decode, ids=ids(4)),
    "PieceTokenizer": call(corpus.PieceTokenizer, text=TEXT, least=2),
    "PieceTokenizer.encode": call(PIECES.encode, text="the fox"),
    "PieceTokenizer.decode": call(PIECES.decode, ids=ids(4)),
    "WordTokenizer": call(corpus.WordTokenizer, text=TEXT),
    "WordTokenizer.encode": call(WORDS.encode, text="the fox"),
    "WordTokenizer.decode": call(WORDS.decode, ids=ids(4)),
    "split": call(corpus.split, ids=ids(20), fraction=0.75),
    "batches": call(corpus.batches, ids=ids(20), batch_size=3, context=4, generator=seeded()),
    "windows": call(corpus.windows, ids=ids(20), context=4, batch_size=2),
    "prune_rare": call(embeddings.prune_rare, ids=ids(20), at_least=2),
    "context_windows": call(embeddings.context_windows, ids=ids(9), reach=2),
    "CBOW": call(embeddings.CBOW, vocab_size=5, width=4, generator=seeded()),
    "CBOW.forward": call(embeddings.CBOW(5, 4, generator=seeded()).forward, ids_BW=ids(2, 3)),
    "NGrams.forward": call(embeddings.NGrams(5, 4, longest=3).forward, ids=ids(2, 3)),
    "NGrams": call(embeddings.NGrams, vocab_size=5, width=4, longest=3),
    "one_hot": call(embeddings.one_hot, ids=ids(2, 3), vocab_size=5),
    "table_bytes": call(embeddings.table_bytes, vocab_size=5, width=4, bits=8),
    "remap_vocabulary": call(
        embeddings.remap_vocabulary,
        rows=normal(2, 4),
        old_words=["a", "b"],
        new_words=["b", "c"],
        start=normal(4),
    ),
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
    "GPTConfig": call(
        gpt.GPTConfig,
        vocab_size=5,
        context=8,
        layers=1,
        heads=2,
        width=8,
        norm="layer",
        placement="pre",
        positions="rope",
        ngrams=1,
        activation="gelu",
        tied=True,
        qk_norm=True,
        start="gpt2",
        dropout=0.1,
    ),
    "GPT": call(gpt.GPT, config=CONFIG, generator=seeded()),
    "GPT.forward": call(MODEL.forward, ids_BT=ids(2, 3), offset=0),
    "GPT.generate": call(
        MODEL.generate,
        ids_BT=ids(2, 3),
        n=2,
        generator=seeded(),
        temperature=0.8,
        top_k=3,
        top_p=0.9,
        stop=1,
        cache=True,
    ),
    "fixed": call(initialise.fixed, std=0.1, name="a", source="b"),
    "draw": call(initialise.draw, scheme=initialise.HE, fan_out=3, fan_in=4, generator=seeded()),
    "Scheme": call(initialise.Scheme, name="a", source="b", std=max, family="normal"),
    "residual_factor": call(initialise.residual_factor, blocks=3),
    "initialise": call(
        initialise.initialise,
        model=nn.Linear(3, 4),
        scheme=initialise.HE,
        generator=seeded(),
        embedding=0.1,
        residual=0.5,
        packed={"qkv": 3},
    ),
    "normalise": call(norms.normalise, x=normal(2, 3, 4), axes=(-1,), eps=1e-5, centred=True),
    "normalise_over": call(
        norms.normalise_over, x_BTC=normal(2, 3, 4), spec=norms.NORMS["group"], eps=1e-5
    ),
    "LayerNorm": call(norms.LayerNorm, width=4, eps=1e-5),
    "RMSNorm": call(norms.RMSNorm, width=4, eps=1e-5),
    "BatchNorm": call(norms.BatchNorm, width=4, eps=1e-5, momentum=0.1),
    "InstanceNorm": call(norms.InstanceNorm, width=4, eps=1e-5),
    "GroupNorm": call(norms.GroupNorm, width=4, groups=2, eps=1e-5),
    **{
        f"{norm.__name__}.forward": call(norm(4).forward, x=normal(2, 3, 4))
        for norm in (norms.LayerNorm, norms.RMSNorm)
    },
    **{
        f"{norm.__name__}.forward": call(norm(4).forward, x_BTC=normal(2, 3, 4))
        for norm in (norms.InstanceNorm, norms.GroupNorm)
    },
    "BatchNorm.forward": call(
        norms.BatchNorm(4).forward, x=normal(2, 3, 4), valid=torch.ones(2, 3, dtype=torch.bool)
    ),
    "masked_statistics": call(
        norms.masked_statistics, x=normal(2, 3, 4), valid=torch.ones(2, 3, dtype=torch.bool)
    ),
    **{
        name: call(getattr(numerics, name), scores=SCORES, axis=-1)
        for name in ("logsumexp", "softmax", "log_softmax")
    },
    "softmax_jacobian": call(numerics.softmax_jacobian, p=TABLE),
    "entropy": call(numerics.entropy, p=TABLE, axis=-1),
    "cross_entropy": call(numerics.cross_entropy, logits=SCORES, targets=np.array([0, 2])),
    "mean": call(numerics.mean, x=SCORES, axis=0),
    "variance": call(numerics.variance, x=SCORES, axis=(0, 1), ddof=1),
    "attention_weights": call(
        numerics.attention_weights, q=SCORES, k=TABLE, mask=np.ones((2, 3), dtype=bool)
    ),
    "attention": call(numerics.attention, q=SCORES, k=TABLE, v=TABLE),
    "sinusoidal": call(positions.sinusoidal, length=4, width=6, base=100.0),
    "Sinusoidal": call(positions.Sinusoidal, width=6, base=100.0),
    "Sinusoidal.forward": call(positions.Sinusoidal(6).forward, length=4, offset=2),
    "Learned": call(positions.Learned, context=8, width=4),
    "Learned.forward": call(positions.Learned(8, 4).forward, length=4, offset=2),
    "Rotary": call(positions.Rotary, width=6, base=100.0),
    "Rotary.forward": call(positions.Rotary(4).forward, x=normal(2, 3, 4), offset=2),
    "alibi_slopes": call(positions.alibi_slopes, heads=6),
    "alibi": call(positions.alibi, heads=2, queries=3, keys=5),
    "depends_on": call(partial(probes.depends_on, torch.tanh), x=normal(3, 4)),
    "reads": call(partial(probes.reads, torch.tanh), x_BTC=normal(2, 3, 4), at=(0, 1)),
    "leaks": call(partial(probes.leaks, torch.tanh), x_BTC=normal(2, 3, 4)),
    "number": call(worked.number, value=1.25, digits=3),
    "superscript": call(worked.superscript, number=12),
    "matrix": call(worked.matrix, values=SCORES, digits=2),
    "matrix_product": call(
        worked.matrix_product, name="Q", left_name="X", left=SCORES, right_name="W", right=TABLE
    ),
    "dot_product": call(worked.dot_product, name="s", left=TABLE[0], right=TABLE[1]),
    "scale": call(worked.scale, name="s", scores=SCORES, width=4),
    "softmax_steps": call(worked.softmax_steps, name="w", scores=TABLE[0]),
    "weighted_sum": call(worked.weighted_sum, name="o", weights=TABLE[0], vectors=TABLE),
    "attention_of_one_query": call(
        worked.attention_of_one_query,
        query=TABLE[0],
        keys=TABLE,
        values=TABLE,
        tokens=["a", "b", "c"],
        asks="a",
    ),
    "parameter_count": call(gpt.parameter_count, config=CONFIG),
    "flops_per_token": call(gpt.flops_per_token, config=CONFIG),
    "train": call(
        loop.train,
        module=nn.Linear(3, 2),
        loss=nn.functional.mse_loss,
        batches=PAIRS,
        steps=2,
        optimizer=torch.optim.SGD([nn.Parameter(normal(2))]),
    ),
    "evaluate": call(
        loop.evaluate, module=nn.Linear(3, 2), loss=nn.functional.mse_loss, windows=PAIRS
    ),
    "adamw": call(
        optimizers.adamw,
        named={"a": nn.Parameter(normal(3, 4))},
        lr=0.1,
        betas=(0.9, 0.99),
        weight_decay=0.1,
    ),
    "Muon": call(
        optimizers.Muon,
        params=[nn.Parameter(normal(3, 4))],
        lr=0.1,
        momentum=0.9,
        weight_decay=0.1,
        dtype=torch.float32,
    ),
    "CombinedOptimizer": call(optimizers.CombinedOptimizer, named={}),
    "fit": call(
        fit,
        model=gpt.GPT(CONFIG, generator=seeded()),
        train_ids=ids(40),
        validation_ids=ids(20),
        config=TWO_STEPS,
        folder=None,
        resume=False,
        on_record=None,
        extra=None,
        keep=1,
        progress=False,
        team=None,
    ),
    "newton_schulz": call(
        optimizers.newton_schulz, matrices=normal(4, 3), steps=3, dtype=torch.float32
    ),
    "TrainingConfig": call(
        config.TrainingConfig,
        steps=10,
        batch_size=4,
        context=8,
        lr=0.1,
        matrix_lr=0.1,
        optimizer="adamw",
        betas=(0.9, 0.99),
        momentum=0.9,
        warmup=2,
        final=0.1,
        decay="linear",
        weight_decay=0.1,
        clip=1.0,
        accumulate=2,
        precision="float32",
        compile=False,
        evaluate_every=5,
        checkpoint_every=5,
        seed=0,
    ),
    "lr_factor": call(schedule.lr_factor, step=2, steps=10, warmup=2, final=0.1, decay="cosine"),
}
