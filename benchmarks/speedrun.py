"""How soon a GPT of minigpt's pieces reaches nanoGPT's loss on tiny Shakespeare, side by side.

    python benchmarks/speedrun.py --peer PATH                  five seeds a side, in turn
    python benchmarks/speedrun.py --tricks                     ours without one trick at a time
    python benchmarks/speedrun.py --side ours --updates 195    losses alone, to choose updates

PATH is a checkout of karpathy/nanoGPT, whose README has the recipe for a CPU and its loss of 1.88,
and whose train.py runs as it is, but for seed and clock. Both sides read characters, train on nine
tenths of the text on one thread, and are judged on all of the rest in windows of 64. Training alone
is timed. A side's updates are the fewest, in steps of 15 and 150, by which no seed ends above 1.88.
"""

import argparse
import pickle
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, redirect_stdout
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
from common import about, store_table
from torch import Tensor, nn

from helpers import corpus, minigpt, variants
from helpers.chapters.lab import evaluate

TEXT, T = "tinyshakespeare", 64
SEEDS = [101, 102, 103, 104, 105]
UPDATES = {"ours": 210, "nanoGPT": 2450}
RECIPE = "--block_size=64 --batch_size=12 --n_layer=4 --n_head=4 --n_embd=128 --dropout=0.0"


def read(text: str) -> tuple[int, Tensor, Tensor]:
    """Of a text: how many characters it knows, and the ids of both parts."""
    tokenizer = minigpt.Tokenizer(corpus.load(text))
    return len(tokenizer.vocab), *corpus.split(tokenizer.encode(corpus.load(text)))


def clock(device: str = "cpu") -> np.ndarray:
    """Processor seconds and wall seconds, once a card has done what it was given."""
    if device == "cuda":
        torch.cuda.synchronize()
    return np.array([time.process_time(), time.perf_counter()])


