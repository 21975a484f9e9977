"""Texts, tokenizers, splits and batches: from a file to the (x, y) that a model trains on."""

import codecs
import hashlib
import http.client
import importlib.resources
import os
import re
import sys
import urllib.request
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int, Integer
from torch import Tensor

from helpers import files, valley
from helpers.checks import at_least, checked

Progress = Callable[[int, int | None], None]
Batch = tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]

KNOWN = ("tales", "valley", "tinyshakespeare")
DATA_DIR_VARIABLE = "BOOK_DATA_DIR"
TIMEOUT_S = 30


@dataclass(frozen=True, kw_only=True)
class Source:
    """A text on the net: its file name here, its home, and the SHA-256 of its bytes."""

    file: str
    url: str
    sha256: str


TINY_SHAKESPEARE = Source(
    file="tinyshakespeare.txt",
    url="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
)


# ---------------------------------------------------------------- texts


@checked
def load(
    name: str | Path = "tales",
    *,
    context: int | None = None,
    progress: Progress | None = None,
) -> str:
    r"""Give a text as one string, its line ends as "\n".

    name: "tales" (ships with the book), "valley" (tales that a grammar tells, helpers.valley),
    "tinyshakespeare" (looked for in the folder that BOOK_DATA_DIR names, then in a cache
    folder, else downloaded and checked), or the path of a UTF-8 file. context: if given, the
    text must hold one context and the character after it. progress: called with (bytes so
    far, bytes in all or None) during a download; a tqdm bar, unless given.

    Raises ValueError for a context below 1, an unknown name, an empty or undecodable or too
    short text and a wrong checksum; FileNotFoundError for a path with no file; ConnectionError
    where the download fails; OSError where the cache folder cannot be written to.
    """
    if context is not None:
        at_least(1, context=context)
    if name == "tales":
        where = importlib.resources.files("helpers") / "data" / "tales.txt"
        data = where.read_bytes()
    elif name == "valley":
        where, data = Path("valley"), valley.text().encode()
    elif name == "tinyshakespeare":
        where, data = _fetch(TINY_SHAKESPEARE, progress)
    else:
        where, data = _read_own(name)
    text = _decode(data, where)
    if context is not None and len(text) < context + 1:
        raise ValueError(
            f"{where} holds {len(text)} characters; context={context} needs at least {context + 1}"
        )
    return text


def _read_own(name: str | Path) -> tuple[Path, bytes]:
    path = Path(name).expanduser()
    if path.is_file():
        return path, path.read_bytes()
    if path.is_dir():
        raise ValueError(f"name={str(name)!r} is a folder; the path of a text file is needed")
    if isinstance(name, str) and len(path.parts) <= 1 and not path.suffix:
        raise ValueError(
            f"name={name!r} is no text of the book; known are {', '.join(KNOWN)}, "
            "or give the path of a file of your own"
        )
    raise FileNotFoundError(f"no file at {path} (looked from {Path.cwd()})")


def _decode(data: bytes, where: object) -> str:
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        offset = error.start + len(data) - len(body)
        raise ValueError(
            f"{where} is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}; "
            "save the file as UTF-8"
        ) from error
    if not text.strip():
        raise ValueError(f"{where} is empty: a text is needed")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def cache_dir() -> Path:
    """The folder that downloads are kept in, as the platform would have it."""
    if "XDG_CACHE_HOME" in os.environ:
        base = Path(os.environ["XDG_CACHE_HOME"])
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path("~/.cache")
    return base.expanduser() / "transformers-worked-out"


def _fetch(source: Source, progress: Progress | None) -> tuple[Path, bytes]:
    """The bytes of `source`: from the reader's data folder, the cache, or the net."""
    own = os.environ.get(DATA_DIR_VARIABLE)
    path = Path(own).expanduser() / source.file if own else None
    if path is not None and path.is_file():
        data = path.read_bytes()
        _check_sum(data, source, f"{path} (found through {DATA_DIR_VARIABLE})")
        return path, data
    path = cache_dir() / source.file
    if path.is_file() and hashlib.sha256(data := path.read_bytes()).hexdigest() == source.sha256:
        return path, data
    with nullcontext(progress) if progress else _bar(source.file) as report:
        data = _download(source, report)
    _check_sum(data, source, f"what {source.url} sent")
    try:
        files.write_bytes(path, data)
    except OSError as error:
        raise OSError(
            f"cannot write to the cache folder {path.parent}: {error}. Name another in "
            f"XDG_CACHE_HOME, or put {path.name} into a folder that {DATA_DIR_VARIABLE} names"
        ) from error
    return path, data


