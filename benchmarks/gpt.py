"""How soon our small GPT reaches nanoGPT's loss on tiny Shakespeare, side by side on one machine.

`python benchmarks/gpt.py --peer PATH` races our recipes against a checkout of nanoGPT at PATH;
without it, ours run alone and nothing is stored. What is raced is the documented CPU recipe of the
peer (4 layers, 4 heads, width 128, context 64, batch 12), whose iterations and decay are raised
together to the least number that ends at or under TARGET, since the documented 2000 end above it.
The peer's own train.py runs unchanged, in a copy of the checkout.

The clock counts training alone, on both sides: no imports, no evaluation, no saving; compilation
counts. The loss is the mean over the whole validation split in windows of the context. All sides
run in turn, `--rounds` times; medians are stored. `--no-ngrams` races our recipes without tables of
n-grams. `--levers` takes one lever after the other out of the fast recipe. `benchmarks/gpu.py` has
the race on a GPU.
"""

import argparse
import itertools
import json
import os
import pickle
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import torch
from common import about, store_table

from helpers import corpus, tokenizers
from helpers.gpt import GPT, GPTConfig
from helpers.train import PRESETS, every_field, training_config
from helpers.training import fit
from helpers.training.loop import cross_entropy, evaluate

TARGET = 1.88
PEER = [
    "--device=cpu",
    "--compile=False",
    "--eval_iters=20",
    "--log_interval=1",
    "--block_size=64",
    "--batch_size=12",
    "--n_layer=4",
    "--n_head=4",
    "--n_embd=128",
    "--dropout=0.0",
]
PEER_ITERATIONS = 2125
PEER_TOKENS = 12 * 64  # an iteration
FAST = PRESETS["fast"]
PLAIN = {  # the same model by AdamW alone, in smaller batches
    "model": FAST["model"],
    "training": {
        "steps": 115,
        "batch_size": 12,
        "lr": 0.02,
        "matrix_lr": 0.004,
        "betas": (0.8, 0.99),
        "weight_decay": 0.0,
        "warmup": 10,
        "precision": "bfloat16",
    },
}
FAST_ALONE = {  # without the tables, as the chapters have it
    "model": FAST["model"] | {"ngrams": 1, "positions": "rope", "width": 64, "heads": 4},
    "training": FAST["training"]
    | {"steps": 245, "lr": 0.03, "matrix_lr": 0.03, "warmup": 3, "precision": "float32"},
}


def flops_per_token(config: GPTConfig) -> int:
    """Floating-point operations to train on one token of a full context, matrix products alone.

    A product of a vector with an n × m matrix is n·m multiplications and as many additions. A
    token meets 12 C² weights a block and C·V in the output; in attention its query meets T keys
    and its weights T values, C numbers each, whether or not a mask takes half of them away. The
    backward pass makes two products of each one: 3 · 2 · (L (12 C² + 2 T C) + C V) in all.
    Source: the count of Kaplan et al. 2020, section 2.1, with the attention and output terms.
    """
    C, T = config.width, config.context
    return 6 * (config.layers * (12 * C**2 + 2 * T * C) + C * config.vocab_size)


def moved(recipe: dict, *, model: Mapping | None = None, rates: float = 1, **training) -> dict:
    """Each field of a recipe but the seed, with other choices of the model and of the training."""
    how = recipe["training"] | training
    how |= {name: how[name] * rates for name in ("lr", "matrix_lr") if rates != 1}
    how |= {"evaluate_every": how["steps"], "checkpoint_every": how["steps"]}
    found = every_field(recipe["model"] | (model or {}), how)
    del found["training"]["seed"]
    return found


RECIPES = {
    "plain": moved(PLAIN),
    "fast": moved(FAST, steps=60),
    "fast, no n-grams": moved(FAST_ALONE),
    "fast, longer": moved(FAST),
}
SIDES = {  # of each race that is stored
    "gpt": ["plain", "fast", "fast, longer"],
    "gpt_no_ngrams": ["fast, no n-grams"],
}
LEVER_STEPS = 100
put_back = partial(moved, FAST, steps=LEVER_STEPS)
LEVERS = {  # what is put back, one at a time
    "nothing": put_back(),
    "n-grams up to 4: none": put_back(model={"ngrams": 1}),
    "n-grams up to 4: pairs alone": put_back(model={"ngrams": 2}),
    "Muon: AdamW, two rates": put_back(optimizer="adamw", matrix_lr=0.004),
    "Muon: AdamW, one rate": put_back(optimizer="adamw", lr=0.004, matrix_lr=None),
    "bfloat16: float32": put_back(precision="float32"),
    "ALiBi: learned positions": put_back(model={"positions": "learned"}),
    "ALiBi: RoPE": put_back(model={"positions": "rope"}),
    "ReLU²: GELU": put_back(model={"activation": "gelu"}),
    "own head, started at zero: tied": put_back(model={"tied": True}),
    "layer norm: RMS norm": put_back(model={"norm": "rms"}),
    "no QK-norm: QK-norm": put_back(model={"qk_norm": True}),
    "2 layers: 4": put_back(model={"layers": 4}),
    "8 heads: 4": put_back(model={"heads": 4}),
    "batches of 24: of 12": put_back(batch_size=12),
    "learning rates: a third": put_back(rates=1 / 3),
}


