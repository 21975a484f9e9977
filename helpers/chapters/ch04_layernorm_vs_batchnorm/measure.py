"""Train the writer of chapter 04 with each norm, over learning rates, batch sizes and seeds.

The parts, half an hour on one core together: ``norms``, each norm at three learning rates;
``pairs``, layer and RMS norm with ten more seeds; ``batches``, one and four windows a step;
``controls``, norms shaken at each step, and γ, β held still, beside runs without; ``probes``, what
a norm's leak is worth, and what no γ, β would bring back; ``drift``, that of batch norm in train
mode; ``places``, that of what each half of a block and the table read; ``longer``, five times as
many steps. A run keeps its losses, all letters at once and one at a time, the drift of the
features, and mean, deviation and least of all γ. The tables of the chapter's laboratory stand at
the end.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from helpers import corpus, norms
from helpers.bigram import loss
from helpers.blocks import NORMS, Block
from helpers.chapters import stored
from helpers.chapters.common import (
    letters,
    measured,
    measured_together,
    over_seeds,
    rounded,
    runs,
    seeded,
    spread,
    table,
    trained_together,
)
from helpers.training import evaluate, train

SEEDS = {"norms": range(5), "pairs": range(5, 15), "batches": range(5), "controls": range(8),
         "probes": range(5), "drift": range(5), "places": range(8), "longer": range(8)}  # fmt: skip
RATES = (0.003, 0.01, 0.03)
KEPT = (
    "validation",
    "together",
    "alone",
    "own",
    "swapped",
    "own at one",
    "swapped at one",
    "drift",
)
NAMES = ("layer", "rms", "batch", "instance", "group", "none")
C, T = 32, 32  # width and window

# norms, learning rates, and what else is set
GRIDS: dict[str, tuple] = {
    "norms": (
        (("layer", "rms", "batch", "none"), RATES, {}),
        (("instance", "group"), (0.01,), {}),
    ),
    "pairs": ((("layer", "rms"), (0.01,), {}),),
    "batches": (
        (("layer", "batch"), (0.01,), {"batch_size": 1}),
        (("layer", "batch"), (0.01,), {"batch_size": 4}),
    ),
    "controls": (
        (("layer", "batch", "none"), (0.01,), {}),
        (("layer", "none"), (0.01,), {"shake": 0.1}),
        (("layer", "batch"), (0.01,), {"learn": False}),
    ),
    "probes": (
        (("layer", "batch", "instance", "group"), (0.01,), {"probe": True}),
        (("batch",), (0.01,), {"batch_size": 1, "probe": True}),
        (("batch",), (0.01,), {"batch_size": 4, "probe": True}),
    ),
    "drift": ((("batch",), RATES, {"drift_in_training": True}),),
    "places": ((("layer", "none"), RATES, {"places": True}),),
    "longer": ((("layer", "none"), RATES[:2], {}),),
}
LOOKS = (300, 600, 1000, 1500)  # steps of the longer runs at which they are looked at


# --- the model ------------------------------------------------------------------------------


class Writer(nn.Module):
    """Letters and positions, two blocks with the norm of this name, output table."""

    def __init__(self, norm):
        super().__init__()
        V = len(letters().tokenizer)
        self.letters = nn.Embedding(V, C)
        self.positions = nn.Embedding(T, C)
        self.blocks = nn.Sequential(*(Block(C, 2, norm=norm) for _ in range(2)))
        self.norm = NORMS[norm](C)
        self.output = nn.Linear(C, V)

    def forward(self, ids_BT):
        """The logits of the next letter."""
        x_BTC = self.letters(ids_BT) + self.positions.weight[: ids_BT.shape[1]]
        return self.output(self.norm(self.blocks(x_BTC)))

    def gammas(self):
        """All γ, end to end."""
        found = [p.detach() for name, p in self.named_parameters() if name.endswith(".gamma")]
        return torch.cat(found) if found else torch.zeros(0)


class Shaken(nn.Module):
    """A norm, then in training a random scale and shift per feature."""

    def __init__(self, norm, amount, generator):
        super().__init__()
        self.norm, self.amount, self.generator = norm, amount, generator

    def forward(self, x_BTC):
        """Its output, shaken in training."""
        y_BTC = self.norm(x_BTC)
        if self.training:  # drawn anew at each step
            scale_C, shift_C = self.amount * torch.randn(2, C, generator=self.generator)
            y_BTC = y_BTC * (1 + scale_C) + shift_C
        return y_BTC


def shake_up(writer: Writer, amount: float, generator: torch.Generator) -> None:
    """Let each norm within the blocks be followed by such a shake."""
    for block in writer.blocks:
        for part in (block.attention, block.feed_forward):
            part.norm = Shaken(part.norm, amount, generator)


# --- what is measured of it -----------------------------------------------------------------


@cache
def some_windows() -> tuple[Tensor, Tensor]:
    """Sixty-four windows of the validation text, and the letters that follow."""
    generator = torch.Generator().manual_seed(0)
    return next(corpus.batches(letters().validation, batch_size=64, context=T, generator=generator))


def together(writer: Writer) -> float:
    """Loss on 64 windows, all letters of a window at once, as usual."""
    x_BT, y_BT = some_windows()
    with torch.no_grad():
        return loss(writer(x_BT), y_BT).item()


def alone(writer: Writer) -> float:
    """The same letters, each from a window that ends before it."""
    x_BT, y_BT = some_windows()
    with torch.no_grad():
        losses = [loss(writer(x_BT[:, : t + 1])[:, -1:], y_BT[:, t : t + 1]) for t in range(T)]
    return torch.stack(losses).mean().item()


def features(writer: Writer, training: bool = False) -> list[tuple[Tensor, Tensor]]:
    """Mean and deviation of what each half of a block and the table get, in eval or train mode."""
    met, looked_at = [], copy.deepcopy(writer).train(training)  # so that no memory moves
    parts = [part for block in looked_at.blocks for part in (block.attention, block.feed_forward)]
    for reader in (*(part.sublayer for part in parts), looked_at.output):
        reader.register_forward_pre_hook(lambda _, x: met.append(x[0].flatten(0, 1)))
    together(looked_at)
    return [(x.mean(dim=0), x.std(dim=0)) for x in met]


def drift(seen: list[tuple[Tensor, Tensor]]) -> float:
    """How far a feature's mean moves between looks, in its deviations."""
    moves = [((m2 - m1).abs() / s1).mean() for (m1, s1), (m2, _) in itertools.pairwise(seen)]
    return torch.stack(moves).mean().item()


