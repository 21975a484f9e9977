"""Texts, splits and batches: from a file to the (x, y) that a model trains on."""

import importlib.resources
import os
from collections.abc import Iterator
from pathlib import Path

import torch
from jaxtyping import Int, Integer
from torch import Tensor

from helpers import files, valley

Batch = tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]

KNOWN = ("tales", "valley", "tinyshakespeare")


def load(name: str | Path = "tales", *, context: int | None = None) -> str:
    r"""Give a text as one string, its line ends as "\n".

    name: "tales" (ships with the book), "valley" (sampled from a grammar, helpers.valley),
    "tinyshakespeare" (a file of that name, .txt, in the folder that BOOK_DATA_DIR names, or else
    where one works), or the path of a UTF-8 file, "./tales" for one that has such a name.
    context: if given, the text must hold one context and the character after it.

    Raises ValueError for an unknown name, and an empty, undecodable or too short text;
    FileNotFoundError where there is no file.
    """
    if name == "tales":
        where = importlib.resources.files("helpers") / "data" / "tales.txt"
        data = where.read_bytes()
    elif name == "valley":
        where, data = Path("valley"), valley.text().encode()
    elif name == "tinyshakespeare":
        where = Path(os.environ.get("BOOK_DATA_DIR", "")).expanduser() / "tinyshakespeare.txt"
        data = files.read_bytes(where)
    else:
        where = Path(name).expanduser()
        if isinstance(name, str) and not (where.exists() or where.suffix or len(where.parts) > 1):
            raise ValueError(
                f"name={name!r} must be one of {', '.join(KNOWN)}, or the path of a text file"
            )
        data = files.read_bytes(where)
    text = _decode(data, where)
    if context is not None and len(text) < context + 1:
        raise ValueError(
            f"{where} holds {len(text)} characters; context={context} needs at least {context + 1}"
        )
    return text


def _decode(data: bytes, where: object) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} is no text in UTF-8 (a PDF or a Word file must be saved as plain text first)"
        ) from error
    if not text.strip():
        raise ValueError(f"{where} is empty: a text is needed")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def cache_dir() -> Path:
    """The folder for downloads that are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    return base / "transformers-worked-out"


def keep(path: Path, data: bytes) -> None:
    """Write a file into the cache folder. Raises OSError, with what to do, where that fails."""
    try:
        files.write_bytes(path, data)
    except OSError as error:
        raise OSError(
            f"cannot write to the cache folder {path.parent}: {error}. Name another in "
            f"XDG_CACHE_HOME"
        ) from error


def split(
    ids: Integer[Tensor, " N"], fraction: float = 0.9
) -> tuple[Int[Tensor, " N_train"], Int[Tensor, " N_validation"]]:
    """Cut ids in two, the first int(fraction·N) for training, the rest for validation.

    Both are contiguous views; no pair of neighbours spans the cut. Raises ValueError
    unless both parts hold at least one id.

    >>> split(torch.arange(5), 0.8)
    (tensor([0, 1, 2, 3]), tensor([4]))
    """
    cut = int(round(fraction * len(ids), 6))  # rounded first: 0.29 · 100 is 28.999999999999996
    if not 0 < cut < len(ids):
        raise ValueError(f"fraction={fraction} of {len(ids)} ids leaves one part empty")
    return ids[:cut], ids[cut:]


def batches(
    ids: Integer[Tensor, " N"], *, batch_size: int, context: int, generator: torch.Generator
) -> Iterator[Batch]:
    """Draw windows of `context` ids at random, without end: (x_BT, y_BT), y one step ahead.

    Each of the N - context windows is equally likely, and the same seed gives the same batches.
    Raises ValueError (at once, not at the first batch) where ids hold no window.
    Shapes: ids (N,) give x and y (B, T).
    """
    _check_window(ids, context)

    def draw() -> Iterator[Batch]:
        steps = torch.arange(context, device=ids.device)
        while True:
            starts = torch.randint(
                len(ids) - context,
                (batch_size, 1),
                generator=generator,
                device=generator.device,
            )
            at_BT = starts.to(ids.device) + steps
            yield ids[at_BT], ids[at_BT + 1]

    return draw()


def windows(ids: Integer[Tensor, " N"], context: int, *, batch_size: int = 64) -> Iterator[Batch]:
    """Go through ids once, in order: (x_BT, y_BT) with each of the N - 1 targets once.

    Windows follow one another without overlap, up to `batch_size` at a time; the last one may be
    shorter. Raises ValueError as `batches` does.
    Shapes: ids (N,) give x and y (B, T), B at most batch_size.

    >>> list(windows(torch.arange(4), 3))
    [(tensor([[0, 1, 2]]), tensor([[1, 2, 3]]))]
    """
    _check_window(ids, context)
    whole = (len(ids) - 1) // context
    x_NT = ids[: whole * context].view(whole, context)
    y_NT = ids[1 : whole * context + 1].view(whole, context)
    rest = ids[whole * context :]

    def walk() -> Iterator[Batch]:
        yield from zip(x_NT.split(batch_size), y_NT.split(batch_size), strict=True)
        if len(rest) > 1:
            yield rest[None, :-1], rest[None, 1:]

    return walk()


def _check_window(ids: Integer[Tensor, " N"], context: int) -> None:
    if not 0 < context < len(ids):
        raise ValueError(
            f"ids hold {len(ids)} tokens; context={context} needs at least {context + 1}"
        )
