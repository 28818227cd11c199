"""Records: columns in row order, JSON paths, undecodable text, parts."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import ConfigError
from memaudit.records import Records, Roles, json_at
from memaudit.stores.sqlite import open_sqlite

pytestmark = pytest.mark.usefixtures("closed_stores")


def records_of(path: Path, roles: Roles) -> Records:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (id TEXT, content TEXT, meta TEXT, n)")
    rows = [
        ("k1", "第一", '{"a": {"b": [10, 20]}, "x": null}', 1),
        ("k2", None, b'{"a": {"b": []}}', 2.5),
        (b"k\xff3", "", "not json", None),
        ("k4", "last one", "[1]", 1),
    ]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.execute("INSERT INTO t VALUES ('k5', CAST(X'C3A9FF41' AS TEXT), NULL, X'00FF')")
    connection.commit()
    connection.close()
    store = open_sqlite(path)
    return Records(store, store.table("t"), roles)


def test_columns_come_as_stored_and_texts_as_read(tmp_path: Path) -> None:
    records = records_of(tmp_path / "s.db", Roles("t", id="id", text="content"))
    assert records.n_rows == 5
    assert records.column("content") == ("第一", None, "", "last one", "é\udcffA")
    assert records.texts == ("第一", "", "", "last one", "é\ufffdA")
    assert records.keys == ("k1", "k2", "k\ufffd3", "k4", "k5")
    assert records.column("n") == (1, 2.5, None, 1, b"\x00\xff")
    assert records.as_texts("n") == ("1", "2.5", "", "1", "\x00\ufffd")
    assert next(iter(records.value_counts("n").items())) == (1, 2)
    assert records.value_counts("n")[None] == 1


def test_json_paths_give_none_where_there_is_nothing(tmp_path: Path) -> None:
    records = records_of(tmp_path / "s.db", Roles("t", text="meta$.a.b[0]"))
    assert records.column("meta$.a.b[0]") == (10, None, None, None, None)
    assert records.column("meta$.a.b[-1]") == (20, None, None, None, None)
    assert records.column("meta$[0]") == (None, None, None, 1, None)
    assert records.as_texts("meta$.a") == ('{"b": [10, 20]}', '{"b": []}', "", "", "")
    assert records.texts == ("10", "", "", "", "")


def test_lists_at_a_json_path_can_be_counted(tmp_path: Path) -> None:
    records = records_of(tmp_path / "s.db", Roles("t"))
    assert records.column("meta$.a.b") == ("[10, 20]", "[]", None, None, None)
    assert records.value_counts("meta$.a.b") == {None: 3, "[10, 20]": 1, "[]": 1}


def test_rows_without_a_key_are_called_by_their_number_in_the_table(tmp_path: Path) -> None:
    records = records_of(tmp_path / "s.db", Roles("t"))
    assert records.keys == (1, 2, 3, 4, 5)
    assert records.texts == ("",) * 5
    part = records.restricted(np.array([3, 1], dtype=np.int64))
    assert part.keys == (4, 2)


def test_parts_of_parts_keep_the_rows_of_the_table(tmp_path: Path) -> None:
    records = records_of(tmp_path / "s.db", Roles("t", id="id", text="content"))
    part = records.restricted(np.array([1, 3, 4], dtype=np.int64)).restricted(np.array([0, 2], dtype=np.int64))
    assert part.keys == ("k2", "k5")
    assert part.texts == ("", "é\ufffdA")
    assert part.n_rows == 2
    none = records.restricted(np.array([], dtype=np.int64))
    assert (none.n_rows, none.keys, none.texts) == (0, (), ())


def test_missing_column_names_those_there_are(tmp_path: Path) -> None:
    records = records_of(tmp_path / "s.db", Roles("t"))
    with pytest.raises(ConfigError, match=r"table 't' has no column 'body'\. Columns: id, content, meta, n\."):
        records.column("body$.x")


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        ('{"content": "x"}', ".content", "x"), ('{"a": [{"b": 1}]}', ".a[0].b", 1), ("[[1, 2], [3]]", "[1][0]", 3),
        ('{"a": 1}', ".b", None), ('{"a": 1}', ".a.b", None), ('{"a": [1]}', ".a[x]", None),
        ('{"a": [1]}', ".a[5]", None),
        ('{"a": [1]}', ".a[-2]", None), ("", ".a", None), (None, ".a", None), ("[" * 100_000, ".a", None),
        ('{"a": "\\ud800"}', ".a", "\ud800"), ({"a": 2}, ".a", 2), (b"\xff", ".a", None), ('{"a": false}', ".a", False),
    ],
)  # fmt: skip
def test_json_at(value: Any, path: str, expected: Any) -> None:
    assert json_at(value, path) == expected


@given(st.text(), st.text(max_size=8))
def test_json_at_never_raises(value: str, path: str) -> None:
    json_at(value, path)


def test_shown_roles_are_those_that_are_filled() -> None:
    roles = Roles("t", id="id", embedded_fields=("a", "b"), vectors={"table": "v"})
    assert roles.shown() == {"id": "id", "embedded_fields": ["a", "b"], "vectors": {"table": "v"}}
