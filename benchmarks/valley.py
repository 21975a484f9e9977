"""The GPT to try on the first page: trained on the tales of the valley, and what it makes of them.

``python benchmarks/valley.py`` trains it by the command (`COMMAND`; it goes on where it was
stopped), ships it in helpers/data/checkpoints/valley with its numbers in 16 bits, and writes
helpers/data/results/valley.json: its loss beside the entropy of the tales, what rounding costs it,
and twenty texts. Ten minutes on one idle core.
"""

import contextlib
import hashlib
import io
import json
import math
import re
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from common import RESULTS, about
from gpt_rounding import COLUMNS, compared
from torch import Tensor

from helpers import corpus, generate, train, valley
from helpers.chapters.ch12_inside_the_gpt.lab import SHIPPED, ship
from helpers.files import write_text
from helpers.generate import open_model
from helpers.training import checkpoints

RUN = "runs/valley"
COMMAND = f"--preset valley --text valley --tokens words --out {RUN}"
WRITE = "--prompt {prompt} --length 90 --temperature 0.5"
PROMPT = "The fox"
SEEDS = range(20)
STRETCH = 60  # letters in a row, looked for in the training text
BITS = 8  # a number, in the page
JUDGED = Path(__file__).with_name("valley_judged.json")  # what readers said of each text
WRITERS = {
    "tales": "the GPT of chapter 12, by letters",
    "valley": "the GPT of the first page, by words",
}
TITLE = "The GPT to try on the first page, and the tales of the valley"
CLAIM = (
    "The tales are told by a grammar (helpers/valley.py), so their entropy is known; on average no "
    "model can have a lower loss on new ones"
)


def trained() -> None:
    """Train by the command, and ship the model in 16 bits a number."""
    more = ["--resume"] if checkpoints.every(Path(RUN)) else []
    if (status := train.main([*COMMAND.split(), "--quiet", *more])) != 0:
        raise RuntimeError(f"the command ended with status {status}")
    whole = checkpoints.load(Path(RUN))
    model = {name: tensor.half() for name, tensor in whole.model.items()}
    kept = [record for record in whole.records if record["validation"] is not None]
    ship("valley", whole.step, model, whole.config, kept, whole.extra)


@cache
def held_out() -> tuple[str, str]:
    """The text that the model has read, and the tales after it, from the first whole one on."""
    text = corpus.load("valley")
    tokenizer = corpus.PieceTokenizer(text)
    read = tokenizer.decode(corpus.split(tokenizer.encode(text))[0])
    return read, text[text.index(valley.BETWEEN, len(read)) + len(valley.BETWEEN) :]


def entropy() -> float:
    """Bits a letter of the tales held out."""
    many = held_out()[1].count(valley.BETWEEN) + 1
    nats = sum(nats for _, nats in valley.tales()[-many:])
    return nats / len(held_out()[1]) / math.log(2)


@torch.no_grad()
def losses(model, x_NT: Tensor, y_NT: Tensor, letters_V: Tensor) -> tuple[float, float]:
    """Bits a letter: of whole windows, and of their second halves, which see half a window.

    letters_V: how many letters each token has.
    """
    parts = [
        F.cross_entropy(model(x_BT).mT, y_BT, reduction="none")
        for x_BT, y_BT in zip(x_NT.split(8), y_NT.split(8), strict=True)
    ]
    bits_NT, letters_NT = torch.cat(parts) / math.log(2), letters_V[y_NT]
    half = y_NT.shape[1] // 2
    whole, second = (
        bits_NT.sum() / letters_NT.sum(),
        bits_NT[:, half:].sum() / letters_NT[:, half:].sum(),
    )
    return whole.item(), second.item()


def lengths(tokenizer) -> Tensor:
    """How many letters each token has."""
    return torch.tensor([len(token) for token in tokenizer.vocab])


def windows(many: int = 256) -> tuple[Tensor, Tensor]:
    """Windows of the tales held out, and what follows each token, (N, T) each."""
    model, tokenizer = open_model(SHIPPED / "valley")
    ids = tokenizer.encode(held_out()[1])
    x_NT, y_NT = next(corpus.windows(ids, model.config.context, batch_size=many))
    return x_NT, y_NT


