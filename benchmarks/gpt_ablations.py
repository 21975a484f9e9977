"""Train the small GPT of chapter 11 with one lever moved at a time, and on other texts.

``python benchmarks/gpt_ablations.py [levers] [whole] [longer]`` writes these parts of
helpers/data/results/gpt_ablations.json, all of them without arguments: a smaller model with one
choice changed, the run of the preset "cpu" on the tales and on tiny Shakespeare, and the same
with three times the steps. The script runs the chapter's own cells; the chapter computes a part
of it again and compares. Tiny Shakespeare is looked for in the folder that BOOK_DATA_DIR names,
else downloaded.
"""

import re
import sys

import numpy as np
import torch
import torch.nn.functional as F
from common import about, cells_of, store

from helpers import corpus
from helpers.gpt import GPT, GPTConfig
from helpers.train import PRESETS
from helpers.training import TrainingConfig, fit

CHAPTER = "11_small_gpt"
CELLS = ("the-words", "the-counts", "the-costs", "the-small-model", "the-levers")
PARTS = ("levers", "whole", "longer")
SEEDS = {"levers": range(5), "whole": range(2), "longer": range(3)}
TIMES = 3  # how many times longer the longer run is
TEMPERATURES = (0.5, 0.8, 1.0)


def chapter() -> dict:
    """Run the cells of the chapter that define what is measured here; what they define."""
    names = {"torch": torch, "np": np, "re": re, "corpus": corpus, "GPT": GPT, "fit": fit}
    names |= {"GPTConfig": GPTConfig, "TrainingConfig": TrainingConfig, "F": F}
    return cells_of(CHAPTER, CELLS, names)


def settings(part: str, names: dict) -> list[dict]:
    """What is measured in a part, each setting with every seed of the part."""
    if part == "levers":
        return [{"lever": lever} for lever in names["LEVERS"]]
    steps = PRESETS["cpu"]["training"]["steps"] * (TIMES if part == "longer" else 1)
    texts = ("tales", "tinyshakespeare") if part == "whole" else ("tales",)
    return [{"text": text, "steps": steps} for text in texts]


def of_lever(names: dict, seed: int, *, lever: str) -> dict:
    """The validation loss of the smaller model with this lever moved."""
    return {"validation": round(names["with_lever"](lever, seed), 4)}


def of_whole(names: dict, seed: int, *, text: str, steps: int) -> dict:
    """The validation losses on the way, and how many of the words that it writes are real.

    Windows of the validation text begin with nothing before them, so the loss of their second
    halves is measured, too.
    """
    preset, whole = PRESETS["cpu"], corpus.load(text)
    tokenizer = corpus.CharTokenizer(whole)
    train_ids, validation_ids = corpus.split(tokenizer.encode(whole))
    shape = GPTConfig(vocab_size=len(tokenizer), **preset["model"])
    how = preset["training"] | {"steps": steps, "evaluate_every": steps // 4, "seed": seed}
    model = GPT(shape, generator=torch.Generator().manual_seed(seed))
    outcome = fit(
        model, train_ids, validation_ids, TrainingConfig(context=shape.context, **how),
        progress=False,
    )  # fmt: skip
    losses = {r.step + 1: round(r.validation, 4) for r in outcome.records if r.validation}
    known = set(names["words_of"](tokenizer.decode(train_ids)))
    late_NT = names["costs_of"](model, validation_ids)[:, shape.context // 2 :]
    texts = {t: names["written"](model, tokenizer, t, seed=seed) for t in TEMPERATURES}
    return {
        "validation": losses[steps],
        "second half of windows": round(late_NT.mean().item(), 4),
        "on the way": losses,
        "real words": {str(t): round(names["real"](texts[t], known), 4) for t in TEMPERATURES},
        "sample": texts[0.8][0],
    }


def counted(names: dict, text: str) -> list[float]:
    """The losses of counted tables of 1, 2, … characters on a text, in nats."""
    whole = corpus.load(text)
    tokenizer = corpus.CharTokenizer(whole)
    parts = (part.numpy() for part in corpus.split(tokenizer.encode(whole)))
    losses, _ = names["count_losses"](*parts, len(tokenizer))
    return [round(loss, 4) for loss in losses]


def main(parts: list[str]) -> None:
    """Measure everything in these parts, seed by seed, and store it."""
    torch.set_num_threads(1)
    names = chapter()
    for part in parts or PARTS:
        measure = of_lever if part == "levers" else of_whole
        results = [setting | {"runs": []} for setting in settings(part, names)]
        for seed in SEEDS[part]:
            for setting, result in zip(settings(part, names), results, strict=True):
                result["runs"].append({"seed": seed} | measure(names, seed, **setting))
        if part != "levers":
            for result in results:
                result["counted"] = counted(names, result["text"])
        more = {} if part == "levers" else {"preset": PRESETS["cpu"]}
        made = about(__file__, SEEDS[part], **more)
        store("gpt_ablations", part, made | {"settings": results})


if __name__ == "__main__":
    main(sys.argv[1:])
