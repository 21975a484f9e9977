"""The GPT of chapters 1 to 11, as it stands in helpers/minigpt.py, trained on the valley's tales.

``python benchmarks/minigpt.py mine.safetensors`` trains it with words as tokens, by the loop that
the book builds, and keeps it in 16 bits in that file. With ``--ship`` the file is the book's,
helpers/data/minigpt.safetensors, and helpers/data/results/minigpt.json is written too: its loss
beside the entropy of the tales, ten texts, none left out, and what rounding to fewer bits costs.
With ``--rounding`` it only measures the last, on the model that ships, in a minute on one core.
"""

import copy
import json
import math
import re
import sys
import time

import torch
import torch.nn.functional as F
from common import RESULTS, about
from torch import Tensor

from helpers import checkpoint, corpus, valley
from helpers.embeddings import quantised
from helpers.files import write_text
from helpers.minigpt import GPT, WORDS, Tokenizer, generate, train

SIZES = {"T": 192, "C": 128, "H": 4, "L": 4}
STEPS, BATCH, LR = 2400, 8, 0.003
SEEDS, TOKENS, TEMPERATURE = range(10), 240, 0.5
FILE = RESULTS / "minigpt.json"
BITS = 8, 6, 5, 4, 3  # the page has 8
WINDOWS = 64  # of held-out tales, on which rounding is judged


def entropy(text: str) -> tuple[float, int]:
    """Bits a character of the whole tales at the end of the corpus, and how many they are."""
    text = text[text.index(valley.BETWEEN) + len(valley.BETWEEN) :]
    many = text.count(valley.BETWEEN) + 1
    nats = sum(nats for _, nats in valley.tales()[-many:])
    return nats / len(text) / math.log(2), many


def sentences(text: str) -> list[str]:
    """The whole sentences of a text, quotation marks and all."""
    return [s for s in re.split(r"(?<=[.!?])[”\"’']*\s+", text) if s.endswith((".", "!", "?"))]


def written(model: GPT, tokenizer: Tokenizer, seed: int) -> str:
    """A tale from its beginning, up to the end or 240 tokens."""
    torch.manual_seed(seed)
    start_BT = tokenizer.encode(valley.BETWEEN)[None]
    text = tokenizer.decode(generate(model, start_BT, TOKENS, TEMPERATURE)[0])
    return text.removeprefix(valley.BETWEEN).partition(valley.BETWEEN)[0]


@torch.no_grad()
def bits_a_character(model: GPT, tokenizer: Tokenizer, x_NT: Tensor, y_NT: Tensor) -> float:
    """Loss of windows, by the length of the tokens to be predicted."""
    nats = sum(
        F.cross_entropy(model(x_BT).mT, y_BT, reduction="sum")
        for x_BT, y_BT in zip(x_NT.split(8), y_NT.split(8), strict=True)
    )
    letters_V = torch.tensor([len(token) for token in tokenizer.vocab])
    return (nats / math.log(2) / letters_V[y_NT].sum()).item()


