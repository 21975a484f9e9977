"""The command that trains a small GPT on a text: `python -m helpers.train --help`."""

import signal
import sys

if __name__ == "__main__":  # Ctrl-C while torch is being loaded ends it without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
import dataclasses
import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from helpers import corpus
from helpers.console import EXIT_SIGINT, command, say
from helpers.gpt import GPT, GPTConfig
from helpers.training import CheckpointError, TrainingConfig, checkpoints, fit
from helpers.training.processes import DistributedContext, ProcessLostError, team

MODERN = {"positions": "rope", "qk_norm": True, "activation": "relu2", "tied": False}
PRESETS: dict[str, dict[str, dict]] = {
    "cpu": {
        "model": {"context": 64, "layers": 4, "heads": 4, "width": 128, **MODERN},
        "training": {
            "steps": 600,
            "batch_size": 12,
            "lr": 0.02,
            "matrix_lr": 0.02,
            "momentum": 0.9,
            "optimizer": "muon",
            "warmup": 10,
            "precision": "bfloat16",
            "evaluate_every": 200,
            "checkpoint_every": 200,
        },
    },
    "fast": {
        "model": {
            "context": 64,
            "layers": 2,
            "heads": 8,
            "width": 128,
            "ngrams": 4,
            "positions": "alibi",
            "activation": "relu2",
            "tied": False,
        },
        "training": {
            "steps": 500,
            "batch_size": 24,
            "lr": 0.014,
            "matrix_lr": 0.014,
            "momentum": 0.9,
            "optimizer": "muon",
            "betas": (0.8, 0.99),
            "weight_decay": 0.0,
            "warmup": 10,
            "precision": "bfloat16",
            "evaluate_every": 250,
            "checkpoint_every": 250,
        },
    },
    "tales": {  # the model that ships; every field, since defaults may change and it does not
        "model": {
            "context": 64,
            "layers": 4,
            "heads": 4,
            "width": 128,
            "norm": "rms",
            "placement": "pre",
            "positions": "rope",
            "ngrams": 1,
            "activation": "gelu",
            "tied": False,
            "qk_norm": True,
            "start": "gpt2",
            "dropout": 0.15,
        },
        "training": {
            "steps": 2500,
            "batch_size": 12,
            "lr": 0.004,
            "matrix_lr": 0.03,
            "optimizer": "muon",
            "betas": (0.9, 0.99),
            "momentum": 0.95,
            "warmup": 20,
            "final": 0.0,
            "decay": "linear",
            "weight_decay": 0.1,
            "clip": 1.0,
            "accumulate": 1,
            "precision": "bfloat16",
            "compile": False,
            "evaluate_every": 250,
            "checkpoint_every": 500,
            "seed": 0,
        },
    },
    "valley": {  # the model to try on the first page, every field as well
        "model": {
            "context": 192,
            "layers": 4,
            "heads": 4,
            "width": 128,
            "norm": "rms",
            "placement": "pre",
            "positions": "rope",
            "ngrams": 1,
            "activation": "gelu",
            "tied": False,
            "qk_norm": True,
            "start": "gpt2",
            "dropout": 0.0,
        },
        "training": {
            "steps": 3000,
            "batch_size": 8,
            "lr": 0.01,
            "matrix_lr": 0.02,
            "optimizer": "muon",
            "betas": (0.9, 0.99),
            "momentum": 0.95,
            "warmup": 20,
            "final": 0.0,
            "decay": "linear",
            "weight_decay": 0.0,
            "clip": 1.0,
            "accumulate": 1,
            "precision": "float32",
            "compile": False,
            "evaluate_every": 750,
            "checkpoint_every": 500,
            "seed": 0,
        },
    },
    "gpu": {
        "model": {"context": 256, "layers": 6, "heads": 6, "width": 384, "dropout": 0.2, **MODERN},
        "training": {
            "steps": 1500,
            "batch_size": 64,
            "lr": 0.01,
            "matrix_lr": 0.02,
            "optimizer": "muon",
            "warmup": 50,
            "precision": "bfloat16",
            "compile": True,
            "evaluate_every": 250,
            "checkpoint_every": 250,
        },
    },
}
DESCRIPTION = """\
Train a small GPT to continue a text, character by character or word by word. The last
tenth of the text is kept apart to measure the loss on. What is written to the folder
--out: records.jsonl, a line for each step, and the last checkpoint.
"""
EPILOG = """\
examples:
  python -m helpers.train --text tales --out runs/tales
      about a minute on one core, on the tales that come with the book
  python -m helpers.train --text mine.txt --out runs/mine --steps 2000 --seed 1
      a text of your own (UTF-8), for longer
  python -m helpers.train --out runs/mine --resume
      go on where that run was stopped (by Ctrl-C, or by anything else)
  torchrun --nproc-per-node 2 -m helpers.train --preset gpu --out runs/two
      two GPUs: the same training, each with half of every batch

then: python -m helpers.generate runs/tales --prompt "The fox"
"""
MODEL = {
    "layers": "blocks on top of one another",
    "heads": "attention heads a block",
    "width": "numbers that a token is made of inside; a multiple of heads",
    "context": "tokens that the model can look back on",
    "ngrams": "up to how many tokens together have rows in tables of the input, 1 for none",
    "dropout": "share of numbers left out at random in training, 0 to 1",
}
TRAINING = {
    "steps": "updates of the parameters",
    "batch_size": "windows of text an update, over all processes",
    "accumulate": "cut each batch into so many parts, where memory is short",
    "lr": "learning rate at its peak",
    "matrix_lr": "learning rate at its peak of the matrices between hidden layers",
    "optimizer": "adamw, or muon for the hidden matrices and AdamW for the rest",
    "warmup": "updates in which the learning rate rises to its peak",
    "final": "share of the peak that the learning rate falls towards",
    "weight_decay": "how much matrices shrink, a step, times the learning rate",
    "clip": "greatest length of the gradient",
    "precision": "float32, or bfloat16 for the matrix products",
    "evaluate_every": "updates between two looks at the validation text",
    "checkpoint_every": "updates between two checkpoints",
    "seed": "of the first parameters, the batches and dropout",
}


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit status: 0, 1 where the run broke, others as `command` has."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        with team(_device(options)) as us:
            return _train(options, us)
    except (FloatingPointError, ProcessLostError) as error:
        print(f"\nthe run has ended: {error}", file=sys.stderr)
        if checkpoints.list_checkpoints(Path(options.out)):
            print(f"go on from the last checkpoint: {_resume(options)}", file=sys.stderr)
        return 1


