"""The options of `python -m helpers.train`."""

import argparse
import dataclasses
from typing import Any

from helpers import tokenizers
from helpers.gpt import CHOICES, GPTConfig
from helpers.training.config import TrainingConfig
from helpers.training.presets import PRESETS

DESCRIPTION = """\
Train a small GPT to continue a text, character by character or word by word. The last
tenth of the text is held out to measure the loss on. The folder --out gets records.jsonl,
a line for each step, a picture of the losses, and the last checkpoint.
"""
EPILOG = """\
examples:
  python -m helpers.train --text tales --out runs/tales
      about a minute on one core, on the tales that come with the book
  python -m helpers.train --text mine.txt --out runs/mine --steps 2000 --seed 1
      a text of your own (UTF-8), for longer
  python -m helpers.train --out runs/mine --resume
      continue that run from its last checkpoint; with --steps 4000, for longer
  torchrun --nproc-per-node 2 -m helpers.train --preset gpu --out runs/two
      two GPUs: the same training, each with half of every batch

then: python -m helpers.generate runs/tales --prompt "The fox"
"""
RUN: dict[str, tuple[str | None, list[str] | None, str]] = {  # default, choices, help
    "text": (None, None, "tales, valley, tinyshakespeare (downloaded), or the path of a file"),
    "tokens": (None, list(tokenizers.TOKENIZERS), "of the text; rare words are spelt"),
    "out": ("runs/latest", None, "folder of the run (default: %(default)s)"),
    "preset": (
        "cpu",
        list(PRESETS),
        "model and training that fit the machine (default: cpu); the "
        "options below change them. valley is trained on the words of valley, others on tales",
    ),
    "device": (None, None, "cpu, cuda or mps (default: as the preset)"),
}
SWITCHES = {
    "resume": "continue from the last checkpoint of the run, with its settings",
    "quiet": "no progress bar",
    "whole": "measure the last loss on all of the held-out text, and not on a sample of it",
}
MODEL = {
    "layers": "number of blocks",
    "heads": "attention heads per block",
    "width": "features per token; a multiple of heads",
    "context": "tokens that the model can look back on",
    "ngrams": "longest n-gram with an embedding of its own, 1 for none",
    "norm": f"one of {', '.join(CHOICES['norm'])}",
    "placement": "of the norms: pre or post",
    "positions": f"one of {', '.join(CHOICES['positions'])}",
    "activation": f"one of {', '.join(CHOICES['activation'])}",
    "qk_norm": "normalise queries and keys",
    "tied": "the output layer uses the embedding matrix",
    "dropout": "fraction of numbers dropped at random in training, 0 to 1",
    "attention_dropout": "fraction of attention weights dropped in training",
}
TRAINING = {
    "steps": "updates of the parameters",
    "batch_size": "windows of text per update, over all processes",
    "accumulate": "micro-batches per batch, where memory is short",
    "lr": "peak learning rate",
    "matrix_lr": "peak learning rate of the matrices between hidden layers",
    "optimizer": "adamw, or muon for the hidden matrices and AdamW for the rest",
    "warmup": "updates in which the learning rate rises to its peak",
    "final": "fraction of the peak that the learning rate decays to",
    "weight_decay": "decay of matrices per step, times the learning rate",
    "clip": "largest norm of the gradient",
    "precision": "float32, or bfloat16 for the matrix products (on a GPU that has it)",
    "evaluate_every": "updates between two evaluations",
    "checkpoint_every": "updates between two checkpoints",
    "seed": "of the initial weights, the batches and dropout",
}


def make_parser() -> argparse.ArgumentParser:
    """The options; those of model and training are None unless given."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.train",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, (default, choices, text) in RUN.items():
        parser.add_argument(f"--{name}", default=default, choices=choices, help=text)
    for name, text in SWITCHES.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    fields = [*dataclasses.fields(GPTConfig), *dataclasses.fields(TrainingConfig)]
    defaults = {field.name: field.default for field in fields}
    values = [{**defaults, **preset["model"], **preset["training"]} for preset in PRESETS.values()]
    kinds = {field.name: field.type for field in fields}
    for title, texts in (("the model", MODEL), ("the training", TRAINING)):
        group = parser.add_argument_group(title)
        for name, text in texts.items():
            kind = next((plain for plain in (int, str, bool) if kinds[name] is plain), float)
            shown = " / ".join(str(value[name]) for value in values)
            option: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
            if kind is not bool:
                option = {"type": kind, "metavar": kind.__name__.upper()}
            flag = f"--{name.replace('_', '-')}"
            group.add_argument(flag, help=f"{text} ({' / '.join(PRESETS)}: {shown})", **option)
    return parser
