"""What production code may read in the child process, and what it is kept from."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memaudit.errors import TargetError
from memaudit.stores.lent import lent
from memaudit.target import call_batch, call_each, enumerate_domain

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the child process is limited with POSIX means")

CODE = """
import contextlib, logging, os, socket, sqlite3

def texts(name):
    with contextlib.closing(sqlite3.connect(name)) as db:
        return [row[0] for row in db.execute("SELECT body FROM m ORDER BY body DESC")]

def by_uri(name):
    with contextlib.closing(sqlite3.connect(f"file:{name}?mode=ro", uri=True)) as db:
        return db.execute("SELECT COUNT(*) FROM m").fetchone()[0]

def writes(name):
    with contextlib.closing(sqlite3.connect(name)) as db:
        db.execute("INSERT INTO m VALUES ('new')")
        db.commit()

def attaches(name, other):
    with contextlib.closing(sqlite3.connect(name)) as db:
        db.execute("ATTACH DATABASE ? AS o", (other,))
        db.execute("CREATE TABLE o.t (x)")

def swallows(name):
    try:
        return texts(name)
    except Exception:
        return ["nothing"]

def calls_out(text):
    try:
        with socket.create_connection(("127.0.0.1", 9)):
            return text
    except OSError:
        return text

def logs(text):
    try:
        open("/tmp/never-written-by-an-audit.log", "a").write(text)
    except OSError:
        pass
    return text
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prod.py").write_text(CODE, encoding="utf-8")
    with closing(sqlite3.connect(tmp_path / "store.db")) as db, db:
        db.execute("CREATE TABLE m (body TEXT)")
        db.executemany("INSERT INTO m VALUES (?)", [("甲",), ("乙",)])
    return tmp_path


def seen(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file() and p.suffix != ".py"}


@pytest.mark.parametrize("name", ["store.db", "{folder}/store.db"])
def test_store_when_lent_then_read_by_either_name_and_untouched(folder: Path, name: str) -> None:
    before = seen(folder)
    given = name.format(folder=folder)
    with lent(folder / "store.db") as databases:
        found = call_batch("prod:texts", [(given,)], base=folder, databases=databases)
        counted = call_batch("prod:by_uri", [(given,)], base=folder, databases=databases)
    # 甲 is U+7532, 乙 U+4E59
    assert (found[0].value, found[0].error, found[0].refused) == (["甲", "乙"], None, ())
    assert counted[0].value == 2
    assert seen(folder) == before


def test_store_when_lent_then_a_write_fails_and_nothing_lies_beside_it(folder: Path) -> None:
    before = seen(folder)
    with lent(folder / "store.db") as databases:
        written = call_batch("prod:writes", [("store.db",)], base=folder, databases=databases)
        attached = call_batch(
            "prod:attaches", [("store.db", str(folder / "other.db"))], base=folder, databases=databases
        )
    assert "readonly database" in str(written[0].error)
    assert "not authorized" in str(attached[0].error)
    assert seen(folder) == before


def test_memory_database_when_a_file_is_attached_then_none_is_made(folder: Path) -> None:
    found = call_batch("prod:attaches", [(":memory:", str(folder / "other.db"))], base=folder)
    assert "not authorized" in str(found[0].error)
    assert not (folder / "other.db").exists()


def test_store_when_it_has_a_live_log_then_its_last_rows_are_read(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "store.db")) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO m VALUES ('丙')")
        writer.commit()
        assert (folder / "store.db-wal").stat().st_size > 0
        before = seen(folder)
        with lent(folder / "store.db") as databases:
            assert call_batch("prod:by_uri", [("store.db",)], base=folder, databases=databases)[0].value == 3
        assert seen(folder) == before


def test_database_when_not_lent_then_refused_and_said_even_where_it_is_swallowed(folder: Path) -> None:
    with lent(folder / "store.db") as databases:
        found = call_batch("prod:swallows", [("other.db",), ("store.db",)], base=folder, databases=databases)
    assert found[0].value == ["nothing"]
    assert found[0].refused == ("opening a database is not allowed in an audit",)
    # the next call is not blamed for it
    assert (found[1].value, found[1].refused) == (["甲", "乙"], ())
    assert not (folder / "other.db").exists()


def test_network_when_asked_then_refused_and_the_answer_is_not_used(folder: Path) -> None:
    assert call_batch("prod:calls_out", [("a",)], base=folder)[0].refused == (
        "socket.getaddrinfo is not allowed in an audit",
    )
    with pytest.raises(TargetError, match=r"calls_out was stopped: socket\.getaddrinfo is not allowed"):
        call_each("prod:calls_out", ["a"], base=folder)


def test_log_file_when_refused_then_the_answer_counts(folder: Path) -> None:
    assert call_batch("prod:logs", [("a",)], base=folder)[0].refused == ()
    assert call_each("prod:logs", ["a"], base=folder) == ["a"]


def test_lent_when_it_is_no_sqlite_file_then_nothing(folder: Path) -> None:
    (folder / "rows.jsonl").write_text("{}\n", encoding="utf-8")
    for name in ("rows.jsonl", "absent.db", "."):
        with lent(folder / name) as databases:
            assert databases == {}


def test_domain_when_the_function_reads_the_store_then_still_refused(folder: Path) -> None:
    result = enumerate_domain("prod:swallows", base=folder)
    assert any("sqlite3.connect" in line for line in result.impurities)
