"""What the chapters' measurements share: the characters of the tales, parts as they are stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from helpers import bigram, corpus, minigpt, tokenizers
from helpers.bigram import loss
from helpers.chapters import stored
from helpers.embeddings import CBOW, context_windows, prune_rare
from helpers.worked import superscript


class Split(NamedTuple):
    """A text as tokens: the tokenizer, and the ids to train on and to validate with."""

    tokenizer: minigpt.Tokenizer
    train: torch.Tensor
    validation: torch.Tensor


@cache
def characters() -> Split:
    """The tales as characters, read and split once."""
    tokenizer = minigpt.Tokenizer(corpus.load())
    return Split(tokenizer, *corpus.split(tokenizer.encode(corpus.load())))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let torch's own layers draw their start from a seed; the shared generator stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


# --- one tiny language model, and what trains it --------------------------------------------


class TinyGPT(minigpt.GPT):
    """minigpt's GPT with torch's own initial weights, a bias at the output, and any blocks.

    blocks: makes them; it is called once the embeddings are drawn, with entries from N(0, std²).
    Shapes: forward (B, T) ids to (B, T, V) logits.
    """

    def __init__(
        self,
        blocks: Callable[[], Iterable[nn.Module]],
        *,
        V: int | None = None,
        C: int,
        T: int = 32,
        norm: Callable[[int], Any] = nn.Identity,
        std: float = 1.0,
    ):
        nn.Module.__init__(self)
        self.T, V = T, V or len(characters().tokenizer.vocab)
        self.embedding, self.position = nn.Embedding(V, C), nn.Embedding(T, C)
        if std != 1.0:
            nn.init.normal_(self.embedding.weight, std=std)
            nn.init.normal_(self.position.weight, std=std)
        self.blocks = nn.Sequential(*blocks())
        self.norm, self.head = norm(C), nn.Linear(C, V)


def train(
    model: nn.Module,
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    batches: Iterable[tuple[torch.Tensor, torch.Tensor]],
    *,
    steps: int,
    optimizer: torch.optim.Optimizer,
    on_step: Callable[[int, nn.Module], object] | None = None,
) -> list[float]:
    """A step down the gradient for each batch, (input, target); gives the losses before the steps.

    on_step: called before each step with its number and the model, gradients and all.
    """
    losses, was_training = [], model.training
    model.train()
    for step, (x, target) in zip(range(steps), batches, strict=False):
        value = loss(model(x), target)
        optimizer.zero_grad()
        value.backward()
        losses.append(value.item())
        if on_step is not None:
            on_step(step, model)
        optimizer.step()
    model.train(was_training)
    return losses


@torch.no_grad()
def evaluate(model: nn.Module, windows: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """Mean loss over all targets of some windows, in nats, without dropout."""
    total, count, was_training = 0.0, 0, model.training
    model.eval()
    for x_BT, y_BT in windows:
        total += loss(model(x_BT), y_BT).item() * y_BT.numel()
        count += y_BT.numel()
    model.train(was_training)
    return total / count


def trainer(
    model: nn.Module,
    generator: torch.Generator | int,
    *,
    lr: float = 0.003,
    batch_size: int = 16,
    context: int = 32,
    optimizer: torch.optim.Optimizer | None = None,
) -> Callable[..., list[float]]:
    """A function that trains a model further, with Adam unless told: ``trainer(…)(steps=200)``.

    A step takes batch_size windows of context characters, drawn by the generator (or its seed).
    """
    if isinstance(generator, int):
        generator = torch.Generator().manual_seed(generator)
    sizes = {"batch_size": batch_size, "context": context}
    batches = corpus.batches(characters().train, generator=generator, **sizes)
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr)
    return partial(train, model, loss, batches, optimizer=optimizer)


def validation_loss(model: nn.Module) -> float:
    """Mean loss over the validation text, nats a character, in windows of 32."""
    return evaluate(model, corpus.windows(characters().validation, 32))


@cache
def counted_losses() -> dict[str, float]:
    """Validation loss of the uniform, unigram and bigram table, in nats; counts have one added."""
    tokenizer, train_ids, validation_ids = characters()
    V = len(tokenizer.vocab)
    common_V = np.bincount(train_ids, minlength=V) + 1
    tables = {
        "uniform": np.full((V, V), 1 / V),
        "unigram": np.tile(common_V / common_V.sum(), (V, 1)),
        "bigram": bigram.smoothed(bigram.count_bigrams(train_ids, V)),
    }
    to_predict = bigram.count_bigrams(validation_ids, V)
    return {name: bigram.cross_entropy_of(t, to_predict) for name, t in tables.items()}


# --- the game of chapters 1 and 2: guess a word from the two before it and the two after it ---


class Words(NamedTuple):
    """The tales as words: their ids, and the words by id, the last of which is "(rare)"."""

    ids: torch.Tensor
    names: list[str]


@cache
def words() -> Words:
    """The tales, words that occur fewer than five times as one."""
    tokenizer = tokenizers.WordTokenizer(corpus.load())
    ids, kept = prune_rare(tokenizer.encode(corpus.load()), at_least=5)
    return Words(ids, [tokenizer.vocab[i] for i in kept] + ["(rare)"])


def train_words(
    ids: torch.Tensor,
    seed: int,
    *,
    steps: int = 400,
    dtype: torch.dtype = torch.float64,
    optimizer: type[torch.optim.Optimizer] = torch.optim.Adam,
    lr: float = 0.02,
    on_step: Callable | None = None,
) -> CBOW:
    """Train a model on a text of ids, from a random start.

    on_step: called before each step with its number and the model.
    """
    generator = torch.Generator().manual_seed(seed)
    model = CBOW(int(ids.max()) + 1, 32, generator=generator).to(dtype)
    around, covered = context_windows(ids, window=2)

    def batches():
        while True:
            n = torch.randint(len(covered), (512,), generator=generator)
            yield around[n], covered[n]

    train(
        model,
        F.cross_entropy,
        batches(),
        steps=steps,
        optimizer=optimizer(model.parameters(), lr=lr),  # type: ignore[call-arg]
        on_step=on_step,
    )
    return model


# --- the stream of a stack ------------------------------------------------------------------


def rms(x: torch.Tensor) -> float:
    """Root of the mean square."""
    return x.detach().square().mean().sqrt().item()


def differing(x_BTC: torch.Tensor) -> float:
    """Share of the squared size that is not common to all tokens."""
    x_BTC = x_BTC.detach()
    apart_BTC = x_BTC - x_BTC.mean(dim=1, keepdim=True)
    return (apart_BTC.square().sum() / x_BTC.square().sum()).item()


# --- measuring and storing ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a chapter stores under one name: every setting, with a run for each seed.

    run: called with ``seed`` and a setting's own names, gives what is kept of one run. more: what
    else is stored. chapter, name: see `parts_of`.
    """

    run: Callable[..., Any]
    settings: Sequence[Mapping]
    seeds: Sequence[int] = range(8)
    more: Mapping = field(default_factory=dict)
    chapter: int = 0
    name: str = ""

    def measure(self) -> dict:
        """Run everything, and give it in the form that is stored."""
        found, seeds = [], list(self.seeds)
        for setting in self.settings:
            runs = [{"seed": seed} | self.run(seed=seed, **setting) for seed in seeds]
            found.append({**setting, "runs": runs})
        return {"seeds": seeds, **self.more, "settings": found}

    @property
    def stored(self) -> dict:
        """What is stored of it. Raises: ValueError where nothing is."""
        return stored(self.chapter)[self.name]

    def runs(self, **wanted: Any) -> list[dict]:
        """The stored runs of the one setting that fits; as in the function `runs`."""
        return runs(self.stored, **wanted)

    def final(self, key: str = "validation", **wanted: Any) -> np.ndarray:
        """What they hold under a key, a number for each seed; nan where a run diverged."""
        return over_seeds(self.runs(**wanted), key)


