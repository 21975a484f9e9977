"""What it costs to round the weights of the GPT that ships, as they are in the page.

``python benchmarks/gpt_rounding.py`` writes helpers/data/results/gpt_rounding.json: for so many
bits a number, with a scale for each row of a table, the bytes, the loss on the validation text, and
how far the logits are from those of the model that is not rounded. Half a minute on one core.
"""

import copy
import json
from importlib.resources import files
from pathlib import Path

import torch
import torch.nn.functional as F
from common import about, store_table
from torch import Tensor

from helpers import corpus
from helpers.embeddings import quantised
from helpers.generate import open_model
from helpers.gpt import GPT

CHECKPOINT = Path(str(files("helpers"))) / "data" / "checkpoints" / "tales"
BITS = (8, 6, 5, 4, 3)
TITLE = "What rounding costs the GPT of chapter 12"
CLAIM = (
    "The model that ships, its tables rounded to so many bits a number; the page in which it "
    "writes has 8"
)
COLUMNS = [
    "bits a number",
    "bytes",
    "validation loss",
    "change",
    "largest difference of a logit",
    "mean difference",
]


def rounded(model: GPT, bits: int) -> tuple[GPT, int]:
    """A copy with every table rounded, and its bytes: codes, and scales and vectors in float32."""
    copied, size = copy.deepcopy(model), 0
    with torch.no_grad():
        for parameter in copied.parameters():
            if parameter.ndim == 1:
                size += 4 * parameter.numel()
                continue
            codes, scales = quantised(parameter, bits)
            parameter.copy_(codes * scales)
            size += -(-codes.numel() * bits // 8) + 4 * scales.numel()
    return copied, size


def validation() -> tuple[Tensor, Tensor]:
    """All whole windows of the validation text, and what follows each character: (N, 64)."""
    tokenizer = open_model(CHECKPOINT)[1]
    _, ids = corpus.split(tokenizer.encode(corpus.load()))
    x_NT, y_NT = zip(*list(corpus.windows(ids, 64))[:-1], strict=True)
    return torch.cat(x_NT), torch.cat(y_NT)


@torch.no_grad()
def compared(model: GPT, bits: int, x_NT: Tensor, y_NT: Tensor) -> list:
    """A row of the table."""
    other, size = rounded(model, bits)
    exact_NTV, other_NTV = model(x_NT), other(x_NT)
    exact, loss = (F.cross_entropy(a.mT, y_NT).item() for a in (exact_NTV, other_NTV))
    apart = (exact_NTV - other_NTV).abs()
    row = [bits, size, f"{loss:.4f}", f"{loss - exact:+.5f}"]
    return [*row, f"{apart.max():.2f}", f"{apart.mean():.4f}"]


def checkpoint() -> dict[str, str]:
    """Which model was rounded: the checkpoint's name, and the sum of its tensors."""
    (file,) = CHECKPOINT.glob("*/checkpoint.json")
    tensors = json.loads(file.read_text("utf-8"))["tensors_sha256"]
    return {"name": CHECKPOINT.name, "tensors_sha256": tensors}


def main() -> None:
    """Measure and store."""
    torch.set_num_threads(1)
    model = open_model(CHECKPOINT)[0]
    x_NT, y_NT = validation()
    rows = [compared(model, bits, x_NT, y_NT) for bits in BITS]
    found = about(__file__, [], title=TITLE, claim=CLAIM, columns=COLUMNS, rows=rows)
    store_table("gpt_rounding", found | {"checkpoint": checkpoint()})


if __name__ == "__main__":
    main()
