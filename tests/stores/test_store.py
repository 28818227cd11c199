"""Conditions of the user: they can only read, only one expression, and only for a while."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memaudit.errors import ConfigError
from memaudit.stores import store as module
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store, quoted

pytestmark = pytest.mark.usefixtures("closed_stores")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute("CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT, score REAL)")
    connection.executemany(
        "INSERT INTO memories VALUES (?, ?, ?)", [(10 - i, f"row {i}", None if i == 3 else i / 10) for i in range(8)]
    )
    connection.commit()
    connection.close()
    return open_sqlite(tmp_path / "s.db")


def test_conditions_are_counted_and_placed_in_store_order(store: Store) -> None:
    table = store.table("memories")
    # Scores 0, .1, .2, NULL, .4, .5, .6, .7 belong to ids 10, 9, ..., 3; store order is by id: 3 first.
    assert store.condition_count(table, "1", "score >= 0.5") == 3
    assert store.condition_count(table, "id > 4", "score >= 0.5") == 1  # ids 5, 4 and 3
    assert store.condition_rows(table, "score >= 0.5") == [0, 1, 2]
    assert store.condition_rows(table, "score IS NULL") == [4]
    assert store.condition_rows(table, "0") == []


@pytest.mark.parametrize(
    "condition",
    [
        "score >", "nothing = 1", "1; DELETE FROM memories", "1 -- x", "1 /* x */", "load_extension('x')",
        "(DELETE FROM memories)", "1) FROM memories UNION SELECT (1", "score = '\x00'", "score = '\ud800'",
        "(SELECT * FROM pragma_table_info('memories'))",
    ],
)  # fmt: skip
def test_anything_but_one_reading_expression_is_refused(store: Store, condition: str) -> None:
    table = store.table("memories")
    with pytest.raises(ConfigError, match="condition"):
        store.condition_count(table, "1", condition)
    assert next(store.rows("SELECT COUNT(*) FROM memories")) == (8,)


def test_endless_conditions_are_stopped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONDITION_SECONDS", 0.05)
    endless = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n)"
    with pytest.raises(ConfigError, match="interrupted"):
        store.condition_count(store.table("memories"), "1", endless)
    assert store.condition_count(store.table("memories"), "1", "1") == 8  # the limit ends with the condition


def test_table_names_are_found_in_any_case(store: Store) -> None:
    assert store.table("MEMORIES").name == "memories"
    with pytest.raises(ConfigError, match=r'table "notes" not found in \S+\. Tables: memories\.'):
        store.table("notes")


def test_names_are_quoted() -> None:
    assert quoted('a"b') == '"a""b"'
