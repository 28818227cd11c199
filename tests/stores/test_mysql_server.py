"""A real MariaDB: one read-only transaction of one state, Chinese text, no credentials anywhere."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from memaudit.config import Config
from memaudit.errors import ConfigError, StoreError
from memaudit.roles import find_roles
from memaudit.stores import sql_server
from memaudit.stores.detect import open_store

_MISSING = [name for name in ("sqlalchemy", "pymysql") if importlib.util.find_spec(name) is None]
# Debian keeps servers where only the administrator looks for commands.
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
_MISSING += [name for name in ("mariadbd", "mariadb-install-db") if shutil.which(name, path=_PATH) is None]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)} (extra test-mysql; Debian's mariadb-server)"
)

N_ROWS = 10_000
PASSWORD = "s3cr3t/with@signs"
_START_S = 300.0


@dataclass
class Server:
    """A private server: its address for a user, and statements as its administrator."""

    folder: Path
    port: int

    def address(self, user: str = "reader", password: str = PASSWORD, database: str = "agent") -> str:
        return f"mysql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str, database: str | None = None) -> list[Any]:
        """Run statements as root through the socket; returns the rows of the last one."""
        pymysql = importlib.import_module("pymysql")
        connection = pymysql.connect(
            unix_socket=str(self.folder / "socket"), user="root", database=database, charset="utf8mb4", autocommit=True
        )
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor.fetchall())
        finally:
            connection.close()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Start a server with a folder, a socket and a port of its own; the user `reader` may only read."""
    # Not below pytest's own folder: the path of a socket holds about 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="memaudit-my-"))
    common = ["--no-defaults", f"--datadir={folder / 'data'}"]
    if hasattr(os, "getuid") and os.getuid() == 0:
        common.append("--user=root")
    subprocess.run(
        [str(shutil.which("mariadb-install-db", path=_PATH)), *common, "--auth-root-authentication-method=normal", "--skip-test-db"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    port = _free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(shutil.which("mariadbd", path=_PATH)), *common, f"--socket={folder / 'socket'}", f"--port={port}", "--bind-address=127.0.0.1",
             f"--pid-file={folder / 'pid'}", "--innodb-buffer-pool-size=16M", "--skip-log-bin"],
            stdout=log, stderr=log,
        )  # fmt: skip
    started = Server(folder, port)
    try:
        end = time.monotonic() + _START_S
        while True:
            try:
                started.run("SELECT 1")
                break
            except Exception:
                if process.poll() is not None or time.monotonic() > end:
                    pytest.fail(f"the server did not start: {(folder / 'log').read_text(errors='replace')[-2000:]}")
                time.sleep(0.2)
        _filled(started)
        yield started
    finally:
        process.terminate()
        process.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def _filled(server: Server) -> None:
    vector = "0x" + struct.pack("<4f", 1, 0.5, 0.25, 0).hex()
    server.run(
        "CREATE DATABASE agent CHARACTER SET utf8mb4",
        "CREATE TABLE agent.memories (id INT PRIMARY KEY, content TEXT, topic VARCHAR(20), created_at DATETIME, "
        "score DECIMAL(6,2), embedding BLOB)",
        "INSERT INTO agent.memories SELECT seq, CONCAT('第', seq, '条：客户偏好邮件联系 🍵 note ', seq), "
        f"ELT(1 + seq % 3, '客户', '库存', '部署'), '2026-05-01' + INTERVAL seq MINUTE, seq / 4, {vector} "
        f"FROM agent_seq.seq_1_to_{N_ROWS}".replace("agent_seq.", ""),
        "CREATE TABLE agent.`order` (`key` INT, `is :urgent` VARCHAR(9), `100%% sure` TEXT, `back``tick` JSON)".replace(
            "%%", "%"
        ),
        "INSERT INTO agent.`order` SELECT seq, 'yes', CONCAT('Order ', seq, ' was confirmed by phone.'), '{\"a\": 1}' "
        "FROM seq_1_to_30",
        "CREATE TABLE agent.latin (id INT PRIMARY KEY, note TEXT) CHARACTER SET latin1",
        "INSERT INTO agent.latin VALUES (1, 'Café près de la gare'), (2, 'Straße gesperrt')",
        f"CREATE USER reader@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
        "GRANT SELECT ON agent.* TO reader@'127.0.0.1'",
        "CREATE DATABASE empty_one",
        "GRANT SELECT ON empty_one.* TO reader@'127.0.0.1'",
        database="mysql",
    )


