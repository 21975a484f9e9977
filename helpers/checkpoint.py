"""A model as one file: safetensors with minigpt's tensor names, and a metadata key `model`.

The key holds JSON with sorted keys: "kind", "gpt" or "llama"; "sizes", what the class takes; and
the tokenizer, "tokens" with "pattern", or "merges". One key only, because safetensors writes
several in an order of its own, and a file is to have one SHA-256.
"""

import json
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from helpers import files, minigpt, minillama

KINDS: dict[str, type[nn.Module]] = {"gpt": minigpt.GPT, "llama": minillama.Llama}
SHIPPED = Path(__file__).parent / "data" / "minigpt.safetensors"  # the GPT of chapters 0 to 12


def sizes(model: nn.Module) -> dict[str, int]:
    """What the class of a GPT or a Llama takes to make one of this shape."""
    (V, C), block = model.embedding.weight.shape, model.blocks[0]
    found = {"V": V, "C": C, "T": model.T, "L": len(model.blocks)}
    if isinstance(model, minigpt.GPT):
        return found | {"H": block.attention.H}
    if hasattr(block.attention, "window"):
        raise ValueError("a file of ours has no place for a sliding window")
    D, hidden = block.attention.D, block.feed_forward.up.out_features
    grouped = {"H": C // D, "G": block.attention.key.out_features // D}
    return found | grouped | {"hidden": hidden, "base": block.attention.base}


def save(
    path: str | Path,
    model: nn.Module,
    tokenizer: minigpt.Tokenizer | minillama.BytePairTokenizer,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write a model and its tokenizer, whole or not at all; a tied head is left out.

    Raises: OSError where the file cannot be written.
    """
    kind = "gpt" if isinstance(model, minigpt.GPT) else "llama"
    about: dict[str, Any] = {"kind": kind, "sizes": sizes(model)}
    if isinstance(tokenizer, minigpt.Tokenizer):
        about |= {"tokens": tokenizer.vocab, "pattern": tokenizer.pattern}
    else:
        about["merges"] = [[token.decode("latin-1") for token in pair] for pair in tokenizer.rank]
    tensors = {name: p.detach().to("cpu", dtype) for name, p in model.named_parameters()}
    data = safetensors.torch.save(tensors, {"model": json.dumps(about, sort_keys=True)})
    files.write_bytes(path, data)


def load(path: str | Path = SHIPPED) -> tuple[Any, Any]:
    """The model of a file, in float32, on the CPU and in evaluation, and its tokenizer.

    Raises: OSError where there is no such file, ValueError where it holds no model of the book.
    """
    path, data = Path(path).expanduser(), files.read_bytes(path)
    try:
        with safe_open(path, "pt") as file:
            about = json.loads((file.metadata() or {})["model"])
        tensors = safetensors.torch.load(data)
        with torch.random.fork_rng(devices=[]):
            model = KINDS[about["kind"]](**about["sizes"])
        if "head.weight" not in tensors:
            tensors["head.weight"] = tensors["embedding.weight"]
        model.load_state_dict(tensors)
        tokenizer: Any = minigpt.Tokenizer("")
        if "merges" in about:
            merges = [tuple(token.encode("latin-1") for token in pair) for pair in about["merges"]]
            tokenizer = minillama.BytePairTokenizer(merges)
        else:
            tokenizer.pattern, tokenizer.vocab = about["pattern"], about["tokens"]
            tokenizer.ids = {token: i for i, token in enumerate(tokenizer.vocab)}
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{path} holds no model of the book") from error
    return model.eval(), tokenizer
