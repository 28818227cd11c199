"""mem0: the log replayed by memory, and qdrant's pickled points read without loading them."""

from __future__ import annotations

import base64
import json
import os
import pickle
import sqlite3
import struct
import sys
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.roles import find_roles, open_records
from memaudit.stores.detect import open_store

MODULE = "qdrant_client.http.models.models"


@pytest.fixture
def point_class(monkeypatch: pytest.MonkeyPatch) -> type:
    """Stand in for qdrant's PointStruct: a class of that name with pydantic's way of keeping state."""

    class PointStruct:
        def __init__(self, id: Any, payload: Any, vector: Any) -> None:
            self.fields = {"id": id, "vector": vector, "payload": payload}

        def __getstate__(self) -> dict[str, Any]:
            extra = {"__pydantic_extra__": None, "__pydantic_fields_set__": {"id"}, "__pydantic_private__": None}
            return {"__dict__": self.fields, **extra}

    PointStruct.__module__, PointStruct.__qualname__ = MODULE, "PointStruct"
    for name in ("qdrant_client", "qdrant_client.http", "qdrant_client.http.models", MODULE):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    vars(sys.modules[MODULE])["PointStruct"] = PointStruct
    return PointStruct


def write_history(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    """Rows: (memory id, old, new, event, is_deleted)."""
    c = sqlite3.connect(path)
    c.execute("""CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
        created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)""")
    for n, (key, old, new, event, deleted) in enumerate(rows):
        c.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, 'user')",
                  (f"h{n}", key, old, new, event, f"2026-05-01T00:00:{n:02d}+00:00", f"2026-05-02T00:00:{n:02d}+00:00",
                   deleted))  # fmt: skip
    c.commit()
    c.close()
    return path


LOG = [
    ("a", None, "Likes tea.", "ADD", 0),
    ("b", None, "喜欢爬山。", "ADD", 0),
    ("a", "Likes tea.", "Likes green tea.", "UPDATE", 0),
    ("c", None, "Works in Lisbon.", "ADD", 0),
    ("b", "喜欢爬山。", None, "DELETE", 1),
    ("d", "Was there before the log.", "Changed later.", "UPDATE", 0),
    ("c", "Works in Lisbon.", "Works in Lisbon.", "NONE", 0),
]


def write_qdrant(folder: Path, points: list[tuple[Any, bytes]], name: str = "mem0") -> Path:
    place = folder / "collection" / name
    place.mkdir(parents=True, exist_ok=True)
    meta = folder / "meta.json"
    known = json.loads(meta.read_text())["collections"] if meta.exists() else {}
    meta.write_text(json.dumps({"collections": {**known, name: {}}, "aliases": {}}))
    c = sqlite3.connect(place / "storage.sqlite")
    c.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
    for key, blob in points:
        c.execute("INSERT INTO points VALUES (?, ?)", (base64.b64encode(pickle.dumps(key)).decode(), blob))
    c.commit()
    c.close()
    return folder


def payload(text: str, **more: Any) -> dict[str, Any]:
    return {"data": text, "hash": "h", "created_at": "2026-05-01T00:00:00+00:00", "user_id": "ana"} | more


def test_history_when_read_alone_then_one_row_a_memory_and_deleted_ones_marked(tmp_path: Path) -> None:
    write_history(tmp_path / "history.db", LOG)
    store = open_store("history.db", base=tmp_path)
    assert store.kind == "mem0"
    assert list(
        store.rows("SELECT memory_id, memory, updates, is_deleted, created_at FROM memories ORDER BY rowid")
    ) == [
        ("a", "Likes green tea.", 1, 0, "2026-05-01T00:00:00+00:00"),
        ("b", "喜欢爬山。", 0, 1, "2026-05-01T00:00:01+00:00"),
        ("c", "Works in Lisbon.", 0, 0, "2026-05-01T00:00:03+00:00"),
        ("d", "Changed later.", 1, 0, "2026-05-01T00:00:05+00:00"),
    ]
    roles = find_roles(store, Config())
    assert (roles.id, roles.text, roles.time) == ("memory_id", "memory", "created_at")
    import numpy as np

    records, left_out = open_records(store, roles, Config(), np.random.default_rng(0))
    assert (records.keys, left_out[0].ids) == (("a", "c", "d"), ("b",))
    assert store.notes[0] == (
        "history.db was replayed: 3 ADD, 2 UPDATE, 1 DELETE, 1 NONE; 3 memories are live and 1 deleted."
    )
    store.close()


