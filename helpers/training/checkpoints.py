"""Checkpoints of a run: a folder each, of tensors (safetensors) and of all else (JSON).

A run's folder holds them as `checkpoint-00000200` (after 200 updates). One is written under
another name, forced to the disk, and then renamed, so that under its own name it is whole; the
one before goes only then. Nothing is pickled, so a checkpoint from elsewhere runs no code.
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
JSON_TYPES = {
    "step": int,
    "config": dict,
    "records": list,
    "data_sha256": str,
    "extra": dict,
}


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged, of another kind, or does not fit; says which."""


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """All that a run needs in order to go on as if it had never stopped.

    step: updates made so far. model, optimizer: tensors by name. generators: the state of each
    generator of random numbers, uint8. config, records, extra: what JSON can hold; records is
    one dict for each step so far. data_sha256: of the training text.
    """

    step: int
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor] = field(default_factory=dict)
    generators: dict[str, Tensor] = field(default_factory=dict)
    config: dict = field(default_factory=dict)
    records: list[dict] = field(default_factory=list)
    data_sha256: str = ""
    extra: dict = field(default_factory=dict)


# ------------------------------------------------------------------- writing


def save(folder: Path, checkpoint: Checkpoint, *, keep: int | None = 1) -> Path:
    """Write a checkpoint into a run's folder, as a whole or not at all; gives its own folder.

    keep: how many of the latest stay, None for all; the others go once this one is safe. One of
    the same step that is there and whole is left as it is.
    Raises ValueError where keep is below 1; OSError where it cannot be written, which says so,
    leaves the earlier ones, and clears away what was begun.
    """
    if keep is not None and keep < 1:
        raise ValueError(f"keep={keep} must be at least 1, or None for all")
    final = folder / f"{NAME}{checkpoint.step:08d}"
    partial = folder / f"{PARTIAL}{final.name}"
    tensors, rest = _packed(checkpoint)
    if not _whole(final):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_partials(folder)
            partial.mkdir()
            _write(partial / TENSORS, tensors)
            _write(partial / METADATA, rest)
            _fsync_dir(partial)
            _remove(final)
            os.rename(partial, final)
            _fsync_dir(folder)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise _not_written(folder, error) from error
    for old in list_checkpoints(folder)[: -keep if keep else 0]:
        with suppress(OSError):
            _remove(old)
    return final


def remove_partials(folder: Path) -> None:
    """Take away what a run that was killed had begun to write, or to take away."""
    for begun in folder.glob(f"{PARTIAL}*"):
        shutil.rmtree(begun, ignore_errors=True)


def list_checkpoints(folder: Path) -> list[Path]:
    """The folders of all checkpoints of a run, from first to last."""
    if not Path(folder).is_dir():
        return []
    return sorted(path for path in Path(folder).glob(f"{NAME}[0-9]*") if path.is_dir())


def _packed(checkpoint: Checkpoint) -> tuple[bytes, bytes]:
    """The two files as bytes; the second holds the SHA-256 of the first."""
    tensors = {
        f"{part}/{name}": tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for part in TENSOR_PARTS
        for name, tensor in getattr(checkpoint, part).items()
    }
    data = safetensors.torch.save(tensors)
    rest = {
        "format": FORMAT,
        "version": VERSION,
        "tensors_sha256": hashlib.sha256(data).hexdigest(),
        **{name: getattr(checkpoint, name) for name in JSON_TYPES},
    }
    return data, json.dumps(rest, ensure_ascii=False).encode("utf-8")


def _write(path: Path, data: bytes) -> None:
    """Write a file and force it to the disk."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _fsync_dir(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Take a folder away; under its own name it is never there in part."""
    if not path.exists():
        return
    going = path.with_name(f"{PARTIAL}going-{path.name.removeprefix(PARTIAL)}")
    shutil.rmtree(going, ignore_errors=True)
    os.rename(path, going)
    shutil.rmtree(going, ignore_errors=True)


def _whole(path: Path) -> bool:
    try:
        load(path)
    except CheckpointError:
        return False
    return True


