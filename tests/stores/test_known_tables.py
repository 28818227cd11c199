"""Plain SQLite tables of Agno, claude-mem, Letta, Memori and old CrewAI: by their columns, in any version."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.config import Config
from memaudit.errors import StoreError
from memaudit.roles import find_roles, open_records
from memaudit.stores.detect import open_store


def write(path: Path, create: str, rows: list[tuple[Any, ...]] = [], more: str = "") -> Path:  # noqa: B006
    c = sqlite3.connect(path)
    c.execute(f"CREATE TABLE {create}")
    name = create.split()[0]
    for row in rows:
        c.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    c.executescript(more)
    c.commit()
    c.close()
    return path


AGNO = ("team_memories (memory_id TEXT PRIMARY KEY, memory JSON NOT NULL, input TEXT, user_id TEXT, topics JSON, "
        "created_at BIGINT)")  # fmt: skip


def test_agno_when_read_then_json_quotes_are_taken_off(tmp_path: Path, unchanged: Callable[[Path], None]) -> None:
    path = write(
        tmp_path / "a.db",
        AGNO,
        [
            ("m1", json.dumps("喜欢喝茶。"), None, "u1", '["taste"]', 1772000000),
            ("m2", json.dumps("Works in Lisbon."), None, "u2", "null", 1772000001),
            ("m3", "not quoted", None, "u1", None, 1772000002),
        ],
    )
    unchanged(path)
    store = open_store("a.db", base=tmp_path)
    assert store.kind == "agno"
    assert list(store.rows("SELECT memory, topics FROM team_memories ORDER BY rowid")) == [
        ("喜欢喝茶。", '["taste"]'), ("Works in Lisbon.", None), ("not quoted", None),
    ]  # fmt: skip
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text, roles.time) == ("team_memories", "memory_id", "memory", "created_at")
    assert roles.guessed["isolation_keys"] == "user_id, because Agno keeps users apart by it"
    store.close()


OLD_CLAUDE = ("observations (id INTEGER PRIMARY KEY, project TEXT, text TEXT, type TEXT, title TEXT, narrative TEXT, "
              "facts TEXT, concepts TEXT, created_at TEXT")  # fmt: skip


@pytest.mark.parametrize("new", [False, True])
def test_claude_mem_of_two_versions_when_read_then_title_narrative_and_facts(tmp_path: Path, new: bool) -> None:
    create = OLD_CLAUDE + (", relevance_count INTEGER)" if new else ")")
    last: tuple[Any, ...] = (3,) if new else ()
    write(
        tmp_path / "c.db",
        create,
        [
            (
                1,
                "p",
                None,
                "bugfix",
                "Login fixed",
                "The token had expired.",
                '["renew it", "每天一次"]',
                "[]",
                "2026-05-01",
                *last,
            ),
            (2, "p", None, "change", None, None, "[]", "[]", "2026-05-02", *last),
            (3, "q", "an old row", "change", None, None, None, None, "2026-05-03", *last),
        ],
        "CREATE TABLE user_prompts (id INTEGER, prompt TEXT); INSERT INTO user_prompts VALUES (1, 'x');",
    )
    store = open_store("c.db", base=tmp_path)
    assert (store.kind, [m for (m,) in store.rows("SELECT memory FROM observations ORDER BY rowid")]) == (
        "claude-mem", ["Login fixed\nThe token had expired.\nrenew it\n每天一次", None, "an old row"],
    )  # fmt: skip
    roles = find_roles(store, Config())
    assert (roles.text, roles.value_field, roles.hits) == ("memory", "type", "relevance_count" if new else None)
    notes = " ".join(store.notes)
    assert "Filled: title 1 of 3 (33 %), narrative 1 of 3 (33 %), facts 1 of 3 (33 %), text 1 of 3 (33 %)." in notes
    assert "Table user_prompts (1 rows) holds summaries or prompts of sessions" in notes
    store.close()


def test_letta_when_read_then_deleted_passages_are_left_out_and_blocks_named(tmp_path: Path) -> None:
    vector = struct.pack("<4f", 1, 0, 0, 0)
    write(
        tmp_path / "l.db",
        "archival_passages (id TEXT PRIMARY KEY, text TEXT, embedding_config JSON, metadata_ JSON, tags JSON, embedding BLOB, "
        "archive_id TEXT, organization_id TEXT, created_at TEXT, is_deleted BOOLEAN)",
        [
            (f"p{n}", f"Passage number {n} 的内容。", "{}", "{}", "[]", vector, "a", "o", "2026-05-01", n == 2)
            for n in range(4)
        ],
        'CREATE TABLE block (id TEXT, label TEXT, value TEXT, "limit" INTEGER); INSERT INTO block VALUES (1, 2, 3, 4);',
    )
    store = open_store("l.db", base=tmp_path)
    roles = find_roles(store, Config())
    assert (store.kind, roles.table, roles.text, roles.embedding) == ("letta", "archival_passages", "text", "embedding")
    records, left_out = open_records(store, roles, Config(), np.random.default_rng(0))
    assert (records.n_rows, left_out[0].ids) == (3, ("p2",))
    assert store.notes == ("Not audited here: block, 1 row. For it: memaudit run --store l.db --table block",)
    store.close()


def test_memori_when_read_then_its_counter_of_mentions_is_no_use_counter(tmp_path: Path) -> None:
    write(
        tmp_path / "m.db",
        "memori_entity_fact (id INTEGER PRIMARY KEY, entity_id INTEGER, content TEXT, content_embedding BLOB, "
        "num_times INTEGER, date_created TEXT)",
        [(n, 1, f"Fact number {n} of somebody.", struct.pack("<4f", 0, 1, 0, 0), 5, "2026-05-01") for n in range(5)],
    )
    store = open_store("m.db", base=tmp_path)
    roles = find_roles(store, Config())
    assert (roles.text, roles.embedding, roles.hits) == ("content", "content_embedding", None)
    assert roles.guessed["hits"] == (
        "not found: num_times counts how often a fact was said, not how often it was recalled"
    )
    store.close()


def test_crewai_of_old_when_read_then_task_descriptions_and_times(tmp_path: Path) -> None:
    write(
        tmp_path / "long_term_memory_storage.db",
        "long_term_memories (id INTEGER PRIMARY KEY, task_description TEXT, metadata TEXT, datetime TEXT, score REAL)",
        [(n, f"Write the report number {n}.", "{}", "1772000000.5", 0.9) for n in range(4)],
    )
    store = open_store("long_term_memory_storage.db", base=tmp_path)
    roles = find_roles(store, Config())
    assert (store.kind, roles.text, roles.time) == ("crewai-long-term", "task_description", "datetime")
    store.close()


def test_tables_that_lack_a_column_when_read_then_plain_sqlite(tmp_path: Path) -> None:
    write(tmp_path / "n.db", "agno_memories (memory_id TEXT, memory TEXT, topics TEXT)")
    store = open_store("n.db", base=tmp_path)
    assert store.kind == "sqlite"
    store.close()
    with pytest.raises(StoreError, match="is no agno store: its tables are those of sqlite"):
        open_store("n.db", kind="agno", base=tmp_path)


def test_empty_table_when_audited_then_nothing_to_audit(tmp_path: Path, memaudit: Callable[..., Any]) -> None:
    write(tmp_path / "a.db", AGNO)
    assert memaudit("run", "--store", "a.db").code == 4
