"""All that the book measures on a graphics card, in one call of a few minutes.

`python benchmarks/gpu.py --text TINY_SHAKESPEARE --peer NANOGPT` times a Llama of SmolLM2's
shapes as it reads and writes, and products of growing intensity (chapter 15's roofline), races our
recipe for a GPU against that of nanoGPT (a checkout of it) to a validation loss of 1.4697, and runs
the tests of helpers on the card. Without --peer our side runs alone. It installs nothing and needs
no network.

Each part runs in a process of its own and stores its result as soon as it has it, so one that
fails takes nothing from the others. `--dry-run` does all of it in small on a CPU, with another
text, and asks for a folder of its own (--out).
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import gpt
import pytest
import torch
from common import RESULTS, ROOT, about, store_table

from helpers import corpus, minillama
from helpers.train import PRESETS

TARGET = 1.4697  # the validation loss that nanoGPT's README gives for its recipe
PEER_TOKENS = 64 * 256  # an iteration of that recipe
SMALL = {"context": 16, "layers": 1, "heads": 2, "width": 16}
SMALL_PEER = [*gpt.PEER, "--block_size=16", "--n_layer=1", "--n_embd=16", "--eval_interval=10"]


SMOLLM2 = {"V": 49_152, "T": 8_192, "C": 576, "H": 9, "G": 3, "L": 30, "hidden": 1_536}
SMALL_LLAMA = {"V": 64, "T": 64, "C": 24, "H": 3, "G": 1, "L": 2, "hidden": 64}


def seconds_of(function: Callable, device: str) -> float:
    """How long a call takes until the card has done it."""
    began = time.perf_counter()
    function()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def speeds(options: argparse.Namespace) -> None:
    """Let a Llama of SmolLM2's shapes, with random weights, read and write; store each row."""
    device, sizes, read, n = "cuda", SMOLLM2, 512, 64
    if options.dry_run:
        device, sizes, read, n = "cpu", SMALL_LLAMA, 8, 4
    rows: list[list] = []
    made = about(
        __file__,
        [0],
        device=gpt.device_words(device),
        title="Prefill and decode on a GPU",
        claim=f"minillama with SmolLM2's shapes and random weights, as chapter 15 has it, reads "
        f"prompts of {read} tokens and writes {n} more to each. The last column is what decode "
        "reads of weights, each once per step",
        columns=[
            "weights in",
            "texts at once",
            "prefill, tokens a second",
            "decode, tokens a second",
            "weights, GB a second",
        ],
        rows=rows,
    )
    torch.manual_seed(0)
    model = minillama.Llama(**sizes).to(device)
    weights = sum(parameter.numel() for parameter in model.parameters())
    for dtype in (torch.float32, torch.bfloat16):
        model.to(dtype)
        for texts in (1, 8, 32):
            ids_BT = torch.randint(sizes["V"], (texts, read), device=device)
            list(minillama.stream(model, ids_BT, 3))  # to warm up
            writing = minillama.stream(model, ids_BT, n + 1)
            prefill = seconds_of(partial(next, writing), device)
            step = seconds_of(partial(list, writing), device) / n
            row = [str(dtype).removeprefix("torch."), texts]
            row += [round(texts * read / prefill), round(texts / step, 1)]
            rows.append([*row, round(weights * dtype.itemsize / step / 1e9, 1)])
            store_table("gpu_speeds", made, options.out)


def roofline(options: argparse.Namespace) -> None:
    """Multiply ever more tokens with one large matrix: chapter 15's roofline, in bfloat16."""
    device, C, most = ("cpu", 64, 4) if options.dry_run else ("cuda", 8192, 4096)
    rows: list[list] = []
    made = about(
        __file__,
        [0],
        device=gpt.device_words(device),
        title="A roofline of a GPU",
        claim=f"n tokens times a matrix of {C:,} × {C:,} numbers in bfloat16, which does n "
        "operations for each byte of the matrix. The median of 20 products",
        columns=["tokens", "microseconds", "GB of weights a second", "10¹² operations a second"],
        rows=rows,
    )
    W_CC = torch.randn(C, C, device=device, dtype=torch.bfloat16)
    n = 1
    while n <= most:
        x_NC = torch.randn(n, C, device=device, dtype=torch.bfloat16)
        for _ in range(5):
            x_NC @ W_CC
        times = [seconds_of(partial(torch.matmul, x_NC, W_CC), device) for _ in range(20)]
        taken = statistics.median(times)
        speed = [round(2 * C * C / taken / 1e9), round(2 * n * C * C / taken / 1e12, 2)]
        rows.append([n, round(1e6 * taken, 1), *speed])
        n *= 2
    store_table("gpu_roofline", made, options.out)