class ShiftedNorm(nn.LayerNorm):
    """LayerNorm, then a quarter of the columns from one token back and a quarter from two."""

    def forward(self, x_BTC: Tensor) -> Tensor:
        """(B, T, C) to (B, T, C)."""
        C = x_BTC.shape[-1]
        now, one, two = super().forward(x_BTC).split([C // 2, C // 4, C // 4], dim=-1)
        later = (F.pad(x[:, :-n], (0, 0, n, 0)) for x, n in ((one, 1), (two, 2)))
        return torch.cat([now, *later], dim=-1)


def model_of(V: int, L=1, norm=ShiftedNorm, positions="rope", std=0.1, zero=True) -> nn.Module:
    """A GPT of width 64. std: of the initial matrices; zero: those that add, or end, start at 0."""
    model = variants.GPT(V, T=T, C=64, H=2, L=L, positions=positions)
    for block in model.blocks:
        block.norm_1, block.norm_2 = norm(64), norm(64)
    model.norm = nn.LayerNorm(64)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith(("out.weight", "down.weight", "head.weight"))
            parameter.data *= 0.0 if zero and adds else std / 0.02
    return model


def orthogonal(matrix: Tensor) -> Tensor:
    """Nearly the nearest matrix whose singular values are all 1, by Muon's polynomial."""
    x = matrix / matrix.norm().clamp(min=1e-7)
    x = x if len(x) <= len(x.mT) else x.mT
    for _ in range(5):
        gram = x @ x.mT
        gram = torch.addmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        x = torch.addmm(x, gram, x, beta=3.4445)
    return x if x.shape == matrix.shape else x.mT


class Muon(torch.optim.Optimizer):
    """torch.optim.Muon in float32: its bfloat16 takes ten times as long where it is emulated."""

    @torch.no_grad()
    def step(self) -> None:
        """Make one update."""
        for matrix in self.param_groups[0]["params"]:
            mean = self.state[matrix].setdefault("mean", torch.zeros_like(matrix))
            mean.lerp_(matrix.grad, 0.1)
            rate = self.param_groups[0]["lr"] * max(1, len(matrix) / len(matrix.mT)) ** 0.5
            matrix.add_(orthogonal(matrix.grad.lerp(mean, 0.9)), alpha=-rate)


def ours(
    seed: int,
    updates: int = UPDATES["ours"],
    text: str = TEXT,
    device: str = "cpu",
    rates: tuple[float, float] = (0.03, 0.05),
    muon: bool = True,
    decay: bool = True,
    **changed,
) -> dict[str, float]:
    """Train once, by two rates, that of the matrices in the blocks second: loss and seconds."""
    torch.set_num_threads(1)
    V, train_N, unseen_N = (x if isinstance(x, int) else x.to(device) for x in read(text))
    torch.manual_seed(seed)
    model = model_of(V, **changed).to(device)
    inner = [p for p in model.blocks.parameters() if p.ndim == 2]
    outer = [p for p in model.parameters() if not any(p is other for other in inner)]
    adam = partial(torch.optim.Adam, betas=(0.8, 0.99), fused=True)
    optimizers = adam(outer), Muon(inner, {"lr": 0.0}) if muon else adam(inner)
    began = clock(device)
    for step in range(updates):
        falling = 1 - step / updates if decay else 1.0
        for optimizer, peak in zip(optimizers, rates, strict=True):
            optimizer.param_groups[0]["lr"] = peak * min((step + 1) / 3, falling)
        x_BT, y_BT = minigpt.get_batch(train_N, 24, T)
        model.zero_grad()
        F.cross_entropy(model(x_BT).flatten(0, 1), y_BT.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
    processor, wall = clock(device) - began
    loss = evaluate(model, corpus.windows(unseen_N, T))
    return {"loss": loss, "processor": processor, "wall": wall}


def theirs(seed: int, updates: int, peer: Path, text: str = TEXT) -> dict[str, float]:
    """Run the peer's train.py in a copy of its checkout; as `ours`."""
    torch.set_num_threads(1)
    V, *parts = read(text)
    source = (peer / "train.py").read_text("utf-8")
    for old, new in (("manual_seed(1337", f"manual_seed({seed}"), ("\nimport time\n", "\n")):
        if source.count(old) != 1:
            raise ValueError(f"{peer}/train.py should have {old.strip()!r} once")
        source = source.replace(old, new)
    stamps: list[np.ndarray] = []  # before the first update, and after each
    flags = f"--device=cpu --compile=False --eval_iters=20 --log_interval=1 {RECIPE} "
    flags += f"--max_iters={updates - 1} --lr_decay_iters={updates} --eval_interval={updates}"
    argv = ["train.py", "config/train_shakespeare_char.py", *flags.split()]
    found = {"time": SimpleNamespace(time=lambda: stamps.append(clock()) or time.time())}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        shutil.copytree(peer, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        data = Path("data", "shakespeare_char")
        for name, ids in zip(("train", "val"), parts, strict=True):
            ids.numpy().astype(np.uint16).tofile(data / f"{name}.bin")
        (data / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": V}))
        with redirect_stdout(None), mock.patch.multiple(sys, argv=argv, path=[folder, *sys.path]):
            exec(compile(source, "train.py", "exec"), found)
        sys.modules.pop("model", None)
    each = np.diff(stamps, axis=0)
    each[0] = np.median(each[1:], axis=0)  # in the first it evaluates, too
    processor, wall = each.sum(axis=0)
    model = found["raw_model"]
    model.forward = lambda ids_BT: type(model).forward(model, ids_BT, ids_BT)[0]
    loss = evaluate(model, corpus.windows(parts[1], T))
    return {"loss": loss, "processor": processor, "wall": wall}


COLUMNS = ["seed", "our loss", "nanoGPT’s", "our processor seconds", "nanoGPT’s", "times"]
COLUMNS += ["our wall seconds", "nanoGPT’s", "times"]


def round_of(seed: int, peer: Path) -> list[float]:
    """Our run, then the peer's: the numbers of COLUMNS."""
    a, b = ours(seed), theirs(seed, UPDATES["nanoGPT"], peer)
    times = [(a[key], b[key], b[key] / a[key]) for key in ("processor", "wall")]
    return [a["loss"], b["loss"], *times[0], *times[1]]


def race(peer: Path, seeds: list[int], at_once: int) -> None:
    """Run both sides, so many seeds beside one another, and store what there is after each."""
    rows, found = [], []
    with ProcessPoolExecutor(at_once) as pool:
        for numbers in pool.map(partial(round_of, peer=peer), seeds):
            found.append(numbers)
            rows.append([seeds[len(rows)], *(f"{x:.4g}" for x in numbers)])
            print(rows[-1], flush=True)
            spans = [f"{min(c):.4g} to {max(c):.4g}" for c in zip(*found, strict=True)]
            title = "Time to nanoGPT’s loss on tiny Shakespeare"
            made = about(__file__, seeds[: len(rows)], title=title, columns=COLUMNS)
            made["claim"] = (
                f"{UPDATES['ours']} updates of ours, {UPDATES['nanoGPT']:,} of nanoGPT’s. Loss: of "
                "all the validation text. Wall seconds have in them what else the machine did"
            )
            store_table("speedrun", made | {"rows": [*rows, ["all", *spans]]})


TRICKS = {  # what is taken out, and put in its place
    "nothing": {},
    "token shift": {"norm": nn.LayerNorm},
    "Muon: Adam, two rates": {"muon": False, "rates": (0.03, 0.005)},
    "Muon: Adam, one rate": {"muon": False, "rates": (0.01, 0.01)},
    "RoPE: learned positions": {"positions": "learned"},
    "start at 0 of what adds": {"zero": False},
    "wide initial matrices: 0.02": {"std": 0.02},
    "rates that fall to 0": {"decay": False},
    "one block: two": {"L": 2},
}


def tricks(seeds: list[int], at_once: int) -> None:
    """Take one out at a time, and store what it costs."""
    rows = []
    with ProcessPoolExecutor(at_once) as pool:
        for trick, changed in TRICKS.items():
            runs = [*pool.map(partial(ours, **changed), seeds)]
            losses = [run["loss"] for run in runs]
            loss = f"{np.mean(losses):.3f} ± {np.std(losses, ddof=1):.3f}"
            rows.append([trick, loss, f"{np.median([run['processor'] for run in runs]):.1f}"])
            print(rows[-1], flush=True)
    claim = f"{UPDATES['ours']} updates each. The rates suit all tricks together"
    made = about(__file__, seeds, title="What each trick of the race brings", claim=claim)
    made["columns"] = ["taken out: in its place", "loss, mean ± deviation", "processor seconds"]
    store_table("speedrun_tricks", made | {"rows": rows})


def main() -> None:
    """Race, take tricks out, or try a number of updates."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peer", type=Path, help="a checkout of nanoGPT")
    parser.add_argument("--tricks", action="store_true", help="take one out at a time")
    parser.add_argument("--side", choices=UPDATES, help="print the losses of one side")
    parser.add_argument("--updates", type=int, help="of that side")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--at-once", type=int, default=1, help="seeds beside one another")
    options = parser.parse_args()
    if options.side:
        run = ours if options.side == "ours" else partial(theirs, peer=options.peer)
        for seed in options.seeds:
            print(seed, run(seed, options.updates or UPDATES[options.side]), flush=True)
    elif options.tricks:
        tricks(options.seeds, options.at_once)
    elif options.peer:
        race(options.peer.resolve(), options.seeds, options.at_once)
    else:
        parser.error("--peer, --tricks or --side?")


if __name__ == "__main__":
    main()
