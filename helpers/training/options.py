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
    parser.add_argument(
        "--text",
        help="tales (the default), valley (sampled from a grammar, the default of its preset), "
        "tinyshakespeare (downloaded), or the path of a file",
    )
    parser.add_argument(
        "--tokens",
        choices=list(tokenizers.TOKENIZERS),
        help="tokens of the text: characters (the default), or words, of which rare ones are spelt "
        "(the default of valley)",
    )
    parser.add_argument(
        "--out",
        default="runs/latest",
        metavar="FOLDER",
        help="folder of the run (default: %(default)s)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="continue from the last checkpoint in FOLDER, with its settings",
    )
    parser.add_argument(
        "--preset",
        choices=list(PRESETS),
        default="cpu",
        help="a model and training that fit the machine; the options below change them "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--device", metavar="NAME", help="cpu, cuda or mps (default: as the preset)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument(
        "--whole",
        action="store_true",
        help="measure the last loss on all of the held-out text, and not on a sample of it",
    )
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
