"""sqlite-vec tables decoded without the extension, written by hand in its layout."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.config import Config
from memaudit.context import Context
from memaudit.roles import find_roles, open_records
from memaudit.roles.store_hints import with_hints
from memaudit.stores.detect import open_store
from memaudit.stores.vec0 import parse_vec0

CREATE = 'CREATE VIRTUAL TABLE "vecs" USING vec0(embedding FLOAT[4] distance_metric=cosine)'


def write_vec0(
    path: Path,
    vectors: dict[int, bytes],
    create: str = CREATE,
    *,
    schema: str = "",
    size: int = 8,
    ids: dict[int, str] | None = None,
    auxiliary: dict[int, tuple[Any, ...]] | None = None,
    dead: dict[int, bytes] | None = None,
) -> Path:
    """Write the shadow tables of a vec0 table `vecs`; `dead` vectors keep their place but are not valid."""
    c = sqlite3.connect(path)
    c.executescript(schema)
    c.execute("PRAGMA writable_schema = ON")
    c.execute("INSERT INTO sqlite_master VALUES ('table', 'vecs', 'vecs', 0, ?)", (create,))
    c.execute("PRAGMA writable_schema = OFF")
    c.executescript("""
        CREATE TABLE vecs_chunks (chunk_id INTEGER PRIMARY KEY, size INTEGER, validity BLOB, rowids BLOB);
        CREATE TABLE vecs_rowids (rowid INTEGER PRIMARY KEY, id, chunk_id INTEGER, chunk_offset INTEGER);
        CREATE TABLE vecs_vector_chunks00 (rowid INTEGER PRIMARY KEY, vectors BLOB);
        CREATE TABLE vecs_auxiliary (rowid INTEGER PRIMARY KEY, value00, value01);
    """)
    both = sorted([*((k, v, True) for k, v in vectors.items()), *((k, v, False) for k, v in (dead or {}).items())])
    for chunk in range(-(-len(both) // size)):
        part = both[chunk * size : (chunk + 1) * size]
        validity = bytearray(size // 8)
        for place, (_, _, valid) in enumerate(part):
            validity[place // 8] |= valid << (place % 8)
        width = len(part[0][1])
        rowids = b"".join(struct.pack("<q", k) for k, _, _ in part).ljust(8 * size, b"\0")
        blob = b"".join(v for _, v, _ in part).ljust(width * size, b"\0")
        c.execute("INSERT INTO vecs_chunks VALUES (?, ?, ?, ?)", (chunk + 1, size, bytes(validity), rowids))
        c.execute("INSERT INTO vecs_vector_chunks00 VALUES (?, ?)", (chunk + 1, blob))
        for place, (k, _, valid) in enumerate(part):
            if valid:
                c.execute("INSERT INTO vecs_rowids VALUES (?, ?, ?, ?)", (k, (ids or {}).get(k), chunk + 1, place))
    for k, values in (auxiliary or {}).items():
        c.execute("INSERT INTO vecs_auxiliary (rowid, value00, value01) VALUES (?, ?, ?)", (k, *values))
    c.commit()
    c.close()
    return path


def blob(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def unit(i: int) -> bytes:
    return blob(*(float(i % 4 == place) for place in range(4)))


NOTES = """
    CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT, created_at REAL);
    INSERT INTO notes VALUES (3, 'The deploy needs one approval.', 1772000000.0), (5, '图片上传前先压缩。', 1772003600.0),
        (12, 'Logs go to cold storage after ninety days.', 1772007200.0);
