"""Read CSV and TSV files; delimiter and encoding are found."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TextIO

from memaudit.errors import StoreError
from memaudit.stores.encodings import find_encoding
from memaudit.stores.files import reads, sha256_of
from memaudit.stores.store import Store
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database
from memaudit.stores.text_lines import lines_of
from memaudit.wording import plural, say

_DELIMITERS = ",\t;|"
_LOOKED_AT = 100
#: The csv module's own limit of 131,072 characters is less than a vector or a log in a cell. A quote that is never closed
#: makes all that follows one cell: it ends here.
_LONGEST_FIELD = 64 << 20


def find_delimiter(lines: Sequence[str]) -> str | None:
    """Return the delimiter by which most records have the same number of fields, at least two; None if there is none.

    Parameters
    ----------
    lines
        Beginning of the file; a record may span several lines.
    """
    best: tuple[float, int, str] | None = None
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        # The header says how many there are; records that agree with it speak for the delimiter.
        share = Counter(widths)[widths[0]] / len(widths)
        if share >= 0.5 and (best is None or (share, widths[0]) > best[:2]):
            best = (share, widths[0], delimiter)
    return best[2] if best else None


def looks_delimited(path: Path, encoding: str) -> bool:
    """Say whether a file reads like a table: at least two records that agree in their number of fields."""
    lines = _first_lines(path, encoding)
    delimiter = find_delimiter(lines)
    if delimiter is None or len(lines) < 2:
        return False
    header = next(csv.reader(lines, delimiter=delimiter))
    return all(map(_is_column_name, header))


def _is_column_name(name: str) -> bool:
    """Say whether a cell may be a column's name: a part of a sentence with commas in it may not."""
    name = name.strip()
    return 0 < len(name) <= 40 and len(name.split()) <= 3 and not name.startswith("#") and name[-1] not in ".!?:;。！？"


def _first_lines(path: Path, encoding: str) -> list[str]:
    with path.open(encoding=encoding, errors="surrogateescape", newline="") as file:
        lines = (line for _, line in lines_of(file) if line is not None)
        return list(islice(lines, _LOOKED_AT))


def open_delimited(path: Path, shown: str, kind: str) -> Store:
    """Load a CSV or TSV file.

    Empty cells stay empty texts, save in a column of numbers, where they become NULL. Records with more or fewer
    fields than the header are kept and counted.

    Raises
    ------
    StoreError
        The file holds no record.
    """
    encoding = find_encoding(path)
    lines = _first_lines(path, encoding)
    if not any(line.strip() for line in lines):
        raise StoreError(say("{shown} holds no text.", shown=shown), reads())
    delimiter = find_delimiter(lines) or ("\t" if kind == "tsv" else ",")
    csv.field_size_limit(_LONGEST_FIELD)
    ragged: list[int] = []
    unread = _Unread()
    with path.open(encoding=encoding, errors="surrogateescape", newline="") as file:
        records = _records(file, delimiter, unread)
        header = next((r for _, r in records if r), [])
        names = [n.strip() or f"column_{i}" for i, n in enumerate(header, 1)]
        # Two columns of one name are two columns: the second gets a number.
        keys = [n if names.index(n) == i else f"{n}_{i + 1}" for i, n in enumerate(names)]
        connection = temporary_database()
        loader = TableLoader(connection, path.stem, keys, texts_are_numbers=True)
        for line, record in records:
            if not record:
                continue
            if len(record) != len(keys):
                ragged.append(line)
            more = [f"column_{i + 1}" for i in range(len(keys), len(record))]
            loader.add(dict(zip([*keys, *more], record, strict=False)))
    notes = []
    if ragged:
        notes.append(
            say(
                "{records} more or fewer fields than the header (lines {lines}).",
                records=plural(len(ragged), "record has", "records have"),
                lines=_shown(ragged),
            )
        )
    if unread.n_lines:
        notes.append(
            say(
                "{lines} could not be read ({numbers}).",
                lines=plural(unread.n_lines, "line"),
                numbers=_shown(unread.places),
            )
        )
    table = loader.finish(" ".join(notes))
    sha256, more_notes = sha256_of(path)
    found = say(
        "Read as {encoding}, fields parted by {delimiter}.",
        encoding=encoding,
        delimiter=_NAMES.get(delimiter, delimiter),
    )
    return finished_store(shown, kind, connection, [table], notes=_with(found, table.note, *more_notes), sha256=sha256)


_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}


@dataclass
class _Unread:
    """Lines that belong to no record that could be read."""

    n_lines: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, first: int, last: int) -> None:
        self.n_lines += last - first + 1
        self.places.append(str(first) if first == last else f"{first}-{last}")


def _records(file: TextIO, delimiter: str, unread: _Unread) -> Iterator[tuple[int, list[str]]]:
    """Give (line, record); what the csv module refuses (a cell without end, NUL before Python 3.11) is counted."""
    line_number = 0

    def lines() -> Iterator[str]:
        nonlocal line_number
        for number, line in lines_of(file, _LONGEST_FIELD):
            if line is None:
                unread.add(number, number)
                continue
            line_number = number
            yield line

    reader = csv.reader(lines(), delimiter=delimiter)
    before = 0
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error:
            unread.add(before + 1, line_number)
            before = line_number
            continue
        before = line_number
        yield line_number, record


def _shown(numbers: Sequence[int] | Sequence[str]) -> str:
    return ", ".join(map(str, numbers[:10])) + (" ..." if len(numbers) > 10 else "")


def _with(*notes: str) -> tuple[str, ...]:
    return tuple(n for n in notes if n)
