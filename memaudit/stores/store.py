"""A store as probes see it: read-only tables behind one SQLite connection.

Every reader ends here. A SQLite file is opened as it is; every other format is loaded by its reader into a
temporary SQLite database, so that SQL conditions, counts and reads work alike for all of them.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memaudit.config import nearest
from memaudit.errors import ConfigError, StoreError
from memaudit.wording import say, sentences

#: A condition written by the user may run this long before it is stopped.
CONDITION_SECONDS = 30.0
#: How the reason of a skipped table begins when it is there but its pages are broken.
DAMAGED = "damaged: "


@dataclass(frozen=True)
class TableColumn:
    """A column and the type it was declared with (may be empty, and may lie)."""

    name: str
    declared: str = ""


@dataclass(frozen=True)
class StoreTable:
    """A readable table.

    Parameters
    ----------
    order
        SQL expression that gives store order: `rowid`, or the primary key of a table without one.
    note
        What the reader has to say of it (`3 lines could not be read`).
    """

    name: str
    columns: tuple[TableColumn, ...]
    n_rows: int
    order: str = "rowid"
    note: str = ""

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the table."""
        return tuple(c.name for c in self.columns)

    def has(self, column: str) -> bool:
        """Say whether a column (or the column of a JSON path `column$.key`) is there."""
        return column.split("$", 1)[0] in self.column_names


@dataclass
class Store:
    """An opened store.

    Parameters
    ----------
    path
        As the user named it; credentials already removed.
    kind
        Name of the reader: `sqlite`, `csv`, `jsonl`, ...
    connection
        Read-only connection, or one to a temporary database that holds the rows. Texts come as `str`; bytes
        that are not UTF-8 are kept as surrogate escapes so that they can be counted.
    hints
        Configuration keys that this kind of store answers by itself, with the reason of each. The value None says
        that nothing plays this part, and why.
    table_hints
        The same for each table by name, when a store has several.
    table_notes
        Notes that hold when a certain table is audited; those of the hinted table are in `notes`.
    memories
        Names of the tables that hold memories, where the reader knows; None where that is found by looking.
    skipped
        Tables that are not read (virtual tables and their shadows, ...), with the reason.
    full_text
        Those of them that are full-text indexes.
    unreadable
        Those of `skipped` that should have been read and could not be.
    notes
        Sentences for the report: what could not be read, a snapshot taken, ...
    """

    path: str
    kind: str
    connection: sqlite3.Connection
    tables: tuple[StoreTable, ...]
    hints: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    table_hints: Mapping[str, Mapping[str, tuple[Any, str]]] = field(default_factory=dict)
    table_notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    memories: tuple[str, ...] | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    full_text: tuple[str, ...] = ()
    unreadable: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    sha256: str | None = None
    on_close: Callable[[], None] | None = None

    def table(self, name: str) -> StoreTable:
        """Return a table by name.

        Raises
        ------
        ConfigError
            There is none of that name; the message lists those there are.
        """
        for table in self.tables:
            if table.name == name:
                return table
        for table in self.tables:
            if table.name.lower() == name.lower():
                return table
        names = [t.name for t in self.tables]
        shown = ", ".join(names[:20]) + (say(" and {n} more", n=len(names) - 20) if len(names) > 20 else "")
        if self.skipped.get(name, "").startswith(DAMAGED):
            raise StoreError(
                say('table "{name}" is {skipped}.', name=name, skipped=self.skipped[name]),
                say("Use a backup of the store."),
            )
        if name in self.skipped:
            raise ConfigError(
                say('table "{name}" is not read: {skipped}.', name=name, skipped=self.skipped[name]),
                say("Tables: {shown}.", shown=shown),
            )
        raise ConfigError(
            say('table "{name}" not found in {file}.', name=name, file=Path(self.path).name),
            sentences(nearest(name, names), say("Tables: {shown}.", shown=shown or say("none"))),
        )

    def hints_for(self, table: str) -> Mapping[str, tuple[Any, str]]:
        """Return what the reader knows of one table: never the hints of another."""
        if table in self.table_hints:
            return self.table_hints[table]
        owner = self.hints.get("table")
        return self.hints if owner is None or owner[0] == table else {}

    def notes_for(self, table: str) -> tuple[str, ...]:
        """Return the notes that hold when a table is audited: of the whole store and of that table."""
        chosen = self.hints["table"][0] if "table" in self.hints else None
        if table == chosen or table not in self.table_notes:
            return self.notes
        of_the_hinted = self.table_notes.get(str(chosen), ())
        return (*(n for n in self.notes if n not in of_the_hinted), *self.table_notes[table])

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query of ours and stream its rows; database errors become :class:`StoreError`."""
        n_read = 0
        try:
            for row in self.connection.execute(sql, tuple(parameters)):
                n_read += 1
                yield row
        except sqlite3.Error as error:
            raise StoreError(
                say(
                    "{path}: the database could not be read after {n} rows: {error}.",
                    path=self.path,
                    n=n_read,
                    error=error,
                )
            ) from error

    def condition_count(self, table: StoreTable, where: str, condition: str) -> int:
        """Count the rows of `table` under `where` that meet a condition the user wrote.

        The condition can only read, may use no semicolon, and is stopped after 30 seconds.

        Raises
        ------
        ConfigError
            The condition is no valid SQL for this table, or takes too long.
        """
        sql = f"SELECT COUNT(*) FROM {quoted(table.name)} WHERE ({where}) AND ({condition})"
        return int(self._guarded(sql, condition)[0][0])

    def condition_rows(self, table: StoreTable, where: str) -> list[int]:
        """Return `order` positions (0-based, store order) of the rows that meet a condition of the user."""
        flags = self._guarded(f"SELECT ({where}) FROM {quoted(table.name)} ORDER BY {table.order}", where)
        return [position for position, (flag,) in enumerate(flags) if flag]

    def _guarded(self, sql: str, condition: str) -> list[tuple[Any, ...]]:
        if ";" in condition or "--" in condition or "/*" in condition:
            raise ConfigError(
                say("the condition {condition} holds a semicolon or a comment.", condition=repr(condition)),
                say("Give one SQL expression."),
            )
        end = time.monotonic() + CONDITION_SECONDS
        self.connection.set_progress_handler(lambda: int(time.monotonic() > end), 100_000)
        self.connection.set_authorizer(_only_reads)
        try:
            return list(self.connection.execute(sql))
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # ValueError: NUL or half characters
            raise ConfigError(
                say("the condition {condition} cannot be used here: {error}.", condition=repr(condition), error=error)
            ) from None
        finally:
            self.connection.set_progress_handler(None, 0)
            # Not None: Python 3.10 takes that for a function that forbids everything.
            self.connection.set_authorizer(_all_allowed)

    def close(self) -> None:
        """Close the connection and remove what was made to read the store; may add to `notes`."""
        self.connection.close()
        if self.on_close is not None:
            self.on_close()
            self.on_close = None


def no_store() -> Store:
    """Return a store with one table and no rows, for audits of evaluation files alone."""
    table = StoreTable("none", (TableColumn("id"),), 0)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE none (id)")
    return Store("", "none", connection, (table,))


def _only_reads(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY


def _all_allowed(*_: object) -> int:
    return sqlite3.SQLITE_OK


def quoted(name: str) -> str:
    """Quote a table or column name for SQL."""
    return '"' + name.replace('"', '""') + '"'
