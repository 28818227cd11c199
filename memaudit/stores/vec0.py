"""Decode the tables in which sqlite-vec keeps the vectors of a `vec0` table, without the extension.

A chunk holds `size` places: a bitmap of the places in use, their row numbers, and one blob of vectors a column.
Source: sqlite-vec 0.1.9, checked on files that it wrote.
"""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memaudit.stores.store import quoted
from memaudit.wording import plural, say

_CREATE = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\b.*?\bUSING\s+[\"'\[`]?vec0[\"'\]`]?\s*\((.*)\)\s*;?\s*$",
                     re.IGNORECASE | re.DOTALL)  # fmt: skip
_VECTOR = re.compile(r"[\"'\[`]?(\w+)[\"'\]`]?\s+(float|f32|int8|i8|bit)\s*\[\s*(\d+)\s*\]", re.IGNORECASE)
_AUXILIARY = re.compile(r"\+\s*[\"'\[`]?(\w+)[\"'\]`]?", re.IGNORECASE)
_KEY = re.compile(r"[\"'\[`]?(\w+)[\"'\]`]?\s+(?:text|integer|int)?\s*primary\s+key", re.IGNORECASE)


@dataclass
class VectorTable:
    """What the CREATE text of a vec0 table says.

    Parameters
    ----------
    vectors
        (column, type, dimension) in the order of their blobs.
    auxiliary
        Names of the columns kept beside (`+name`), in order.
    others
        Columns that are not decoded: partition keys and metadata columns.
    """

    name: str
    key: str | None
    vectors: list[tuple[str, str, int]] = field(default_factory=list)
    auxiliary: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def parse_vec0(name: str, sql: str) -> VectorTable | None:
    """Read the CREATE text of a virtual table; None when it is no vec0 table with a vector."""
    match = _CREATE.match(sql)
    if match is None:
        return None
    found = VectorTable(name, None)
    for part in re.split(r",(?![^\[(]*[\])])", match[1]):
        text = part.strip()
        if vector := _VECTOR.match(text):
            kind = {"f32": "float", "i8": "int8"}.get(vector[2].lower(), vector[2].lower())
            found.vectors.append((vector[1], kind, int(vector[3])))
        elif auxiliary := _AUXILIARY.match(text):
            found.auxiliary.append(auxiliary[1])
        elif key := _KEY.match(text):
            found.key = key[1]
        elif "=" not in text and text:
            found.others.append(text.split()[0].strip("\"'[]`"))
    return found if found.vectors else None


def vec0_tables(connection: sqlite3.Connection) -> list[VectorTable]:
    """List the vec0 tables of a database by their CREATE texts; the tables themselves are not touched."""
    listed = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL")
    parsed = (parse_vec0(name, sql) for name, sql in listed.fetchall())
    return [table for table in parsed if table is not None]


def decode_chunks(
    connection: sqlite3.Connection, table: VectorTable, column: int, problems: list[str]
) -> Iterator[tuple[int, bytes]]:
    """Give (row number, vector as float32 little-endian bytes) of every place in use.

    `float` vectors are given as stored; `int8` and `bit` are turned into float32 (a bit becomes 1 or -1). Chunks of
    a wrong size are named in `problems`, never guessed at.
    """
    _, kind, dim = table.vectors[column]
    width = {"float": 4 * dim, "int8": dim, "bit": (dim + 7) // 8}[kind]
    chunks = connection.execute(
        f"SELECT chunk_id, size, validity, rowids FROM {quoted(table.name + '_chunks')} ORDER BY chunk_id"
    )
    vectors_of = f"SELECT vectors FROM {quoted(f'{table.name}_vector_chunks{column:02d}')} WHERE rowid = ?"
    for chunk, size, validity, rowids in chunks.fetchall():
        row = connection.execute(vectors_of, (chunk,)).fetchone()
        blob: Any = row[0] if row else None
        whole = isinstance(size, int) and all(isinstance(b, bytes) for b in (validity, rowids, blob))
        if not whole or len(validity) * 8 < size or len(rowids) < 8 * size or len(blob) < width * size:
            problems.append(
                say(
                    "chunk {chunk} of {table} has blobs of a wrong size and is not read",
                    chunk=str(chunk),
                    table=table.name,
                )
            )
            continue
        for place in range(size):
            if validity[place // 8] >> (place % 8) & 1:
                number = int(struct.unpack_from("<q", rowids, 8 * place)[0])
                yield number, _as_float32(blob[width * place : width * (place + 1)], kind, dim)


def _as_float32(raw: bytes, kind: str, dim: int) -> bytes:
    if kind == "float":
        return raw
    if kind == "int8":
        return struct.pack(f"<{dim}f", *struct.unpack(f"<{dim}b", raw))
    return struct.pack(f"<{dim}f", *(1.0 if raw[i // 8] >> (i % 8) & 1 else -1.0 for i in range(dim)))


def _storable(value: object) -> object:
    """Return a text with undecodable bytes as those bytes: it cannot be written as a text again."""
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        return value.encode("utf-8", "surrogateescape")
    return value


def load_vectors(connection: sqlite3.Connection, table: VectorTable) -> tuple[str, list[str], int, str]:
    """Decode a vec0 table into a temporary table of the same name, which stands before it.

    Returns
    -------
    The name of the key column, all columns, the number of rows, and a note of what was not read.

    Raises
    ------
    sqlite3.Error
        The tables that hold the vectors are not there or damaged.
    """
    key = table.key or "rowid_of_vector"
    names = [key, *(v[0] for v in table.vectors), *table.auxiliary]
    has_keys = table.key is not None
    ids: dict[int, object] = {}
    if has_keys:
        ids = dict(connection.execute(f"SELECT rowid, id FROM {quoted(table.name + '_rowids')}").fetchall())
    auxiliary: dict[int, tuple[object, ...]] = {}
    if table.auxiliary:
        columns = ", ".join(f"value{i:02d}" for i in range(len(table.auxiliary)))
        rows = connection.execute(f"SELECT rowid, {columns} FROM {quoted(table.name + '_auxiliary')}")
        auxiliary = {row[0]: row[1:] for row in rows.fetchall()}
    temporary = f"temp.{quoted(table.name)}"
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute(f"CREATE TABLE {temporary} ({', '.join(map(quoted, names))})")
        connection.execute("BEGIN")
        problems: list[str] = []
        insert = f"INSERT INTO {temporary} VALUES ({', '.join('?' * len(names))})"
        streams = [decode_chunks(connection, table, i, problems) for i in range(len(table.vectors))]
        n_rows = 0
        for places in zip(*streams, strict=False):
            number = places[0][0]
            own = ids.get(number) if has_keys else None
            kept = auxiliary.get(number, (None,) * len(table.auxiliary))
            row = (number if own is None else own, *(blob for _, blob in places), *map(_storable, kept))
            connection.execute(insert, row)
            n_rows += 1
        connection.execute("COMMIT")
    finally:
        connection.execute("PRAGMA query_only = ON")
    notes = [say("{vectors} decoded from the chunks of {table}.", vectors=plural(n_rows, "vector"), table=table.name)]
    if table.others:
        notes.append(say("Not read: its columns {names}.", names=", ".join(table.others)))
    notes += [f"{problem[:1].upper()}{problem[1:]}." for problem in dict.fromkeys(problems)]
    return key, names, n_rows, " ".join(notes)