def test_table_of_10000_rows_when_read_then_every_row_chinese_text_and_types(server: Server) -> None:
    store = open_store(server.address(), table="memories")
    roles = find_roles(store, Config(table="memories"))
    assert (store.kind, store.path) == ("mysql", f"mysql://127.0.0.1:{server.port}/agent")
    assert (roles.id, roles.text, roles.time, roles.embedding) == ("id", "content", "created_at", "embedding")
    assert roles.value_field == "topic"
    assert store.tables[0].n_rows == N_ROWS
    last = next(store.rows("SELECT * FROM memories WHERE id = 10000"))
    # 10,000 minutes after 1 May 2026: 6 days, 22 hours, 40 minutes; 10,000 / 4 = 2,500.
    assert last == (10000, "第10000条：客户偏好邮件联系 🍵 note 10000", "库存", "2026-05-07T22:40:00", 2500,
                    struct.pack("<4f", 1, 0.5, 0.25, 0))  # fmt: skip
    assert next(store.rows("SELECT sum(id), count(DISTINCT content) FROM memories")) == (50_005_000, N_ROWS)
    assert store.notes[0] == "Read in one read-only transaction: 10,001 rows."
    store.close()


def test_tables_when_none_is_named_then_all_are_read_with_their_own_keys(server: Server) -> None:
    store = open_store(server.address())
    assert {t.name: t.n_rows for t in store.tables} == {"memories": N_ROWS, "order": 30, "latin": 2}
    # Every primary key of MySQL is called PRIMARY: each table has its own column all the same.
    assert store.table_hints["memories"]["id"][0] == store.table_hints["latin"]["id"][0] == "id"
    assert "id" not in store.table_hints["order"]
    assert store.table("order").column_names == ("key", "is :urgent", "100% sure", "back`tick")
    assert next(store.rows('SELECT * FROM "order" ORDER BY key')) == (
        1, "yes", "Order 1 was confirmed by phone.", '{"a": 1}',
    )  # fmt: skip
    assert list(store.rows("SELECT note FROM latin ORDER BY id")) == [("Café près de la gare",), ("Straße gesperrt",)]
    store.close()


def test_transaction_when_opened_then_read_only_and_of_one_state(server: Server) -> None:
    server.run("SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED")
    try:
        with sql_server._connected(
            server.address("root", "", "agent").replace("root:@", "root@"), "mysql", "x"
        ) as opened:
            assert list(opened.rows("SELECT COUNT(*) FROM latin")) == [(2,)]
            server.run("INSERT INTO agent.latin VALUES (3, 'later')")
            assert list(opened.rows("SELECT COUNT(*) FROM latin")) == [(2,)]
            with pytest.raises(Exception, match="READ ONLY transaction"):
                opened.connection.exec_driver_sql("INSERT INTO latin VALUES (4, 'never')")
    finally:
        server.run("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ", "DELETE FROM agent.latin WHERE id > 2")


def test_user_when_it_may_only_read_then_the_audit_works_and_nothing_is_written(server: Server) -> None:
    with pytest.raises(Exception, match="denied"):
        _as_reader(server, "INSERT INTO latin VALUES (9, 'x')")
    assert open_store(server.address(), table="latin").tables[0].n_rows == 2
    checksum = server.run("CHECKSUM TABLE agent.memories, agent.latin")
    open_store(server.address()).close()
    assert server.run("CHECKSUM TABLE agent.memories, agent.latin") == checksum


def _as_reader(server: Server, statement: str) -> None:
    sqlalchemy = importlib.import_module("sqlalchemy")
    engine = sqlalchemy.create_engine(server.address().replace("mysql:", "mysql+pymysql:"))
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(statement)
    finally:
        engine.dispose()


