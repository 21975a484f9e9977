"""All that the book measures on a graphics card, in one call of a few minutes.

`python benchmarks/gpu.py --text TINY_SHAKESPEARE --peer NANOGPT` races our recipe for a GPU against
that of nanoGPT (a checkout of it) to a validation loss of 1.4697, and runs the tests of helpers on
the card. Without --peer our side runs alone. It installs nothing and needs no network.

Each part runs in a process of its own and stores its result as soon as it has it, so one that
fails takes nothing from the others. `--dry-run` does all of it in small on a CPU, with another
text, and asks for a folder of its own (--out).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gpt
import pytest
import torch
from common import RESULTS, ROOT, about, store_table

from helpers import corpus
from helpers.train import PRESETS

TARGET = 1.4697  # the validation loss that nanoGPT's README gives for its recipe
PEER_TOKENS = 64 * 256  # an iteration of that recipe
SMALL = {"context": 16, "layers": 1, "heads": 2, "width": 16}
SMALL_PEER = [*gpt.PEER, "--block_size=16", "--n_layer=1", "--n_embd=16", "--eval_interval=10"]


def race(options: argparse.Namespace) -> None:
    """Train our recipe, then the peer's; store after each."""
    device, text = ("cpu", "tales") if options.dry_run else ("cuda", gpt.TEXT)
    recipe, flags, iterations = gpt.moved(PRESETS["gpu"]), ["--log_interval=10"], 5000
    if options.dry_run:
        small = {"steps": 40, "batch_size": 4, "warmup": 1, "compile": False}
        recipe, flags, iterations = gpt.moved(recipe, model=SMALL, **small), SMALL_PEER, 20
    recipe["training"]["evaluate_every"] = recipe["training"]["steps"] // 30
    peaks = gpt.peaks_of(device, 256 if options.dry_run else 8192)
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


PARTS = {"race": race, "tests": tests}  # the most wanted first


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