def _check_sum(data: bytes, source: Source, what: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != source.sha256:
        raise ValueError(
            f"{what} is not the text this book was written with: its SHA-256 is {found}, "
            f"expected {source.sha256}. It is not used and nothing was kept."
        )


def _download(source: Source, progress: Progress) -> bytes:
    data = bytearray()
    try:
        with urllib.request.urlopen(source.url, timeout=TIMEOUT_S) as response:
            total = int(response.headers.get("Content-Length") or 0) or None
            while block := response.read(65_536):
                data += block
                progress(len(data), total)
        if total is not None and len(data) != total:
            raise ConnectionError(f"it ended after {len(data)} of {total} bytes")
    except (OSError, http.client.HTTPException) as error:  # a URLError is an OSError
        raise ConnectionError(
            f"could not download {source.url}: {error}. Put the file at "
            f"{cache_dir() / source.file}, or into a folder that {DATA_DIR_VARIABLE} names, "
            f"as {source.file}"
        ) from error
    return bytes(data)


@contextmanager
def _bar(label: str) -> Iterator[Progress]:
    """A tqdm bar as a progress callback, closed at the end however that comes."""
    from tqdm.auto import tqdm

    with closing(tqdm(desc=label, unit="B", unit_scale=True)) as bar:

        def report(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report


# ----------------------------------------------------------- tokenizers


class _Tokenizer(ABC):
    """A vocabulary with the way from its tokens to ids and back."""

    vocab: tuple[str, ...]
    unit: str

    @checked
    def __init__(self, text: str):
        if not text:
            raise ValueError("text is empty: a vocabulary needs at least one token")
        self._know({token for token, _ in self._tokens(text)})

    def _know(self, tokens: Iterable[str]) -> None:
        self.vocab = tuple(sorted(tokens))
        self._id = {token: i for i, token in enumerate(self.vocab)}

    def __len__(self) -> int:
        return len(self.vocab)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} {self.unit}s)"

    @checked
    def encode(self, text: str) -> Int[Tensor, " N"]:
        """Turn text into token ids, int64, each in 0..V-1.

        Raises ValueError that names the first unknown token and its position in the text.
        """
        ids = []
        for token, position in self._tokens(text):
            if token not in self._id:
                raise ValueError(
                    f"text has the {self.unit} {token!r} at position {position}, which is not "
                    f"among the {len(self)} {self.unit}s of this tokenizer"
                )
            ids.append(self._id[token])
        return torch.tensor(ids, dtype=torch.int64)

    @checked
    def decode(self, ids: Int[Tensor, " N"] | list[int]) -> str:
        """Turn token ids back into the text that they came from, exactly.

        Raises ValueError where ids is not one row of integers in 0..V-1.
        """
        if isinstance(ids, Tensor):
            ids = ids.tolist()
        if not all(isinstance(i, int) for i in ids):
            raise ValueError(f"ids must be one row of integers; got {ids!r}")
        for position, i in enumerate(ids):
            if not 0 <= i < len(self):
                raise ValueError(
                    f"ids[{position}] is {i}; with {len(self)} {self.unit}s "
                    f"it must lie in 0..{len(self) - 1}"
                )
        return self._join(self.vocab[i] for i in ids)

    @abstractmethod
    def _tokens(self, text: str) -> Iterator[tuple[str, int]]:
        """Each token of the text and where it stands."""

    @abstractmethod
    def _join(self, tokens: Iterable[str]) -> str:
        """The text that these tokens came from."""


class CharTokenizer(_Tokenizer):
    """One token a character; the vocabulary is the characters of `text`, sorted.

    `vocab` is a tuple of str, `len(tokenizer)` its size V. Raises ValueError for no text.
    """

    unit = "character"

    def _tokens(self, text: str) -> Iterator[tuple[str, int]]:
        return ((character, position) for position, character in enumerate(text))

    def _join(self, tokens: Iterable[str]) -> str:
        return "".join(tokens)


# A word with the space before it, line ends, or any one character besides.
_SPACED = re.compile(r" ?[^\W\d_]+|\n+|.", re.DOTALL)


class PieceTokenizer(_Tokenizer):
    """One token for each word that the text has often, with the space before it; else letters.

    `vocab` is a tuple of str, sorted: the characters of `text`, and each word (or run of line
    ends) that stands in it `least` times at least. Another word is spelt, so that every text of
    these characters can be encoded, and tokens put end to end are the text again. Raises
    ValueError for no text, and for a least below 1.
    """

    unit = "token"

    @checked
    def __init__(self, text: str, least: int = 100):
        at_least(1, least=least)
        if not text:
            raise ValueError("text is empty: a vocabulary needs at least one token")
        counts = Counter(_SPACED.findall(text))
        self._know({*text, *(piece for piece, count in counts.items() if count >= least)})

    @classmethod
    def from_vocab(cls, vocab: Iterable[str]) -> "PieceTokenizer":
        """The tokenizer that has this vocabulary."""
        tokenizer = cls.__new__(cls)
        tokenizer._know(vocab)
        return tokenizer

    def _tokens(self, text: str) -> Iterator[tuple[str, int]]:
        for match in _SPACED.finditer(text):
            known = match.group() in self._id
            for at, token in enumerate([match.group()] if known else match.group()):
                yield token, match.start() + at

    def _join(self, tokens: Iterable[str]) -> str:
        return "".join(tokens)