def test_password_or_database_when_wrong_then_one_line_without_it(server: Server) -> None:
    for address in (
        server.address(password="wr0ng/p@ss"),
        server.address("nobody-here", "wr0ng/p@ss"),
        server.address(password=PASSWORD, database="not_there"),
        server.address(password="wr0ng/p@ss").replace(str(server.port), "1"),
    ):
        with pytest.raises(StoreError, match="cannot be opened") as caught:
            open_store(address)
        for secret in ("wr0ng", "p@ss", "p%40ss", "s3cr3t"):
            assert secret not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_connection_when_it_breaks_in_the_middle_then_the_rows_before_are_named(server: Server) -> None:
    with sql_server._connected(server.address(), "mysql", "the server") as opened:
        rows = opened.rows("SELECT a.id, b.content FROM memories a, memories b")
        assert next(rows)[0] in range(1, N_ROWS + 1)
        _kill_readers(server)
        with pytest.raises(StoreError, match=r"the server: reading failed after [\d,]+ rows: ") as caught:
            for _ in rows:
                pass
    assert "s3cr3t" not in str(caught.value)


def test_connection_when_it_breaks_while_all_tables_are_read_then_nothing_is_read_on(server: Server) -> None:
    with sql_server._connected(server.address(), "mysql", "the server") as opened:
        opened.goes_on = True
        assert list(opened.rows("SELECT COUNT(*) FROM latin")) == [(2,)]
        with pytest.raises(StoreError, match="doesn't exist"):
            list(opened.rows("SELECT COUNT(*) FROM nothing"))
        assert opened.recovered()
        assert list(opened.rows("SELECT COUNT(*) FROM latin")) == [(2,)]
        _kill_readers(server)
        with pytest.raises(StoreError, match="reading failed after"):
            list(opened.rows("SELECT COUNT(*) FROM latin"))
        assert not opened.recovered()


def _kill_readers(server: Server) -> None:
    for (number,) in server.run("SELECT id FROM information_schema.processlist WHERE user = 'reader'"):
        server.run(f"KILL {number}")


def test_table_when_unknown_or_the_database_empty_then_named(server: Server) -> None:
    with pytest.raises(ConfigError, match=r'table "nothing" not found.*Tables: latin, memories, order\.'):
        open_store(server.address(), table="nothing")
    with pytest.raises(StoreError, match="no table with text was read"):
        open_store(server.address(database="empty_one"))


def test_audit_when_run_then_no_credentials_in_page_twin_or_terminal(
    server: Server, memaudit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["run", "--store", server.address(), "--table", "latin", "--select", "MA0"]
    monkeypatch.setattr(sys, "argv", ["memaudit", *words])
    ran = memaudit(*words)
    assert ran.code == 0, ran.err
    written = (tmp_path / "report.json").read_text() + (tmp_path / "memaudit-report.html").read_text()
    for secret in (PASSWORD, "s3cr3t", "with%40signs", "reader"):
        assert secret not in ran.out + ran.err + written
    assert json.loads((tmp_path / "report.json").read_text())["store"]["rows"] == 2


def test_tables_when_all_are_asked_for_then_one_that_may_not_be_read_fails_and_the_others_do_not(
    server: Server, memaudit: Callable[..., Any], tmp_path: Path
) -> None:
    server.run(
        "CREATE DATABASE mixed CHARACTER SET utf8mb4",
        "CREATE TABLE mixed.notes (id INT PRIMARY KEY, content TEXT)",
        "INSERT INTO mixed.notes SELECT seq, CONCAT('第', seq, '条记录，需要财务确认。') FROM mysql.seq_1_to_25",
        "CREATE TABLE mixed.secrets (id INT PRIMARY KEY, content TEXT)",
        "GRANT SELECT ON mixed.notes TO reader@'127.0.0.1'",
        "GRANT INSERT ON mixed.secrets TO reader@'127.0.0.1'",
        database="mysql",
    )
    ran = memaudit("run", "--store", server.address(database="mixed"), "--all-tables", "--select", "MA002")
    assert ran.code == 3, ran.err
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [(a["store"]["table"], a["store"]["rows"]) for a in report["audits"]] == [("notes", 25)]
    (failed,) = [one for one in report["not_audited"] if one["failed"]]
    assert failed["table"] == "secrets"
    assert "denied" in failed["reason"]
    assert "s3cr3t" not in ran.out + ran.err + json.dumps(report)
