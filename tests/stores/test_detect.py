"""Which reader opens a file: by its content; every refusal is one line that says what to do."""

from __future__ import annotations

import gzip
import os
import pickle
import sqlite3
import sys
from pathlib import Path

import pytest

from memaudit.errors import ConfigError, ExitCode, StoreError
from memaudit.stores.addresses import without_credentials
from memaudit.stores.detect import find_kind, open_store

pytestmark = pytest.mark.usefixtures("closed_stores")


def sqlite_file(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE memories (content TEXT)")
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.txt", '{"a": 1}\n{"a": 2}\n', "jsonl"),
        ("a.json", '{"a": 1}\n{"a": 2}\n', "jsonl"),  # the name is wrong, the content decides
        ("a.csv", '[{"a": 1}]', "json"),
        ("a.jsonl", '{"a": 1}', "jsonl"),  # one line may be either: the name decides
        ("a.json", '{"a": {"b": 1}}', "json"),
        ("a", '{"a": {"b": 1}}', "json"),
        ("a.json", '\n  {\n  "a": 1\n}', "json"),
        ("a.jsonl", 'broken\n{"a": 1}\n', "jsonl"),
        ("a.jsonl", '{broken\n{"a": 1}\n{"a": 1}\n', "jsonl"),
        ("a.dat", "id,content\n1,hello\n2,你好\n", "csv"),
        ("a.tsv", "id\tcontent\n1\thello\n", "tsv"),
        ("a.csv", "content\nonly one column\n", "csv"),
    ],
)
def test_content_decides_and_the_name_breaks_ties(tmp_path: Path, name: str, content: str, kind: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert find_kind(path, name) == kind


def test_database_is_found_under_any_name(tmp_path: Path) -> None:
    store = open_store(str(sqlite_file(tmp_path / "memories.json")))
    assert (store.kind, [t.name for t in store.tables]) == ("sqlite", ["memories"])
    store.close()


def test_relative_paths_start_from_the_base(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "store.db")
    store = open_store("store.db", base=tmp_path)
    assert store.path == "store.db"
    store.close()


def test_name_with_a_nul_character_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such store"):
        open_store("a\0b.db", None, tmp_path)


def test_missing_store_names_the_nearest_file_and_is_not_created(tmp_path: Path) -> None:
    sqlite_file(tmp_path / "experiences.db")
    with pytest.raises(StoreError) as caught:
        open_store("experience.db", base=tmp_path)
    assert str(caught.value) == (
        f"no such store: experience.db (current folder: {tmp_path.name}/). "
        'Did you mean "experiences.db"? Give --store PATH, or set store in memaudit.toml.'
    )
    assert caught.value.exit_code == ExitCode.INCOMPLETE
    assert [p.name for p in tmp_path.iterdir()] == ["experiences.db"]
    with pytest.raises(StoreError, match="no such store"):
        open_store("nowhere/at/all.db", base=tmp_path)


def test_text_that_is_no_store_is_named_with_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nSome, with commas\n")
    with pytest.raises(
        StoreError, match=r'notes\.md is not a SQLite database \(first bytes: "# Notes"\)\. memaudit reads'
    ):
        open_store("notes.md", base=tmp_path)
    (tmp_path / "plain.txt").write_text("Dear all, this is a letter.\nIt has lines, and commas.\n")
    with pytest.raises(StoreError, match=r'first bytes: "Dear all, this is a lett"'):
        open_store("plain.txt", base=tmp_path)


def test_empty_file_is_called_empty(tmp_path: Path) -> None:
    for name in ("a.db", "a.jsonl", "a"):
        (tmp_path / name).touch()
        with pytest.raises(StoreError, match=rf"{name} is empty \(0 bytes\)"):
            open_store(name, base=tmp_path)


def test_folder_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match=r"empty is a folder without a store \(it holds: nothing\)"):
        open_store("empty", base=tmp_path)
    one = tmp_path / "one"
    one.mkdir()
    sqlite_file(one / "m.db")
    (one / "README.md").write_text("# words")
    only = open_store("one", base=tmp_path)
    assert (only.path, only.kind) == (str(Path("one") / "m.db"), "sqlite")
    assert only.notes == ("The folder holds one store, m.db.",)
    only.close()
    (one / "b.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    with pytest.raises(StoreError, match=r"it holds 2 stores\. Give one of them: b\.jsonl, m\.db"):
        open_store("one", base=tmp_path)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("oracle://user:secret@host:5432/db?sslmode=x&password=secret", "oracle://host:5432/db"),
        ("redis://:secret@host/0#secret", "redis://host/0"),
        ("https://user:sec/ret@host/x", "https://host/x"),
        ("C:\\stores\\a@b.db", "C:\\stores\\a@b.db"),
        ("dir/a@b.db", "dir/a@b.db"),
    ],
)
def test_credentials_are_in_no_message(value: str, shown: str) -> None:
    assert without_credentials(value) == shown
    if "://" in value:
        with pytest.raises(StoreError) as caught:
            open_store(value)
        assert "secret" not in str(caught.value)
        assert "sec/ret" not in str(caught.value)
        assert "not read by this version" in str(caught.value)


def test_file_address_is_a_path(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "a b.db")
    open_store(path.as_uri()).close()


def test_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match='Did you mean "sqlite"'):
        open_store("a.db", kind="sqlit")


def test_kind_of_the_user_wins(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("a,b\n1,2\n")
    store = open_store("notes.md", kind="csv", base=tmp_path)
    assert store.tables[0].column_names == ("a", "b")


def test_packed_and_pickled_files_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(StoreError, match=r"compressed by gzip.*Unpack it first"):
        open_store("a.jsonl.gz", base=tmp_path)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps([1]))
    with pytest.raises(StoreError, match=r"pickle.*never unpickles"):
        open_store("a.pkl", base=tmp_path)
    (tmp_path / "a.bin").write_bytes(b"\x7fELF\x02\x01\x01\x00" * 100)
    with pytest.raises(StoreError, match=r"no store that memaudit knows \(first bytes: 7f 45 4c 46"):
        open_store("a.bin", base=tmp_path)


def test_one_nul_byte_spoils_its_line_only(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_bytes(b'{"content": "a"}\n{"content": "b\x00"}\n{"content": "c"}\n')
    store = open_store("m.jsonl", base=tmp_path)
    assert [text for (text,) in store.rows('SELECT content FROM "m" ORDER BY rowid')] == ["a", "c"]
    assert store.notes == ("1 line is no JSON object and not read (2).",)


@pytest.mark.skipif(sys.platform == "win32", reason="no devices of this kind")
def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no regular file"):
        open_store("/dev/null")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(StoreError, match="no regular file"):
        open_store("pipe.jsonl", base=tmp_path)
    # A pipe in a folder must not be opened either: reading it would wait for ever.
    with pytest.raises(StoreError, match="folder without a store"):
        open_store(".", base=tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own on Windows")
def test_link_is_followed_when_it_was_named_but_not_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.db").symlink_to(sqlite_file(tmp_path / "real.db"))
    open_store("link.db", base=folder).close()
    with pytest.raises(StoreError, match="folder without a store"):
        open_store("folder", base=tmp_path)
    (folder / "broken.db").symlink_to(tmp_path / "gone.db")
    with pytest.raises(StoreError, match=r"is a link to .*which is not there"):
        open_store("broken.db", base=folder)