"""


def test_vectors_when_decoded_then_those_of_valid_places_by_their_row(
    tmp_path: Path, unchanged: Callable[[Path], None]
) -> None:
    path = write_vec0(tmp_path / "m.db", {3: unit(0), 5: unit(1)}, schema=NOTES, dead={7: unit(3)})
    unchanged(path)
    store = open_store("m.db", base=tmp_path)
    assert (store.kind, "vecs" in store.skipped) == ("sqlite-vec", False)
    assert list(store.rows("SELECT * FROM vecs ORDER BY rowid")) == [(3, unit(0)), (5, unit(1))]
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text) == ("notes", "id", "content")
    assert roles.vectors == {"table": "vecs", "ref": "rowid_of_vector", "embedding": "embedding"}
    assert (
        roles.guessed["vectors"]
        == "vecs.embedding, because the sqlite-vec table vecs keeps a vector for 2 of these rows"
    )
    records, _ = open_records(store, roles, Config(), np.random.default_rng(0))
    stored = Context(Config(), store, records).stored_vectors
    assert stored is not None
    assert (stored.rows.tolist(), stored.unit.tolist()) == ([0, 1], [[1, 0, 0, 0], [0, 1, 0, 0]])
    assert [s.value for s in stored.status] == ["ok", "ok", "missing"]
    store.close()


def test_chunks_when_several_then_all_are_read_in_order(tmp_path: Path) -> None:
    write_vec0(tmp_path / "m.db", {i: blob(i, 0, 0, 1) for i in range(1, 20)}, schema=NOTES)
    store = open_store("m.db", base=tmp_path)
    assert [r for (r,) in store.rows("SELECT rowid_of_vector FROM vecs ORDER BY rowid")] == list(range(1, 20))
    assert next(store.rows("SELECT embedding FROM vecs WHERE rowid_of_vector = 17")) == (blob(17, 0, 0, 1),)
    store.close()


def test_chunk_when_of_a_wrong_size_then_named_and_not_guessed(tmp_path: Path) -> None:
    path = write_vec0(tmp_path / "m.db", {i: unit(i) for i in range(1, 12)}, schema=NOTES)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE vecs_vector_chunks00 SET vectors = x'00' WHERE rowid = 1")
    c.close()
    store = open_store("m.db", base=tmp_path)
    assert store.table("vecs").n_rows == 3  # of the second chunk: rows 9, 10 and 11
    assert "Chunk 1 of vecs has blobs of a wrong size and is not read." in store.notes[0]
    store.close()


def test_shadow_tables_when_missing_then_said_and_the_rows_are_read(tmp_path: Path) -> None:
    path = write_vec0(tmp_path / "m.db", {3: unit(0)}, schema=NOTES)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("DROP TABLE vecs_vector_chunks00")
    c.close()
    store = open_store("m.db", base=tmp_path)
    assert "The vectors of vecs could not be read: no such table" in store.notes[0]
    assert find_roles(store, Config()).text == "content"
    store.close()


def test_bytes_and_bits_when_stored_then_as_float32(tmp_path: Path) -> None:
    write_vec0(tmp_path / "i.db", {3: bytes([1, 255, 0, 127])}, CREATE.replace("FLOAT", "int8"), schema=NOTES)
    store = open_store("i.db", base=tmp_path)
    assert next(store.rows("SELECT embedding FROM vecs")) == (blob(1, -1, 0, 127),)
    store.close()
    # 0b00000101: bits 0 and 2 are set.
    write_vec0(tmp_path / "b.db", {3: bytes([5])}, CREATE.replace("FLOAT[4]", "bit[8]"), schema=NOTES)
    store = open_store("b.db", base=tmp_path)
    assert next(store.rows("SELECT embedding FROM vecs")) == (blob(1, -1, 1, -1, -1, -1, -1, -1),)
    store.close()


def test_texts_when_kept_beside_the_vectors_then_they_are_the_table(tmp_path: Path) -> None:
    create = "CREATE VIRTUAL TABLE vecs USING vec0(doc_id TEXT PRIMARY KEY, user TEXT PARTITION KEY, v float[4], +contents text, +at text)"
    auxiliary = {i: (f"Sentence number {i} of the agent.", "2026-05-01") for i in (1, 2)}
    write_vec0(tmp_path / "m.db", {1: unit(0), 2: unit(1)}, create, ids={1: "a", 2: "b"}, auxiliary=auxiliary)
    store = open_store("m.db", base=tmp_path)
    assert list(store.rows("SELECT * FROM vecs ORDER BY rowid")) == [
        ("a", unit(0), "Sentence number 1 of the agent.", "2026-05-01"),
        ("b", unit(1), "Sentence number 2 of the agent.", "2026-05-01"),
    ]
    assert "Not read: its columns user." in store.notes[0]
    roles = find_roles(store, Config())
    assert (roles.table, roles.text, roles.embedding) == ("vecs", "contents", "v")
    store.close()


def test_table_without_a_key_when_its_row_numbers_are_those_of_the_vectors_then_they_become_a_column(
    tmp_path: Path,
) -> None:
    schema = """CREATE TABLE docs (body TEXT);
        INSERT INTO docs (rowid, body) VALUES (4, 'The linter is strict about imports.'), (9, '会议纪要放在共享盘。');"""
    write_vec0(tmp_path / "m.db", {4: unit(0), 9: unit(2)}, schema=schema)
    store = open_store("m.db", base=tmp_path)
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text) == ("docs", "row_number", "body")
    records, _ = open_records(store, roles, Config(where="body LIKE '会议%'"), np.random.default_rng(0))
    assert records.keys == (9,)
    stored = Context(Config(), store, records).stored_vectors
    assert stored is not None
    assert stored.unit.tolist() == [[0, 0, 1, 0]]
    store.close()


def test_text_with_undecodable_bytes_when_beside_the_vectors_then_kept(tmp_path: Path) -> None:
    create = "CREATE VIRTUAL TABLE vecs USING vec0(v float[4], +contents text, +at text)"
    path = write_vec0(tmp_path / "m.db", {1: unit(0)}, create, auxiliary={1: ("x", "y")})
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE vecs_auxiliary SET value00 = CAST(x'ff41' AS TEXT)")
    c.close()
    store = open_store("m.db", base=tmp_path)
    assert next(store.rows("SELECT contents, at FROM vecs")) == (b"\xffA", "y")
    store.close()


SERVICE = """
    CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT UNIQUE, content TEXT, tags TEXT, memory_type TEXT,
        metadata TEXT, created_at REAL, deleted_at REAL, last_accessed REAL, superseded_by TEXT, embedding_pending INTEGER);
    INSERT INTO memories VALUES
        (1, 'h1', 'The deploy needs one approval.', 'a,b', 'note', '{"host": "x"}', 1772000000.0, NULL, NULL, NULL, 0),
        (2, 'h2', '图片上传前先压缩到一兆以内。', 'a', 'note', '{}', 1772000001.0, 1772000009.0, NULL, NULL, 0),
        (3, 'h3', 'Logs go to cold storage after a while.', 'b', 'fact', '{}', 1772000002.0, NULL, NULL, 'h1', 1);