def written(seed: int, checkpoint: Path = SHIPPED / "valley", prompt: str = PROMPT) -> str:
    """What the command prints, for a seed."""
    how = [prompt if part == "{prompt}" else part for part in WRITE.split()]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        generate.main([str(checkpoint), *how, "--seed", str(seed)])
    return printed.getvalue()


def shown(text: str) -> str:
    """A text on one line, as it stands in a table."""
    return re.sub(r"\n+", " / ", text.strip())


def share_copied(texts: list[str], read: str) -> float:
    """The share of all stretches of 60 letters that stand in the text that was read."""
    known = {read[at : at + STRETCH] for at in range(len(read) - STRETCH + 1)}
    stretches = [t[at : at + STRETCH] for t in texts for at in range(len(t) - STRETCH + 1)]
    return sum(stretch in known for stretch in stretches) / len(stretches)


def learned(samples: list[str]) -> list[list]:
    """Rows of what is measured, and its number."""
    x_NT, y_NT = windows()
    read, new = held_out()
    model, tokenizer = open_model(SHIPPED / "valley")
    whole, second = losses(model, x_NT, y_NT, lengths(tokenizer))
    seen = model.config.context // 2
    return [
        ["entropy of the tales, bits a letter", f"{entropy():.3f}"],
        ["loss on held-out tales, bits a letter", f"{whole:.3f}"],
        [f"the same, of tokens with {seen} others before them", f"{second:.3f}"],
        [
            "share of 60 letters in a row that the training text has, of the twenty texts",
            f"{share_copied(samples, read):.3f}",
        ],
        ["the same, of held-out tales", f"{share_copied(new.split(valley.BETWEEN), read):.3f}"],
    ]


def judged(samples: list[str]) -> dict:
    """The part with what blind readers said of these texts, counted; none if they read others."""
    said = json.loads(JUDGED.read_text("utf-8"))
    whole = "\n".join(map(shown, samples))
    if hashlib.sha256(whole.encode()).hexdigest() != said["sha256"]["valley"]:
        print(f"{JUDGED.name} is about other texts: let these be read by somebody, blind")
        return {}
    rows = []
    for reader, by_model in said["verdicts"].items():
        for model, verdicts in by_model.items():
            both = verdicts.split()
            yes = (sum(v[0] == "y" for v in both), sum(v[1] == "y" for v in both), both.count("yy"))
            rows.append([reader, WRITERS[model], *(f"{n} of {len(both)}" for n in yes)])
    part = {
        "script": "benchmarks/valley.py",
        "date": said["date"],
        "device": f"read by {said['readers']}",
        "versions": {},
        "seeds": list(SEEDS),
        "claim": f"{said['asked']} Read were {said['texts']}.",
        "columns": ["reader", "written by", "grammatical", "keeps its hero", "both"],
        "rows": rows,
    }
    return {"judged": part}


def main() -> None:
    """Train, measure and store."""
    torch.set_num_threads(1)
    trained()
    samples, model = [written(seed) for seed in SEEDS], open_model(SHIPPED / "valley")[0]
    (file,) = (SHIPPED / "valley").glob("*/checkpoint.json")
    tensors = json.loads(file.read_text("utf-8"))["tensors_sha256"]
    here = about(__file__, [0], command=f"python -m helpers.train {COMMAND}", checkpoint=tensors)
    found = {
        "title": TITLE,
        "claim": CLAIM,
        "learned": {**here, "columns": ["measured", ""], "rows": learned(samples)},
        "rounding": {**here, "columns": COLUMNS, "rows": [compared(model, BITS, *windows(64))]},
        "texts": {
            **here,
            "seeds": list(SEEDS),
            "columns": ["seed", "text"],
            "claim": f"None left out: `{WRITE.format(prompt=repr(PROMPT))}`",
            "rows": [[seed, shown(text)] for seed, text in zip(SEEDS, samples, strict=True)],
        },
    } | judged(samples)
    write_text(RESULTS / "valley.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
