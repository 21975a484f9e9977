"""Checkpoints of a run: a folder each, of tensors (safetensors) and of all else (JSON).

A run's folder holds them as `checkpoint-00000200` (after 200 updates). One is written under
another name, synced to disk, and then renamed, so that under its own name it is complete; the
previous one is removed only then. Nothing is pickled, so loading a checkpoint runs no code.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from jaxtyping import Int
from safetensors import SafetensorError
from torch import Tensor, nn

FORMAT, VERSION = "transformers-worked-out checkpoint", 1
TENSORS, METADATA = "tensors.safetensors", "checkpoint.json"
NAME, PARTIAL = "checkpoint-", ".partial-"
TENSOR_PARTS = ("model", "optimizer", "generators")
JSON_TYPES = {"step": int, "config": dict, "records": list, "data_sha256": str, "extra": dict}


class CheckpointError(ValueError):
    """A checkpoint is missing, damaged, of another format, or does not fit."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that a run needs in order to continue as if it had never stopped.

    step: updates made so far. model, optimizer: tensors by name. generators: the state of each
    random generator, uint8. config, records, extra: JSON; records is one dict for each step so
    far. data_sha256: of the training text.
    """

    step: int
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor] = field(default_factory=dict)
    generators: dict[str, Tensor] = field(default_factory=dict)
    config: dict = field(default_factory=dict)
    records: list[dict] = field(default_factory=list)
    data_sha256: str = ""
    extra: dict = field(default_factory=dict)


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint into a run's folder, completely or not at all; returns its own folder.

    Earlier ones are removed once this one is on disk.
    Raises OSError where it cannot be written; earlier checkpoints stay, the partial one is removed.
    """
    final = folder / f"{NAME}{checkpoint.step:08d}"
    partial = folder / f"{PARTIAL}{final.name}"
    tensors, metadata = _serialise(checkpoint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_partials(folder)
        partial.mkdir()
        _write(partial / TENSORS, tensors)
        _write(partial / METADATA, metadata)
        _fsync_dir(partial)
        _remove(final)
        os.rename(partial, final)
        _fsync_dir(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        kept = list_checkpoints(folder)
        left = f"{kept[-1].name} is still there" if kept else "there is no earlier one"
        reason = f"cannot write a checkpoint to {folder}: {error.strerror or error}; {left}"
        raise type(error)(error.errno, reason) from error
    for old in list_checkpoints(folder)[:-1]:
        with suppress(OSError):
            _remove(old)
    return final


def remove_partials(folder: Path) -> None:
    """Remove the checkpoints that a killed run left half written, or half removed."""
    for partial in folder.glob(f"{PARTIAL}*"):
        shutil.rmtree(partial, ignore_errors=True)


def list_checkpoints(folder: Path) -> list[Path]:
    """The folders of all checkpoints of a run, from first to last."""
    if not Path(folder).is_dir():
        return []
    return sorted(path for path in Path(folder).glob(f"{NAME}[0-9]*") if path.is_dir())


def _serialise(checkpoint: Checkpoint) -> tuple[bytes, bytes]:
    """The two files as bytes; the second holds the SHA-256 of the first."""
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for part in TENSOR_PARTS
        for name, tensor in getattr(checkpoint, part).items()
    }
    data = safetensors.torch.save(tensors)
    metadata = {
        "format": FORMAT,
        "version": VERSION,
        "tensors_sha256": hashlib.sha256(data).hexdigest(),
        **{name: getattr(checkpoint, name) for name in JSON_TYPES},
    }
    return data, json.dumps(metadata, ensure_ascii=False).encode("utf-8")


def _write(path: Path, data: bytes) -> None:
    """Write a file and sync it to disk."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _fsync_dir(folder: Path) -> None:
    """Sync the names in a folder to disk, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Remove a folder, renamed first, so that under its own name it is always complete."""
    if path.exists():
        partial = path.with_name(f"{PARTIAL}removed-{path.name}")
        shutil.rmtree(partial, ignore_errors=True)
        os.rename(path, partial)
        shutil.rmtree(partial, ignore_errors=True)


def latest(folder: Path | str) -> Path:
    """The last checkpoint of a run's folder; a checkpoint's own folder is returned as it is.

    Raises CheckpointError where there is none.
    """
    folder = Path(folder)
    if (folder / METADATA).exists() or (folder / TENSORS).exists():
        return folder
    if not (found := list_checkpoints(folder)):
        raise CheckpointError(f"{folder} is no folder with a checkpoint (no folder {NAME}…)")
    return found[-1]


def load(path: Path | str) -> Checkpoint:
    """Read a checkpoint, or the last one of a run's folder, onto the CPU.

    Raises CheckpointError where it is missing, cut short, changed, or of another format.
    """
    path = latest(path)
    try:
        metadata = _read_metadata(path / METADATA)
        data = (path / TENSORS).read_bytes()
        if hashlib.sha256(data).hexdigest() != metadata["tensors_sha256"]:
            raise ValueError(f"{TENSORS} has another SHA-256 than {METADATA} says")
        parts: dict[str, Any] = {part: {} for part in TENSOR_PARTS}
        for name, tensor in safetensors.torch.load(data).items():
            part, _, rest_of_name = name.partition("/")
            parts[part][rest_of_name] = tensor
    except (OSError, ValueError, KeyError, RecursionError, SafetensorError) as error:
        raise CheckpointError(f"{path} is no complete checkpoint: {error}") from error
    return Checkpoint(**parts, **{name: metadata[name] for name in JSON_TYPES})


def _read_metadata(path: Path) -> dict:
    metadata = json.loads(path.read_bytes())
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ValueError(f"{path.name} is of another format than {FORMAT!r}")
    if metadata.get("version") != VERSION:
        raise ValueError(f"version {metadata.get('version')!r} is not {VERSION}")
    for name, kind in {"tensors_sha256": str, **JSON_TYPES}.items():
        if not isinstance(metadata.get(name), kind):
            raise ValueError(f"{name!r} in {path.name} should be of type {kind.__name__}")
    return metadata


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers of a model by name; tied ones once, by their first name."""
    first: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), (name, tensor))
    return dict(first.values())