def by_window(writer: Writer, batch_size: int, swap: bool = False) -> float:
    """Loss with the 64 windows dealt out in batches.

    With swap=True each letter is predicted with its own past, but all later letters of the batch
    are those of the batch after it.
    """
    every_x, every_y = some_windows()
    losses = []
    with torch.no_grad():
        for here in torch.arange(len(every_x)).split(batch_size):
            x, other = every_x[here], every_x[(here + batch_size) % len(every_x)]
            if swap:
                mixed = (torch.cat([x[:, : t + 1], other[:, t + 1 :]], dim=1) for t in range(T))
                logits_BTV = torch.stack([writer(m)[:, t] for t, m in enumerate(mixed)], dim=1)
            else:
                logits_BTV = writer(x)
            losses.append(loss(logits_BTV, every_y[here]))
    return torch.stack(losses).mean().item()


def left_after_undoing(normed_NC: np.ndarray, x_NC: np.ndarray) -> float:
    """Share of x's variance that no γ, β per feature brings back."""
    left = 0.0
    for y_N, x_N in zip(normed_NC.T, x_NC.T, strict=True):
        columns = np.stack([y_N, np.ones_like(y_N)], axis=1)
        gamma_beta = np.linalg.lstsq(columns, x_N, rcond=None)[0]
        left += np.sum((columns @ gamma_beta - x_N) ** 2)
    return float(left / np.sum((x_NC - x_NC.mean(axis=0)) ** 2))