def parts_of(chapter: int, made: Mapping[str, Part]) -> dict[str, Part]:
    """What a chapter stores, by name; each part learns its own."""
    return {name: replace(part, chapter=chapter, name=name) for name, part in made.items()}


def stored_losses(losses: Sequence[float], block: int) -> dict:
    """The first loss of a run, and means over ``block`` steps; None where it diverged."""
    losses_K = torch.tensor(losses)
    finite = bool(losses_K.isfinite().all())
    means = losses_K.view(-1, block).mean(dim=1).tolist()
    return {
        "first": round(losses[0], 3),
        "losses": [round(x, 3) if finite else None for x in means],
    }


def rounded(values: Iterable, digits: int = 4) -> list[float]:
    """Numbers as they are stored."""
    return [round(float(value), digits) for value in values]


def significant(values: Iterable[float]) -> list[float]:
    """Numbers as they are stored where their sizes span powers of ten: three digits each."""
    return [float(f"{value:.3g}") for value in values]


# --- reading what is stored -----------------------------------------------------------------


def runs(part: Mapping, **wanted) -> list[dict]:
    """The stored runs of one setting of a part, a run a seed.

    wanted: the setting, or as much of it as tells it apart; a setting of just these keys comes
    before one that has more.

    Raises: ValueError where no setting or more than one is such.
    """
    found = [s for s in part["settings"] if all(matches(s.get(k), v) for k, v in wanted.items())]
    found = [s for s in found if set(s) == {*wanted, "runs"}] or found
    if len(found) != 1:
        raise ValueError(f"wanted={wanted} must fit one setting of the part, it fits {len(found)}")
    return found[0]["runs"]


