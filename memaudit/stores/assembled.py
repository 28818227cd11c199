"""Collections that a reader has put together, loaded as tables: the largest is audited, the others are named."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.store import Store, StoreTable
from memaudit.stores.tabular import TableLoader, finished_store, temporary_database
from memaudit.wording import plural, say

#: Role -> (column or columns, reason); the keys are configuration keys.
Hints = Mapping[str, tuple[Any, str]]


@dataclass
class Collection:
    """Rows of one table to be.

    Parameters
    ----------
    rows
        One mapping a record; their keys become columns. May be a generator: it is read once, when it is loaded.
    hints
        Roles that the format answers by itself. Columns are named as the rows name them. A callable is asked after
        the rows were loaded, for formats that are known only then.
    note
        What could not be read, and what a reader must know; a callable is asked after the rows were loaded.
    is_memory
        False for tables that only accompany the memories (relations, index lines).
    """

    name: str
    rows: Iterable[Mapping[str, Any]]
    hints: Any = field(default_factory=dict)
    note: Any = ""
    is_memory: bool = True
    columns: Sequence[str] = ()


def assembled(
    shown: str,
    kind: str,
    collections: Sequence[Collection],
    *,
    notes: Iterable[str] = (),
    sha256: str | None = None,
    skipped: Mapping[str, str] | None = None,
    goes_on: Callable[[], bool] = lambda: False,
) -> Store:
    """Load collections into a temporary database.

    The collection with the most rows is the one to audit; every other collection of memories gets a note with its
    count and the command that audits it.

    Parameters
    ----------
    shown
        Name of the store for messages and commands; credentials already removed.
    notes
        Sentences about the whole store.
    goes_on
        Asked when the rows of a collection could not be read: whether the others can be. The table is then left out
        and stands in `Store.unreadable`; else, and when no collection could be read, the error is raised.
    """
    connection = temporary_database()
    tables: list[StoreTable] = []
    memories: list[StoreTable] = []
    failed: dict[str, str] = {}
    table_hints: dict[str, Hints] = {}
    for name, collection in _own_names(collections):
        loader = TableLoader(connection, name, collection.columns)
        try:
            for row in collection.rows:
                loader.add(row)
        except StoreError as error:
            if not goes_on():
                raise
            loader.discard()
            failed[name] = error.message
            continue
        note = collection.note() if callable(collection.note) else collection.note
        table = loader.finish(note)
        tables.append(replace(table, note=shown_text(table.note)))
        if collection.is_memory:
            memories.append(tables[-1])
        hints = collection.hints() if callable(collection.hints) else collection.hints
        table_hints[name] = {role: (_renamed(loader, value), shown_text(why)) for role, (value, why) in hints.items()}
    if failed and not tables:
        raise StoreError(next(iter(failed.values())))
    memories = memories or tables
    store_notes = list(map(shown_text, notes))
    chosen: dict[str, tuple[Any, str]] = {}
    if memories:
        # The first of the largest: `max` keeps the order of the store.
        largest = max(memories, key=lambda t: t.n_rows)
        others = len(memories) > 1
        reason = (
            say("it holds the most memories of {n} collections", n=len(memories))
            if others
            else say("it holds the memories")
        )
        chosen = {"table": (largest.name, reason), **table_hints[largest.name]}
    table_notes = notes_by_table(shown, tables, memories)
    if chosen:
        store_notes += table_notes[chosen["table"][0]]
    return finished_store(
        shown,
        kind,
        connection,
        tables,
        hints=chosen,
        table_hints=table_hints,
        table_notes=table_notes,
        notes=tuple(store_notes),
        sha256=sha256,
        memories=tuple(t.name for t in memories),
        skipped={**(skipped or {}), **failed},
        unreadable=frozenset(failed),
    )


def notes_by_table(
    shown: str, tables: Iterable[StoreTable], memories: Sequence[StoreTable]
) -> dict[str, tuple[str, ...]]:
    """Return for each table what is to be said when it is audited: its own note, and which others are not."""
    return {
        table.name: (
            *([table.note] if table.note else []),
            *(other_table_note(shown, t.name, t.n_rows) for t in memories if t is not table),
        )
        for table in tables
    }


def other_table_note(shown: str, table: str, n_rows: int) -> str:
    """Name a table of memories that is not audited here, with the command that audits it."""
    command = shlex.join(["memaudit", "run", "--store", shown, "--table", table])
    return say("Not audited here: {table}, {rows}. For it: {command}", table=table,
               rows=plural(n_rows, "row"), command=command)  # fmt: skip


def _own_names(collections: Sequence[Collection]) -> Iterable[tuple[str, Collection]]:
    """Give each collection a table name of its own; SQLite's names differ by more than their case."""
    taken: set[str] = set()
    for number, collection in enumerate(collections, 1):
        base = "".join("_" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in collection.name)
        base = base or f"collection_{number}"
        if base.lower().startswith("sqlite_"):
            base = f"_{base}"
        name, count = base, 1
        while name.lower() in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name.lower())
        yield name, collection


def shown_text(text: str) -> str:
    """Replace half characters, which undecodable bytes become and no report can be written with."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _renamed(loader: TableLoader, value: Any) -> Any:
    """Replace the keys of the rows by the columns that they became."""
    if isinstance(value, str):
        return loader.column_of(value)
    if isinstance(value, (list, tuple)):
        return tuple(loader.column_of(v) for v in value)
    return value