def test_memory_when_deleted_and_added_again_then_live(tmp_path: Path) -> None:
    write_history(tmp_path / "h.db", [*LOG, ("b", None, "喜欢跑步。", "ADD", 0)])
    store = open_store("h.db", base=tmp_path)
    assert list(store.rows("SELECT memory, is_deleted FROM memories WHERE memory_id = 'b'")) == [("喜欢跑步。", 0)]
    store.close()


def test_points_when_read_then_payload_vector_and_what_the_log_knows(
    tmp_path: Path, point_class: type, unchanged: Callable[[Path], None]
) -> None:
    points = [
        ("a", pickle.dumps(point_class("a", payload("Likes green tea.", category="taste"), {"": [0.5, 0.25]}))),
        ("c", pickle.dumps(point_class("c", payload("Works in Lisbon.", id="own", user_id="lin"), [1.0, 0.0]))),
        ("x", pickle.dumps(point_class("x", payload("Not in the log."), None))),
    ]
    write_qdrant(tmp_path / "qdrant", points)
    write_history(tmp_path / "history.db", LOG)
    unchanged(tmp_path / "history.db")
    unchanged(tmp_path / "qdrant" / "collection" / "mem0" / "storage.sqlite")
    store = open_store(str(tmp_path))
    assert (store.kind, [(t.name, t.n_rows) for t in store.tables]) == ("mem0", [("mem0", 3)])
    sql = "SELECT id, data, category, payload_id, history_updates, embedding FROM mem0 ORDER BY rowid"
    assert list(store.rows(sql)) == [
        ("a", "Likes green tea.", "taste", None, 1, struct.pack("<2f", 0.5, 0.25)),
        ("c", "Works in Lisbon.", None, "own", 0, struct.pack("<2f", 1, 0)),
        ("x", "Not in the log.", None, None, None, None),
    ]
    roles = find_roles(store, Config())
    assert (roles.id, roles.text, roles.time, roles.embedding) == ("id", "data", "created_at", "embedding")
    assert roles.guessed["isolation_keys"] == "user_id, because every point has the key"
    notes = " ".join(store.notes)
    assert "Memories that the history calls live and no collection holds: 1." in notes  # d
    assert "Points that the history does not know as live: 1." in notes  # x
    store.close()


class Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


def test_hostile_point_when_read_then_refused_counted_and_it_does_not_run(tmp_path: Path, point_class: type) -> None:
    mark = tmp_path / "ran"
    good = pickle.dumps(point_class("a", payload("Likes tea."), {"": [1.0, 0.0]}))
    inside = pickle.dumps(point_class("b", payload("x", evil=Runs(mark)), {"": [1.0, 0.0]}))
    write_qdrant(tmp_path / "q", [("a", good), ("b", inside), ("c", pickle.dumps(Runs(mark)))])
    for named in ("q", "q/collection/mem0/storage.sqlite"):
        store = open_store(named, base=tmp_path)
        assert (store.kind, store.tables[0].n_rows) == ("qdrant-local", 1)
        assert "because their pickle holds more than plain data: 2 of 3 (67 %) (2: it names" in store.notes[0]
        assert "system" in store.notes[0]
        store.close()
    assert not mark.exists()


def test_identifiers_when_uuid_or_number_then_shown_as_text(tmp_path: Path, point_class: type) -> None:
    own = uuid.UUID(int=7)
    points = [
        (own, pickle.dumps(point_class(own, payload("a"), [1.0]))),
        (5, pickle.dumps(point_class(5, payload("b"), [1.0]))),
    ]
    write_qdrant(tmp_path / "q", points)
    store = open_store("q", base=tmp_path)
    assert [i for (i,) in store.rows("SELECT id FROM mem0")] == [str(own), "5"]
    store.close()


def test_collections_when_several_then_the_largest_and_named_vectors_are_told(
    tmp_path: Path, point_class: type
) -> None:
    def point(key: str, vector: Any) -> tuple[str, bytes]:
        return key, pickle.dumps(point_class(key, {"page_content": f"Text of {key}."}, vector))

    write_qdrant(tmp_path / "q", [point("a", {"title": [1.0], "body": [2.0]})], "small")
    write_qdrant(tmp_path / "q", [point(k, {"title": [1.0, 0.0], "body": [2.0, 0.0]}) for k in "abc"], "large")
    store = open_store("q", base=tmp_path)
    roles = find_roles(store, Config())
    assert (roles.table, roles.text) == ("large", "page_content")
    assert store.notes[0] == "Further vectors of the points, not audited: body 3."
    assert store.notes[1] == "Not audited here: small, 1 row. For it: memaudit run --store q --table small"
    store.close()


def test_empty_collection_when_audited_then_nothing_to_audit(tmp_path: Path, memaudit: Callable[..., Any]) -> None:
    write_qdrant(tmp_path / "q", [])
    assert memaudit("run", "--store", "q").code == 4