TEXT = "tinyshakespeare"


def text_and_ids(name: str = TEXT) -> tuple[tokenizers.CharTokenizer, torch.Tensor, torch.Tensor]:
    """A text, as its tokenizer, and the ids of its two parts."""
    text = corpus.load(name)
    tokenizer = tokenizers.CharTokenizer(text)
    return tokenizer, *corpus.split(tokenizer.encode(text))


# --- our side -------------------------------------------------------------------------------


def ours(
    recipe: dict, *, seed: int, device: str = "cpu", until: float = 0.0, text: str = TEXT
) -> dict:
    """Train by a recipe of model and training; seconds, loss, and what a token took.

    Of the run up to the first validation loss at or below `until`, else up to its lowest.
    """
    tokenizer, train_ids, validation_ids = text_and_ids(text)
    shape = GPTConfig(vocab_size=len(tokenizer), **recipe["model"])
    config = training_config(recipe["training"] | {"seed": seed}, context=shape.context)
    model = GPT(shape, generator=torch.Generator().manual_seed(seed)).to(device)
    records = fit(model, train_ids, validation_ids, config, progress=False).records
    losses = [record for record in records if record.validation is not None]
    lowest = min(losses, key=lambda record: record.validation)
    end = next((record for record in losses if record.validation <= until), lowest)
    tokens = (end.step + 1) * config.batch_size * config.context
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "iterations": end.step + 1,
        "seconds": end.seconds,
        "validation": end.validation,
        "tokens_per_second": tokens / end.seconds,
        "flops_per_second": tokens / end.seconds * flops_per_token(shape),
        "precision": config.precision,
    }


# --- the peer's side ------------------------------------------------------------------------


def peers(
    peer: Path,
    flags: list[str],
    iterations: int,
    *,
    tokens: int,
    precision: str = "float32",
    until: float = 0.0,
    text: str = TEXT,
) -> dict:
    """Run the peer's train.py in a copy of its checkout; as `ours`, with so many tokens a step.

    The first loss at or below `until` is as train.py prints it, a mean over random windows;
    where there is none, the model that it saved is measured on the whole validation split.
    """
    tokenizer, train_ids, validation_ids = text_and_ids(text)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "peer"
        shutil.copytree(peer, copy, ignore=shutil.ignore_patterns(".git", "*.bin"))
        data = copy / "data" / "shakespeare_char"
        data.mkdir(parents=True, exist_ok=True)
        for name, ids in (("train", train_ids), ("val", validation_ids)):
            ids.numpy().astype(np.uint16).tofile(data / f"{name}.bin")
        (data / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(tokenizer)}))
        command = [sys.executable, "train.py", "config/train_shakespeare_char.py", *flags]
        command += [f"--max_iters={iterations}", f"--lr_decay_iters={iterations}"]
        lines = stamped(command, copy)
        found = measured(copy, validation_ids)
    printed = (re.match(r"step (\d+): .*val loss ([\d.]+)", line) for _, line in lines)
    losses = ((int(at[1]), float(at[2])) for at in printed if at)
    saved = found["iterations"], found["validation"]
    at, loss = next((one for one in losses if one[1] <= until), saved)
    seconds = peer_seconds(lines, at)
    return found | {
        "iterations": at,
        "seconds": seconds,
        "validation": loss,
        "tokens_per_second": at * tokens / seconds,
        "flops_per_second": at * tokens / seconds * found.pop("flops_a_token"),
        "precision": precision,
    }


