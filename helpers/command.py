"""The command `python -m helpers.minigpt my.txt`: train minigpt's GPT on a text, and let it write.

Given the `my.safetensors` that it kept, it only writes.
"""

import argparse
import os
import signal
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import torch
import torch.nn.functional as F

from helpers import checkpoint, corpus
from helpers.minigpt import GPT, WORDS, Tokenizer, generate, get_batch, train

FIRST = (0, 10, 50, 100)  # steps after which the model writes, besides every 200


def write(model, tokenizer, beginning, n=300):
    """Print a beginning and n more tokens. Raises ValueError where the model does not know one."""
    try:
        ids_BT = tokenizer.encode(beginning)[None]
    except KeyError as error:
        raise ValueError(f"it has never read {error}: try another beginning") from error
    print(beginning, end="")
    for _ in range(n):
        ids_BT = generate(model, ids_BT, 1, temperature=0.8)
        print(tokenizer.decode(ids_BT[0, -1:]), end="", flush=True)
    print()


def learn(path, pattern):
    """Train on the text at a path, and keep the model beside it; Ctrl-C ends it early."""
    torch.manual_seed(0)
    text, kept = corpus.load(path), Path(path).expanduser().with_suffix(".safetensors")
    if kept.resolve().parent == checkpoint.SHIPPED.parent or not os.access(kept.parent, os.W_OK):
        raise OSError(f"the model cannot be kept in {kept.parent}: copy the text to another folder")
    tokenizer = Tokenizer(text, pattern)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ids, V = tokenizer.encode(text).to(device), len(tokenizer.vocab)
    model = GPT(V, T=64, C=128, H=4, L=4, dropout=0.1).to(device)
    if len(ids) < 10 * (model.T + 1):  # a tenth is kept unseen
        raise ValueError(f"{path} holds {len(ids)} tokens; {10 * (model.T + 1)} are needed")
    train_N, unseen_N = corpus.split(ids)

    def look(step):
        with torch.no_grad():
            x_BT, y_BT = get_batch(unseen_N, 32, model.T)
            unseen = F.cross_entropy(model.eval()(x_BT).mT, y_BT)
        print(f"\nstep {step}, loss {unseen:.2f} on text that it has not seen:")
        written_BT = generate(model, train_N[None, :10], 150, temperature=0.8)
        print(tokenizer.decode(written_BT[0]), flush=True)

    print(f"{len(ids):,} tokens, {V:,} different ones; Ctrl-C ends the training early")
    step = 0
    try:
        look(0)
        for step, _ in train(model, train_N, 2000, batch=12, lr=0.003):
            if step in FIRST or step % 200 == 0:
                look(step)
    except KeyboardInterrupt:
        if step == 0:
            raise
    names = (kept.with_stem(f"{kept.stem}-{n}" if n > 1 else kept.stem) for n in count(1))
    kept = next(name for name in names if not name.exists())
    checkpoint.save(kept, model, tokenizer)
    print(f"\nAfter {step} steps the model is kept in {kept}.")
    return model.cpu(), tokenizer


def main(path, pattern):
    """Train, or open a model, and ask for beginnings until there are no more."""
    opens = Path(path).suffix == ".safetensors"
    model, tokenizer = checkpoint.load(path) if opens else learn(path, pattern)
    while True:
        try:
            beginning = input("\nHow should it begin? (Enter alone ends) ")
        except (EOFError, KeyboardInterrupt):
            beginning = ""
        if not beginning:
            return
        try:
            write(model, tokenizer, beginning)
        except ValueError as error:
            print(error)
        except KeyboardInterrupt:
            print()


@contextmanager
def one_line(stopped):
    """In a console: an error becomes one line and an exit status, and so does Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # A console may lack a letter.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        yield
    except ModuleNotFoundError as error:
        sys.exit(f"error: it needs the package {error.name}: `pip install {error.name}`")
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(stopped)


def run(arguments):
    """The same from a console."""
    parser = argparse.ArgumentParser("python -m helpers.minigpt", description=__doc__)
    parser.add_argument("path", help="a text in UTF-8, or a model that was kept")
    parser.add_argument("--words", action="store_true", help="words as tokens, not characters")
    given = parser.parse_args(arguments)
    with one_line("stopped, and nothing is kept"):
        main(given.path, WORDS if given.words else r"(?s).")