def lost_by_each(writer: Writer) -> list[float]:
    """For each layer norm, from the first to the last: what no γ, β would bring back."""
    met = []
    hooks = [
        part.register_forward_pre_hook(lambda _, x: met.append(x[0].flatten(0, 1)))
        for part in writer.modules()
        if isinstance(part, norms.LayerNorm)
    ]
    together(writer)
    for hook in hooks:
        hook.remove()
    return [left_after_undoing(norms.normalise(x, (-1,)).output.numpy(), x.numpy()) for x in met]


def probed(writer: Writer, norm: str, batch_size: int) -> dict:
    """What a norm's leak is worth, and what no γ, β would bring back."""
    if norm == "batch":  # with the statistics of each test batch, as in training
        own = copy.deepcopy(writer).train()
        sizes = {"": batch_size} | ({" at one": 1} if batch_size > 1 else {})
        ways = {"own": False, "swapped": True}
        return {way + at: by_window(own, size, swap=swap)
                for at, size in sizes.items() for way, swap in ways.items()}  # fmt: skip
    found = {"swapped": by_window(writer, 32, swap=True)}
    return found | ({"left": lost_by_each(writer)} if norm == "layer" else {})


def trained(
    norm: str,
    *,
    seed,
    lr,
    batch_size=16,
    shake=0.0,
    learn=True,
    probe=False,
    drift_in_training=False,
    places=False,
    steps=300,
) -> dict:
    """Train one writer; its losses, its drift, and its γ."""
    _, train_ids, validation_ids = letters()
    with seeded(seed):
        writer = Writer(norm)
        draws = torch.Generator().set_state(torch.get_rng_state())
    if shake:
        shake_up(writer, shake, draws)
    for name, parameter in writer.named_parameters():
        if not learn and name.endswith((".gamma", ".beta")):
            parameter.requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    batches = corpus.batches(train_ids, batch_size=batch_size, context=T, generator=generator)
    seen = []

    def look(record):
        if record.step % 50 == 0:
            seen.append(features(writer, drift_in_training))

    optimizer = torch.optim.Adam(writer.parameters(), lr=lr)
    train(writer, loss, batches, steps=steps, optimizer=optimizer, on_step=look)
    writer.eval()
    by_place = [drift(list(looks)) for looks in zip(*seen[1:], strict=True)]
    run = {
        "writer": writer,
        "validation": evaluate(writer, loss, corpus.windows(validation_ids, T)),
        "together": together(writer),
        "alone": alone(writer),
        "drift": by_place[2],  # of what the second block's attention reads
        "gamma": writer.gammas().tolist(),
    }
    run |= {"drifts": by_place} if places else {}
    return run | (probed(writer, norm, batch_size) if probe else {})


# --- the parts ------------------------------------------------------------------------------


def settings(part: str) -> list[dict]:
    """Each combination of a part that is trained."""
    return [
        {"norm": norm, "lr": lr, **more}
        for kinds, rates, more in GRIDS[part]
        for norm, lr in itertools.product(kinds, rates)
    ]


def one_run(seed: int, *, norm: str, **setting) -> dict:
    """What is kept of one training; ``validation`` is None where it diverged."""
    try:
        run = trained(norm, seed=seed, **setting)
    except FloatingPointError:
        return {"validation": None}
    kept = {key: round(run[key], 4) for key in KEPT if key in run}
    kept |= {key: rounded(run[key]) for key in ("left", "drifts") if key in run}
    gamma = torch.tensor(run["gamma"])
    if len(gamma):
        kept["gamma"] = rounded((gamma.mean(), gamma.std(), gamma.min()), 3)
    return kept


def longer(seeds, norm: str, lr: float) -> list[dict]:
    """Validation losses on the way through a longer training, eight windows a step."""
    models = []
    for seed in seeds:
        with seeded(seed):
            models.append(Writer(norm))
    windows = list(corpus.windows(letters().validation, T))

    def look(weights, one_loss):
        found = []
        for seed, model in enumerate(models):
            model.load_state_dict({name: w[seed].detach() for name, w in weights.items()})
            found.append(evaluate(model, loss, windows))
        return found

    steps = LOOKS[-1]
    run = trained_together(models, seeds, lr=lr, steps=steps, looks=LOOKS, look=look)
    return [{"validation": rounded(way)} for way in zip(*run["looks"].values(), strict=True)]


