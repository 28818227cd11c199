"""Columns of a table of recalls, found by looking."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memaudit.errors import ConfigError
from memaudit.retrieval_log import RetrievalLog, read_log
from memaudit.stores.sqlite import open_sqlite

pytestmark = pytest.mark.usefixtures("closed_stores")


def log_of(path: Path, columns: str, rows: Sequence[Sequence[Any]], keys: Sequence[Any]) -> RetrievalLog:
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE log ({columns})")
    for row in rows:
        connection.execute(f"INSERT INTO log VALUES ({', '.join('?' * len(row))})", tuple(row))
    connection.commit()
    connection.close()
    return read_log(open_sqlite(path), "log", keys)


def columns_of(log: RetrievalLog) -> tuple[str | None, ...]:
    return log.memory_ref, log.score, log.rank, log.time, log.query


def test_usual_log(tmp_path: Path) -> None:
    rows = [
        (i, f"how do I fix error {i}?", 1 + i % 3, 10 + i % 5, 0.5 + i / 100, f"2026-05-01T10:00:{i:02}Z")
        for i in range(12)
    ]
    log = log_of(
        tmp_path / "s.db",
        "id INTEGER PRIMARY KEY, query TEXT, rank INTEGER, memory_id INTEGER, score REAL, at TEXT",
        rows,
        range(10, 30),
    )
    assert columns_of(log) == ("memory_id", "score", "rank", "at", "query")
    assert log.recalled_keys() == {10, 11, 12, 13, 14}
    assert log.n_rows == 12
    assert log.reasons["memory_ref"] == "memory_id, because 100 % of its values are keys of the memories"


def test_ranks_and_query_numbers_are_no_references_though_they_meet_the_keys(tmp_path: Path) -> None:
    rows = [(1 + i // 3, 1 + i % 3, 1 + (7 * i) % 15, 1.0) for i in range(45)]
    log = log_of(tmp_path / "s.db", "query_id INTEGER, rank INTEGER, ref INTEGER, score REAL", rows, range(1, 16))
    assert columns_of(log) == ("ref", "score", "rank", None, "query_id")
    assert log.recalled_keys() == set(range(1, 16))


def test_json_lists_of_keys_and_of_objects_count(tmp_path: Path) -> None:
    rows = [
        ("问题一怎么办", json.dumps(["a", "b"])),
        ("question two here", json.dumps([{"id": "b", "score": 0.4}])),
        ("x y", "[]"),
    ]
    log = log_of(tmp_path / "s.db", "question TEXT, results TEXT", rows, ["a", "b", "c"])
    assert columns_of(log) == ("results", None, None, None, "question")
    assert log.recalled_keys() == {"a", "b"}


def test_keys_of_another_type_still_name_the_memories(tmp_path: Path) -> None:
    log = log_of(tmp_path / "s.db", "memory_id TEXT", [("1",), ("2",)], [1, 2, 3])
    assert log.memory_ref == "memory_id"
    assert log.recalled_keys() == {1, 2}  # as the memories have them

    log = log_of(tmp_path / "t.db", "memory_id INTEGER", [(1,), (9,)] * 2 + [(2,)], ["1", "2"])
    assert log.recalled_keys() == {"1", "2", 9}


def test_column_with_few_keys_is_no_reference(tmp_path: Path) -> None:
    log = log_of(tmp_path / "s.db", "memory_id TEXT, note TEXT", [("x", "a b"), ("y", "c d"), ("a", "e f")], ["a", "b"])
    assert log.memory_ref is None
    assert log.reasons["memory_ref"] == "not found: no column holds keys of the memories"
    assert log.recalled_keys() == set()


def test_unnamed_fractions_are_the_score_only_when_alone(tmp_path: Path) -> None:
    log = log_of(tmp_path / "s.db", "memory_id TEXT, v REAL", [("a", 0.25), ("b", 0.75)], ["a", "b"])
    assert log.score == "v"
    log = log_of(tmp_path / "t.db", "memory_id TEXT, v REAL, w REAL", [("a", 0.25, 0.5), ("b", 0.75, 0.1)], ["a", "b"])
    assert log.score is None


def test_infinite_scores_do_not_stop_the_search(tmp_path: Path) -> None:
    log = log_of(tmp_path / "s.db", "memory_id TEXT, v REAL", [("a", float("inf")), ("b", 0.5)], ["a", "b"])
    assert log.score == "v"


def test_empty_log_is_read_by_names(tmp_path: Path) -> None:
    log = log_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, memory_id INTEGER, at TEXT", [], [1, 2])
    assert (log.memory_ref, log.n_rows, log.recalled_keys()) == ("memory_id", 0, set())


def test_log_with_bad_json_and_null_keys_is_read(tmp_path: Path) -> None:
    log = log_of(tmp_path / "s.db", "memory_ids TEXT", [("[1, 2",), (None,), ("[1, 2]",), ("[2]",)], [1, 2])
    assert log.memory_ref == "memory_ids"
    assert log.recalled_keys() == {1, 2, "[1, 2"}


def test_missing_table_names_the_nearest(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute("CREATE TABLE retrieval_log (memory_id TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(ConfigError, match='Did you mean "retrieval_log"'):
        read_log(open_sqlite(tmp_path / "s.db"), "retrieval_logs", [])


def test_recalls_when_rank_starts_again_or_the_session_changes_then_a_new_one_begins(tmp_path: Path) -> None:
    rows = [
        ("q one of them", "s1", 2, "b"), ("q one of them", "s1", 3, "a"), ("q one of them", "s1", 1, "c"),
        ("q one of them", "s1", 2, "a"), ("q one of them", "s2", 3, "a"),
    ]  # fmt: skip
    log = log_of(tmp_path / "s.db", "question TEXT, thread_id TEXT, rank INTEGER, memory TEXT", rows, ["a", "b", "c"])
    assert (log.session, log.memory_ref) == ("thread_id", "memory")
    assert log.recalls == ((0, 1), (2, 3), (4,))
    assert log.keys_by_row == (("b",), ("a",), ("c",), ("a",), ("a",))


def test_recalls_when_rows_hold_lists_then_each_row_is_one(tmp_path: Path) -> None:
    rows = [("q", json.dumps(["a", "b"])), ("q", json.dumps(["b"]))]
    assert log_of(tmp_path / "s.db", "question TEXT, results TEXT", rows, ["a", "b"]).recalls == ((0,), (1,))


def test_recalls_when_nothing_tells_them_apart_then_none(tmp_path: Path) -> None:
    assert log_of(tmp_path / "s.db", "memory_id TEXT", [("a",), ("b",)], ["a", "b"]).recalls is None
