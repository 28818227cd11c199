"""Chroma's key-value rows as one table a collection, and vectors from the queue or the index."""

from __future__ import annotations

import json
import pickle
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.roles import find_roles
from memaudit.stores.detect import open_store
from memaudit.stores.store import Store, quoted

ADD, UPDATE, UPSERT, DELETE = range(4)


def blob(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def write_chroma(
    folder: Path,
    collections: dict[str, list[tuple[str, dict[str, Any]]]],
    queue: list[tuple[int, int, str, str, bytes | None]] = [],  # noqa: B006 - never changed
    seq: dict[str, int] | None = None,
    arrays: bool = False,
) -> Path:
    """Write the tables of Chroma 1.5 by hand; the queue is (seq, operation, collection, id, vector)."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "chroma.sqlite3"
    c = sqlite3.connect(path)
    c.executescript("""
        CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT, dimension INTEGER);
        CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT);
        CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB,
            created_at TIMESTAMP, UNIQUE (segment_id, embedding_id));
        CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER, float_value REAL,
            bool_value INTEGER, PRIMARY KEY (id, key));
        CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP, operation INTEGER, topic TEXT,
            id TEXT, vector BLOB, encoding TEXT, metadata TEXT);
    """)
    if arrays:
        c.execute("CREATE TABLE embedding_metadata_array (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER)")
    number = 0
    for name, items in collections.items():
        c.execute("INSERT INTO collections VALUES (?, ?, 2)", (f"c-{name}", name))
        c.execute("INSERT INTO segments VALUES (?, 'm', 'METADATA', ?)", (f"m-{name}", f"c-{name}"))
        c.execute("INSERT INTO segments VALUES (?, 'v', 'VECTOR', ?)", (f"v-{name}", f"c-{name}"))
        for key, metadata in items:
            number += 1
            c.execute("INSERT INTO embeddings VALUES (?, ?, ?, ?, '2026-05-01 00:00:00')",
                      (number, f"m-{name}", key, (seq or {}).get(key, number)))  # fmt: skip
            for k, v in metadata.items():
                if isinstance(v, list):
                    c.executemany("INSERT INTO embedding_metadata_array VALUES (?, ?, ?, NULL)",
                                  [(number, k, x) for x in v])  # fmt: skip
                    continue
                values = [v if isinstance(v, str) else None, None, None, None]
                if isinstance(v, bool):
                    values[3] = int(v)  # type: ignore[call-overload]
                elif isinstance(v, int):
                    values[1] = v  # type: ignore[call-overload]
                elif isinstance(v, float):
                    values[2] = v  # type: ignore[call-overload]
                c.execute("INSERT INTO embedding_metadata VALUES (?, ?, ?, ?, ?, ?)", (number, k, *values))
    for s, operation, name, key, vector in queue:
        topic = f"persistent://default/default/c-{name}"
        c.execute("INSERT INTO embeddings_queue VALUES (?, '', ?, ?, ?, ?, 'FLOAT32', '{}')",
                  (s, operation, topic, key, vector))  # fmt: skip
    c.commit()
    c.close()
    return path


def rows(store: Store, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return list(store.rows(f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)} ORDER BY rowid"))


def test_collections_when_read_then_one_table_each_and_the_largest_is_audited(
    tmp_path: Path, unchanged: Callable[[Path], None]
) -> None:
    path = write_chroma(
        tmp_path / "db",
        {
            "facts": [("f1", {"chroma:document": "喜欢喝茶。", "user": "ana"})],
            "lessons": [
                ("a", {"chroma:document": "First lesson.", "n": 3, "score": 0.5, "ok": True}),
                ("b", {"chroma:document": "Second lesson.", "n": 4}),
                ("c", {"n": 5}),
            ],
        },
        [(1, ADD, "facts", "f1", blob(1, 0)), (2, ADD, "lessons", "a", blob(0, 1)), (3, ADD, "lessons", "b", blob(1, 1)),
         (4, ADD, "lessons", "c", blob(1, 2))],
    )  # fmt: skip
    unchanged(path)
    for named in ("db", "db/chroma.sqlite3"):
        store = open_store(named, base=tmp_path)
        assert store.kind == "chroma"
        assert [(t.name, t.n_rows) for t in store.tables] == [("facts", 1), ("lessons", 3)]
        assert rows(store, "lessons", "id", "document", "n", "score", "ok", "embedding") == [
            ("a", "First lesson.", 3, 0.5, 1, blob(0, 1)),
            ("b", "Second lesson.", 4, None, None, blob(1, 1)),
            ("c", None, 5, None, None, blob(1, 2)),
        ]
        roles = find_roles(store, Config())
        assert (roles.table, roles.text, roles.id, roles.embedding) == ("lessons", "document", "id", "embedding")
        assert store.notes[0].startswith("Items without a document: 1 of 3 (33 %). Absent, not null: document in 1 row")
        assert store.notes[1] == f"Not audited here: facts, 1 row. For it: memaudit run --store {named} --table facts"
        assert find_roles(store, Config(table="facts")).text == "document"
        assert store.notes_for("facts") == (
            f"Not audited here: lessons, 3 rows. For it: memaudit run --store {named} --table lessons",
        )
        assert store.notes_for("lessons") == store.notes
        store.close()


def test_queue_when_replayed_then_the_last_write_of_a_living_item_counts(tmp_path: Path) -> None:
    write_chroma(
        tmp_path,
        {"c": [(k, {"chroma:document": k * 3}) for k in ("a", "b", "d", "e", "n", "f", "g")]},
        [
            (1, ADD, "c", "a", blob(1, 0)), (2, UPDATE, "c", "a", blob(2, 0)), (3, UPDATE, "c", "a", None),
            (4, ADD, "c", "b", blob(3, 0)), (5, ADD, "c", "b", blob(9, 9)),  # b is there: a second addition is refused
            (6, ADD, "c", "d", blob(4, 0)), (7, DELETE, "c", "d", None), (8, ADD, "c", "d", blob(5, 0)),
            (9, UPSERT, "c", "e", blob(6, 0)), (10, UPSERT, "c", "e", blob(7, 0)),
            (11, ADD, "c", "gone", blob(8, 0)), (12, DELETE, "c", "gone", None),
            (13, ADD, "other", "n", blob(9, 0)),
            # f: a refused addition before a change of its metadata; g: one after its own, purged, addition.
            (14, ADD, "c", "f", blob(1, 1)), (15, ADD, "c", "f", blob(9, 9)), (16, UPDATE, "c", "f", None),
            (17, ADD, "c", "g", blob(9, 9)),
        ],
        seq={"a": 3, "b": 4, "d": 8, "e": 10, "n": 13, "f": 16, "g": 2},
    )  # fmt: skip
    store = open_store(str(tmp_path))
    assert rows(store, "c", "id", "embedding") == [
        ("a", blob(2, 0)), ("b", blob(3, 0)), ("d", blob(5, 0)), ("e", blob(7, 0)), ("n", None), ("f", blob(1, 1)), ("g", None),
    ]  # fmt: skip
    assert "Items whose vector is in neither the queue nor the index: 2 of 7 (29 %)." in store.notes[0]
    store.close()


def test_queue_numbers_when_bytes_of_an_old_version_then_read_as_numbers(tmp_path: Path) -> None:
    path = write_chroma(tmp_path, {"c": [("a", {"chroma:document": "x"})]}, [(1, ADD, "c", "a", blob(1, 0))])
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE embeddings SET seq_id = ?", ((1).to_bytes(8, "big"),))
    c.close()
    store = open_store(str(tmp_path))
    assert rows(store, "c", "embedding") == [(blob(1, 0),)]
    store.close()


def write_index(folder: Path, labels: dict[str, int], vectors: dict[int, bytes], metadata: bytes | None = None) -> None:
    """Write an index folder by hand: links of 8 bytes, the vector of 2 numbers, the label."""
    folder.mkdir(parents=True)
    header = struct.pack("<i6Q", 1, 0, 100, len(vectors), 24, 16, 8)
    (folder / "header.bin").write_bytes(header + b"\0" * 48)
    data = b"".join(b"LINKLINK" + v + struct.pack("<Q", label) for label, v in vectors.items())
    (folder / "data_level0.bin").write_bytes(data)
    (folder / "index_metadata.pickle").write_bytes(metadata or pickle.dumps({"id_to_label": labels}))


def test_queue_when_purged_then_vectors_come_from_the_index(tmp_path: Path) -> None:
    write_chroma(
        tmp_path,
        {"c": [(k, {"chroma:document": f"text {k}"}) for k in "abc"]},
        [(9, UPDATE, "c", "b", blob(9, 9))],
        seq={"b": 9},
    )
    write_index(tmp_path / "v-c", {"a": 7, "b": 8, "gone": 9}, {7: blob(1, 0), 8: blob(0, 1), 9: blob(3, 3)})
    store = open_store(str(tmp_path))
    assert rows(store, "c", "id", "embedding") == [("a", blob(1, 0)), ("b", blob(9, 9)), ("c", None)]
    assert "Vectors of 1 item were read from the files of the index, because the queue was purged." in store.notes[0]
    assert "in neither the queue nor the index: 1 of 3 (33 %)" in store.notes[0]
    store.close()


def test_index_when_hostile_or_damaged_then_texts_are_encoded_again_and_it_is_said(tmp_path: Path) -> None:
    collections = {"c": [("a", {"chroma:document": "One lesson of the agent."})]}
    hostile = b"cos\nsystem\n(S'touch /tmp/never'\ntR."
    for number, (metadata, reason) in enumerate(
        [
            (hostile, "index_metadata.pickle is refused: it names os.system"),
            (pickle.dumps([1]), "it has no id_to_label"),
        ]
    ):
        folder = tmp_path / str(number)
        write_chroma(folder, collections)
        write_index(folder / "v-c", {}, {}, metadata)
        store = open_store(str(folder))
        assert reason in store.notes[0]
        roles = find_roles(store, Config())
        assert roles.embedding is None
        assert roles.guessed["embedding"] == (
            "not found: Chroma no longer holds the vectors where they can be read: the texts are encoded again"
        )
        store.close()
    folder = tmp_path / "cut"
    write_chroma(folder, collections)
    write_index(folder / "v-c", {"a": 1}, {1: blob(1, 0)})
    (folder / "v-c" / "data_level0.bin").write_bytes(b"LINK")
    store = open_store(str(folder))
    assert "header.bin has a layout that is not known" in store.notes[0]
    store.close()


def test_keys_that_are_called_like_our_columns_stay_and_ours_get_another_name(tmp_path: Path) -> None:
    write_chroma(tmp_path, {"c": [("a", {"chroma:document": "x", "id": "own", "created_at": 1772000000})]})
    store = open_store(str(tmp_path))
    assert rows(store, "c", "chroma_id", "id", "created_at", "chroma_created_at") == [
        ("a", "own", 1772000000, "2026-05-01 00:00:00"),
    ]
    assert find_roles(store, Config()).id == "chroma_id"
    store.close()


def test_lists_in_metadata_when_kept_in_their_table_then_json(tmp_path: Path) -> None:
    write_chroma(tmp_path, {"c": [("a", {"chroma:document": "x", "tags": ["茶", "b"]})]}, arrays=True)
    store = open_store(str(tmp_path))
    assert json.loads(rows(store, "c", "tags")[0][0]) == ["茶", "b"]
    store.close()


def test_owner_when_every_item_names_one_then_isolation_else_none(tmp_path: Path) -> None:
    document = {"chroma:document": "x"}
    write_chroma(tmp_path / "all", {"c": [("a", {**document, "user_id": "u"}), ("b", {**document, "user_id": "v"})]})
    write_chroma(tmp_path / "some", {"c": [("a", {**document, "user_id": "u"}), ("b", document)]})
    store = open_store(str(tmp_path / "all"))
    assert (
        find_roles(store, Config()).guessed["isolation_keys"]
        == "user_id, because every item of the collection has the key"
    )
    store.close()
    store = open_store(str(tmp_path / "some"))
    assert "isolation_keys" not in find_roles(store, Config()).guessed
    store.close()


@pytest.mark.parametrize("collections", [{}, {"empty": []}])
def test_store_without_items_when_read_then_no_rows_and_no_crash(
    tmp_path: Path, collections: dict[str, Any], memaudit: Callable[..., Any]
) -> None:
    write_chroma(tmp_path / "db", collections)
    ran = memaudit("run", "--store", "db")
    assert ran.code in (3, 4), ran.err


def test_collections_when_all_are_asked_for_then_each_has_its_audit_and_none_is_called_unaudited(
    tmp_path: Path, memaudit: Callable[..., Any]
) -> None:
    write_chroma(
        tmp_path / "db",
        {
            "facts": [(f"f{i}", {"chroma:document": f"第{i}件事：喜欢喝茶。"}) for i in range(4)],
            "lessons": [(f"l{i}", {"chroma:document": f"Lesson {i} about the staging cluster."}) for i in range(6)],
            "empty": [],
        },
        [],
    )
    ran = memaudit("run", "--store", "db", "--all-tables", "--select", "MA002")
    assert ran.code == 0, ran.err
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [(a["store"]["table"], a["store"]["rows"], a["store"]["roles"]["text"]) for a in report["audits"]] == [
        ("lessons", 6, "document"), ("facts", 4, "document"),
    ]  # fmt: skip
    assert [(one["table"], one["reason"]) for one in report["not_audited"]] == [("empty", "it holds no rows")]
    assert "Not audited here" not in json.dumps(report["audits"])
    # Alone, the larger one still names the other.
    memaudit("run", "--store", "db", "--select", "MA002")
    notes = json.loads((tmp_path / "report.json").read_text("utf-8"))["store"]["notes"]
    assert any(note.startswith("Not audited here: facts, 4 rows.") for note in notes)
