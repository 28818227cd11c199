"""Rows of any format in a temporary SQLite database, so that one way of reading serves all stores."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memaudit.stores.store import Store, StoreTable, TableColumn, quoted
from memaudit.wording import plural, say

_BATCH = 1000
#: Rows wait in memory until they are so many, or so long together.
_BATCH_CHARS = 16 << 20
#: SQLite's own limit is 2,000.
_MAX_COLUMNS = 1900
_INT64 = 1 << 63
_ROWIDS = ("rowid", "_rowid_", "oid")
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)\.(\d+)")


def temporary_database() -> sqlite3.Connection:
    """Return a database of SQLite's own temporary files, removed when it is closed."""
    connection = sqlite3.connect("", isolation_level=None)
    connection.text_factory = lambda value: value.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA journal_mode = OFF")
    return connection


def finished_store(
    shown: str, kind: str, connection: sqlite3.Connection, tables: Iterable[StoreTable], **more: Any
) -> Store:
    """Close the database to writing and return it as a store."""
    connection.execute("PRAGMA query_only = ON")
    return Store(shown, kind, connection, tuple(tables), **more)


class TableLoader:
    """Write rows into one table of a temporary database; its columns are those that the rows bring, as first seen.

    Numbers stay numbers, true and false become 1 and 0, lists and objects become JSON text, a missing key becomes
    NULL and is counted apart. Whole numbers beyond 64 bits and NaN, which SQLite cannot hold, become text.

    Parameters
    ----------
    columns
        Columns known beforehand (a header); they exist without rows too.
    texts_are_numbers
        Turn a column of texts into numbers when each of its values is one, written so that nothing is lost
        (`007` and `1.10` beside `1.9` stay text).
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        name: str,
        columns: Sequence[str] = (),
        *,
        texts_are_numbers: bool = False,
    ) -> None:
        self._connection = connection
        self.name = name
        self._columns: dict[str, str] = {}  # key of the rows -> column
        self._taken: set[str] = set()
        self._present: dict[str, int] = {}
        self._buffer: list[dict[str, Any]] = []
        self._buffered_chars = 0
        self._created = 0
        self._n_rows = 0
        self._renamed: list[str] = []
        self._beyond = 0
        self._nan = 0
        self._big = 0
        self._texts_are_numbers = texts_are_numbers
        for column in columns:
            self._column(column)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; the keys are column names."""
        values: dict[str, Any] = {}
        for key, value in row.items():
            column = self._column(key)
            if column is not None:
                self._present[column] = self._present.get(column, 0) + 1
                stored = values[column] = self._storable(value)
                self._buffered_chars += len(stored) if isinstance(stored, (str, bytes)) else 1
        self._buffer.append(values)
        if len(self._buffer) >= _BATCH or self._buffered_chars >= _BATCH_CHARS:
            self._flush()

    def column_of(self, key: str) -> str:
        """Return the column that a key of the rows became; the key itself when no row had it."""
        return self._columns.get(key, key)

    def _column(self, key: str) -> str | None:
        if key in self._columns:
            return self._columns[key]
        if len(self._columns) >= _MAX_COLUMNS:
            self._beyond += 1
            return None
        # `$` opens a JSON path in the configuration; NUL and half characters cannot stand in SQL.
        base = "".join("_" if c in "$\0" or "\ud800" <= c <= "\udfff" else c for c in key)
        base = base or f"column_{len(self._columns) + 1}"
        name, number = base, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{base}_{number}"
        if name != key:
            self._renamed.append(say("{old} is called {new}", old=json.dumps(key), new=name))
        self._taken.add(name.lower())
        self._columns[key] = name
        return name

    def _storable(self, value: Any) -> Any:
        if value is None or isinstance(value, (str, bytes)):
            return value
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, int):
            if -_INT64 <= value < _INT64:
                return value
            self._big += 1
            return str(value)
        if isinstance(value, float):
            if math.isnan(value):
                self._nan += 1
                return "NaN"
            return value
        return json.dumps(value, ensure_ascii=False, default=str)

    def _flush(self) -> None:
        columns = list(self._columns.values())
        table = quoted(self.name)
        if not self._created:
            made = ", ".join(map(quoted, columns)) or '"value"'
            self._connection.execute(f"CREATE TABLE {table} ({made})")
        else:
            for column in columns[self._created :]:
                self._connection.execute(f"ALTER TABLE {table} ADD COLUMN {quoted(column)}")
        self._created = max(1, len(columns))
        if self._buffer:
            names = ", ".join(map(quoted, columns)) or '"value"'
            marks = ", ".join("?" * max(1, len(columns)))
            rows = [[row.get(c) for c in columns] or [None] for row in self._buffer]
            sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"
            self._connection.execute("BEGIN")
            try:
                for row in rows:
                    try:
                        self._connection.execute(sql, row)
                    except UnicodeEncodeError:
                        self._insert_bytes(names, row)
            finally:
                self._connection.execute("COMMIT")
        self._n_rows += len(self._buffer)
        self._buffer.clear()
        self._buffered_chars = 0

    def _insert_bytes(self, names: str, row: Sequence[Any]) -> None:
        """Insert a row with undecodable text: its bytes are stored as they were and read back as escapes."""
        values = [_as_bytes(v) if isinstance(v, str) else v for v in row]
        marks = ", ".join("CAST(? AS TEXT)" if isinstance(old, str) else "?" for old in row)
        self._connection.execute(f"INSERT INTO {quoted(self.name)} ({names}) VALUES ({marks})", values)

    def discard(self) -> None:
        """Drop the table and all of its rows."""
        self._buffer.clear()
        self._connection.execute(f"DROP TABLE IF EXISTS {quoted(self.name)}")

    def finish(self, note: str = "") -> StoreTable:
        """Write what is left and describe the table; `note` comes first in its note."""
        self._flush()
        if self._texts_are_numbers:
            for column in self._columns.values():
                self._to_numbers(column)
        columns = tuple(TableColumn(name) for name in self._columns.values()) or (TableColumn("value"),)
        order = next((r for r in _ROWIDS if r not in self._taken), "1")
        return StoreTable(self.name, columns, self._n_rows, order, " ".join(p for p in (note, *self._notes()) if p))

    def _notes(self) -> Iterable[str]:
        absent = {c: self._n_rows - self._present.get(c, 0) for c in self._columns.values()}
        shown = [
            say("{column} in {rows}", column=c, rows=plural(n, "row")) for c, n in absent.items() if n and self._n_rows
        ]
        if shown:
            more = say(" and {n} more columns", n=len(shown) - 10) if len(shown) > 10 else ""
            yield say("Absent, not null: {columns}{more}.", columns=", ".join(shown[:10]), more=more)
        if self._renamed:
            yield say("Renamed columns: {renamed}.", renamed=", ".join(self._renamed[:10]))
        if self._beyond:
            yield say("{n} values in columns beyond the first {max} were not read.", n=self._beyond, max=_MAX_COLUMNS)
        if self._nan:
            yield say('{n} numbers are NaN; they are kept as the text "NaN".', n=self._nan)
        if self._big:
            yield say("{n} whole numbers beyond 64 bits are kept as text.", n=self._big)

    def _to_numbers(self, column: str) -> None:
        name, table = quoted(column), quoted(self.name)
        whole, decimal, places = True, True, set()
        filled = False
        for (value,) in self._connection.execute(f"SELECT {name} FROM {table} WHERE {name} <> ''"):
            if not isinstance(value, str):
                return
            filled = True
            whole = whole and _INTEGER.fullmatch(value) is not None
            match = _DECIMAL.fullmatch(value)
            decimal = decimal and match is not None and len(value) <= 24
            if match is not None:
                # 0.50 among numbers of two decimals loses nothing; 1.10 beside 1.9 is a version.
                places.add(len(match[1]) if repr(float(value)) != value else 0)
            if not (whole or decimal):
                return
        if not filled or (decimal and not whole and len(places) > 1):
            return
        kind = "INTEGER" if whole else "REAL"
        self._connection.execute(f"UPDATE {table} SET {name} = CAST(NULLIF({name}, '') AS {kind})")


def _as_bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