def measure(part: str) -> dict:
    """Train everything in a part."""
    if part == "longer":
        return measured_together(longer, settings(part), SEEDS[part], steps=LOOKS)
    return measured(one_run, settings(part), SEEDS[part])


PARTS = {part: partial(measure, part) for part in GRIDS}


# --- what is stored -------------------------------------------------------------------------


def stored_runs(part: str = "norms", lr: float = 0.01, **setting) -> list[dict]:
    """The stored runs of one setting, a run a seed."""
    return runs(stored(4)[part], lr=lr, **setting)


def over_runs(key: str, **setting) -> np.ndarray:
    """What the runs of one setting hold under a key, a seed each; nan where training diverged."""
    return over_seeds(stored_runs(**setting), key)


# --- the laboratory's tables ----------------------------------------------------------------


def examples() -> str:
    """Worked examples as they are printed in lecture notes, and what each divisor gives."""
    printed = {
        (100, 110, 90): (0, 1, -1),
        (8, 10, 12): (-1, 0, 1),
        (3, 5, 2): (0.2, 1.2, -1.4),
        (2, 4, 3): (-1, 1, 0),
        (4.1, 3.7, 4.2): (0.5, -1.5, 1),
    }
    rows = []
    for x, said in printed.items():
        off, square = np.subtract(x, np.mean(x)), np.mean(np.square(said))
        divided = [_listed(off / np.std(x, ddof=ddof)) for ddof in (0, 1)]
        sizes = f"{np.std(x):.3f} and {np.std(x, ddof=1):.3f}"
        rows.append([_listed(x), _listed(off), sizes, *divided, _listed(said), f"{square:.2f}"])
    head = "x | x − μ | σ by n, by n − 1 | divided by n | by n − 1 | printed | its mean square"
    return table(head, rows)


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{round(float(v), 2):g}" for v in values).replace("-", "−")


def variance_errors(seeds=range(5)) -> str:
    """Largest relative error of the variance of 512 numbers in float32, around growing means."""

    def one_pass(x):
        return (x * x).mean() - x.mean() ** 2

    def welford(x):
        mean = squares = np.float32(0)
        for n, value in enumerate(x, start=1):
            off = value - mean
            mean += off / np.float32(n)
            squares += off * (value - mean)
        return squares / np.float32(len(x))

    ways = {
        "mean of squares less square of mean": one_pass,
        "two passes": lambda x: ((x - x.mean()) ** 2).mean(),
        "first number subtracted, then one pass": lambda x: one_pass(x - x[0]),
        "Welford": welford,
    }
    means = (0, 100, 1000, 10_000, 100_000)

    def worst(way, mean):
        drawn = (np.random.default_rng(s).standard_normal(512) + mean for s in seeds)
        found = [(way(x), np.var(x, dtype=float)) for x in (d.astype(np.float32) for d in drawn)]
        error = max(abs(got / right - 1) for got, right in found)
        return "more than 1" if error > 1 else "0.003 to 1" if error > 0.003 else "below 0.003"

    rows = [[name, *(worst(way, mean) for mean in means)] for name, way in ways.items()]
    return table("mean of the numbers | " + " | ".join(f"{mean:,}" for mean in means), rows)


def train_and_eval_apart(batches_met: int, seed: int) -> float:
    """Mean distance of batch norm's outputs in its two modes, after some batches."""
    generator = torch.Generator().manual_seed(seed)
    norm = norms.BatchNorm(16)

    def batch():
        return 3 * torch.randn(16, 32, 16, generator=generator) + 5

    for _ in range(batches_met):
        norm(batch())
    x = batch()
    with torch.no_grad():
        remembered = norm.eval()(x)
        return (norm.train()(x) - remembered).abs().mean().item()


def by_rate(norm: str) -> np.ndarray:
    """Validation losses (rates, seeds); nan where worse than guessing."""
    losses = np.array([over_runs("validation", norm=norm, lr=lr) for lr in RATES])
    return np.where(losses < np.log(len(letters().tokenizer)), losses, np.nan)


def over_steps(norm: str, lr: float) -> np.ndarray:
    """Validation losses of the longer runs (seeds, looks)."""
    return np.array([run["validation"] for run in stored_runs("longer", norm=norm, lr=lr)])