# A piece of text is a clitic 's, a word, digits, line ends, or any one character besides;
# whatever the text, its pieces put end to end are the text again.
_PIECE = re.compile(
    r"(?<=[^\W\d_])['’]s\b|[^\W\d_]+(?:(?:-|['’](?!s\b))[^\W\d_]+)*|\d+|\n+|.", re.DOTALL
)
_CLINGS_LEFT = frozenset(".,;:!?)]}%”’'…") | {"'s", "’s"}
_CLINGS_RIGHT = frozenset("([{“‘")


def _usual_gap(previous: str | None, piece: str, quoted: bool) -> str:
    """What stands between two pieces in ordinary English: a space or nothing.

    quoted: whether a straight double quote is open after `previous`.
    """
    if previous is None or piece in _CLINGS_LEFT or previous in _CLINGS_RIGHT:
        return ""
    if '"' in (previous, piece):
        return "" if quoted else " "
    return " "


class WordTokenizer(_Tokenizer):
    r"""One token a word or punctuation mark; a space is a token only where it is unusual.

    The fox's den, said Anna: "The", "fox", "'s", "den", ",", "said", "Anna". Between two
    tokens stands what English usually has there (a space, but none before a comma or
    inside a quote), and only where the text differs is there a token for it: " ", "\n",
    "\n\n", or "" for no space where one is usual. So a word is one and the same token
    wherever it stands, the sequence is hardly longer than its words and marks, and
    `decode(encode(text)) == text` for every text.

    `vocab` is a tuple of str, sorted, `len(tokenizer)` its size V. Case is kept. Raises
    ValueError for no text.
    """

    unit = "word"

    def _tokens(self, text: str) -> Iterator[tuple[str, int]]:
        previous, quoted, gap = None, False, []
        for match in _PIECE.finditer(text):
            piece, position = match.group(), match.start()
            if piece.isspace():
                gap.append((piece, position))
                continue
            between = "".join(space for space, _ in gap)
            if between != _usual_gap(previous, piece, quoted):
                yield from gap or [("", position)]
            quoted = (quoted and "\n" not in between) != (piece == '"')
            yield piece, position
            previous, gap = piece, []
        yield from gap

    def _join(self, tokens: Iterable[str]) -> str:
        parts, previous, quoted, gap = [], None, False, None
        for token in tokens:
            if not token or token.isspace():
                gap = (gap or "") + token
                continue
            between = _usual_gap(previous, token, quoted) if gap is None else gap
            quoted = (quoted and "\n" not in between) != (token == '"')
            parts += [between, token]
            previous, gap = token, None
        return "".join(parts) + (gap or "")


TOKENIZERS: dict[str, Callable[[str], _Tokenizer]] = {
    "characters": CharTokenizer,
    "words": PieceTokenizer,
}


# --------------------------------------------------- splits and batches


@checked
def split(
    ids: Integer[Tensor, " N"], fraction: float = 0.9
) -> tuple[Int[Tensor, " N_train"], Int[Tensor, " N_validation"]]:
    """Cut ids in two, the first int(fraction·N) for training, the rest for validation.

    Both are contiguous views; no pair of neighbours spans the cut. Raises ValueError
    unless 0 < fraction < 1 and both parts hold at least one id.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction} must lie strictly between 0 and 1")
    cut = int(round(fraction * len(ids), 6))  # rounded first: 0.29 · 100 is 28.999999999999996
    if not 0 < cut < len(ids):
        raise ValueError(
            f"fraction={fraction} of {len(ids)} ids leaves {cut} and {len(ids) - cut}; "
            "both parts need at least one"
        )
    return ids[:cut], ids[cut:]


@checked
def batches(
    ids: Integer[Tensor, " N"], *, batch_size: int, context: int, generator: torch.Generator
) -> Iterator[Batch]:
    """Draw windows of `context` ids at random, without end: (x_BT, y_BT), y one step ahead.

    Each of the N - context windows is equally likely. The order is the generator's alone:
    the same seed gives the same batches. Raises ValueError (at once, not at the first
    batch) where sizes are below 1 or ids hold no window.
    """
    _check_window(ids, context, batch_size)

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


@checked
def windows(ids: Integer[Tensor, " N"], context: int, *, batch_size: int = 64) -> Iterator[Batch]:
    """Go through ids once, in order: (x_BT, y_BT) in which each of the N - 1 targets is once.

    Windows follow one another without overlap, up to `batch_size` at a time; what is left
    at the end comes as one shorter window. Raises ValueError as `batches` does.
    """
    _check_window(ids, context, batch_size)
    whole = (len(ids) - 1) // context
    x_NT = ids[: whole * context].view(whole, context)
    y_NT = ids[1 : whole * context + 1].view(whole, context)
    rest = ids[whole * context :]

    def walk() -> Iterator[Batch]:
        yield from zip(x_NT.split(batch_size), y_NT.split(batch_size), strict=True)
        if len(rest) > 1:
            yield rest[None, :-1], rest[None, 1:]

    return walk()


def _check_window(ids: Integer[Tensor, " N"], context: int, batch_size: int) -> None:
    at_least(1, context=context, batch_size=batch_size)
    if len(ids) < context + 1:
        raise ValueError(
            f"ids hold {len(ids)} tokens; context={context} needs at least {context + 1}"
        )
