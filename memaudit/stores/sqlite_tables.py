"""The tables of a SQLite database that can be read, and why the others cannot."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from memaudit.errors import StoreError
from memaudit.stores.store import DAMAGED, StoreTable, TableColumn, quoted
from memaudit.wording import say

#: Endings of the tables that a virtual table keeps its data in, by module; source: each module's own code.
_SHADOWS: Mapping[str, str] = {
    "fts5": r"data|idx|content|docsize|config",
    "fts4": r"content|segments|segdir|docsize|stat",
    "fts3": r"content|segments|segdir",
    "rtree": r"node|rowid|parent",
    "rtree_i32": r"node|rowid|parent",
    "geopoly": r"node|rowid|parent",
    "spellfix1": r"vocab",
    "vss0": r"index|data",
    "vec0": r"info|chunks|rowids|auxiliary|vector_chunks\d+|metadatachunks\d+|metadatatext\d+|metadata_chunks\d+"
    r"|metadata_text\d+",
}
_ANY_SHADOW = "|".join(dict.fromkeys(_SHADOWS.values()))
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\b.*?\bUSING\s+[\"'\[`]?(\w+)", re.IGNORECASE | re.DOTALL)
#: Modules that answer MATCH (`fts5vocab` only lists the words of one).
_FULL_TEXT = ("fts3", "fts4", "fts5")
_ROWIDS = ("rowid", "_rowid_", "oid")


class TablesRead(NamedTuple):
    """The readable tables in the order of their creation, the others with the reason, and the full-text ones of those."""

    tables: tuple[StoreTable, ...]
    skipped: dict[str, str]
    full_text: tuple[str, ...]


def read_tables(connection: sqlite3.Connection, shown: str) -> TablesRead:
    """Look at all tables.

    Virtual tables are never touched, so that no extension is needed.

    Raises
    ------
    StoreError
        The list of tables, or every table, is damaged.
    """
    try:
        listed = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view')"
        ).fetchall()
    except sqlite3.Error as error:
        raise StoreError(
            say("{shown}: the list of tables cannot be read: {error}.", shown=shown, error=error)
        ) from error
    virtual = {
        name: match[1].lower() for kind, name, sql in listed if kind == "table" and (match := _VIRTUAL.match(sql or ""))
    }
    shadows = re.compile(
        "|".join(
            f"(?P<t{i}>{re.escape(name)})_(?:{_SHADOWS.get(module, _ANY_SHADOW)})"
            for i, (name, module) in enumerate(virtual.items())
        )
        or r"(?!)",
        re.IGNORECASE,
    )
    tables: list[StoreTable] = []
    skipped: dict[str, str] = {}
    for kind, name, _ in listed:
        if name.lower().startswith("sqlite_"):
            continue
        if kind == "view":
            skipped[name] = say("a view; name the table it is made from")
        elif name in virtual:
            skipped[name] = say("a virtual table ({module})", module=virtual[name])
        elif match := shadows.fullmatch(name):
            owner = next(value for value in match.groupdict().values() if value is not None)
            skipped[name] = say("data of the virtual table {owner}", owner=owner)
        else:
            found = _table(connection, name)
            if isinstance(found, str):
                skipped[name] = found
            else:
                tables.append(found)
    if not tables:
        damaged = [f"{name}: {reason}" for name, reason in skipped.items() if reason.startswith(DAMAGED)]
        if damaged:
            raise StoreError(
                say("{shown}: no table can be read: {damaged}.", shown=shown, damaged=damaged[0]),
                say("Use a backup of the store."),
            )
    return TablesRead(tuple(tables), skipped, tuple(name for name, module in virtual.items() if module in _FULL_TEXT))


def _table(connection: sqlite3.Connection, name: str) -> StoreTable | str:
    """Describe one table, or say why it cannot be read."""
    try:
        info = connection.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()
        columns = tuple(TableColumn(row[1], row[2] or "") for row in info if row[6] != 1)
        names = {c.name.lower() for c in columns}
        order = next((r for r in _ROWIDS if r not in names and _has(connection, name, r)), "")
        if not order:
            key = sorted((row[5], row[1]) for row in info if row[5])
            order = ", ".join(quoted(column) for _, column in key) or "1"
        n_rows = int(connection.execute(f"SELECT COUNT(*) FROM {quoted(name)}").fetchone()[0])
    except UnicodeError:
        return say("its name or a column's name is no valid UTF-8")
    except sqlite3.OperationalError as error:
        return say("it cannot be read: {error}", error=error)
    except sqlite3.DatabaseError as error:
        read = _rows_before_error(connection, name)
        return DAMAGED + say("only {n} rows can be read ({error})", n=read, error=error)
    return StoreTable(name, columns, n_rows, order)


def _has(connection: sqlite3.Connection, table: str, column: str) -> bool:
    try:
        connection.execute(f"SELECT {column} FROM {quoted(table)} LIMIT 0")
    except sqlite3.OperationalError:
        return False
    return True


def _rows_before_error(connection: sqlite3.Connection, name: str) -> int:
    read = 0
    try:
        for _ in connection.execute(f"SELECT * FROM {quoted(name)} NOT INDEXED"):
            read += 1
    except sqlite3.DatabaseError:
        pass
    return read
