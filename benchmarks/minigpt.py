"""The GPT of chapters 1 to 11, as it stands in helpers/minigpt.py, trained on the valley's tales.

``python benchmarks/minigpt.py`` trains it with words as tokens, by the loop that the book builds,
stores its numbers in 16 bits in helpers/data/minigpt.safetensors, and writes
helpers/data/results/minigpt.json: its loss beside the entropy of the tales and ten texts, none
left out.
"""

import json
import math
import re
import time

import torch
from common import RESULTS, about
from safetensors.torch import load_file, save_file
from valley import lengths, losses

from helpers import corpus, valley
from helpers.files import write_text
from helpers.minigpt import GPT, WORDS, Tokenizer, generate, train

SIZES = {"T": 192, "C": 128, "H": 4, "L": 4}
STEPS, BATCH, LR = 2400, 8, 0.003
SEEDS, TOKENS, TEMPERATURE = range(10), 240, 0.5
SHIPPED = RESULTS.parent / "minigpt.safetensors"


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


def main() -> None:
    """Train, ship, measure and store."""
    torch.manual_seed(0)
    tokenizer = Tokenizer(valley.text(), WORDS)
    train_N, validation_N = corpus.split(tokenizer.encode(valley.text()))
    model, began, curve = GPT(len(tokenizer.vocab), **SIZES), time.perf_counter(), []
    for step, loss in train(model, train_N, STEPS, BATCH, LR):
        curve.append(loss)
        if step % 100 == 0:
            print(step, f"{sum(curve[-100:]) / 100:.3f}", flush=True)
    minutes = (time.perf_counter() - began) / 60
    save_file({name: tensor.half() for name, tensor in model.state_dict().items()}, SHIPPED)
    model.load_state_dict(load_file(SHIPPED))
    model.eval()
    texts = [written(model, tokenizer, seed) for seed in SEEDS]
    read = tokenizer.decode(train_N)
    whole = [sentence for text in texts for sentence in sentences(text)]
    held_out = next(corpus.windows(validation_N, model.T, batch_size=256))
    bits, _ = losses(model, *held_out, lengths(tokenizer))
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
    found = {
        "title": "The reader's GPT, trained on the tales of the valley",
        "claim": "The model and the loop are those of helpers/minigpt.py",
        "learned": {**here, "columns": ["measured", ""], "rows": rows},
        "curve": {
            **here,
            "columns": ["step", "mean loss of the 100 steps before it, nats a token"],
            "rows": [
                [n, round(sum(curve[n - 100 : n]) / 100, 4)] for n in range(100, STEPS + 1, 100)
            ],
        },
        "texts": {
            **here,
            "seeds": list(SEEDS),
            "columns": ["seed", "text"],
            "claim": f"None left out; up to {TOKENS} tokens at temperature {TEMPERATURE}",
            "rows": [[seed, text] for seed, text in zip(SEEDS, texts, strict=True)],
        },
    }
    write_text(RESULTS / "minigpt.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
