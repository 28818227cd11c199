"""Read JSON and JSONL files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.encodings import find_encoding
from memaudit.stores.files import sha256_of
from memaudit.stores.json_rows import JsonTable, tables_of, with_items
from memaudit.stores.json_stream import ArrayElements, JsonLines
from memaudit.stores.memorybank import is_memorybank, memorybank_tables
from memaudit.stores.store import Store
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database
from memaudit.stores.text_lines import LONGEST_LINE
from memaudit.wording import plural, say

#: A JSON document is read as a whole; a larger one would not fit into memory.
_LARGEST_DOCUMENT = 1 << 30
#: A list that is larger is read element by element.
_STREAMED_FROM = 64 << 20
_SHOWN_LINES = 10
#: Elements by which a list without objects is known as texts.
_LOOKED_AT = 10_000


def open_json(path: Path, shown: str) -> Store:
    """Load a JSON document (:func:`memaudit.stores.json_rows.tables_of` says which forms are tables).

    A list of objects or texts may be of any size; everything else is read as a whole, up to 1 GiB.

    Raises
    ------
    StoreError
        Not JSON (names line and column), nested too deeply, or larger than 1 GiB and no list.
    """
    encoding = find_encoding(path)
    size = path.stat().st_size
    if size > _STREAMED_FROM and _begins_a_list(path, encoding):
        return _store(path, shown, "json", _tables_of_a_list(path.stem, ArrayElements(path, encoding, shown)))
    if size > _LARGEST_DOCUMENT:
        raise StoreError(
            say("{shown} is larger than 1 GiB, and no list.", shown=shown),
            say("Convert it to JSONL, one object a line, or to a list of objects."),
        )
    text = path.read_text(encoding=encoding, errors="surrogateescape")
    try:
        data = json.loads(text)
    except RecursionError:
        raise StoreError(say("{shown} is nested too deeply to be read.", shown=shown)) from None
    except json.JSONDecodeError as error:
        raise StoreError(
            say(
                "{shown} is not valid JSON: {reason} (line {line}, column {column}).",
                shown=shown,
                reason=error.msg,
                line=str(error.lineno),
                column=str(error.colno),
            ),
            say("One object a line is JSONL: give --set store_kind=jsonl."),
        ) from None
    except ValueError as error:  # a whole number of more digits than Python reads
        raise StoreError(say("{shown} cannot be read: {error}.", shown=shown, error=error)) from None
    if is_memorybank(data):
        return _store(path, shown, "memorybank", memorybank_tables(path.stem, data))
    return _store(path, shown, "json", tables_of(path.stem, data))


def open_jsonl(path: Path, shown: str) -> Store:
    """Load a file with one JSON object a line; bad lines are counted and named.

    Raises
    ------
    StoreError
        No line is a JSON object.
    """
    rows = JsonLines(path, find_encoding(path), _SHOWN_LINES)
    tables = with_items(JsonTable(path.stem, rows))
    if rows.n_bad and not rows.n_rows:
        raise StoreError(
            say("{shown}: none of {lines} is a JSON object.", shown=shown, lines=plural(rows.n_bad, "line")),
            say("JSONL holds one JSON object a line."),
        )
    notes = []
    if rows.n_bad:
        numbers = ", ".join(map(str, rows.first_bad)) + (" ..." if rows.n_bad > _SHOWN_LINES else "")
        notes.append(
            say(
                "{lines} no JSON object and not read ({numbers}).",
                lines=plural(rows.n_bad, "line is", "lines are"),
                numbers=numbers,
            )
        )
    if rows.n_long:
        notes.append(say("Of these, longer than {size} MiB: {n}.", size=LONGEST_LINE >> 20, n=rows.n_long))
    return _store(path, shown, "jsonl", tables, " ".join(notes))


def _begins_a_list(path: Path, encoding: str) -> bool:
    with path.open(encoding=encoding, errors="surrogateescape") as file:
        return file.read(4096).lstrip()[:1] == "["


def _tables_of_a_list(name: str, elements: ArrayElements) -> list[JsonTable]:
    """Find the tables of a list as :func:`tables_of` does, without holding it."""
    if any(isinstance(item, dict) for item in elements):
        others = sum(not isinstance(item, dict) for item in elements)
        note = say("{items} no object and not read.", items=plural(others, "item is", "items are")) if others else ""
        return with_items(JsonTable(name, _Objects(elements), note))
    first = list(islice(elements, _LOOKED_AT))
    return [replace(table, rows=_Values(elements)) for table in tables_of(name, first)]


@dataclass(frozen=True)
class _Objects:
    """The objects among the elements of a list."""

    elements: ArrayElements

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return (item for item in self.elements if isinstance(item, dict))


@dataclass(frozen=True)
class _Values:
    """The elements of a list without objects, a row each."""

    elements: ArrayElements

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return ({"value": item} for item in self.elements)


def _store(path: Path, shown: str, kind: str, tables: list[JsonTable], note: str = "") -> Store:
    connection = temporary_database()
    loaded = []
    for table in tables:
        loader = TableLoader(connection, table.name)
        for row in table.rows:
            loader.add(row)
        loaded.append(loader.finish(" ".join(p for p in (note, table.note) if p)))
    hints = next((t.hints for t in tables if t.hints), {})
    chosen = hints.get("table", (tables[0].name if len(tables) == 1 else None,))[0]
    sha256, notes = sha256_of(path)
    notes += tuple(t.note for t in loaded if t.note and chosen in (None, t.name))
    return finished_store(shown, kind, connection, loaded, hints=hints, notes=notes, sha256=sha256)
