"""Read mem0: its history (a log, replayed by memory) and its local qdrant collection (the live memories).

Source: mem0ai 2.2.1 `memory/storage.py`, `vector_stores/qdrant.py`, checked on a store that it wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.qdrant_local import open_collections, qdrant_folder, stored_points
from memaudit.stores.qdrant_points import Points, point_hints, points_table
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store
from memaudit.wording import plural, say

_HISTORY = {"memory_id", "old_memory", "new_memory", "event"}


@dataclass
class Remembered:
    """One memory after the replay of its log."""

    text: str | None = None
    before: str | None = None
    created_at: Any = None
    updated_at: Any = None
    n_updates: int = 0
    is_deleted: bool = False
    actor_id: Any = None
    role: Any = None


def is_history(store: Store) -> bool:
    """Say whether an opened SQLite file is mem0's history."""
    return any(t.name == "history" and set(t.column_names) >= _HISTORY for t in store.tables)


def replay(store: Store) -> tuple[dict[str, Remembered], Counter[str]]:
    """Replay the log in the order it was written: (memory by its id, rows by event).

    An update or deletion of a memory whose addition is not in the log counts as one that was there before.
    """
    table = store.table("history")
    columns = [c if table.has(c) else "NULL" for c in
               ("memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id",
                "role")]  # fmt: skip
    memories: dict[str, Remembered] = {}
    events: Counter[str] = Counter()
    sql = f"SELECT {', '.join(columns)} FROM history ORDER BY {table.order}"
    for key, old, new, event, created, updated, deleted, actor, role in store.rows(sql):
        name = str(event or "").upper()
        events[name or "(none)"] += 1
        memory = memories.setdefault(str(key), Remembered(before=old, created_at=created))
        if name == "DELETE" or deleted in (1, "1"):
            memory.is_deleted, memory.updated_at = True, updated or created
            memory.text = memory.text if memory.text is not None else old
            continue
        if name == "NONE":
            continue
        memory.n_updates += name == "UPDATE"
        memory.is_deleted = False
        if new is not None:
            memory.before, memory.text = memory.text or memory.before or old, new
        memory.updated_at, memory.actor_id, memory.role = updated or created, actor, role
    return memories, events


def _events_note(memories: Mapping[str, Remembered], events: Counter[str]) -> str:
    deleted = sum(m.is_deleted for m in memories.values())
    return say("history.db was replayed: {events}; {live} live and {deleted} deleted.",
               events=", ".join(f"{n:,} {name}" for name, n in events.most_common()),
               live=plural(len(memories) - deleted, "memory is", "memories are"), deleted=deleted)  # fmt: skip


def open_history(source: Store) -> Store:
    """Read a history file alone: one record a memory, deleted ones marked. It names no owner and holds no vector."""
    try:
        memories, events = replay(source)
        messages = [t for t in source.tables if t.name == "messages" and t.n_rows]
    finally:
        source.close()
    rows = [
        {
            "memory_id": key, "memory": m.text, "created_at": m.created_at, "updated_at": m.updated_at,
            "updates": m.n_updates, "is_deleted": int(m.is_deleted), "actor_id": m.actor_id, "role": m.role,
        }
        for key, m in memories.items()
    ]  # fmt: skip
    notes = [_events_note(memories, events), say("The history names no owner: copies of two users look like copies.")]
    notes += [say("Messages of conversations, which are no memories: {n}.", n=t.n_rows) for t in messages]
    hints: dict[str, tuple[Any, str]] = {
        "id": ("memory_id", say("mem0's log is about this id")),
        "text": ("memory", say("it is the last text that the log gives the memory")),
        "time": ("created_at", say("it is the time of the memory's first entry")),
        "soft_delete": ("is_deleted", say("the last entry of the memory is its deletion")),
    }
    table = Collection("memories", rows, hints, columns=list(rows[0]) if rows else ("memory_id", "memory"))
    store = assembled(source.path, "mem0", [table], notes=notes, sha256=source.sha256)
    store.notes = (*store.notes, *source.notes)
    return store


def is_mem0_folder(folder: Path) -> bool:
    """Say whether a folder holds a local qdrant store, with mem0's history beside it or not."""
    return qdrant_folder(folder) is not None


def open_folder(folder: Path, shown: str) -> Store:
    """Read a folder with a local qdrant store and, where it lies beside it, mem0's history.

    The points are the live memories. What only the history knows (number of updates) becomes a column, and the two
    are compared.
    """
    place = qdrant_folder(folder)
    collections, notes = open_collections(place, shown) if place is not None else ([], [])
    memories, events = _history_beside(folder, shown)
    try:
        tables = []
        seen: dict[str, set[str]] = {}
        for points, _ in collections:
            seen[points.name] = set()
            tables.append(_with_history(points_table(points), points, memories, seen[points.name]))
        store = assembled(shown, "mem0" if events else "qdrant-local", tables, notes=notes)
    finally:
        for _, source in collections:
            source.close()
    if events:
        every = set().union(*seen.values()) if seen else set()
        live = {key for key, m in memories.items() if not m.is_deleted}
        extra = [_events_note(memories, events)]
        if live - every:
            extra.append(say("Memories that the history calls live and no collection holds: {n}.", n=len(live - every)))
        if every - live:
            extra.append(say("Points that the history does not know as live: {n}.", n=len(every - live)))
        store.notes = (*store.notes, *extra)
    store.notes += tuple(n for _, source in collections for n in source.notes)
    return store


def _history_beside(folder: Path, shown: str) -> tuple[dict[str, Remembered], Counter[str]]:
    path = folder / "history.db"
    if path.is_symlink() or not path.is_file():
        return {}, Counter()
    source = open_sqlite(path, shown=f"{shown}/history.db")
    try:
        return replay(source) if is_history(source) else ({}, Counter())
    finally:
        source.close()


def _with_history(table: Collection, points: Points, memories: Mapping[str, Remembered], seen: set[str]) -> Collection:
    """Add what the log knows of each point, and what mem0 writes into its payload."""
    inner, note = table.rows, table.note
    repeated = Counter[bool]()

    def rows() -> Iterator[Mapping[str, Any]]:
        for row in inner:
            seen.add(str(row["id"]))
            if "text_lemmatized" in row:
                repeated[row["text_lemmatized"] == row.get("data")] += 1
            memory = memories.get(str(row["id"]))
            yield {**row, "history_updates": memory.n_updates} if memory is not None else row

    def hints() -> dict[str, tuple[Any, str]]:
        found = point_hints(points)
        if points.present["data"] and points.present["hash"]:
            found["text"] = ("data", say("mem0 keeps the memory there, and embeds it as it is"))
            if points.present["created_at"]:
                found["time"] = ("created_at", say("mem0 writes it when the memory is added"))
            if points.present["category"] >= 0.5 * points.n_rows:
                found["value_field"] = ("category", say("mem0's callers label their memories with it"))
        return found

    def both() -> str:
        total = repeated.total()
        if not total or repeated[True] < total:
            return str(note())
        return f"{note()} {say('text_lemmatized repeats data in every row: no lemmatiser is installed.')}".strip()

    table.rows, table.hints, table.note = rows(), hints, both
    return table


def open_points(source: Store, path: Path) -> Store:
    """Read the file of one qdrant collection alone; `source` is closed here."""
    points = Points(path.parent.name, stored_points(source))
    try:
        store = assembled(source.path, "qdrant-local", [_with_history(points_table(points), points, {}, set())],
                          sha256=source.sha256)  # fmt: skip
    finally:
        source.close()
    store.notes = (*store.notes, *source.notes)
    return store