def matches(value: object, wanted: object) -> bool:
    """Whether they are equal, a float to all but its last digits, a tuple as the list it became."""
    if isinstance(wanted, float) and isinstance(value, int | float):
        return math.isclose(value, wanted, rel_tol=1e-9)
    return value == (list(wanted) if isinstance(wanted, tuple) else wanted)


def over_seeds(found: list[dict], key: str = "validation") -> np.ndarray:
    """What runs hold under a key, one entry a run; nan where there is none, as after diverging."""
    return np.array([np.nan if run.get(key) is None else run[key] for run in found])


def gmean(values, axis=None) -> Any:
    """Geometric mean."""
    return np.exp(np.log(values).mean(axis=axis))


def fmt(value: float) -> str:
    """A number as it is written: 0.53, 38, 4 × 10⁻¹⁴."""
    if 1e-2 <= value < 1e4:
        return f"{value:.2g}" if value < 100 else f"{value:.0f}"
    digits, exponent = f"{value:.0e}".split("e")
    return f"{digits} × 10" + superscript(int(exponent))


def extent(values: Iterable[float]) -> str:
    """The smallest and the largest, over the seeds."""
    low, high = fmt(min(values)), fmt(max(values))
    return low if low == high else f"{low} … {high}"


def spread(values: Iterable, digits: int = 2, *, signed: bool = False) -> str:
    """Mean ± standard deviation over the seeds, such as "2.31 ± 0.02"; signed: with a plus."""
    values = np.asarray(values, dtype=float)
    mean = round(values.mean(), digits) + 0.0  # no minus before a zero
    said = f"{mean:{'+' * signed}.{digits}f} ± {values.std(ddof=1):.{digits}f}"
    return said.replace("-", "−")


def percent(values: Iterable, digits: int = 0, unit: str = " %") -> str:
    """The same of shares, in per cent, such as "85 ± 3 %"."""
    return spread(100 * np.asarray(values), digits) + unit


def table(head: str, rows: Iterable[Iterable]) -> str:
    """A table in Markdown; ``head``: the titles of its columns, with bars between them."""
    titles = [title.strip() for title in head.split("|")]
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
