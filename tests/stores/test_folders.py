"""Several files as one store, LanceDB folders, MemoryBank's JSON, and the command that lists all this."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.errors import StoreError
from memaudit.roles import find_roles
from memaudit.store_survey import readers, survey
from memaudit.stores.detect import open_store
from memaudit.stores.registry import KINDS, READERS


def write_lines(path: Path, *values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values))
    return path


def fact(n: int, **more: Any) -> dict[str, Any]:
    return {"id": f"m{n}", "content": f"Fact number {n} 的内容 in words.", **more}


def test_parts_when_in_one_folder_or_pattern_then_one_store(tmp_path: Path) -> None:
    write_lines(tmp_path / "p" / "b.jsonl", fact(3), fact(4, extra=1))
    write_lines(tmp_path / "p" / "a.jsonl", fact(1), fact(2))
    for named in ("p", "p/*.jsonl"):
        store = open_store(named, base=tmp_path)
        (table,) = store.tables
        assert list(store.rows(f'SELECT source_file, id FROM "{table.name}" ORDER BY rowid')) == [
            ("a.jsonl", "m1"), ("a.jsonl", "m2"), ("b.jsonl", "m3"), ("b.jsonl", "m4"),
        ]  # fmt: skip
        assert "2 files read as one store: a.jsonl 2, b.jsonl 2." in store.notes[0]
        assert find_roles(store, Config()).text == "content"
        store.close()


def test_files_of_other_columns_when_in_one_folder_then_refused_but_a_pattern_is_an_order(tmp_path: Path) -> None:
    write_lines(tmp_path / "p" / "a.jsonl", fact(1), fact(2))
    write_lines(tmp_path / "p" / "q.jsonl", {"query": "x", "gold": ["m1"]}, {"query": "y", "gold": []})
    with pytest.raises(StoreError, match="2 stores of different columns"):
        open_store("p", base=tmp_path)
    store = open_store("p/*.jsonl", base=tmp_path)
    assert store.tables[0].n_rows == 4
    store.close()
    with pytest.raises(StoreError, match=r"no file fits p/\*\.parquet"):
        open_store("p/*.parquet", base=tmp_path)


def test_parts_when_one_is_broken_then_named_and_the_others_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", fact(1), fact(2))
    (tmp_path / "b.jsonl").write_text("")
    store = open_store("*.jsonl", base=tmp_path)
    assert store.tables[0].n_rows == 2
    assert "Not read: b.jsonl is empty (0 bytes)" in store.notes[0]
    store.close()


def test_parquet_parts_when_in_one_folder_then_one_store(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "p").mkdir()
    for n in (1, 2):
        parquet.write_table(
            pyarrow.table({"id": [n], "content": [f"Fact number {n} in words."]}), tmp_path / "p" / f"{n}.parquet"
        )
    store = open_store("p", base=tmp_path)
    assert (store.kind, store.tables[0].n_rows) == ("parquet", 2)
    store.close()


def test_file_whose_name_is_like_a_pattern_when_named_then_it_is_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "a[1].jsonl", fact(1), fact(2))
    store = open_store("a[1].jsonl", base=tmp_path)
    assert store.kind == "jsonl"
    store.close()


def test_system_folder_when_another_store_lies_in_it_then_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- One fact.\n")
    write_lines(tmp_path / "facts.jsonl", fact(1), fact(2))
    store = open_store(str(tmp_path))
    assert store.kind == "markdown"
    assert store.notes[-1] == "Other stores in the folder, not looked at: facts.jsonl."
    store.close()
    (tmp_path / "facts.jsonl").unlink()
    store = open_store(str(tmp_path))
    assert "Other stores" not in " ".join(store.notes)
    store.close()


# -- LanceDB ------------------------------------------------------------------------------------


def lance_folder(path: Path) -> Path:
    (path / "memories.lance" / "_versions").mkdir(parents=True)
    return path


@pytest.mark.skipif(importlib.util.find_spec("lancedb") is not None, reason="lancedb is installed")
def test_lance_folder_when_the_library_is_missing_then_the_extra_is_named(tmp_path: Path) -> None:
    lance_folder(tmp_path / "crew" / "memory")
    for named in ("crew", "crew/memory", "crew/memory/memories.lance"):
        with pytest.raises(StoreError, match=r"LanceDB folder \(tables: memories\).*agent-memaudit\[lancedb\]"):
            open_store(named, base=tmp_path)


# -- MemoryBank ---------------------------------------------------------------------------------


def user(history: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "x", "summary": {}, "history": history, **more}


def test_memorybank_when_read_then_a_turn_is_a_record(tmp_path: Path) -> None:
    turn = {"query": "你好。", "response": "Hello."}
    data = {
        "张": user(
            {"2023-04-27": [turn, {"query": "q", "response": ""}]}, summary={"2023-04-27": {"content": "Greeting."}}
        ),
        "Ana": user({"2023-05-01": []}),
    }
    (tmp_path / "m.json").write_text(json.dumps(data))
    store = open_store("m.json", base=tmp_path)
    assert store.kind == "memorybank"
    assert list(store.rows('SELECT key, text, user, date FROM "m.turns" ORDER BY rowid')) == [
        ("张/2023-04-27#0", "你好。\nHello.", "张", "2023-04-27"),
        ("张/2023-04-27#1", "q", "张", "2023-04-27"),
    ]
    assert list(store.rows('SELECT text FROM "m.summaries"')) == [("Greeting.",)]
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text, roles.time) == ("m.turns", "key", "text", "date")
    assert "Each turn is one record: 2 turns of 2 users. Users without any turn: 1." in store.notes[0]
    store.close()


def test_document_with_other_histories_when_read_then_plain_json(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps({"a": {"history": {"d": ["x"]}}, "b": {"history": {"d": ["y"]}}}))
    store = open_store("m.json", base=tmp_path)
    assert store.kind == "json"
    store.close()


# -- the list -----------------------------------------------------------------------------------


def test_readers_when_listed_then_every_kind_once_with_its_extra() -> None:
    listed = readers()
    assert [r["name"] for r in listed] == [*KINDS, "qdrant", "postgres", "mysql"]
    assert len({r["name"] for r in listed}) == len(listed)
    assert {r["name"]: r["extra"] for r in listed if r["extra"]} == {
        "lancedb": "lancedb", "parquet": "parquet", "postgres": "postgres", "mysql": "mysql",
    }  # fmt: skip
    assert all(r.recognises for r in READERS)


def test_folder_when_surveyed_then_each_store_in_it_and_what_is_none_left_out(tmp_path: Path) -> None:
    write_lines(tmp_path / "agents" / "facts.jsonl", fact(1), fact(2))
    folder = tmp_path / "agents" / "other"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "m.db")) as c, c:
        c.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT)")
        c.execute("INSERT INTO notes VALUES (1, 'One note in words.')")
    c.close()
    (tmp_path / "agents" / "README.md").write_text("- a\n- b\n- c\n")
    lance_folder(tmp_path / "agents" / "crew")
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "agents" / "pipe.jsonl")
        (tmp_path / "agents" / "link").symlink_to(folder)
    found = {entry["path"]: entry for entry in survey("agents", tmp_path)}
    assert sorted(found) == ["agents/crew", "agents/facts.jsonl", "agents/other/m.db"]
    assert found["agents/facts.jsonl"]["text"] == "content"
    assert (found["agents/other/m.db"]["table"], found["agents/other/m.db"]["rows"]) == ("notes", 1)
    assert "lancedb" in found["agents/crew"]["error"]


def test_command_when_run_then_readers_stores_and_json(tmp_path: Path, memaudit: Callable[..., Any]) -> None:
    write_lines(tmp_path / "facts.jsonl", fact(1), fact(2))
    ran = memaudit("stores")
    assert ran.code == 0
    assert "chroma            Chroma" in ran.out
    ran = memaudit("stores", "facts.jsonl")
    assert ran.out.splitlines()[:3] == ["facts.jsonl", "  reader   jsonl", "  audited  facts, 2 rows, text = content"]
    (entry,) = json.loads(memaudit("stores", "facts.jsonl", "--format", "json").out)
    assert (entry["kind"], entry["tables"]) == ("jsonl", [{"table": "facts", "rows": 2}])
    ran = memaudit("stores", "nowhere.db")
    assert (ran.code, "no such store: nowhere.db" in ran.out) == (0, True)
    assert "secret" not in memaudit("stores", "redis://u:secret@h/0").out
