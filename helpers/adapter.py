"""An assistant of one's own as one file: the adapters (`minillama.LoRA`) beside a model's layers.

Safetensors with the parameters' names, and a metadata key `adapter`: each layer's scale, as JSON.
"""

import json
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import nn

from helpers import files
from helpers.minillama import LoRA


def save(path: str | Path, model: nn.Module) -> None:
    """Write a model's adapters, whole or not at all.

    Raises: ValueError where it has none, OSError where the file cannot be written.
    """
    found = {name: part for name, part in model.named_modules() if hasattr(part, "merge")}
    if not found:
        raise ValueError("this model has no adapter to be kept")
    tensors = {f"{n}.{ab}": getattr(p, ab).detach().cpu() for n, p in found.items() for ab in "ab"}
    scales = json.dumps({name: part.scale for name, part in found.items()}, sort_keys=True)
    files.write_bytes(path, safetensors.torch.save(tensors, {"adapter": scales}))


def load(path: str | Path, model: nn.Module) -> None:
    """Put a file's adapters beside a model's layers, in the place of any that are there.

    Raises: OSError where there is no such file, ValueError for one whose adapters don't fit; the
    model then stays as it was.
    """
    path, data = Path(path).expanduser(), files.read_bytes(path)
    found = {}
    try:
        with safe_open(path, "pt") as file:
            scales = json.loads((file.metadata() or {})["adapter"])
        tensors = safetensors.torch.load(data)
        for name, scale in scales.items():
            layer, a = model.get_submodule(name), tensors[f"{name}.a"]
            found[name] = LoRA(getattr(layer, "linear", layer), len(a), scale * len(a))
            state = {"a": a, "b": tensors[f"{name}.b"]}
            found[name].load_state_dict(state, strict=False)
    except (
        SafetensorError,
        KeyError,
        TypeError,
        AttributeError,
        RuntimeError,
        ValueError,
    ) as error:
        raise ValueError(f"{path} holds no adapter for this model") from error
    for name, part in found.items():
        above, _, last = name.rpartition(".")
        setattr(model.get_submodule(above), last, part)