def every_field(model: Mapping, training: Mapping) -> dict[str, dict]:
    """Each field of a model and of its training, as JSON has it, so that no default decides.

    vocab_size comes from the text, and the context of the training is the model's.
    """
    shape = dataclasses.asdict(GPTConfig(vocab_size=1, **model))
    how = dataclasses.asdict(training_config(training, context=shape["context"]))
    del shape["vocab_size"], how["context"]
    return json.loads(json.dumps({"model": shape, "training": how}))


def training_config(training: Mapping, **more) -> TrainingConfig:
    """The training that fields describe which may come from JSON, where a tuple is a list."""
    fields: dict[str, Any] = {
        n: tuple(v) if isinstance(v, list) else v for n, v in {**training, **more}.items()
    }
    return TrainingConfig(**fields)


def make_parser() -> argparse.ArgumentParser:
    """The options; those of model and training are None where they were not given."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.train",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--text",
        default=None,
        help="tales (the default), valley (told by a "
        "grammar), tinyshakespeare (fetched), or the path of a file",
    )
    parser.add_argument(
        "--tokens",
        choices=list(corpus.TOKENIZERS),
        default=None,
        help="what the text is cut into: characters (the default), or words, "
        "the rare ones among them spelt",
    )
    parser.add_argument(
        "--out",
        default="runs/latest",
        metavar="FOLDER",
        help="where the run is kept (default: %(default)s)",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from the last checkpoint in FOLDER, as it was set up",
    )
    parser.add_argument(
        "--preset",
        choices=list(PRESETS),
        default="cpu",
        help="a model and a way to train it that fit the machine; what is given "
        "below changes it (default: %(default)s)",
    )
    parser.add_argument(
        "--device", default=None, metavar="NAME", help="cpu, cuda or mps (default: as the preset)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    for title, config, texts in (
        ("the model", GPTConfig, MODEL),
        ("the training", TrainingConfig, TRAINING),
    ):
        group = parser.add_argument_group(title)
        kinds = {field.name: field.type for field in dataclasses.fields(config)}
        for name, text in texts.items():
            kind = next((plain for plain in (int, str) if kinds[name] is plain), float)
            usual = " / ".join(str(_usual(name, preset)) for preset in PRESETS)
            group.add_argument(
                f"--{name.replace('_', '-')}",
                type=kind,
                metavar=kind.__name__.upper(),
                help=f"{text} ({' / '.join(PRESETS)}: {usual})",
            )
    return parser


def _usual(name: str, preset: str) -> object:
    """What a preset has for a field, or the default of its configuration."""
    for part, config in (("model", GPTConfig), ("training", TrainingConfig)):
        if name in PRESETS[preset][part]:
            return PRESETS[preset][part][name]
        for field in dataclasses.fields(config):
            if field.name == name and field.default is not dataclasses.MISSING:
                usual = field.default
    return usual


def _device(options: argparse.Namespace) -> torch.device:
    try:
        device = torch.device(options.device or ("cuda" if options.preset == "gpu" else "cpu"))
    except RuntimeError as error:
        raise ValueError(f"--device {options.device}: cpu, cuda and mps are known") from error
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(device.type, False):
        raise ValueError(f"there is no {device.type} here; take --preset cpu, or --device cpu")
    return device


def _train(options: argparse.Namespace, us: DistributedContext) -> int:
    before = checkpoints.load(Path(options.out)) if options.resume else None
    try:
        base = _base(options, before)
        text, tokenizer, model, config = _made(base, before)
    except (TypeError, RuntimeError, MemoryError) as error:
        raise ValueError(f"this model or training cannot be made: {error}") from error
    train_ids, validation_ids = corpus.split(tokenizer.encode(text))
    extra = base | every_field(base["model"], base["training"])
    extra |= {"vocab": list(tokenizer.vocab), "text_sha256": _sha256(text)}
    outcome = fit(
        model.to(us.device),
        train_ids,
        validation_ids,
        config,
        folder=options.out,
        resume=options.resume,
        extra=extra,
        progress=not options.quiet,
        team=us,
    )
    if us.is_main:
        _report(options, outcome, config, text, tokenizer.unit)
    return EXIT_SIGINT if outcome.interrupted else 0


def _made(base: dict, before: checkpoints.Checkpoint | None):
    """The text, its tokenizer, a new model and its training, of their fields."""
    text = corpus.load(base["text"])
    if before is not None and _sha256(text) != before.extra["text_sha256"]:
        raise CheckpointError(f"the text {base['text']} is not the one that the run began with")
    tokenizer = corpus.TOKENIZERS[base["tokens"]](text)
    shape = GPTConfig(vocab_size=len(tokenizer), **base["model"])
    config = training_config(base["training"], context=shape.context)
    model = GPT(shape, generator=torch.Generator().manual_seed(config.seed))
    return text, tokenizer, model, config


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _base(options: argparse.Namespace, before: checkpoints.Checkpoint | None) -> dict:
    """Text, model and training as plain values: the preset's or the run's, with what was given."""
    base: dict[str, Any]
    if before is None:
        base = {
            "text": options.text or "tales",
            "tokens": options.tokens or "characters",
            **PRESETS[options.preset],
        }
    else:
        if missing := {"text", "model", "training", "text_sha256"} - before.extra.keys():
            raise CheckpointError(f"{options.out} is of no run of this command: no {min(missing)}")
        base = {name: before.extra[name] for name in ("text", "model", "training")}
        kinds = zip(base.items(), (str, dict, dict), strict=True)
        if wrong := [name for (name, value), kind in kinds if not isinstance(value, kind)]:
            raise CheckpointError(f"{options.out} is of no run of this command: no {wrong[0]}")
        if (tokens := before.extra.get("tokens", "characters")) not in list(corpus.TOKENIZERS):
            raise CheckpointError(f"{options.out} has tokens that are not known here: {tokens}")
        base["tokens"] = tokens
        was = {**base, **base["model"], **base["training"]}
        given = vars(options) | {"text": options.text and _place(options.text)}
        for name in ("text", "tokens", *MODEL, *TRAINING):
            if given[name] not in (None, was.get(name)):
                flag = f"--{name.replace('_', '-')} {getattr(options, name)}"
                raise ValueError(f"{flag}: the run in {options.out} has {was.get(name)}")
    base["text"] = _place(base["text"])
    for part, names in (("model", MODEL), ("training", TRAINING)):
        given = {name: getattr(options, name) for name in names}
        base[part] = base[part] | {n: value for n, value in given.items() if value is not None}
    if before is None and options.warmup is None:  # the preset's may be too long
        base["training"]["warmup"] = min(base["training"]["warmup"], base["training"]["steps"])
    return base


def _place(text: str) -> str:
    """The text's name, or the whole path of its file: a run may be resumed from another folder."""
    return str(Path(text).resolve()) if Path(text).is_file() else text


def _report(options, outcome, config: TrainingConfig, text: str, unit: str) -> None:
    last = outcome.records[-1]
    if outcome.interrupted:
        say(
            f"stopped after {len(outcome.records)} of {config.steps} steps, and saved; "
            f"go on with: {_resume(options)}"
        )
        return
    say(
        f"validation loss {last.validation:.4f} nats a {unit} after {config.steps} steps "
        f"({last.seconds:.0f} s of training)"
    )
    prompt = "The " if "The " in text else text[:1]
    out = shlex.quote(str(options.out))
    say(f"next: python -m helpers.generate {out} --prompt {shlex.quote(prompt)}")


def _resume(options: argparse.Namespace) -> str:
    device = f" --device {options.device}" if options.device else ""
    preset = f" --preset {options.preset}" if options.preset != "cpu" else ""
    out = shlex.quote(str(options.out))
    return f"python -m helpers.train --out {out}{preset}{device} --resume"


if __name__ == "__main__":
    sys.exit(main())