def stamped(command: list[str], folder: Path) -> list[tuple[float, str]]:
    """Run a command in a folder; the lines that it printed, each with the second it came at."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        options = {"text": True, "stdout": subprocess.PIPE, "stderr": said}
        environment = quiet() | {"PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, cwd=folder, env=environment, **options) as process:
            lines = [(time.perf_counter(), line) for line in process.stdout]
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"the peer's train.py failed:\n{said.read()[-2000:]}")
    return lines


def peer_seconds(lines: list[tuple[float, str]], iterations: int) -> float:
    """Seconds of training up to so many iterations, from lines that the peer's train.py printed.

    Its own times are of no use on a GPU, where most iterations return before they are done; but
    before it prints a loss it waits for it. So the time between two such lines counts, and that
    from the first evaluation to the first loss, which has the compilation of training in it. Where
    an evaluation lies between two lines, their iterations are given the median.
    Raises: ValueError where the lines are not those of such a run.
    """
    began = next((second for second, line in lines if line.startswith("step 0:")), None)
    losses, evaluated = [], False
    for second, line in lines:
        evaluated |= line.startswith("step ")
        if (found := re.match(r"iter (\d+):", line)) and int(found[1]) < iterations:
            losses.append((int(found[1]), second, evaluated))
            evaluated = False
    spans = [
        (b - a, end - begin, evaluated)
        for (a, begin, _), (b, end, evaluated) in itertools.pairwise(losses)
    ]
    plain = [seconds / n for n, seconds, evaluated in spans if not evaluated]
    if began is None or not plain:
        raise ValueError(
            "the peer's train.py should print 'step 0:' and then at least two losses with no "
            f"evaluation between them before iteration {iterations}"
        )
    usual = statistics.median(plain)
    trained = sum(usual * n if evaluated else seconds for n, seconds, evaluated in spans)
    unseen = iterations - 1 - losses[-1][0]
    return losses[0][1] - began + trained + usual * unseen


def measured(copy: Path, validation_ids: torch.Tensor) -> dict:
    """The saved model: iterations until it, loss over the whole split, size, operations a token."""
    sys.path.insert(0, str(copy))
    try:
        from model import GPT as PeerGPT
        from model import GPTConfig as PeerConfig
    finally:
        sys.path.pop(0)
        sys.modules.pop("model", None)
    saved = torch.load(
        copy / "out-shakespeare-char" / "ckpt.pt", weights_only=True, map_location="cpu"
    )
    shape = PeerConfig(**saved["model_args"])
    model = PeerGPT(shape)
    model.load_state_dict({k.removeprefix("_orig_mod."): v for k, v in saved["model"].items()})

    class Logits(torch.nn.Module):  # the peer gives the last logits alone, unless it has targets
        def forward(self, ids_BT):
            return model(ids_BT, ids_BT)[0]

    model.eval()
    loss = evaluate(Logits(), cross_entropy, corpus.windows(validation_ids, shape.block_size))
    sizes = {"layers": shape.n_layer, "heads": shape.n_head, "width": shape.n_embd}
    ours_alike = GPTConfig(vocab_size=shape.vocab_size, context=shape.block_size, **sizes)
    count = sum(p.numel() for p in model.parameters())
    return {
        "iterations": saved["iter_num"],
        "validation": loss,
        "parameters": count,
        "flops_a_token": flops_per_token(ours_alike),
    }


# --- the race -------------------------------------------------------------------------------


def quiet() -> dict:
    """The environment of every side: threads that wait do not keep the other core busy."""
    return os.environ | {"OMP_WAIT_POLICY": "PASSIVE"}


def alone(side: str, seed: int, peer: Path | None, iterations: int) -> dict:
    """One run of a side in a process of its own, which tells it as a line of JSON."""
    command = [sys.executable, __file__, "--side", side, "--seed", str(seed)]
    if peer is not None:
        command += ["--peer", str(peer), "--peer-iterations", str(iterations)]
    done = subprocess.run(command, text=True, capture_output=True, env=quiet())
    if done.returncode:
        raise SystemExit(f"{side} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def peak(dtype: torch.dtype, device: str = "cpu", size: int = 2048) -> float:
    """Floating-point operations a second of a large matrix product: the best of several."""
    a, best = torch.randn(size, size, device=device).to(dtype), float("inf")
    for _ in range(8):
        if device == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        a @ a
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def peaks_of(precisions: Iterable[str], device: str = "cpu", size: int = 2048) -> dict[str, float]:
    """`peak` of each precision."""
    return {name: peak(getattr(torch, name), device, size) for name in sorted(precisions)}


def race(sides: list[str], rounds: int, *how) -> dict[str, list]:
    """Runs of all sides in turn, `rounds` times, each in a process; `how` goes to `alone`."""
    runs: dict[str, list] = {side: [] for side in sides}
    for number in range(rounds):
        for side in sides:
            runs[side].append(alone(side, number, *how))
            print(side, json.dumps(runs[side][-1]), flush=True)
    return runs


def table(runs: dict[str, list], peaks: dict[str, float]) -> list[list]:
    """A row a side: its size, iterations, median seconds, loss, ratio, tokens, share of peak."""
    rows = []
    for side, found in runs.items():
        seconds = statistics.median(run["seconds"] for run in found)
        theirs = [run["seconds"] for run in runs.get("nanoGPT", [])]
        ratios = [a / b["seconds"] for a, b in zip(theirs, found, strict=False)]
        speed = statistics.median(run["tokens_per_second"] for run in found)
        flops = statistics.median(run["flops_per_second"] for run in found)
        rows.append(
            [
                side,
                f"{found[0]['parameters'] / 1e6:.2f}",
                ", ".join(dict.fromkeys(str(run["iterations"]) for run in found)),
                round(seconds, 2),
                ", ".join(f"{run['validation']:.3f}" for run in found),
                round(statistics.median(ratios), 2) if ratios else "not measured yet",
                round(speed),
                f"{flops / peaks[found[0]['precision']]:.0%}",
            ]
        )
    return rows


COLUMNS = [
    "side",
    "million parameters",
    "iterations",
    "seconds",
    "loss of each run",
    "times faster",
    "tokens a second",
    "share of matmul peak",
]


LEVER_COLUMNS = ["put back", "validation loss, mean ± deviation", "milliseconds a step"]
TITLES = {
    "gpt": "Time to nanoGPT's loss on tiny Shakespeare",
    "gpt_no_ngrams": "Time to nanoGPT's loss on tiny Shakespeare, without n-grams",
}
CLAIM = f"Steps are chosen so that a side ends at {TARGET} at most, but for 'fast, longer'"
HEADS = (
    ". Loss: over the whole validation split. Seconds: of training, the median of the rounds. "
    "Times faster: than nanoGPT, the median of the rounds' ratios"
)


def lever_rows(seeds: range) -> list[list]:
    """For each lever taken out: loss after as many steps, over seeds, and seconds."""
    rows = []
    for lever, recipe in LEVERS.items():
        runs = [ours(recipe, seed=seed) for seed in seeds]
        losses = [run["validation"] for run in runs]
        seconds = statistics.median(run["seconds"] for run in runs)
        rows.append(
            [
                lever,
                f"{statistics.mean(losses):.3f} ± {statistics.stdev(losses):.3f}",
                round(1000 * seconds / LEVER_STEPS, 1),
            ]
        )
        print(rows[-1], flush=True)
    return rows


def device_words(device: str) -> str:
    """What this runs on, without a machine's name."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {torch.get_num_threads()} threads"


