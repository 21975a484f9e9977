"""All that the book measures on a graphics card, in one call of a few minutes.

`python benchmarks/gpu.py`, from any folder, runs the tests of helpers on the card, then times
minigpt's training loop at the size of nanoGPT's recipe for a card, the race of speedrun.py and a
Llama of SmolLM2's shapes as it reads and writes. It needs what pyproject.toml declares and pytest,
and for the race tinyshakespeare.txt in the folder that BOOK_DATA_DIR names; neither a network, nor
a compiler, nor that helpers is installed.

Each part runs in a process of its own and stores its result as soon as it has it, so one that
fails takes nothing from the others. `--dry-run` does all of it in small on a CPU and asks for a
folder of its own (--out).
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import speedrun
from common import RESULTS, ROOT, about, store_table

from helpers import corpus, minigpt, minillama
from helpers.chapters.lab import evaluate

SMOLLM2 = {"V": 49_152, "T": 8_192, "C": 576, "H": 9, "G": 3, "L": 30, "hidden": 1_536}
SMALL_LLAMA = {"V": 64, "T": 64, "C": 24, "H": 3, "G": 1, "L": 2, "hidden": 64}
NANOGPT = {"T": 256, "C": 384, "H": 6, "L": 6, "dropout": 0.2}  # of nanoGPT's recipe for a GPU
SMALL_GPT = {"T": 16, "C": 16, "H": 2, "L": 1}


def described(device: str, **more) -> dict:
    """Where a table comes from, its title, claim and columns."""
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU, one thread"
    return about(__file__, [0], device=name, **more)


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
    made = described(
        device,
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


def training(options: argparse.Namespace) -> None:
    """Train minigpt by its own loop in float32, in bfloat16, and compiled; store each row."""
    device, sizes, steps, warm, batch = "cuda", NANOGPT, 120, 20, 64
    if options.dry_run:
        device, sizes, steps, warm, batch = "cpu", SMALL_GPT, 6, 2, 4
    rows: list[list] = []
    made = described(
        device,
        title="minigpt's training loop on a GPU",
        claim=f"The model and the loop of helpers/minigpt.py on the tales, {steps} steps of "
        f"{batch} windows of {sizes['T']} characters, width {sizes['C']}, {sizes['L']} blocks. "
        f"The clock starts after {warm} steps, so compilation isn't in it",
        columns=["computed in", "milliseconds a step", "tokens a second", "loss on new text"],
        rows=rows,
    )
    tokenizer = minigpt.Tokenizer(corpus.load())
    train_N, unseen_N = corpus.split(tokenizer.encode(corpus.load()).to(device))
    for words in ("float32", "bfloat16", *([] if options.dry_run else ["bfloat16, compiled"])):
        torch.manual_seed(0)
        model = minigpt.GPT(len(tokenizer.vocab), **sizes).to(device)
        if "compiled" in words:
            model.compile()
        with torch.autocast(device, torch.bfloat16, enabled="bfloat16" in words):
            run = minigpt.train(model, train_N, steps, batch, 0.001)
            try:
                for _ in range(warm):
                    next(run)
            except Exception as error:  # of torch.compile, whatever it lacks
                if "compiled" not in words:
                    raise
                print(f"{words}: left out, {type(error).__name__} (is a C compiler there?)")
                continue
            step = seconds_of(partial(list, run), device) / (steps - warm)
        unseen = evaluate(model, corpus.windows(unseen_N, model.T))
        tokens = round(batch * model.T / step)
        rows.append([words, round(1e3 * step, 1), tokens, round(unseen, 3)])
        store_table("gpt_gpu", made, options.out)


def race(options: argparse.Namespace) -> None:
    """Run our side of the race on the card; store a row a seed."""
    how, rows = {"device": "cuda"}, []
    if options.dry_run:
        how = {"device": "cpu", "text": "tales", "updates": 4}
    speedrun.ours(0, **how | {"updates": 3})  # to warm up
    for seed in speedrun.SEEDS[:3]:
        run = speedrun.ours(seed, **how)
        rows.append([seed, round(run["loss"], 3), round(run["wall"], 2)])
    made = described(how["device"], title="Our side of the race on a GPU", rows=rows)
    made["claim"] = "The recipe of benchmarks/speedrun.py as it is, on all of tiny Shakespeare"
    made["columns"] = ["seed", "loss on the validation text", "seconds"]
    store_table("gpu_race", made, options.out)


def tests(options: argparse.Namespace) -> None:
    """Run the tests of helpers that take a device, and store how each ended."""
    import pytest

    device, rows = "cpu" if options.dry_run else "cuda", []
    chosen = "cpu and norms" if options.dry_run else "cuda"

    class Outcomes:
        def pytest_runtest_logreport(self, report: "pytest.TestReport") -> None:
            if report.when == "call" or not report.passed:
                rows.append([report.nodeid.rpartition("::")[2], report.outcome])

    path = str(ROOT / "tests" / "core" / "test_on_device.py")
    flags = ["--noconftest", "-q", "-p", "no:cacheprovider", "-k", chosen]
    status = pytest.main([path, *flags], plugins=[Outcomes()])
    passed = sum(outcome == "passed" for _, outcome in rows)
    made = described(
        device,
        title="Tests of helpers on a GPU",
        claim=f"{passed} of {len(rows)} tests pass. They hold outputs and gradients on the card "
        "to float64 on the CPU, and training and generation to those of the CPU",
        columns=["test", "outcome"],
        rows=rows,
    )
    if rows:
        store_table("gpu_tests", made, options.out)
    raise SystemExit(int(status))


PARTS = {"tests": tests, "training": training, "race": race, "speeds": speeds}


def main(arguments: list[str] | None = None) -> None:
    """Run the parts one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results are stored")
    parser.add_argument("--dry-run", action="store_true", help="all in small, on a CPU")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part:
        try:
            PARTS[options.part](options)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            raise SystemExit(f"{options.part}: {error}") from None
        return
    if options.dry_run and options.out == RESULTS:
        raise SystemExit("--dry-run needs --out: the pages would show its numbers")
    if not (options.dry_run or torch.cuda.is_available()):
        raise SystemExit("torch finds no CUDA here: nothing was measured")
    ended = []
    for part in PARTS:
        command = [sys.executable, __file__, *(arguments or sys.argv[1:]), "--part", part]
        ended.append(subprocess.run(command).returncode)
        print(f"{part} ended with status {ended[-1]}", flush=True)
    raise SystemExit(any(ended))


if __name__ == "__main__":
    main()
