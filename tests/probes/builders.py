"""Small stores in memory for the tests of probes; vectors with cosines that can be worked out by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memaudit.config import Config
from memaudit.context import Context
from memaudit.model import Finding, ProbeResult
from memaudit.records import Records, Roles
from memaudit.stores.store import Store, StoreTable, TableColumn, quoted

Row = Mapping[str, Any]


def make_store(tables: Mapping[str, Sequence[Row]], columns: Mapping[str, Sequence[str]] | None = None) -> Store:
    """Build a store from rows; `columns` names those of a table without rows, with types if wanted."""
    connection = sqlite3.connect(":memory:")
    made = []
    for name, rows in tables.items():
        declared = list((columns or {}).get(name) or (rows[0] if rows else ["id"]))
        names = [column.split(" ")[0] for column in declared]
        parts = [f"{quoted(n)} {d.partition(' ')[2]}" for n, d in zip(names, declared, strict=True)]
        connection.execute(f"CREATE TABLE {quoted(name)} ({', '.join(parts)})")
        for row in rows:
            holes = ", ".join("?" for _ in names)
            connection.execute(f"INSERT INTO {quoted(name)} VALUES ({holes})", [row.get(n) for n in names])
        made.append(StoreTable(name, tuple(TableColumn(n) for n in names), len(rows)))
    connection.commit()
    return Store("store.db", "sqlite", connection, tuple(made))


def make_context(
    rows: Sequence[Row],
    *,
    roles: Mapping[str, Any] | None = None,
    tables: Mapping[str, Sequence[Row]] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    **config: Any,
) -> Context:
    """Build the context of a store whose table `memories` holds `rows`; roles as given, `id` by default."""
    store = make_store({"memories": rows, **(tables or {})}, columns)
    table = store.table("memories")
    given = {"id": "id" if table.has("id") else None, **(roles or {})}
    return Context(Config(**config), store, Records(store, table, Roles(table="memories", **given)))


def blob(*numbers: float) -> bytes:
    """Write a vector as production does."""
    return np.asarray(numbers, dtype="<f4").tobytes()


def star(place: int, count: int, root_cos: float, dims: int, first_dim: int) -> bytes:
    """Return vector `place` of a star of `count`: every pair has the cosine `root_cos`.

    A shared direction (`first_dim`) and one direction of its own each: cos = sqrt(c) * sqrt(c) = c.
    """
    vector = np.zeros(dims)
    vector[first_dim] = np.sqrt(root_cos)
    vector[first_dim + 1 + place] = np.sqrt(1 - root_cos)
    assert place < count
    return blob(*vector)


def star_rows(groups: Sequence[tuple[str, int, float]], **more: Any) -> list[dict[str, Any]]:
    """Return rows of several stars at right angles: (value, rows, cosine of every pair)."""
    dims = sum(count + 1 for _, count, _ in groups)
    rows: list[dict[str, Any]] = []
    start = 0
    for value, count, cos in groups:
        for place in range(count):
            rows.append(
                {
                    "id": len(rows) + 1,
                    "content": f"{value} text {chr(97 + place % 26)}{chr(97 + place // 26)}",
                    "pattern": value,
                    "embedding": star(place, count, cos, dims, start),
                    **more,
                }
            )
        start += count + 1
    return rows


def only(result: ProbeResult, code: str) -> Finding:
    """Return the one finding of a code."""
    found = [f for f in result.findings if f.code == code]
    assert len(found) == 1, [f.code for f in result.findings]
    return found[0]


def codes(result: ProbeResult) -> list[str]:
    """Return the codes of the findings."""
    return [f.code for f in result.findings]