def ahead() -> np.ndarray:
    """By how much layer norm leads in the longer runs, best rates at each look (seeds, looks)."""
    none, layer = (
        np.array([over_steps(norm, lr) for lr in RATES[:2]]).transpose(2, 0, 1)  # (looks, rates, …)
        for norm in ("none", "layer")
    )
    looks = [a[a.mean(axis=1).argmin()] - b[b.mean(axis=1).argmin()]
             for a, b in zip(none, layer, strict=True)]  # fmt: skip
    return np.stack(looks, axis=1)


def longer_table() -> str:
    """The losses of the longer runs on the way."""
    rows = [
        [f"{norm}, rate {lr:g}", *(spread(losses, 3) for losses in over_steps(norm, lr).T)]
        for norm, lr in itertools.product(("layer", "none"), RATES[:2])
    ]
    rows.append(["none − layer, best rates", *(spread(gap, 3, signed=True) for gap in ahead().T)])
    return table("loss after | " + " | ".join(f"{steps} steps" for steps in LOOKS), rows)


def drifts() -> dict[str, list[np.ndarray]]:
    """The drift of features at each rate."""
    found = {
        norm: [over_runs("drift", norm=norm, lr=lr) for lr in RATES]
        for norm in ("none", "layer", "batch")
    }
    in_training = [over_runs("drift", part="drift", norm="batch", lr=lr) for lr in RATES]
    return found | {"batch, train mode": in_training}


def drift_by_place(norm: str) -> np.ndarray:
    """The drift of what is read at each of the five places (rates, seeds, places)."""
    found = (stored_runs("places", norm=norm, lr=lr, places=True) for lr in RATES)
    return np.array([[run["drifts"] for run in at_rate] for at_rate in found])


def drift_table() -> str:
    """By how much layer norm's drift is larger than that without a norm, at each place and rate."""
    places = [f"{half} {n}" for n in (1, 2) for half in ("attention", "feed-forward")]
    more = drift_by_place("layer") - drift_by_place("none")
    rows = [
        [f"rate {lr:g}", *(spread(seeds, signed=True) for seeds in at_rate.T)]
        for lr, at_rate in zip(RATES, more, strict=True)
    ]
    return table(" | ".join(["read by", *places, "table"]), rows)


def claims() -> str:
    """What is said of norms, and what was measured."""

    def at_one(key: str, norm: str = "batch", part: str = "probes") -> np.ndarray:
        more = {"probe": True} if part == "probes" else {}
        return over_runs(key, part=part, norm=norm, batch_size=1, **more)

    behind = at_one("together", part="batches") - at_one("together", "layer", "batches")
    peeked = at_one("swapped") - at_one("own")
    writing = [
        spread(over_runs("alone", norm=norm) - over_runs("alone", norm="layer"))
        for norm in ("instance", "group")
    ]
    lost = over_runs("left", part="probes", norm="layer", probe=True).mean(axis=0)
    drift_at = {name: spread(rows[1]) for name, rows in drifts().items()}
    rows = [
        ("Batch norm needs more than one sample",
         f"one window of 32 letters a step: {spread(behind, 3, signed=True)} against layer norm",
         "one will do, a little behind"),
        ("Batch norm shows a model the future",
         f"one window a step: {spread(peeked, 3)} lost when the later letters are swapped",
         "yes, in training only"),
        ("Instance and group norm are cousins of layer norm",
         f"in writing they are behind by {writing[0]} and {writing[1]}",
         "not for text that is being written"),
        ("γ and β let the model undo the norm",
         f"{min(lost):.0%} to {max(lost):.0%} of the variance stays behind a layer norm",
         "after batch norm yes; past a pre-norm leads the residual path, past the last norm "
         "nothing"),
        ("Norms reduce internal covariate shift",
         f"at 0.01: none {drift_at['none']}, layer {drift_at['layer']}, batch in training "
         f"{drift_at['batch, train mode']}",
         "batch norm does at one place, at two of three rates; layer norm depends on the place"),
    ]  # fmt: skip
    return table("it is said | measured here | so", rows)
