"""Plain SQLite tables of systems whose columns are known: Agno, claude-mem, Letta, Memori, old CrewAI.

A system is recognised by the columns that all its versions have; columns that only some have are used when they are
there. Source: the versions named in each entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memaudit.stores.assembled import Collection, assembled, notes_by_table
from memaudit.stores.store import Store, StoreTable, quoted
from memaudit.wording import part_of, say

#: System -> columns that tell its table. The first system whose columns are all there wins.
_SYSTEMS: Mapping[str, frozenset[str]] = {
    "agno": frozenset({"memory_id", "memory", "topics", "user_id"}),  # Agno 3.1.10; the table's name is an option
    "claude-mem": frozenset({"title", "narrative", "facts", "concepts", "project", "type"}),  # claude-mem 13.25.3
    "letta": frozenset({"text", "embedding_config", "metadata_", "organization_id"}),  # last server commit
    "memori": frozenset({"content", "content_embedding", "num_times", "entity_id"}),  # memorisdk 3.2.8
    "crewai-long-term": frozenset({"task_description", "metadata", "datetime", "score"}),  # CrewAI before 1.0
}  # fmt: skip
_BLOCK = {"label", "value", "limit"}
_WRITES = "{system} writes it so"


def known_system(store: Store) -> tuple[str, list[StoreTable]] | None:
    """Return the system that wrote an opened SQLite file and its tables of memories, the largest first."""
    for system, columns in _SYSTEMS.items():
        tables = [t for t in store.tables if set(t.column_names) >= columns]
        if tables:
            return system, sorted(tables, key=lambda t: -t.n_rows)
    return None


def open_known(source: Store, system: str, tables: list[StoreTable]) -> Store:
    """Give the tables of a known system their roles; Agno's and claude-mem's texts are put together first."""
    if system in ("agno", "claude-mem"):
        try:
            made = [_agno(source, t) if system == "agno" else _claude_mem(source, t) for t in tables]
            more = _other_claude_mem(source) if system == "claude-mem" else []
            store = assembled(source.path, system, made, notes=more, sha256=source.sha256)
        finally:
            source.close()
        store.notes = (*store.notes, *source.notes)
        return store
    roles = {"letta": _letta, "memori": _memori, "crewai-long-term": _crewai}[system]
    source.kind = system
    source.table_hints = {t.name: roles(t) for t in tables}
    reason = say("its columns are those of {system}", system=system)
    source.hints = {"table": (tables[0].name, reason), **source.table_hints[tables[0].name]}
    blocks = [t for t in source.tables if system == "letta" and set(t.column_names) >= _BLOCK and t.n_rows]
    source.memories = tuple(t.name for t in (*tables, *blocks))
    source.table_notes = notes_by_table(source.path, source.tables, [*tables, *blocks])
    source.notes = (*source.notes, *source.table_notes[tables[0].name])
    return source


def _rows(store: Store, table: StoreTable) -> Iterator[dict[str, Any]]:
    for values in store.rows(f"SELECT * FROM {quoted(table.name)} ORDER BY {table.order}"):
        yield dict(zip(table.column_names, values, strict=True))


def _json(value: Any) -> Any:
    """Return what a JSON text holds; the value itself when it is none."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _agno(store: Store, table: StoreTable) -> Collection:
    """Take the JSON quotes off the memories; topics that are the JSON text `null` become NULL."""

    def rows() -> Iterator[Mapping[str, Any]]:
        for row in _rows(store, table):
            memory = _json(row["memory"])
            if isinstance(memory, dict):
                memory = memory.get("memory", memory)
            yield {**row, "memory": memory, "topics": _json(row["topics"])}

    why = say(_WRITES, system="Agno")
    hints: dict[str, tuple[Any, str]] = {
        "id": ("memory_id", why),
        "text": ("memory", say("Agno keeps the memory there, as a JSON string that was read")),
        "time": ("created_at", why),
        "isolation_keys": (("user_id",), say("Agno keeps users apart by it")),
    }
    return Collection(table.name, rows(), hints, columns=table.column_names)


#: Where claude-mem keeps the words of an observation, in the order in which they are read.
_WORDS = ("title", "narrative", "facts", "text")


def _claude_mem(store: Store, table: StoreTable) -> Collection:
    """Join title, narrative and facts into one text: none of them alone is filled in every row."""
    columns = [c for c in _WORDS if c in table.column_names]
    filled = dict.fromkeys(columns, 0)

    def rows() -> Iterator[Mapping[str, Any]]:
        for row in _rows(store, table):
            parts: list[str] = []
            for column in columns:
                value = _json(row[column]) if column == "facts" else row[column]
                lines = [str(v) for v in value] if isinstance(value, list) else [value] if value else []
                text = "\n".join(str(line) for line in lines if line)
                filled[column] += bool(text)
                # `text` is what old versions wrote before the others existed.
                if text and not (column == "text" and parts):
                    parts.append(text)
            yield {"memory": "\n".join(parts) or None, **row}

    def note() -> str:
        shown = ", ".join(f"{column} {part_of(n, table.n_rows)}" for column, n in filled.items())
        return say("Filled: {shown}.", shown=shown)

    why = say(_WRITES, system="claude-mem")
    hints: dict[str, tuple[Any, str]] = {
        "id": ("id", why),
        "text": ("memory", say("it is title, narrative and facts in this order, joined by the reader")),
        "time": ("created_at", why),
        "value_field": ("type", say("claude-mem labels its observations with it")),
        "hits": ("relevance_count", say("claude-mem counts there how often an observation was relevant")),
        "isolation_keys": (("project",), say("claude-mem keeps projects apart by it")),
    }
    return Collection(table.name, rows(), _present(hints, table, "memory"), note)


def _present(hints: Mapping[str, tuple[Any, str]], table: StoreTable, *made: str) -> dict[str, tuple[Any, str]]:
    """Keep the hints whose columns this version of the table has."""
    there = {*table.column_names, *made}
    return {
        role: (value, why)
        for role, (value, why) in hints.items()
        if value is None or all(c in there for c in (value if isinstance(value, tuple) else (value,)))
    }


def _other_claude_mem(store: Store) -> list[str]:
    return [
        say("Table {table} ({n} rows) holds summaries or prompts of sessions; it is not audited here.", table=t.name,
            n=t.n_rows)
        for t in store.tables
        if t.name in ("session_summaries", "user_prompts") and t.n_rows
    ]  # fmt: skip


def _letta(table: StoreTable) -> dict[str, tuple[Any, str]]:
    why = say(_WRITES, system="Letta")
    return _present(
        {
            "id": ("id", why), "text": ("text", why), "time": ("created_at", why), "embedding": ("embedding", why),
            "soft_delete": ("is_deleted", say("Letta marks deleted passages with it")),
            "isolation_keys": (("organization_id", "archive_id"), say("Letta keeps archives apart by them")),
        },
        table,
    )  # fmt: skip


def _memori(table: StoreTable) -> dict[str, tuple[Any, str]]:
    why = say(_WRITES, system="Memori")
    return _present(
        {
            "id": ("id", why), "text": ("content", why), "time": ("date_created", why),
            "embedding": ("content_embedding", why),
            "hits": (None, say("num_times counts how often a fact was said, not how often it was recalled")),
            "isolation_keys": (("entity_id",), say("a fact belongs to an entity")),
        },
        table,
    )  # fmt: skip


def _crewai(table: StoreTable) -> dict[str, tuple[Any, str]]:
    why = say(_WRITES, system="CrewAI")
    return _present(
        {"text": ("task_description", why), "time": ("datetime", why), "metadata": ("metadata", why)}, table
    )
