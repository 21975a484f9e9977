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
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from helpers import corpus, tokenizers
from helpers.console import EXIT_SIGINT, command
from helpers.gpt import GPT, GPTConfig
from helpers.training import CheckpointError, Outcome, TrainingConfig, checkpoints, fit
from helpers.training.fit import SAMPLE
from helpers.training.options import MODEL, TRAINING, make_parser
from helpers.training.presets import PRESETS
from helpers.training.processes import DistributedContext, distributed_context


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Exit status: 0, 1 where the run broke, others as in `command`."""
    options = make_parser().parse_args(arguments)
    try:
        with distributed_context(_device(options)) as distributed:
            return _train(options, distributed)
    except FloatingPointError as error:
        print(f"\nthe run has ended: {error}", file=sys.stderr)
        if checkpoints.list_checkpoints(Path(options.out)):
            print(f"continue from the last checkpoint: {_resume(options)}", file=sys.stderr)
        return 1


def every_field(model: Mapping, training: Mapping) -> dict[str, dict]:
    """Each field of a model and of its training as JSON, defaults included.

    Left out are vocab_size, which comes from the text, and the context of the training, which is
    the model's.
    """
    fields = dataclasses.asdict(GPTConfig(vocab_size=1, **model))
    settings = dataclasses.asdict(training_config(training, context=fields["context"]))
    del fields["vocab_size"], settings["context"]
    return json.loads(json.dumps({"model": fields, "training": settings}))


def training_config(training: Mapping, **more) -> TrainingConfig:
    """The TrainingConfig of fields that may come from JSON, where a tuple is a list."""
    fields: dict[str, Any] = {
        n: tuple(v) if isinstance(v, list) else v for n, v in {**training, **more}.items()
    }
    return TrainingConfig(**fields)


def _device(options: argparse.Namespace) -> torch.device:
    name = options.device or ("cuda" if options.preset == "gpu" else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # torch's, where it was built without one
        raise ValueError(f"no {name} available; use --preset cpu, or --device cpu") from error


def _train(options: argparse.Namespace, distributed: DistributedContext) -> int:
    before = checkpoints.load(Path(options.out)) if options.resume else None
    try:
        settings = _settings(options, before, distributed.device)
        text, tokenizer, model, config = _build(settings, before)
    except (TypeError, RuntimeError, MemoryError) as error:
        raise ValueError(f"cannot build this model or training: {error}") from error
    train_ids, validation_ids = corpus.split(tokenizer.encode(text))
    extra = settings | every_field(settings["model"], settings["training"])
    extra |= {"vocab": list(tokenizer.vocab), "text_sha256": _sha256(text)}
    outcome = fit(
        model.to(distributed.device),
        train_ids,
        validation_ids,
        config,
        folder=options.out,
        resume=options.resume,
        extra=extra,
        progress=not options.quiet,
        whole=options.whole,
        distributed=distributed,
    )
    if distributed.is_main:
        _draw(Path(options.out), outcome)
        sampled = len(validation_ids) > SAMPLE and not options.whole
        measured = " (on a sample of the held-out text; --whole takes all of it)" if sampled else ""
        _report(options, outcome, config, text, tokenizer.unit + measured)
    return EXIT_SIGINT if outcome.interrupted else 0


def _build(settings: dict, before: checkpoints.Checkpoint | None):
    """The text, its tokenizer, a new model and the configuration of its training."""
    try:
        text = corpus.load(settings["text"])
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}; --text names the file, wherever it is now") from error
    if before is not None and _sha256(text) != before.extra["text_sha256"]:
        raise CheckpointError(f"the text {settings['text']} is not the one of the run")
    tokenizer = tokenizers.TOKENIZERS[settings["tokens"]](text)
    model_config = GPTConfig(vocab_size=len(tokenizer), **settings["model"])
    config = training_config(settings["training"], context=model_config.context)
    model = GPT(model_config, generator=torch.Generator().manual_seed(config.seed))
    return text, tokenizer, model, config


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _settings(
    options: argparse.Namespace, before: checkpoints.Checkpoint | None, device: torch.device | None
) -> dict:
    """Text, model and training as JSON: the preset's, changed by the options, or the run's."""
    given = {name: getattr(options, name) for name in ("text", "tokens", *MODEL, *TRAINING)}
    given = {name: value for name, value in given.items() if value is not None}
    if "text" in given:
        given["text"] = _absolute(given["text"])
    if before is not None:
        return _stored_settings(options.out, before.extra, given)
    preset = PRESETS[options.preset]
    usual = {"text": "tales", "tokens": "characters"}
    settings = {name: given.get(name, preset.get(name, it)) for name, it in usual.items()}
    for part, names in (("model", MODEL), ("training", TRAINING)):
        settings[part] = preset[part] | {name: given[name] for name in names if name in given}
    training = settings["training"]
    if "warmup" not in given:  # the preset's may be too long
        training["warmup"] = min(training["warmup"], training["steps"])
    if "precision" not in given and not _multiplies_bfloat16(device or torch.device("cpu")):
        training["precision"] = "float32"
    return settings


def _multiplies_bfloat16(device: torch.device) -> bool:
    """Whether a device has products in bfloat16; one that only emulates them is slower with it."""
    if device.type == "cpu":
        built = torch.backends.mkldnn.is_available()  # without oneDNN there is no such op
        return built and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return device.type != "cuda" or torch.cuda.is_bf16_supported(False)


def _stored_settings(out: str, extra: Mapping, given: Mapping) -> dict:
    """The settings of a run. Raises ValueError where an option differs from them.

    The text may be elsewhere now, its SHA-256 is compared later. Steps may be more.
    """
    settings = {"tokens": "characters"} | {
        name: extra[name] for name in ("text", "tokens", "model", "training") if name in extra
    }
    missing = {"text", "model", "training", "text_sha256"} - extra.keys()
    if missing or settings["tokens"] not in tokenizers.TOKENIZERS:
        raise CheckpointError(f"{out} is not a run of this command")
    settings["text"] = given.get("text", _absolute(settings["text"]))
    if "steps" in given:
        settings["training"] = settings["training"] | {"steps": given["steps"]}
    stored = {**settings, **settings["model"], **settings["training"]}
    for name, value in given.items():
        if value != stored.get(name):
            flag = f"--{name.replace('_', '-')} {value}"
            raise ValueError(f"{flag}: the run in {out} has {stored.get(name)}")
    return settings


def _absolute(text: str) -> str:
    """The text's name, or the absolute path of its file: a run may be resumed from elsewhere."""
    is_file = text not in corpus.KNOWN and Path(text).is_file()
    return str(Path(text).resolve()) if is_file else text