def one_side(options: argparse.Namespace) -> dict:
    """A single run, for a process of its own."""
    if options.side == "nanoGPT":
        iterations = options.peer_iterations
        flags = [*PEER, f"--eval_interval={iterations}"]
        return peers(options.peer, flags, iterations, tokens=PEER_TOKENS)
    return ours(RECIPES[options.side], seed=options.seed)


def main(arguments: list[str] | None = None) -> None:
    """Race, or take out levers, and store what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--peer", type=Path, default=None, help="a checkout of nanoGPT")
    parser.add_argument("--peer-iterations", type=int, default=PEER_ITERATIONS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-ngrams", action="store_true", help="our recipes without n-grams")
    parser.add_argument("--levers", action="store_true", help="take out one lever at a time")
    parser.add_argument("--side", choices=["nanoGPT", *RECIPES], help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.side:
        print(json.dumps(one_side(options)))
        return
    if options.levers:
        store_table(
            "gpt_levers",
            about(
                __file__,
                [0, 1, 2],
                device=device_words("cpu"),
                title="What each lever of the fast recipe is worth",
                claim=f"One lever at a time put back, tiny Shakespeare, {LEVER_STEPS} steps",
                columns=LEVER_COLUMNS,
                rows=lever_rows(range(3)),
                recipes=LEVERS,
            ),
        )
        return
    name = "gpt_no_ngrams" if options.no_ngrams else "gpt"
    sides = SIDES[name] if options.peer is None else ["nanoGPT", *SIDES[name]]
    runs = race(sides, options.rounds, options.peer, options.peer_iterations)
    peaks = peaks_of({run["precision"] for found in runs.values() for run in found})
    rows = table(runs, peaks)
    for row in rows:
        print(dict(zip(COLUMNS, row, strict=True)))
    if options.peer is None:
        print("Nothing is stored: a race has a peer (--peer).")
        return
    store_table(
        name,
        about(
            __file__,
            list(range(options.rounds)),
            device=device_words("cpu"),
            peak_gflops={name: round(value / 1e9) for name, value in peaks.items()},
            title=TITLES[name],
            claim=CLAIM + HEADS,
            columns=COLUMNS,
            rows=rows,
            recipes={side: RECIPES[side] for side in SIDES[name]},
            peer={"flags": PEER, "iterations": options.peer_iterations},
        ),
    )


if __name__ == "__main__":
    main()
