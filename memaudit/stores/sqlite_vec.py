"""Read SQLite files whose vectors lie in sqlite-vec tables; mcp-memory-service is the best known."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memaudit.stores.store import Store, StoreTable, TableColumn, quoted
from memaudit.stores.vec0 import load_vectors, vec0_tables
from memaudit.wording import say

#: A table whose keys meet at least this share of the vectors' row numbers is the one they belong to.
_LEAST_SHARE = 0.9
#: Column that the row number becomes where a table has no key of its own.
ROW_NUMBER = "row_number"
_SERVICE = {"content", "content_hash", "tags", "memory_type", "deleted_at"}


def is_sqlite_vec(store: Store) -> bool:
    """Say whether an opened SQLite file has a vec0 table."""
    return bool(vec0_tables(store.connection))


def with_vectors(store: Store) -> Store:
    """Put the decoded vectors beside the tables of a SQLite file; its own tables stay as they are."""
    connection = store.connection
    found: list[tuple[StoreTable, str, str]] = []
    skipped = dict(store.skipped)
    notes = list(store.notes)
    for table in vec0_tables(connection):
        try:
            key, names, n_rows, note = load_vectors(connection, table)
        except sqlite3.Error as error:
            notes.append(say("The vectors of {table} could not be read: {error}.", table=table.name, error=error))
            continue
        skipped.pop(table.name, None)
        notes.append(note)
        columns = tuple(TableColumn(name) for name in names)
        found.append((StoreTable(table.name, columns, n_rows, note=note), key, table.vectors[0][0]))
    hints: dict[str, tuple[Any, str]] = {}
    table_hints: dict[str, Mapping[str, tuple[Any, str]]] = {}
    tables = {t.name: t for t in store.tables}
    for vectors, key, embedding in found:
        owner = _owner(store, vectors, key)
        if owner is None:
            continue
        memory, column, n_known = owner
        tables[memory.name] = memory
        own: dict[str, tuple[Any, str]] = {
            "id": (column, say("its values are the row numbers of the vectors in {table}", table=vectors.name)),
            "vectors": (
                {"table": vectors.name, "ref": key, "embedding": embedding},
                say("the sqlite-vec table {table} keeps a vector for {n} of these rows", table=vectors.name, n=n_known),
            ),
        }
        orphans = vectors.n_rows - n_known
        if orphans:
            notes.append(say("Vectors of no row: {n} in {table}.", n=orphans, table=vectors.name))
        if set(memory.column_names) >= _SERVICE:
            own |= _service_hints(memory)
            notes += _service_notes(store, memory)
            links = _supersede_links(store, memory, column)
            if links is not None:
                tables[links.name] = links
                why = say("superseded_by names the row that replaced a row; a search by meaning leaves such rows out")
                own["supersedes"] = ({"table": links.name, "new": "new", "old": "old", "hidden": "hidden"}, why)
        if "table" not in hints:
            hints = {"table": (memory.name, say("its rows own the vectors in {table}", table=vectors.name)), **own}
        table_hints.setdefault(memory.name, own)
    tables |= {vectors.name: vectors for vectors, _, _ in found}
    # Changed in place: what the SQLite reader does when its store is closed speaks of this very object.
    store.kind, store.tables, store.skipped = "sqlite-vec", tuple(tables.values()), skipped
    store.hints, store.table_hints, store.notes = hints, table_hints, tuple(notes)
    return store


def _owner(store: Store, vectors: StoreTable, key: str) -> tuple[StoreTable, str, int] | None:
    """Find the table and the column whose values are the keys of the vectors, and how many vectors have a row."""
    connection = store.connection
    known = f"SELECT {quoted(key)} FROM temp.{quoted(vectors.name)}"
    best: tuple[float, int, StoreTable, str, int] | None = None
    for table in store.tables:
        keys = [c for c in table.column_names if _may_be_key(c)]
        if table.order == "rowid":
            keys.append("rowid")
        for column in keys:
            shown = column if column == "rowid" else quoted(column)
            sql = f"SELECT COUNT(*), COUNT(DISTINCT {shown}) FROM {quoted(table.name)} WHERE {shown} IN ({known})"
            try:
                met, distinct = connection.execute(sql).fetchone()
            except sqlite3.Error:
                continue
            share = met / vectors.n_rows if vectors.n_rows else 0.0
            if met != distinct or share < _LEAST_SHARE:
                continue
            # A named key before the row number of the same table: it is the column a person knows.
            if best is None or (share, len(table.columns)) > best[:2]:
                best = (share, len(table.columns), table, column, int(met))
    if best is None:
        return None
    _, _, table, column, met = best
    return (_with_row_numbers(store, table), ROW_NUMBER, met) if column == "rowid" else (table, column, met)


def _with_row_numbers(store: Store, table: StoreTable) -> StoreTable:
    """Put a view with the row number as a column before a table that has no key of its own."""
    name = quoted(table.name)
    store.connection.execute("PRAGMA query_only = OFF")
    try:
        store.connection.execute(f"CREATE TEMP VIEW {name} AS SELECT rowid AS {quoted(ROW_NUMBER)}, * FROM main.{name}")
    finally:
        store.connection.execute("PRAGMA query_only = ON")
    return replace(table, columns=(TableColumn(ROW_NUMBER, "INTEGER"), *table.columns), order=quoted(ROW_NUMBER))


def _may_be_key(column: str) -> bool:
    lower = column.lower()
    return lower in ("id", "pk", "uuid", "key") or lower.endswith(("_id", "_rowid", "_key", "hash"))


def _service_hints(table: StoreTable) -> dict[str, tuple[Any, str]]:
    """Give the roles of mcp-memory-service."""
    why = say("mcp-memory-service writes it so")
    hints: dict[str, tuple[Any, str]] = {
        "text": ("content", why),
        "time": ("created_at", why),
        "soft_delete": ("deleted_at", say("mcp-memory-service sets it and keeps the row")),
        "value_field": ("memory_type", say("mcp-memory-service labels its memories with it")),
        "last_access": ("last_accessed", why),
        "metadata": ("metadata", say("mcp-memory-service keeps JSON there")),
    }
    return {role: hint for role, hint in hints.items() if table.has(str(hint[0]))}


def _supersede_links(store: Store, table: StoreTable, key: str) -> StoreTable | None:
    """Write down which row replaced which by their keys: the column `superseded_by` holds the content's hash."""
    if not table.has("superseded_by"):
        return None
    name = "supersede_links"
    while any(name == t.name.lower() for t in store.tables):
        name += "_"
    rows, place, shown = quoted(table.name), quoted(name), quoted(key)
    connection = store.connection
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute(
            f"CREATE TEMP TABLE {place} AS SELECT COALESCE(n.{shown}, o.superseded_by) AS new, o.{shown} AS old, 1 AS hidden "
            f"FROM {rows} o LEFT JOIN {rows} n ON n.content_hash = o.superseded_by "
            "WHERE o.superseded_by <> '' AND o.deleted_at IS NULL"
        )
    finally:
        connection.execute("PRAGMA query_only = ON")
    n_rows = int(connection.execute(f"SELECT COUNT(*) FROM {place}").fetchone()[0])
    return StoreTable(name, tuple(TableColumn(c) for c in ("new", "old", "hidden")), n_rows)


def _service_notes(store: Store, table: StoreTable) -> list[str]:
    notes = []
    if table.has("superseded_by"):
        sql = f"SELECT COUNT(*) FROM {quoted(table.name)} WHERE superseded_by <> '' AND deleted_at IS NULL"
        superseded = store.connection.execute(sql).fetchone()[0]
        notes.append(
            say(
                "Superseded rows that are still there (superseded_by): {n}. A search by meaning leaves them out, a search by "
                "tag does not.",
                n=superseded,
            )
            if superseded
            else say("Superseded rows that are still there (superseded_by): {n}.", n=0)
        )
    if table.has("embedding_pending"):
        sql = f"SELECT COUNT(*) FROM {quoted(table.name)} WHERE embedding_pending = 1 AND deleted_at IS NULL"
        pending = store.connection.execute(sql).fetchone()[0]
        if pending:
            notes.append(say("Rows whose vector is still to be made (embedding_pending): {n}.", n=pending))
    return notes