@torch.no_grad()
def rounded(model: GPT, bits: int) -> tuple[GPT, int]:
    """A copy with every matrix rounded, and its bytes: codes, scales and vectors in float32."""
    copied, size = copy.deepcopy(model), 0
    for parameter in copied.parameters():
        if parameter.ndim == 1:
            size += 4 * parameter.numel()
            continue
        codes, scales = quantised(parameter, bits)
        parameter.copy_(codes * scales)
        size += -(-codes.numel() * bits // 8) + 4 * scales.numel()
    return copied, size


@torch.no_grad()
def rounding(many: int = WINDOWS, all_bits=BITS) -> dict:
    """What rounding the shipped model's matrices costs on held-out tales."""
    model, tokenizer = checkpoint.load()
    _, validation_N = corpus.split(tokenizer.encode(valley.text()))
    x_NT, y_NT = next(corpus.windows(validation_N, model.T, batch_size=many))
    exact_NTV, rows = model(x_NT), []
    exact = F.cross_entropy(exact_NTV.mT, y_NT)
    for bits in all_bits:
        other, size = rounded(model, bits)
        logits_NTV = other(x_NT)
        loss, apart = F.cross_entropy(logits_NTV.mT, y_NT), (logits_NTV - exact_NTV).abs()
        row = [bits, size, f"{loss:.4f}", f"{loss - exact:+.5f}"]
        rows.append([*row, f"{apart.max():.2f}", f"{apart.mean():.4f}"])
    columns = ["bits a number", "bytes", "loss on held-out tales, nats a token", "change"]
    columns += ["largest difference of a logit", "mean difference"]
    claim = f"Each matrix with a scale for each row; {many} windows of {model.T} tokens"
    return about(__file__, [], claim=claim, columns=columns, rows=rows)


def store(**parts) -> None:
    """Put parts into the stored file; the others stay as they were."""
    found = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    write_text(FILE, json.dumps(found | parts, indent=1, ensure_ascii=False) + "\n")


def main(path: str) -> None:
    """Train and keep; what ships is measured and stored."""
    torch.manual_seed(0)
    tokenizer = Tokenizer(valley.text(), WORDS)
    train_N, validation_N = corpus.split(tokenizer.encode(valley.text()))
    model, began, curve = GPT(len(tokenizer.vocab), **SIZES), time.perf_counter(), []
    for step, loss in train(model, train_N, STEPS, BATCH, LR):
        curve.append(loss)
        if step % 100 == 0:
            print(step, f"{sum(curve[-100:]) / 100:.3f}", flush=True)
    minutes = (time.perf_counter() - began) / 60
    ships = path == "--ship"
    checkpoint.save(checkpoint.SHIPPED if ships else path, model, tokenizer, torch.float16)
    if not ships:
        return
    model, tokenizer = checkpoint.load()
    texts = [written(model, tokenizer, seed) for seed in SEEDS]
    read = tokenizer.decode(train_N)
    whole = [sentence for text in texts for sentence in sentences(text)]
    held_out = next(corpus.windows(validation_N, model.T, batch_size=256))
    bits = bits_a_character(model, tokenizer, *held_out)
    bound, tales = entropy(tokenizer.decode(validation_N))
    here = about(__file__, [0]) | {"device": f"CPU, {torch.get_num_threads()} threads"}
    rows = [
        ["parameters", f"{sum(p.numel() for p in model.parameters()):,}"],
        ["minutes of training, whatever else ran", f"{minutes:.1f}"],
        ["loss of the last 100 steps, nats a token", f"{sum(curve[-100:]) / 100:.3f}"],
        ["loss on held-out tales, bits a character", f"{bits:.3f}"],
        [f"entropy of the {tales} tales held out, bits a character", f"{bound:.3f}"],
        ["whole sentences in the ten texts", str(len(whole))],
        ["of these, in the training text, too", str(sum(s in read for s in whole))],
    ]
    store(
        title="The reader's GPT, trained on the tales of the valley",
        claim="The model and the loop are those of helpers/minigpt.py",
        learned={**here, "columns": ["measured", ""], "rows": rows},
        curve={
            **here,
            "columns": ["step", "mean loss of the 100 steps before it, nats a token"],
            "rows": [
                [n, round(sum(curve[n - 100 : n]) / 100, 4)] for n in range(100, STEPS + 1, 100)
            ],
        },
        texts={
            **here,
            "seeds": list(SEEDS),
            "columns": ["seed", "text"],
            "claim": f"None left out; up to {TOKENS} tokens at temperature {TEMPERATURE}",
            "rows": [[seed, text] for seed, text in zip(SEEDS, texts, strict=True)],
        },
        rounding=rounding(),
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/minigpt.py mine.safetensors | --ship | --rounding")
    if sys.argv[1] == "--rounding":
        torch.set_num_threads(1)
        store(rounding=rounding())
    else:
        main(sys.argv[1])