def race(options: argparse.Namespace) -> None:
    """Train our recipe, then the peer's; store after each."""
    device, text = ("cpu", "tales") if options.dry_run else ("cuda", gpt.TEXT)
    recipe, flags, iterations = gpt.moved(PRESETS["gpu"]), ["--log_interval=10"], 5000
    if options.dry_run:
        small = {"steps": 40, "batch_size": 4, "warmup": 1, "compile": False}
        recipe, flags, iterations = gpt.moved(recipe, model=SMALL, **small), SMALL_PEER, 20
    recipe["training"]["evaluate_every"] = recipe["training"]["steps"] // 30
    peaks = gpt.peaks_of(("float32", "bfloat16"), device, 256 if options.dry_run else 8192)
    made = about(
        __file__,
        [0],
        device=gpt.device_words(device),
        title="Time to nanoGPT's loss on a GPU",
        claim=f"Each side until its validation loss is at most {TARGET}, or to its lowest loss "
        "where it never is. Seconds are of training, compilation included. Our loss is over the "
        "whole validation text, nanoGPT's on the way there as its train.py estimates it",
        columns=gpt.COLUMNS,
        recipes={"ours": recipe},
        peer={"flags": flags, "iterations": iterations},
        peak_gflops={name: round(value / 1e9) for name, value in peaks.items()},
    )

    def keep(runs: dict) -> None:
        rows = gpt.table(runs, peaks)
        if runs["ours"][0]["validation"] > TARGET:
            rows[-1][gpt.COLUMNS.index("times faster")] = "not reached"
        store_table("gpt_gpu", made | {"rows": rows}, options.out)

    how = {"until": TARGET, "text": text}
    runs = {"ours": [gpt.ours(recipe, seed=0, device=device, **how)]}
    keep(runs)
    if options.peer is None:
        print("nanoGPT's side is missing: it needs --peer")
        return
    how |= {"tokens": PEER_TOKENS, "precision": "bfloat16"}
    keep({"nanoGPT": [gpt.peers(options.peer, flags, iterations, **how)]} | runs)


def tests(options: argparse.Namespace) -> None:
    """Run the tests of helpers that take a device, and store how each ended."""
    device, rows = "cpu" if options.dry_run else "cuda", []
    chosen = "cpu and norms" if options.dry_run else "cuda"

    class Outcomes:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.when == "call" or not report.passed:
                rows.append([report.nodeid.rpartition("::")[2], report.outcome])

    path = str(ROOT / "tests" / "core" / "test_on_device.py")
    flags = ["--noconftest", "-q", "-p", "no:cacheprovider", "-k", chosen]
    status = pytest.main([path, *flags], plugins=[Outcomes()])
    passed = sum(outcome == "passed" for _, outcome in rows)
    made = about(
        __file__,
        [],
        device=gpt.device_words(device),
        title="Tests of helpers on a GPU",
        claim=f"{passed} of {len(rows)} tests pass. They hold outputs and gradients on the card "
        "to float64 on the CPU, and training, a resumed run and generation to those of the CPU",
        columns=["test", "outcome"],
        rows=rows,
    )
    if rows:
        store_table("gpu_tests", made, options.out)
    raise SystemExit(int(status))


# The short ones first: a minute, then the race.
PARTS = {"speeds": speeds, "roofline": roofline, "race": race, "tests": tests}


def main(arguments: list[str] | None = None) -> None:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--peer", type=Path, help="a checkout of nanoGPT")
    parser.add_argument("--text", type=Path, help="tiny Shakespeare, where it is not in the cache")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results are stored")
    parser.add_argument("--dry-run", action="store_true", help="all in small, on a CPU")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part:
        PARTS[options.part](options)
        return
    if options.dry_run and options.out == RESULTS:
        raise SystemExit("--dry-run needs --out: the pages would show its numbers")
    if not (options.dry_run or torch.cuda.is_available()):
        raise SystemExit("torch finds no CUDA here: nothing was measured")
    if options.peer and not (options.peer / "train.py").is_file():
        raise SystemExit(f"{options.peer} is no checkout of nanoGPT: it has no train.py")
    ended = []
    with tempfile.TemporaryDirectory() as folder:
        if options.text:
            shutil.copy(options.text, Path(folder) / corpus.TINY_SHAKESPEARE.file)
            os.environ[corpus.DATA_DIR_VARIABLE] = folder
        try:
            corpus.load("tales" if options.dry_run else gpt.TEXT)
        except (OSError, ValueError) as error:
            raise SystemExit(f"{error} Or name the file by --text.") from None
        for part in PARTS:
            command = [sys.executable, __file__, *(arguments or sys.argv[1:]), "--part", part]
            ended.append(subprocess.run(command).returncode)
            print(f"{part} ended with status {ended[-1]}", flush=True)
    raise SystemExit(any(ended))


if __name__ == "__main__":
    main()
