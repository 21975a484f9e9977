"""The command `python -m helpers.minigpt my.txt`: train minigpt's GPT on a text, and keep it."""

import sys

import torch
import torch.nn.functional as F

from helpers import checkpoint, corpus
from helpers.minigpt import GPT, Tokenizer, generate, get_batch, train


def main(path):
    """Train on the text at a path and let the model write on the way; Ctrl-C ends it early."""
    torch.manual_seed(0)
    text = corpus.load(path, context=1_000)
    tokenizer = Tokenizer(text)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train_N, unseen_N = corpus.split(tokenizer.encode(text).to(device))
    model = GPT(len(tokenizer.vocab), T=64, C=128, H=4, L=4, dropout=0.1).to(device)

    def look(step, loss):
        with torch.no_grad():
            x_BT, y_BT = get_batch(unseen_N, 32, model.T)
            unseen = F.cross_entropy(model.eval()(x_BT).mT, y_BT)
        print(f"\nstep {step}: loss {loss:.2f}, and {unseen:.2f} on text that it has not seen")
        written_BT = generate(model, train_N[None, :10], 300, temperature=0.8)
        print(tokenizer.decode(written_BT[0]), flush=True)

    print(f"{len(text):,} characters, {len(tokenizer.vocab)} different ones; Ctrl-C ends it early")
    step, loss = 0, float("nan")
    try:
        for step, loss in train(model, train_N, 2000, batch=12, lr=0.003):
            if step % 200 == 0:
                look(step, loss)
    except KeyboardInterrupt:
        look(step, loss)
    checkpoint.save(f"{path}.safetensors", model, tokenizer)
    print(f"\nThe model is kept in {path}.safetensors, which helpers.checkpoint.load opens.")


def run(arguments):
    """The same from a console: an error becomes one line and an exit status."""
    if len(arguments) != 1:
        sys.exit("usage: python -m helpers.minigpt my.txt")
    # A console may lack a letter.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        main(arguments[0])
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("stopped")