def check_model(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError where names or shapes are not those of the model."""
    own = model_tensors(model)
    for name in own.keys() | tensors.keys():
        if name not in tensors:
            raise CheckpointError(f"missing key: the checkpoint has no {name!r}")
        if name not in own:
            raise CheckpointError(f"unexpected key: the model has no {name!r}")
        if own[name].shape != tensors[name].shape:
            raise CheckpointError(
                f"{name!r} has shape {tuple(tensors[name].shape)} in the checkpoint and "
                f"{tuple(own[name].shape)} in the model: it was made with another configuration"
            )


def restore_model(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors into a model, or none of them. Raises CheckpointError as `check_model` does."""
    check_model(model, tensors)
    with torch.no_grad():
        for name, tensor in model_tensors(model).items():
            tensor.copy_(tensors[name])


def check_config(stored: Mapping, config: Any) -> None:
    """Raise CheckpointError naming each field in which a stored configuration differs."""
    own = json.loads(json.dumps(asdict(config)))
    differ = [
        f"{name}={stored.get(name)!r} there and {own.get(name)!r} here"
        for name in dict.fromkeys([*own, *stored])
        if name not in stored or name not in own or stored[name] != own[name]
    ]
    if differ:
        raise CheckpointError(f"the checkpoint was made with another config: {'; '.join(differ)}")


def sha256_of(ids: Int[Tensor, " N"]) -> str:
    """SHA-256 of token ids as 64-bit integers, little end first. ids (N,)."""
    numbers = ids.cpu().numpy().astype("<i8")
    return hashlib.sha256(numbers.tobytes()).hexdigest()