"""


def test_mcp_memory_service_when_read_then_deleted_superseded_and_pending_are_told(tmp_path: Path) -> None:
    write_vec0(tmp_path / "m.db", {1: unit(0)}, schema=SERVICE)
    store = open_store("m.db", base=tmp_path)
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text, roles.time, roles.value_field, roles.last_access) == (
        "memories", "id", "content", "created_at", "memory_type", "last_accessed",
    )  # fmt: skip
    records, left_out = open_records(store, roles, Config(), np.random.default_rng(0))
    assert (records.keys, left_out[0].ids) == ((1, 3), (2,))
    assert any(
        n.startswith("Superseded rows that are still there (superseded_by): 1. A search by meaning")
        for n in store.notes
    )
    assert "Rows whose vector is still to be made (embedding_pending): 1." in store.notes
    store.close()


@pytest.mark.parametrize(
    ("sql", "vectors", "auxiliary", "others"),
    [
        (CREATE, [("embedding", "float", 4)], [], []),
        ("create virtual table t using vec0( id integer primary key, e f32[3], b bit[16] )",
         [("e", "float", 3), ("b", "bit", 16)], [], []),
        ('CREATE VIRTUAL TABLE [t] USING vec0("my_vec" float[2], chunk_size=8, +body TEXT, label text)',
         [("my_vec", "float", 2)], ["body"], ["label"]),
    ],
)  # fmt: skip
def test_create_text_when_parsed_then_columns(
    sql: str, vectors: list[Any], auxiliary: list[str], others: list[str]
) -> None:
    found = parse_vec0("t", sql)
    assert found is not None
    assert (found.vectors, found.auxiliary, found.others) == (vectors, auxiliary, others)


@pytest.mark.parametrize(
    "sql",
    ["CREATE VIRTUAL TABLE t USING fts5(content)", "CREATE TABLE vec0(a)", "CREATE VIRTUAL TABLE t USING vec0(a text)"],
)
def test_create_text_when_of_no_vectors_then_none(sql: str) -> None:
    assert parse_vec0("t", sql) is None


SUPERSEDED = """
    CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT UNIQUE, content TEXT, tags TEXT, memory_type TEXT,
        metadata TEXT, created_at REAL, deleted_at REAL, superseded_by TEXT);
    INSERT INTO memories VALUES
        (1, 'h1', 'The office is in Bonn.', '', 'note', '{}', 1772000000.0, NULL, 'h2'),
        (2, 'h2', 'The office is in Köln.', '', 'note', '{}', 1772000001.0, NULL, NULL),
        (3, 'h3', '办公室在上海。', '', 'note', '{}', 1772000002.0, NULL, 'gone'),
        (4, 'h4', 'Deploys need one approval.', '', 'note', '{}', 1772000003.0, 1772000009.0, 'h2'),
        (5, 'h5', 'Logs go to cold storage.', '', 'note', '{}', 1772000004.0, NULL, '');
"""


def test_service_when_rows_are_superseded_then_pairs_of_ids_and_hidden_from_the_rule(
    tmp_path: Path, memaudit: Callable[..., Any]
) -> None:
    path = write_vec0(tmp_path / "m.db", {i: unit(i) for i in (1, 2, 3, 5)}, schema=SUPERSEDED)
    store = open_store("m.db", base=tmp_path)
    config, _ = with_hints(Config(), store, "memories")
    assert config.supersedes == {"table": "supersede_links", "new": "new", "old": "old", "hidden": "hidden"}
    # Row 4 is deleted, row 5 holds an empty text: neither is superseded.
    assert list(store.rows("SELECT new, old, hidden FROM supersede_links ORDER BY old")) == [(2, 1, 1), ("gone", 3, 1)]
    assert any(
        note.startswith("Superseded rows that are still there (superseded_by): 2. A search by m")
        for note in store.notes
    )
    store.close()
    # The service's own search leaves them out: that they stand there is no fault.
    assert memaudit("run", "--store", path, "--select", "MA805", "--format", "json=out.json").code == 0
    report = json.loads((tmp_path / "out.json").read_text())
    assert [f for f in report["findings"] if f["code"] == "MA805"] == []
    assert "MA805" not in [code for one in report["not_run"] for code in one["codes"]]