def _draw(folder: Path, outcome: Outcome) -> None:
    """Write a picture of the losses beside their records."""
    from matplotlib.figure import Figure

    from helpers.figures.losses import draw_losses

    figure = Figure(figsize=(7, 4), layout="constrained")
    steps, losses = zip(*((r.step + 1, r.loss) for r in outcome.records), strict=True)
    seen = {r.step + 1: r.validation for r in outcome.records if r.validation is not None}
    draw_losses(figure.add_subplot(), steps, losses, {}, validation=seen)
    figure.savefig(folder / "losses.svg")


def _report(options, outcome: Outcome, config: TrainingConfig, text: str, unit: str) -> None:
    last = outcome.records[-1]
    if outcome.interrupted:
        print(
            f"stopped after {len(outcome.records)} of {config.steps} steps, and saved; "
            f"continue with: {_resume(options)}"
        )
        return
    print(
        f"validation loss {last.validation:.4f} nats per {unit} after {config.steps} steps "
        f"({last.seconds:.0f} s of training)"
    )
    prompt = "The " if "The " in text else text.strip()[:1]
    print(f"next: {_shell('generate', options.out, '--prompt', prompt)}")


def _resume(options: argparse.Namespace) -> str:
    device = ["--device", options.device] if options.device else []
    preset = ["--preset", options.preset] if options.preset != "cpu" else []
    return _shell("train", "--out", options.out, *preset, *device, "--resume")


def _shell(command: str, *options: str) -> str:
    """A command of helpers as this machine's shell takes it, with the Python that runs now."""
    words = [sys.executable, "-m", f"helpers.{command}", *options]
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


if __name__ == "__main__":
    sys.exit(main())
