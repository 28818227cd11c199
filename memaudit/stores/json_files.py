"""Read JSON and JSONL files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.encodings import find_encoding
from memaudit.stores.files import sha256_of
from memaudit.stores.json_rows import JsonTable, tables_of
from memaudit.stores.memorybank import is_memorybank, memorybank_tables
from memaudit.stores.store import Store
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database
from memaudit.wording import plural, say

#: A JSON document is read as a whole; a larger one would not fit into memory.
_LARGEST_DOCUMENT = 1 << 30
_SHOWN_LINES = 10


def open_json(path: Path, shown: str) -> Store:
    """Load a JSON document (:func:`memaudit.stores.json_rows.tables_of` says which forms are tables).

    Raises
    ------
    StoreError
        Not JSON (names line and column), nested too deeply, or larger than 1 GiB.
    """
    if path.stat().st_size > _LARGEST_DOCUMENT:
        raise StoreError(
            say("{shown} is larger than 1 GiB.", shown=shown), say("Convert it to JSONL, one object a line.")
        )
    text = path.read_text(encoding=find_encoding(path), errors="surrogateescape")
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
    rows: list[Mapping[str, Any]] = []
    bad: list[int] = []
    with path.open(encoding=find_encoding(path), errors="surrogateescape", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                rows.append(row)
            else:
                bad.append(number)
    if bad and not rows:
        raise StoreError(
            say("{shown}: none of {lines} is a JSON object.", shown=shown, lines=plural(len(bad), "line")),
            say("JSONL holds one JSON object a line."),
        )
    note = ""
    if bad:
        numbers = ", ".join(map(str, bad[:_SHOWN_LINES])) + (" ..." if len(bad) > _SHOWN_LINES else "")
        note = say(
            "{lines} no JSON object and not read ({numbers}).",
            lines=plural(len(bad), "line is", "lines are"),
            numbers=numbers,
        )
    tables = tables_of(path.stem, rows) if rows else [JsonTable(path.stem, [])]
    return _store(path, shown, "jsonl", tables, note)


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
