"""Opening SQLite files: nothing is written, nothing is lost, every refusal is one clear line."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import sqlite3
import stat
import struct
import sys
import tempfile
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from memaudit.errors import ConfigError, StoreError
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store

pytestmark = pytest.mark.usefixtures("closed_stores")


def made(path: Path, n_rows: int = 3, wal: bool = False) -> Path:
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
    connection.executemany("INSERT INTO memories (content) VALUES (?)", [(f"row {i} 记忆",) for i in range(n_rows)])
    connection.commit()
    connection.close()
    return path


def folder_state(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(folder.iterdir())}


def contents(store: Store) -> list[str]:
    return [text for (text,) in store.rows("SELECT content FROM memories ORDER BY rowid")]


@pytest.fixture
def temporary_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("private")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_plain_store_is_read_and_the_folder_stays_as_it_is(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    before = folder_state(tmp_path)
    store = open_sqlite(path)
    assert contents(store) == ["row 0 记忆", "row 1 记忆", "row 2 记忆"]
    assert store.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert store.kind == "sqlite"
    with pytest.raises(sqlite3.OperationalError):
        store.connection.execute("DELETE FROM memories")
    store.close()
    assert folder_state(tmp_path) == before
    assert store.notes == ()


def test_wal_mode_without_log_leaves_no_files_beside_it(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db", wal=True)
    assert [p.name for p in tmp_path.iterdir()] == ["store.db"]  # the last connection took its log away
    before = folder_state(tmp_path)
    store = open_sqlite(path)
    assert len(contents(store)) == 3
    store.close()
    assert folder_state(tmp_path) == before


def test_rows_that_stand_only_in_the_log_are_read(tmp_path: Path, temporary_folder: Path) -> None:
    path = tmp_path / "store.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
    writer.execute("INSERT INTO memories (content) VALUES ('only in the log')")
    writer.commit()
    alone = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        alone.execute("SELECT * FROM memories")  # what ignoring the log would lose
    alone.close()
    before = folder_state(tmp_path)
    store = open_sqlite(path)
    assert contents(store) == ["only in the log"]
    assert len(list(temporary_folder.iterdir())) == 1
    store.close()
    assert list(temporary_folder.iterdir()) == []
    assert folder_state(tmp_path) == before
    assert "write-ahead log" in store.notes[0]
    assert len(store.notes) == 1
    store = open_sqlite(path)
    writer.execute("INSERT INTO memories (content) VALUES ('later')")
    writer.commit()
    assert contents(store) == ["only in the log"]
    store.close()
    assert "snapshot taken at the start" in store.notes[-1]
    writer.close()


def _hold_open(path: str, ready: Event, done: Event) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("INSERT INTO memories (content) VALUES ('from another process')")
    connection.commit()
    ready.set()
    done.wait(30)
    os._exit(0)  # a crash: the log stays


def test_log_of_another_process_is_read_while_it_lives_and_after_its_crash(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=_hold_open, args=(str(path), ready, done))
    process.start()
    try:
        assert ready.wait(30)
        before = folder_state(tmp_path)
        assert "store.db-wal" in before
        for _ in range(2):
            store = open_sqlite(path)
            assert contents(store)[-1] == "from another process"
            store.close()
            assert folder_state(tmp_path) == before
            done.set()
            process.join(30)
    finally:
        done.set()
        process.join(30)


def test_exclusively_locked_store_is_read_in_its_last_committed_state(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    store = open_sqlite(path)
    assert len(contents(store)) == 3
    store.close()
    # A transaction so large that its pages are already in the file, with the old ones in the journal.
    writer.execute("PRAGMA cache_size = 5")
    writer.executemany("INSERT INTO memories (content) VALUES (?)", [("uncommitted " * 50,) for _ in range(500)])
    assert (tmp_path / "store.db-journal").stat().st_size > 512
    before = folder_state(tmp_path)
    store = open_sqlite(path)
    assert contents(store) == ["row 0 记忆", "row 1 记忆", "row 2 记忆"]
    assert "rollback journal" in store.notes[0]
    store.close()
    assert folder_state(tmp_path) == before
    writer.execute("ROLLBACK")
    writer.close()


def test_hot_journal_of_a_crash_is_rolled_back_in_the_copy_only(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA cache_size = 5")
    writer.execute("BEGIN")
    writer.executemany("INSERT INTO memories (content) VALUES (?)", [("uncommitted " * 50,) for _ in range(500)])
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("store.db", "store.db-journal"):
        shutil.copyfile(tmp_path / name, crashed / name)
    writer.execute("ROLLBACK")
    writer.close()
    before = folder_state(crashed)
    store = open_sqlite(crashed / "store.db")
    assert contents(store) == ["row 0 记忆", "row 1 记忆", "row 2 记忆"]
    store.close()
    assert folder_state(crashed) == before


def test_journal_that_was_ended_by_zeroing_needs_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = PERSIST")
    writer.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT)")
    writer.execute("INSERT INTO memories (content) VALUES ('x')")
    writer.commit()
    writer.close()
    assert (tmp_path / "store.db-journal").stat().st_size > 0
    store = open_sqlite(path)
    assert contents(store) == ["x"]
    assert store.notes == ()
    store.close()


def test_store_that_never_stands_still_is_given_up_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary_folder: Path
) -> None:
    path = made(tmp_path / "store.db")
    (tmp_path / "store.db-wal").write_bytes(b"x" * 100)
    copied = shutil.copyfile

    def copy_and_change(source: Path, target: Path) -> None:
        copied(source, target)
        with path.open("ab") as file:
            file.write(b"\0")

    monkeypatch.setattr("memaudit.stores.sqlite.shutil.copyfile", copy_and_change)
    with pytest.raises(StoreError, match="being written without a pause"):
        open_sqlite(path, wait_s=0.2)
    assert list(temporary_folder.iterdir()) == []


def test_change_while_reading_is_noted_at_the_end(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    store = open_sqlite(path)
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO memories (content) VALUES ('new')")
    writer.commit()
    writer.close()
    store.close()
    assert "changed while it was read" in store.notes[-1]


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%20b.db", "a b&c=d.db", "记忆库.db", "a'b\"c.db"])
@pytest.mark.skipif(sys.platform == "win32", reason="these characters cannot stand in names on Windows")
def test_special_characters_in_the_path_are_no_part_of_the_address(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "x?mode=rw#y"
    folder.mkdir()
    store = open_sqlite(made(folder / name))
    assert len(contents(store)) == 3
    store.close()
    assert [p.name for p in folder.iterdir()] == [name]


def test_utf16_database_and_undecodable_text(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA encoding = 'UTF-16le'")
    connection.execute("CREATE TABLE memories (content TEXT)")
    connection.execute("INSERT INTO memories VALUES ('中文 and English')")
    connection.commit()
    connection.close()
    store = open_sqlite(path)
    assert contents(store) == ["中文 and English"]
    store.close()
    other = made(tmp_path / "other.db", 1)
    connection = sqlite3.connect(other)
    connection.execute("INSERT INTO memories (content) VALUES (CAST(X'61FF62' AS TEXT))")
    connection.commit()
    connection.close()
    store = open_sqlite(other)
    assert contents(store)[1] == "a\udcffb"
    store.close()


def test_virtual_tables_shadows_views_and_internal_tables_are_left_out(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIRTUAL TABLE memories_fts USING fts5(content)")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5vocab(memories_fts, row)")
    connection.execute("CREATE VIEW recent AS SELECT * FROM memories")
    connection.execute("CREATE TABLE memories_config (a)")  # looks like a shadow, but of no virtual table
    connection.execute("CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT)")
    connection.execute("CREATE TABLE v_chunks (chunk_id INTEGER)")
    connection.execute("CREATE TABLE v_vector_chunks00 (vectors BLOB)")
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES "
        "('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING vec0(e FLOAT[4])')"
    )
    connection.commit()
    connection.close()
    store = open_sqlite(path)
    assert [t.name for t in store.tables] == ["memories", "memories_config", "counted"]
    assert store.skipped["v"] == "a virtual table (vec0)"
    assert store.full_text == ("memories_fts",)
    assert store.skipped["v_vector_chunks00"] == "data of the virtual table v"
    assert store.skipped["memories_fts_data"] == "data of the virtual table memories_fts"
    assert "view" in store.skipped["recent"]
    assert not any(name.startswith("sqlite_") for name in store.skipped)
    with pytest.raises(ConfigError, match="is not read: a virtual table"):
        store.table("v")
    store.close()


def test_tables_without_rowid_are_ordered_by_their_key(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE pairs (b TEXT, a TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID")
    connection.execute("CREATE TABLE odd (rowid TEXT, content TEXT)")
    connection.commit()
    connection.close()
    store = open_sqlite(path)
    assert {t.name: t.order for t in store.tables} == {"pairs": '"a", "b"', "odd": "_rowid_"}
    store.close()


def test_generated_columns_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE memories (content TEXT, length INTEGER GENERATED ALWAYS AS (length(content)))")
    connection.execute("INSERT INTO memories (content) VALUES ('four')")
    connection.commit()
    connection.close()
    store = open_sqlite(path)
    assert store.tables[0].column_names == ("content", "length")
    store.close()


def test_generated_columns_that_take_a_key_of_json_are_read(tmp_path: Path) -> None:
    # SQLite 3.38 to 3.40 call their own JSON functions unsafe in a schema that is not trusted.
    path = tmp_path / "store.db"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE memories (payload TEXT, body TEXT GENERATED ALWAYS AS (json_extract(payload, '$.text')))"
    )
    connection.execute('INSERT INTO memories (payload) VALUES (\'{"text": "four"}\')')
    connection.commit()
    connection.close()
    store = open_sqlite(path)
    assert list(store.rows("SELECT body FROM memories")) == [("four",)]
    store.close()


def expect_error(path: Path, *parts: str) -> None:
    before = folder_state(path.parent) if path.parent.name != "dev" else {}
    with pytest.raises(StoreError) as caught:
        open_sqlite(path, shown=path.name)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    if before:
        assert folder_state(path.parent) == before


def test_file_of_another_kind_is_named_with_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# Notes\nmore\n", encoding="utf-8")
    expect_error(path, 'notes.md is not a SQLite database (first bytes: "# Notes")', "memaudit reads SQLite, CSV")


def test_encrypted_database_is_said_to_be_perhaps_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(hashlib.sha256(b"salt").digest() * 128)
    expect_error(path, "is not a SQLite database (first bytes: ", "encrypted")


def test_empty_file_is_called_empty_and_stays_empty(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    expect_error(path, "store.db is empty (0 bytes)")
    assert path.stat().st_size == 0


def test_cut_file_says_how_much_is_there(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db", 500)
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[: whole - 4096])
    expect_error(path, f"store.db is cut: {whole - 4096:,} of {whole:,} bytes")
    path.write_bytes(path.read_bytes()[:50])
    expect_error(path, "is cut: 50 bytes")


def test_missing_file_is_never_created(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no such store: nothing\.db"):
        open_sqlite(tmp_path / "nothing.db", shown="nothing.db")
    assert list(tmp_path.iterdir()) == []


def test_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()
    with pytest.raises(StoreError, match="is a folder"):
        open_sqlite(tmp_path / "store.db")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(StoreError, match="no regular file"):
        open_sqlite(tmp_path / "pipe.db")
    with pytest.raises(StoreError, match="no regular file"):
        open_sqlite(Path("/dev/zero"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    path.chmod(0)
    with pytest.raises(StoreError, match="permission denied"):
        open_sqlite(path)
    path.chmod(stat.S_IRUSR)


def test_permission_error_of_the_system_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "store.db")

    def refused(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(StoreError, match=r"store\.db cannot be read: permission denied"):
        open_sqlite(path, shown="store.db")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own on Windows")
def test_link_that_the_user_named_is_followed_with_its_log(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    path = made(real / "store.db", wal=True)
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("INSERT INTO memories (content) VALUES ('in the log')")
    writer.commit()
    (tmp_path / "link.db").symlink_to(path)
    store = open_sqlite(tmp_path / "link.db")
    assert contents(store)[-1] == "in the log"
    store.close()
    writer.close()
    path.unlink()
    with pytest.raises(StoreError, match=r"is a link to .*store\.db, which is not there"):
        open_sqlite(tmp_path / "link.db")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own on Windows")
def test_link_in_place_of_the_log_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "store.db")
    (tmp_path / "secret").write_text("x" * 100)
    (tmp_path / "store.db-wal").symlink_to(tmp_path / "secret")
    with pytest.raises(StoreError, match="-wal is no regular file"):
        open_sqlite(path)


def damaged(path: Path) -> Path:
    """Overwrite the last page but one of a table of many pages."""
    made(path, 2000)
    data = bytearray(path.read_bytes())
    page = struct.unpack(">H", data[16:18])[0]
    start = len(data) - 2 * page
    data[start : start + page] = b"\xff" * page
    path.write_bytes(bytes(data))
    return path


def test_damaged_only_table_says_how_many_rows_can_be_read(tmp_path: Path) -> None:
    path = damaged(tmp_path / "store.db")
    with pytest.raises(StoreError, match=r"no table can be read: memories: damaged: only [\d,]+ rows can be read"):
        open_sqlite(path)


def test_damaged_table_leaves_the_others_readable(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    damaged(path)
    whole = sqlite3.connect(path)
    whole.execute("CREATE TABLE notes (content TEXT)")
    whole.execute("INSERT INTO notes VALUES ('kept')")
    whole.commit()
    whole.close()
    store = open_sqlite(path)
    assert [t.name for t in store.tables] == ["notes"]
    with pytest.raises(StoreError, match='table "memories" is damaged'):
        store.table("memories")
    store.close()


def test_error_while_reading_says_how_far_it_came(tmp_path: Path) -> None:
    store = open_sqlite(made(tmp_path / "store.db"))
    with pytest.raises(StoreError, match="after 0 rows"):
        list(store.rows("SELECT * FROM nothing"))
    store.close()
