"""Tables as CSV, the way learning platforms and spreadsheets write them.

read(path, known)   a Table: its header, its rows, and how it was written
text(head, rows)    a table as it is written
harmless(cell)      the cell, such that no spreadsheet takes it for a formula
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

DELIMITERS = ",;"
FORMULA = re.compile(r"(^|[;,|\t\r\n])(?=[\s\ufeff]*[=+\-@＝＋－＠])")
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)%?|-")


@dataclass(frozen=True)
class Table:
    """Cells as they came: the header, the rows that are not blank, each as long as the header, and
    the line on which each ends; the delimiter, and the mark of byte order, "" if there was none.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    delimiter: str = ","
    mark: str = ""

    def named(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Of each row the line and its cells by their columns' names, in lower case."""
        names = folded(self.header)
        for line, row in zip(self.lines, self.rows, strict=True):
            yield line, dict(zip(names, row, strict=True))


def read(path: Path, known: Collection[str], otherwise: str = "utf-8") -> Table:
    """The table in a CSV file in UTF-8, separated by commas or semicolons.

    known: names of columns, in lower case; the delimiter is the one that finds most of them.
    otherwise: the encoding of what is not UTF-8, such as "cp1252", in which Excel saves on Windows.
    Raises: ValueError where the file cannot be read or is no CSV, and where a row has more cells
    than the header: a comma in one of them may have shifted the others.
    """
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        if otherwise == "utf-8":
            raise ValueError(f"{path} is not UTF-8: save it as “CSV UTF-8”") from error
        text = data.decode(otherwise, "replace")
    mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    csv.field_size_limit(2**26)  # a long answer in a cell is no reason to stop
    try:
        tables = {delimiter: list(_rows(text, delimiter)) or [(1, ())] for delimiter in DELIMITERS}
    except csv.Error as error:
        raise ValueError(f"{path} is no CSV ({error})") from error
    delimiter = max(tables, key=lambda d: sum(name in known for name in folded(tables[d][0][1])))
    (_, header), *rows = tables[delimiter]
    cells = tuple(_fitted(row, len(header), f"{path}, line {line}") for line, row in rows)
    return Table(header, cells, tuple(line for line, _ in rows), delimiter, mark)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The rows that are not blank, and the line on which each ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        if any(cell.strip() for cell in row):
            yield reader.line_num, tuple(row)


def _fitted(row: tuple[str, ...], length: int, where: str) -> tuple[str, ...]:
    """A row as long as the header; programs leave out or add empty cells at the end."""
    if any(cell.strip() for cell in row[length:]):
        raise ValueError(f"{where}: the row {row[0]!r} has {len(row)} cells, the header {length}")
    return (*row, *[""] * (length - len(row)))[:length]


def folded(header: Iterable[str]) -> list[str]:
    """Names of columns in lower case, without needless space."""
    return [" ".join(name.split()).casefold() for name in header]


def harmless(text: str) -> str:
    """A cell that no spreadsheet takes for a formula: before =, +, -, @ stands an apostrophe.

    So it does after what another spreadsheet takes for the end of a cell. Numbers and a lone "-"
    stay as they are. See owasp.org: CSV Injection.
    """
    return text if NUMBER.fullmatch(text.strip()) else FORMULA.sub(r"\1'", text)


def text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV, its texts made harmless."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([harmless(value) if isinstance(value, str) else value for value in row])
    return file.getvalue()