def _not_written(folder: Path, error: OSError) -> OSError:
    kept = list_checkpoints(folder)
    left = f"{kept[-1].name} is still there" if kept else "there is no earlier one"
    return type(error)(
        error.errno, f"cannot write a checkpoint to {folder}: {error.strerror or error}; {left}"
    )


# ------------------------------------------------------------------- reading


def latest(folder: Path) -> Path:
    """The last checkpoint of a run's folder; a checkpoint's own folder is given back.

    Raises CheckpointError where there is none.
    """
    folder = Path(folder)
    if (folder / METADATA).exists() or (folder / TENSORS).exists():
        return folder
    if not folder.exists():
        raise CheckpointError(f"there is no folder {folder}")
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is a file; a checkpoint is a folder")
    if not (found := list_checkpoints(folder)):
        raise CheckpointError(f"{folder} holds no checkpoint (no folder {NAME}…)")
    return found[-1]


def load(path: Path) -> Checkpoint:
    """Read a checkpoint, or the last one of a run's folder, onto the CPU.

    Raises CheckpointError where it is missing, cut short, changed, or of another kind.
    """
    path = latest(path)
    rest = _read_rest(path / METADATA)
    data = _read(path / TENSORS)
    if hashlib.sha256(data).hexdigest() != rest["tensors_sha256"]:
        raise CheckpointError(
            f"{path / TENSORS} is damaged: its SHA-256 is not the one that {METADATA} holds"
        )
    try:
        tensors = safetensors.torch.load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path / TENSORS} is no safetensors file: {error}") from error
    parts: dict[str, Any] = {part: {} for part in TENSOR_PARTS}
    for name, tensor in tensors.items():
        part, _, rest_of_name = name.partition("/")
        if part not in parts:
            raise CheckpointError(f"{path / TENSORS} holds {name!r}, which no checkpoint has")
        parts[part][rest_of_name] = tensor
    return Checkpoint(**parts, **{name: rest[name] for name in JSON_TYPES})


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise CheckpointError(f"{path.parent} is no whole checkpoint: it has no {path.name}") from (
            error
        )
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error}") from error


def _read_rest(path: Path) -> dict:
    data = _read(path)
    try:
        rest = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: it is not JSON ({error})") from error
    if not isinstance(rest, dict) or rest.get("format") != FORMAT:
        raise CheckpointError(f"{path} is of another kind: its format is not {FORMAT!r}")
    if rest.get("version") != VERSION:
        raise CheckpointError(
            f"{path} has version {rest.get('version')!r}; this book reads version {VERSION}"
        )
    for name, kind in {"tensors_sha256": str, **JSON_TYPES}.items():
        if not isinstance(rest.get(name), kind):
            raise CheckpointError(f"{path} is damaged: {name!r} should be of type {kind.__name__}")
    return rest


# -------------------------------------------------- what is in and what it is for


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and lasting buffers of a model by name; what is tied stands once."""
    seen, found = set(), {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found[name] = tensor
    return found


def check_model(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError where names or shapes are not those of the model."""
    own = model_tensors(model)
    for name in own.keys() | tensors.keys():
        if name not in tensors:
            raise CheckpointError(f"the checkpoint has no tensor {name!r}, which the model needs")
        if name not in own:
            raise CheckpointError(f"the checkpoint holds {name!r}, which the model does not have")
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


def check_config(found: Mapping, config: Any) -> None:
    """Raise CheckpointError naming each field in which a stored configuration is another one."""
    wanted = json.loads(json.dumps(asdict(config)))
    differ = [
        f"{name}={found.get(name)!r} there and {wanted.get(name)!r} here"
        for name in [*wanted, *(name for name in found if name not in wanted)]
        if name not in found or name not in wanted or found[name] != wanted[name]
    ]
    if differ:
        raise CheckpointError(f"the checkpoint was made with another config: {'; '.join(differ)}")


def sha256_of(ids: Int[Tensor, " N"]) -> str:
    """SHA-256 of token ids as 64-bit integers, little end first."""
    numbers = ids.cpu().numpy().astype("<i8")
    return hashlib.sha256(numbers.tobytes()).hexdigest()
