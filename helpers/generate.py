"""The command that samples from a trained GPT: `python -m helpers.generate --help`."""

import signal
import sys

if __name__ == "__main__":  # Ctrl-C while torch is being loaded ends it without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from helpers.console import command
from helpers.gpt import GPT, GPTConfig
from helpers.tokenizers import CharTokenizer, PieceTokenizer
from helpers.training import CheckpointError, checkpoints
from helpers.training.config import SEEDS

EPILOG = """\
examples:
  python -m helpers.generate runs/tales --prompt "The fox"
  python -m helpers.generate runs/tales --temperature 0.5 --length 1000 --seed 3
"""
OPTIONS: dict[str, tuple[type, Any, str]] = {
    "prompt": (str, None, "start of the text (default: a new line, or the first character)"),
    "length": (int, 500, "tokens to generate: characters or words, as trained"),
    "temperature": (float, 0.8, "0: always the likeliest token; 1: as trained; more: bolder"),
    "top-k": (int, None, "sample from so many likeliest tokens only"),
    "top-p": (float, 1.0, "sample from the fewest tokens whose probabilities sum to this"),
    "seed": (int, 0, "of the random draws"),
}


def open_model(path: str | Path) -> tuple[GPT, CharTokenizer | PieceTokenizer]:
    """The model of a checkpoint that helpers.train wrote, on the CPU, and its tokenizer.

    path: a checkpoint, or the folder of a run, for its last one. Raises CheckpointError where it
    cannot be read, or was not written by helpers.train.
    """
    checkpoint = checkpoints.load(Path(path))
    shape, vocab = checkpoint.extra.get("model"), checkpoint.extra.get("vocab")
    if not isinstance(shape, dict) or not isinstance(vocab, list):
        raise CheckpointError(f"{path} is not of helpers.train: it has no model and vocab")
    try:
        of_words = any(len(token) > 1 for token in vocab)
        tokenizer = PieceTokenizer.from_vocab(vocab) if of_words else CharTokenizer("".join(vocab))
        if list(tokenizer.vocab) != vocab:
            raise ValueError("its vocab must be sorted, each token once")
        config = GPTConfig(vocab_size=len(tokenizer), **shape)
        model = GPT(config, generator=torch.Generator().manual_seed(0))
    except (TypeError, ValueError, RuntimeError, MemoryError) as error:
        raise CheckpointError(f"{path} has an unknown kind of model: {error}") from error
    checkpoints.restore_model(model, checkpoint.model)
    return model.eval(), tokenizer


def make_parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.generate",
        description="Continue a prompt with a GPT trained by python -m helpers.train.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "checkpoint",
        metavar="CHECKPOINT",
        help="the folder of a run (its last checkpoint), or a checkpoint in it",
    )
    for name, (kind, default, text) in OPTIONS.items():
        shown = "" if default is None else f" (default: {default})"
        parser.add_argument(f"--{name}", type=kind, default=default, help=text + shown)
    return parser


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Exit status: 0, others as in `command`."""
    options = make_parser().parse_args(arguments)
    if options.prompt == "":
        raise ValueError("--prompt: at least one character is needed")
    if not 0 <= options.seed < SEEDS:
        raise ValueError(f"--seed {options.seed} must lie in 0..2^64 - 1")
    model, tokenizer = open_model(options.checkpoint)
    vocab = tokenizer.vocab
    prompt = options.prompt or ("\n" if "\n" in vocab else vocab[0])
    generator = torch.Generator().manual_seed(options.seed)
    ids_BT = model.generate(
        tokenizer.encode(prompt)[None],
        options.length,
        generator=generator,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
    )
    print(tokenizer.decode(ids_BT[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
