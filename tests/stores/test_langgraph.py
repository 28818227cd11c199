"""LangGraph's store: text by the shape of the JSON, which text was embedded, namespaces as owners."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.roles import find_roles
from memaudit.stores.detect import open_store
from memaudit.stores.langgraph import embedded_text

Item = tuple[str, str, Any]


def write_langgraph(
    path: Path, items: list[Item], vectors: list[tuple[str, str, str, bytes]] | None = None, *, as_bytes: bool = True
) -> Path:
    c = sqlite3.connect(path)
    c.execute("""CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL,
        created_at TIMESTAMP DEFAULT '2026-05-01 00:00:00', updated_at TIMESTAMP DEFAULT '2026-05-01 00:00:00',
        expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key))""")
    for prefix, key, value in items:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        stored: Any = text.encode() if as_bytes else text
        c.execute("INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", (prefix, key, stored))
    if vectors is not None:
        c.execute(
            "CREATE TABLE store_vectors (prefix, key, field_name, embedding BLOB, PRIMARY KEY (prefix, key, field_name))"
        )
        c.executemany("INSERT INTO store_vectors VALUES (?, ?, ?, ?)", vectors)
    c.commit()
    c.close()
    return path


def blob(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


LONG = "The deploy failed because the token had expired, so renew the token before a release starts."


@pytest.mark.parametrize("as_bytes", [True, False])
def test_rows_of_several_shapes_when_read_then_each_has_the_text_of_its_shape(
    tmp_path: Path, as_bytes: bool, unchanged: Callable[[Path], None]
) -> None:
    path = write_langgraph(
        tmp_path / "memory.db",
        [
            ("memories.ana", "m1", {"kind": "Memory", "content": "喜欢喝茶，不喝咖啡。"}),
            ("memories.ana", "m2", {"kind": "Profile", "content": {"summary": "Ana works in Lisbon.", "age": 31}}),
            ("episodes", "e1", {"kind": "Episode", "observation": "timeout", "lesson": LONG, "uses": 2}),
            ("episodes", "e2", {"kind": "Episode", "observation": "retry worked", "lesson": ""}),
            ("episodes", "e3", {"kind": "Episode", "observation": "tool failed", "lesson": None}),
            ("episodes", "e4", {"kind": "Episode", "observation": "no lesson at all"}),
            *(("more", f"e{n}", {"kind": "Episode", "observation": "x", "lesson": f"{LONG} {n}"}) for n in range(3)),
            ("scratch", "s1", {"note": "plan 0"}),
        ],
        as_bytes=as_bytes,
    )  # fmt: skip
    unchanged(path)
    store = open_store("memory.db", base=tmp_path)
    assert store.kind == "langgraph"
    assert list(store.rows("SELECT id, prefix, text FROM store ORDER BY rowid")) == [
        ("memories.ana:m1", "memories.ana", "喜欢喝茶，不喝咖啡。"),
        ("memories.ana:m2", "memories.ana", "Ana works in Lisbon."),
        ("episodes:e1", "episodes", LONG),
        ("episodes:e2", "episodes", ""),
        # Missing is never filled from another field: the row would look whole.
        ("episodes:e3", "episodes", None),
        ("episodes:e4", "episodes", None),
        *((f"more:e{n}", "more", f"{LONG} {n}") for n in range(3)),
        ("scratch:s1", "scratch", "plan 0"),
    ]
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text, roles.time) == ("store", "id", "text", "created_at")
    assert roles.guessed["isolation_keys"] == "prefix, because LangGraph keeps owners apart by namespace"
    assert (
        "Memory: content (1); Profile: content.summary (1); Episode: lesson (7); {note}: note (1)"
        in roles.guessed["text"]
    )
    assert find_roles(store, Config(text="value$.lesson")).text == "value$.lesson"  # as in a configuration of old
    store.close()


def test_vectors_when_of_the_whole_json_then_that_is_the_embedded_text(tmp_path: Path) -> None:
    value = {"kind": "Memory", "content": "茶 tea", "a": 1}
    write_langgraph(
        tmp_path / "s.db",
        [("u", "1", value), ("u", "2", {**value, "content": "no vector"})],
        [("u", "1", "$", blob(1, 0)), ("u", "deleted", "$", blob(0, 1))],
    )
    store = open_store("s.db", base=tmp_path)
    assert list(store.rows("SELECT embedded_text, embedding FROM store ORDER BY rowid")) == [
        ('{"a": 1, "content": "茶 tea", "kind": "Memory"}', blob(1, 0)),
        (None, None),
    ]
    note = store.notes[0]
    assert "Vectors of no row (their memory was deleted): 1." in note
    assert "Every vector looked at is of the whole JSON (field $)" in note
    assert "Rows without any vector: 1 of 2 (50 %)." in note
    store.close()


def test_vectors_when_of_several_fields_then_the_commonest_and_the_others_counted(tmp_path: Path) -> None:
    write_langgraph(
        tmp_path / "s.db",
        [("u", "1", {"content": "one", "lesson": "uno"}), ("u", "2", {"content": "two"})],
        [("u", "1", "content", blob(1, 0)), ("u", "1", "lesson", blob(0, 1)), ("u", "2", "content", blob(1, 1))],
    )
    store = open_store("s.db", base=tmp_path)
    assert list(store.rows("SELECT embedded_text, embedding FROM store ORDER BY rowid")) == [
        ("one", blob(1, 0)), ("two", blob(1, 1)),
    ]  # fmt: skip
    assert "Vectors by field: content 2, lesson 1; those of content are audited." in store.notes[0]
    assert "whole JSON" not in store.notes[0]
    store.close()


def test_texts_in_two_namespaces_when_equal_then_counted_in_the_note_not_as_copies(tmp_path: Path) -> None:
    rows: list[Item] = [("ana", "1", {"content": "Likes tea."}), ("bob", "1", {"content": "Likes tea."})]
    write_langgraph(tmp_path / "s.db", [*rows, ("ana", "2", {"content": "Likes rice."})])
    store = open_store("s.db", base=tmp_path)
    assert "Texts that stand word for word in more than one namespace: 1 (such as ana and bob)." in store.notes[0]
    store.close()
    write_langgraph(tmp_path / "t.db", [rows[0], ("ana", "2", {"content": "Likes tea."})])
    store = open_store("t.db", base=tmp_path)
    assert "more than one namespace" not in " ".join(store.notes)
    store.close()


def test_values_that_are_no_json_when_read_then_kept_and_counted(tmp_path: Path) -> None:
    write_langgraph(
        tmp_path / "s.db", [("u", "1", "not json"), ("u", "2", "[" * 100_000), ("u", "3", {"content": "x y"})]
    )
    store = open_store("s.db", base=tmp_path)
    assert "Values that are no JSON object: 2 of 3 (67 %)" in store.notes[0]
    assert [t for (t,) in store.rows("SELECT value FROM store WHERE key = '1'")] == ["not json"]
    store.close()


def test_empty_store_when_audited_then_nothing_to_audit(tmp_path: Path, memaudit: Callable[..., Any]) -> None:
    write_langgraph(tmp_path / "s.db", [])
    assert memaudit("run", "--store", "s.db").code == 4


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("$", '{"a": {"b": ["x", {"c": 2}]}, "n": null, "t": "茶"}'),
        ("t", "茶"),
        ("a.b[0]", "x"),
        ("a.b[-1].c", "2"),
        ("a.b", '["x", {"c": 2}]'),
        ("a.b[*].1", '{"c": 2}'),  # the second of several texts of one path
        ("n", None),
        ("missing.path", None),
        ("a.b[7]", None),
    ],
)
def test_embedded_text_when_a_path_is_named_then_as_langgraph_takes_it(path: str, text: str | None) -> None:
    assert embedded_text({"t": "茶", "a": {"b": ["x", {"c": 2}]}, "n": None}, path) == text
